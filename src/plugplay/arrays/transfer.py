"""From the numbers of a file to light, and back.

Blur and photon noise happen to light. Photographs are stored with a transfer curve; measurements mostly are not.
A curve is named by a word: ``"linear"``, ``"srgb"``, ``"gamma:2.2"`` (light is the number to this power), or
``"unknown"`` for curves that are there but not understood.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["check_transfer", "encode", "gamma", "linearise", "mean_slope", "slope_in_light"]

# IEC 61966-2-1. The knee in linear light is where the straight line of the curve ends, which makes `encode` exactly
# undo `linearise`; the usual 0.0031308 is the same number, rounded.
_KNEE, _SLOPE, _OFFSET, _EXPONENT = 0.04045, 12.92, 0.055, 2.4
# More pixels do not change a mean; and half the distance over which a slope is measured: half a step of 8 bits.
_MAX_SAMPLES = 1_000_000
_DIFFERENCE = 0.5 / 255
_DARK = 0.02
_PIECE = 1 << 18


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
    if transfer == "srgb":
        return _odd(image, lambda c: np.where(c <= _KNEE, c / _SLOPE, ((c + _OFFSET) / (1 + _OFFSET)) ** _EXPONENT))
    exponent = _exponent(transfer)
    return _odd(image, lambda c: c**exponent)


def encode(light: NDArray[Any], transfer: str) -> NDArray[Any]:
    """Return the values on [0, 1] that stand for linear light; the inverse of `linearise`."""
    if transfer == "srgb":
        return _odd(
            light,
            lambda x: np.where(
                x <= x.dtype.type(_KNEE / _SLOPE), x * _SLOPE, (1 + _OFFSET) * x ** (1 / _EXPONENT) - _OFFSET
            ),
        )
    exponent = _exponent(transfer)
    return _odd(light, lambda x: x ** (1 / exponent))


def mean_slope(image: NDArray[Any], transfer: str) -> float:
    """Return by how much a small difference of encoded values grows in light: the RMS over an image.

    Noise of standard deviation s on the encoded scale has about ``mean_slope(image) * s`` in light.

    Examples
    --------
    >>> import numpy as np
    >>> round(mean_slope(np.full((4, 4), 0.5), "gamma:2.0"), 4), mean_slope(np.zeros((4, 4)), "linear")
    (1.0, 1.0)
    """
    if transfer == "linear":
        return 1.0
    step = max(1, image.size // _MAX_SAMPLES)
    values = np.clip(image.ravel()[::step].astype(np.float64), 0, 1)
    values = values[np.isfinite(values)]
    if values.size == 0:
        return 1.0
    low, high = np.maximum(values - _DIFFERENCE, 0), np.minimum(values + _DIFFERENCE, 1)
    slopes = (linearise(high, transfer) - linearise(low, transfer)) / (high - low)
    return float(np.sqrt(np.mean(np.square(slopes))))


def slope_in_light(image: NDArray[Any], transfer: str) -> NDArray[Any]:
    """Return how fast light grows with encoded values: the derivative of `linearise`.

    It is not taken for less than at a fiftieth of white: below that, powers come close to zero, and noise hides images.

    Examples
    --------
    >>> slope_in_light(np.array([0.0, 0.5, 1.0]), "gamma:2.0")
    array([0.04, 1.  , 2.  ])
    """
    values = np.maximum(np.abs(np.asarray(image)), np.asarray(image).dtype.type(_DARK))
    if transfer == "srgb":
        steep = _EXPONENT / (1 + _OFFSET) * ((values + _OFFSET) / (1 + _OFFSET)) ** (_EXPONENT - 1)
        return np.asarray(np.where(values <= _KNEE, values.dtype.type(1 / _SLOPE), steep))
    exponent = _exponent(transfer)
    slope: NDArray[Any] = exponent * values ** (exponent - 1)
    return slope


def check_transfer(transfer: str) -> str:
    """Return the word for a curve if it is one that can be undone."""
    if transfer != "srgb":
        _exponent(transfer)
    return transfer


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
    if not isinstance(transfer, str):
        raise TypeError(f"transfer must be 'linear', 'srgb' or 'gamma:' and a number; got {transfer!r}")
    if transfer == "linear":
        return 1.0
    kind, _, value = transfer.partition(":")
    try:
        exponent = float(value) if kind == "gamma" else 0.0
    except ValueError:
        exponent = 0.0
    if not (math.isfinite(exponent) and 0.1 <= exponent <= 10):
        raise ValueError(f"transfer must be 'linear', 'srgb' or 'gamma:' and a number; got {transfer!r}")
    return exponent


def _odd(image: NDArray[Any], curve: Callable[[NDArray[Any]], NDArray[Any]]) -> NDArray[Any]:
    """Apply a curve for positive values to values of both signs; what is too large for floats ends at the largest."""
    values = np.asarray(image)
    if values.dtype.kind != "f":
        raise TypeError(f"floats on the scale [0, 1] are needed; got an array of {values.dtype}")
    result = np.empty(values.shape, values.dtype)
    source, target, largest = values.reshape(-1), result.reshape(-1), np.finfo(values.dtype).max
    with np.errstate(over="ignore"):
        for first in range(0, source.size, _PIECE):  # large images have no room for what is computed on the way
            piece = slice(first, first + _PIECE)
            light = np.minimum(curve(np.abs(source[piece])), largest)
            np.copysign(light, source[piece], out=target[piece])
    return result
