r"""What saturated stars hide: their cores, from what lies around them.

A pixel that has saturated only tells that it is at least as bright. But a star is a point, and what its surroundings
show of the point-spread function tells how bright it is. Around each saturated place, brightness F, place p and level b
of

.. math:: t = b + F\, h(\cdot - p)

are fitted to the pixels near it that have not saturated, each weighted with its noise, and the saturated ones take the
values of the fit, as measurements of stars do. What is no single star is not explained that way, and is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import ndimage, optimize

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay.arrays.checks import BoolArray, FloatArray

__all__ = ["completed"]

# How far around a saturated place pixels are looked at.
RING = 4
# A fit explains a star if what is left is less than this share of what it explains, and if the saturated pixels are as
# bright as they must be.
MAX_LEFT, MIN_CORE = 0.15, 0.9
MIN_PIXELS = 12


def completed(
    y: FloatArray, mask: BoolArray, full: BoolArray, kernel: NDArray[np.float64], tau: float
) -> tuple[FloatArray, BoolArray]:
    """Return the observation with the cores of saturated stars, and where they are.

    Parameters
    ----------
    y, mask : arrays
        The observation above its sky in units of the sky's noise, 2-D, and which of it counts.
    full : array of bool
        Where it has saturated, with what is spoilt around.
    kernel : array
        The point-spread function.
    tau : float
        The brightness at which a star's photons add as much noise as the sky has.

    Examples
    --------
    >>> import numpy as np, plugplay as pp
    >>> psf = pp.kernels.gaussian(15, sigma=2.0)
    >>> y = np.zeros((21, 21))
    >>> y[3:18, 3:18] = 5000 * psf
    >>> full = y > 100
    >>> found, where = completed(np.minimum(y, 100), y >= 0, full, psf, 10.0)
    >>> bool(where.sum() == full.sum()), bool(np.allclose(found, y, rtol=1e-3, atol=0.1))
    (True, True)
    """
    filled = y.copy()
    found = np.zeros(y.shape, np.bool_)
    if y.ndim != 2:
        return filled, found
    places, _ = ndimage.label(full, np.ones((3, 3)))
    splines = ndimage.spline_filter(np.pad(kernel, 2), order=3)
    for number, around in enumerate(ndimage.find_objects(places), start=1):
        window = tuple(slice(max(s.start - RING, 0), s.stop + RING) for s in around)
        core = places[window] == number
        near = ndimage.binary_dilation(core, np.ones((3, 3)), iterations=RING)
        used = near & mask[window] & ~full[window]
        star = _star(y[window].astype(np.float64), core, used, splines, kernel.shape, tau)
        if star is not None:
            filled[window][core] = np.maximum(star, y[window])[core].astype(y.dtype)
            found[window] |= core
    return filled, found


def _star(
    y: NDArray[np.float64],
    core: BoolArray,
    used: BoolArray,
    splines: NDArray[np.float64],
    shape: tuple[int, ...],
    tau: float,
) -> NDArray[np.float64] | None:
    """Return what a single star makes of a window; None if it does not explain what lies around the core."""
    if np.count_nonzero(used) < MIN_PIXELS:
        return None
    rows, columns = np.indices(y.shape).astype(np.float64)
    weight = 1 / np.sqrt(1 + np.maximum(y[used], 0) / tau)

    def light(place: NDArray[np.float64]) -> NDArray[np.float64]:
        at = (rows - place[0] + shape[0] // 2 + 2, columns - place[1] + shape[1] // 2 + 2)
        return np.asarray(ndimage.map_coordinates(splines, at, order=3, prefilter=False))

    def brightness(place: NDArray[np.float64]) -> NDArray[np.float64]:
        columns_of = np.stack([light(place)[used], np.ones(weight.size)], axis=1) * weight[:, None]
        return np.asarray(np.linalg.lstsq(columns_of, y[used] * weight, rcond=None)[0])

    def left(place: NDArray[np.float64]) -> NDArray[np.float64]:
        flux, level = brightness(place)
        return np.asarray((flux * light(place)[used] + level - y[used]) * weight)

    middle = np.array(ndimage.center_of_mass(core))
    place = optimize.least_squares(left, middle, method="lm", x_scale=0.5, max_nfev=60).x
    flux, level = brightness(place)
    star = flux * light(place) + level
    explained = np.abs(left(place)).sum() < MAX_LEFT * np.abs((star - level)[used] * weight).sum()
    bright = np.median(star[core]) > MIN_CORE * np.median(y[core])
    return star if flux > 0 and explained and bright and np.abs(place - middle).max() < 2 else None
