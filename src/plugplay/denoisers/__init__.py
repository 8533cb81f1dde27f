"""Denoisers: any callable ``(image, sigma) -> image``, and the built-in ones by name."""

from plugplay.denoisers.base import (
    Denoiser,
    DenoiserInfo,
    SessionDenoiser,
    available,
    get,
    open_session,
    per_channel,
)
from plugplay.denoisers.learned.adapter import from_torch

__all__ = [
    "Denoiser",
    "DenoiserInfo",
    "SessionDenoiser",
    "available",
    "from_torch",
    "get",
    "open_session",
    "per_channel",
]
