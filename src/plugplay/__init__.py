"""Plug-and-Play image restoration: any denoiser as a prior."""

from plugplay import denoisers as denoisers

__version__ = "0.1.0"
