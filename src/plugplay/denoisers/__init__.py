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

__all__ = ["Denoiser", "DenoiserInfo", "SessionDenoiser", "available", "get", "open_session", "per_channel"]
