"""The sky of an exposure: its level and noise, and how far the brightest stars are above it."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plugplay.arrays.checks import BoolArray

__all__ = ["Sky", "find_sky"]

# The sky is looked for in tiles of about so many pixels along each side, by the median of what is left after cutting
# off what is further from it than so many standard deviations.
TILE = 32
CUT = 3.0
ROUNDS = 6
MIN_TILE = 64  # observed pixels
# An image has a sky if at least this share of its pixels is sky: noise alone, in their tile.
MIN_SHARE = 0.5
# So many of the brightest pixels may be cosmic rays or hot pixels.
MAX_ODD = 4


@dataclass(frozen=True)
class Sky:
    """The sky of an exposure, in the unit of the image.

    Attributes
    ----------
    level : float
        Its brightness.
    darkest : float
        Its brightness in the darkest part of the image.
    noise : float
        The noise of one of its pixels.
    contrast : float
        How far the brightest pixels are above the level, in units of the noise.
    share : float
        Which share of the image is sky.
    """

    level: float
    darkest: float
    noise: float
    contrast: float
    share: float


def find_sky(y: NDArray[np.floating], noise: float, *, mask: BoolArray | None = None) -> Sky | None:
    """Find the sky of an image, whose noise is known; None if it has none.

    Parameters
    ----------
    y : array
        The image; the first two axes are spatial.
    noise : float
        The noise of a dark pixel.
    mask : array of bool, optional
        True where it was observed.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.random.default_rng(0).normal(50, 2, (64, 64))
    >>> y[30:33, 30:33] = 2000
    >>> sky = find_sky(y, 2.0)
    >>> round(sky.level), round(sky.contrast)
    (50, 975)
    """
    observed = np.isfinite(y) if mask is None else mask & np.isfinite(y)
    if not noise > 0 or np.count_nonzero(observed) < MIN_TILE:
        return None
    levels, dark = [], 0
    for rows in _parts(y.shape[0]):
        for columns in _parts(y.shape[1]):
            values = y[rows, columns][observed[rows, columns]].astype(np.float64)
            if values.size < MIN_TILE:
                continue
            level = _level(values, noise)
            levels.append(level)
            dark += int(np.count_nonzero(np.abs(values - level) <= CUT * noise))
    share = dark / np.count_nonzero(observed)
    if not levels or share < MIN_SHARE:
        return None
    seen = y[observed].astype(np.float64)
    place = max(0, seen.size - 1 - MAX_ODD)
    brightest = float(np.partition(seen, place)[place])
    level = float(np.median(levels))
    return Sky(level, min(levels), noise, (brightest - level) / noise, share)


def _parts(length: int) -> list[slice]:
    edges = np.linspace(0, length, max(1, round(length / TILE)) + 1).astype(int)
    return [slice(int(first), int(last)) for first, last in itertools.pairwise(edges)]


def _level(values: NDArray[np.float64], noise: float) -> float:
    """Return the level of the darker of the pixels: begun below the median, as everything else is brighter."""
    level = float(np.quantile(values, 0.3, method="nearest"))
    for _ in range(ROUNDS):
        level = (
            float(np.median(values[np.abs(values - level) <= CUT * noise], keepdims=False)) if values.size else level
        )
    return level
