"""Denoisers: any callable ``(image, sigma) -> image``, and the built-in ones by name."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from plugplay.denoisers.base import (
    Denoiser,
    DenoiserInfo,
    ProblemTraits,
    SessionDenoiser,
    available,
    get,
    min_sigma_of,
    open_session,
    per_channel,
    prepare_denoiser,
    sliced,
)
from plugplay.denoisers.learned.adapter import from_torch

if TYPE_CHECKING:
    from plugplay.denoisers.bm3d import BM3D

__all__ = [
    "BM3D",
    "Denoiser",
    "DenoiserInfo",
    "ProblemTraits",
    "SessionDenoiser",
    "available",
    "from_torch",
    "get",
    "min_sigma_of",
    "open_session",
    "per_channel",
    "prepare_denoiser",
    "sliced",
]

# Denoisers that take long to import are imported when they are first asked for.
_LAZY = {"BM3D": "plugplay.denoisers.bm3d"}


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
