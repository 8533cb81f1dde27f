"""What the kernels of the small denoisers share: a fast exponential and soft thresholds."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from plugplay.compiling import kernel

__all__ = ["Scalar", "decay", "soft"]

Scalar: TypeAlias = np.floating[Any]


@kernel
def decay(t: np.float32) -> np.float32:
    """Return exp(-t) for t >= 0, to a relative error of 2e-6 up to t = 32 and 0 beyond.

    The 32nd power of a polynomial for exp(-t/32): unlike the library's function, it needs no branches and no
    tables, so the compiler works on many pixels at once.
    """
    s = min(t, np.float32(32.0)) * np.float32(1 / 32)
    p = np.float32(1 / 720) - s * np.float32(1 / 5040)
    p = np.float32(1 / 120) - s * p
    p = np.float32(1 / 24) - s * p
    p = np.float32(1 / 6) - s * p
    p = np.float32(0.5) - s * p
    p = np.float32(1.0) - s * p
    p = np.float32(1.0) - s * p
    p *= p
    p *= p
    p *= p
    p *= p
    p *= p
    return p if t < np.float32(32.0) else np.float32(0.0)


@kernel
def soft(value: Scalar, limit: Scalar) -> Scalar:
    """Return `value` moved towards zero by `limit`, or zero if that would move it past."""
    return value - min(max(value, -limit), limit)
