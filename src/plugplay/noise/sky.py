"""The sky of an astronomical exposure: its level and noise, and the contrast of the brightest stars.

Moonlight, vignetting and city light make the sky vary slowly. So it is modelled as a polynomial surface along the
lowest levels of tiles; other tiles contain galaxies and the wings of bright stars.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from plugplay.arrays.checks import BoolArray

__all__ = ["Sky", "Surface", "find_sky"]

# The sky is measured in tiles of about this side, by the median after clipping at this many standard deviations.
TILE = 32
CUT = 3.0
ROUNDS = 6
MIN_TILE = 64  # observed pixels
# The surface has this many coefficients if there are at least so many tiles for each of them; else it is constant.
COEFFICIENTS, MIN_TILES = (6, 3), 3
# What a tile just above the surface weighs, relative to one below it: it may have more than sky. In crowded fields the
# surface is then 0.2 to 0.4 standard deviations of the noise lower than if tiles clearly above it are left out.
WEIGHT_ABOVE, FITS = 0.05, 30
# An image has a sky if at least this share of its pixels is sky: noise alone, in their tile.
MIN_SHARE = 0.5
# This many of the brightest pixels may be cosmic rays or hot pixels.
MAX_ODD = 4


@dataclass(frozen=True)
class Surface:
    """A polynomial of degree 2 at most over the first two axes of an image.

    Attributes
    ----------
    shape : (int, int)
        The lengths of these axes.
    coefficients : tuple of float
        Those of 1, r, c, r², r c and c², or of the first of them; r and c are -1 and 1 at the edges.

    Examples
    --------
    >>> import numpy as np
    >>> Surface((2, 3), (5.0, 2.0)).at(np.arange(-1, 3), np.arange(3))
    array([[2., 2., 2.],
           [4., 4., 4.],
           [6., 6., 6.],
           [8., 8., 8.]])
    """

    shape: tuple[int, int]
    coefficients: tuple[float, ...]

    def at(self, rows: NDArray[np.integer], columns: NDArray[np.integer]) -> NDArray[np.float64]:
        """Return the values where these rows and columns cross, which may lie beyond the image."""
        places = np.broadcast_arrays(rows[:, None], columns[None, :])
        return np.asarray(self.powers(*places) @ np.array(self.coefficients))

    def powers(self, rows: NDArray[np.number], columns: NDArray[np.number]) -> NDArray[np.float64]:
        """Return what the coefficients belong to, along a last axis."""
        r, c = ((2 * at + 1) / length - 1 for at, length in zip((rows, columns), self.shape, strict=True))
        return np.stack([np.ones_like(r), r, c, r**2, r * c, c**2][: len(self.coefficients)], axis=-1)

    def raised(self, more: tuple[float, ...]) -> Surface:
        """Return the surface with a number added to each coefficient."""
        return Surface(self.shape, tuple(a + b for a, b in zip(self.coefficients, more, strict=True)))


@dataclass(frozen=True)
class Sky:
    """The sky of an exposure, in the unit of the image.

    Attributes
    ----------
    surface : Surface
        Its brightness.
    level : float
        The median of the surface.
    dip : float
        How far the darkest part of the sky is below the surface.
    noise : float
        The standard deviation of a pixel's noise.
    contrast : float
        How far the brightest pixels are above the surface, in units of the noise.
    share : float
        The share of the image that is sky.
    """

    surface: Surface
    level: float
    dip: float
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
    surface = Surface((y.shape[0], y.shape[1]), (0.0,))
    first = _levels(y, observed, noise, surface)
    if not first.size:
        return None
    enough = [count for count in COEFFICIENTS if len(first) >= MIN_TILES * count]
    surface = Surface(surface.shape, (0.0,) * max([*enough, 1]))
    surface = surface.raised(_fit(surface, first, noise))
    # Where it slopes, a tile is flat once the slope is known.
    again = _levels(y, observed, noise, surface)
    more = _fit(surface, again, noise)
    share = float(again[:, 3].sum()) / np.count_nonzero(observed)
    if share < MIN_SHARE:
        return None
    surface = surface.raised(more)
    dip = max(0.0, -float(np.min(again[:, 2] - surface.powers(again[:, 0], again[:, 1]) @ np.array(more))))
    base = surface.at(np.arange(y.shape[0]), np.arange(y.shape[1])).reshape(y.shape[:2] + (1,) * (y.ndim - 2))
    above = (y - base)[observed]
    place = max(0, above.size - 1 - MAX_ODD)
    brightest = float(np.partition(above, place)[place])
    return Sky(surface, float(np.median(base)), dip, noise, brightest / noise, share)


def _levels(y: NDArray[np.floating], observed: BoolArray, noise: float, surface: Surface) -> NDArray[np.float64]:
    """Return for each tile its middle, its level above the surface, and how many of its pixels are sky."""
    tiles = []
    for rows, columns in itertools.product(*(tuple(_parts(length)) for length in surface.shape)):
        seen = observed[rows, columns]
        if np.count_nonzero(seen) < MIN_TILE:
            continue
        base = surface.at(*(np.arange(part.start, part.stop) for part in (rows, columns)))
        values = (y[rows, columns] - base.reshape(base.shape + (1,) * (y.ndim - 2)))[seen].astype(np.float64)
        level = _level(values, noise)
        middle = [(part.start + part.stop - 1) / 2 for part in (rows, columns)]
        tiles.append([*middle, level, np.count_nonzero(np.abs(values - level) <= CUT * noise)])
    return np.array(tiles, np.float64).reshape(-1, 4)


def _parts(length: int) -> Iterator[slice]:
    edges = np.linspace(0, length, max(1, round(length / TILE)) + 1).astype(int)
    return (slice(int(first), int(last)) for first, last in itertools.pairwise(edges))


def _level(values: NDArray[np.float64], noise: float) -> float:
    """Return the level of the darker of the pixels: begun below the median, as everything else is brighter."""
    level = float(np.quantile(values, 0.3, method="nearest"))
    for _ in range(ROUNDS):
        level = float(np.median(values[np.abs(values - level) <= CUT * noise]))
    return level


def _fit(surface: Surface, tiles: NDArray[np.float64], noise: float) -> tuple[float, ...]:
    """Return the coefficients of the surface through the levels of tiles, nearly below all of them."""
    powers, levels = surface.powers(tiles[:, 0], tiles[:, 1]), tiles[:, 2]
    if powers.shape[1] == 1:
        return (float(np.median(levels)),)
    weights = np.ones(levels.size)
    found: tuple[float, ...] = ()
    for _ in range(FITS):
        found = tuple(np.linalg.lstsq(powers * weights[:, None], levels * weights, rcond=None)[0].tolist())
        above = np.maximum(levels - powers @ np.array(found), 0) / noise
        weights = np.where(above > 0, np.sqrt(WEIGHT_ABOVE / (1 + np.square(above))), 1.0)
    return found
