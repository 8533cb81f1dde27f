"""From the numbers of a file to light, and back.

Blur and photon noise happen to light. Photographs are stored with a transfer curve; measurements mostly are not.
A curve is named by a word: ``"linear"``, ``"srgb"``, ``"gamma:2.2"`` (light is the number to this power), or
``"unknown"`` for curves that are there but not understood.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["encode", "gamma", "linearise"]

# IEC 61966-2-1. The knee in linear light is where the straight line of the curve ends, which makes `encode` exactly
# undo `linearise`; the usual 0.0031308 is the same number, rounded.
_KNEE, _SLOPE, _OFFSET, _EXPONENT = 0.04045, 12.92, 0.055, 2.4


def linearise(image: NDArray[Any], transfer: str) -> NDArray[Any]:
    """Return the light that encoded values on [0, 1] stand for.

    The sRGB curve is ``c / 12.92`` up to 0.04045 and ``((c + 0.055) / 1.055)^2.4`` above; like a power, it goes on
    above 1 and is odd below 0, so that nothing is clipped. Floats keep their type.

    Examples
    --------
    >>> import numpy as np
    >>> linearise(np.array([0.0, 0.5, 1.0]), "srgb").round(4).tolist()
    [0.0, 0.214, 1.0]
    >>> x = np.linspace(-0.2, 1.2, 100)
    >>> bool(np.allclose(encode(linearise(x, "srgb"), "srgb"), x, rtol=0, atol=1e-15))
    True
    """
    values = _floats(image)
    if transfer == "linear":
        return values
    size = np.abs(values)
    if transfer == "srgb":
        light = np.where(size <= _KNEE, size / _SLOPE, ((size + _OFFSET) / (1 + _OFFSET)) ** _EXPONENT)
    else:
        light = size ** _exponent(transfer)
    signed: NDArray[Any] = np.copysign(light, values, dtype=values.dtype)
    return signed


def encode(light: NDArray[Any], transfer: str) -> NDArray[Any]:
    """Return the values on [0, 1] that stand for linear light; the inverse of `linearise`."""
    values = _floats(light)
    if transfer == "linear":
        return values
    size = np.abs(values)
    if transfer == "srgb":
        powered = (1 + _OFFSET) * size ** (1 / _EXPONENT) - _OFFSET
        encoded = np.where(size <= values.dtype.type(_KNEE / _SLOPE), size * _SLOPE, powered)
    else:
        encoded = size ** (1 / _exponent(transfer))
    signed: NDArray[Any] = np.copysign(encoded, values, dtype=values.dtype)
    return signed


def gamma(exponent: float) -> str:
    """Return the word for a power curve; one without an effect is ``"linear"``.

    Examples
    --------
    >>> gamma(2.2), gamma(1.0)
    ('gamma:2.2', 'linear')
    """
    if not (math.isfinite(exponent) and 0.1 <= exponent <= 10):
        return "unknown"
    return "linear" if abs(exponent - 1) < 1e-3 else f"gamma:{exponent:.6g}"


def _exponent(transfer: str) -> float:
    kind, _, value = transfer.partition(":")
    try:
        exponent = float(value) if kind == "gamma" else 0.0
    except ValueError:
        exponent = 0.0
    if not (math.isfinite(exponent) and 0.1 <= exponent <= 10):
        raise ValueError(f"transfer must be 'linear', 'srgb' or 'gamma:' and a number; got {transfer!r}")
    return exponent


def _floats(image: NDArray[Any]) -> NDArray[Any]:
    array = np.asarray(image)
    if array.dtype.kind != "f":
        raise TypeError(f"floats on the scale [0, 1] are needed; got an array of {array.dtype}")
    return array
