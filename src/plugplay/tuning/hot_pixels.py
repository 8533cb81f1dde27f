r"""Hot pixels and dust in a blurred image: single pixels that are brighter than the blur allows.

A bright point that went through a blur brightens its neighbours, too. If h is the kernel, x is nowhere darker than b,
and N(p) are the eight neighbours of a pixel p,

.. math:: \sum_{q \in N(p)} (y_q - b) \ge r\,(y_p - b), \qquad r = \min_s \frac{\sum_{q \in N(s)} h_q}{h_s},

with the minimum over the support of h. A pixel for which the left side is less than half of the right one, by more than
noise, was not there before the blur. If it is taken for data, a restoration sharpens it into a dot with a black halo,
and takes the rest of what it cannot explain for noise.

A star is no such pixel, even if it is sharper than the kernel says: it brightens its neighbours by more than a tenth.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import ndimage

from plugplay.arrays.outliers import far_from_all_others
from plugplay.models.description import takes_mask
from plugplay.tuning.spectra import taps_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay.arrays.checks import BoolArray, FloatArray
    from plugplay.models.base import Model
    from plugplay.traits import Traits

__all__ = ["hot_pixels", "where_hot"]

# Taps below this share of the largest one belong to tails, of which hardly anything is seen beside the core.
MIN_TAP, MAX_NEGATIVE = 0.05, 0.01
# A kernel that may leave a pixel with less light beside it allows single pixels.
MIN_RATIO = 1.0
# The share of the bound below which the neighbours must be; and the largest share of the pixel's height by which they
# may stand out themselves.
MARGIN, MAX_BESIDE = 0.5, 0.1
# Limits of the height, in standard deviations of the noise at that brightness, and as a share of the range.
DEVIATIONS, MIN_HEIGHT = 8.0, 0.02
# Larger places are no single pixels, and what is more frequent is no exception: the kernel may be too wide.
MAX_PIXELS, MAX_SHARE = 3, 0.01
# Groups of pixels of similar brightness, in which the noise is measured by these quantiles; and those of a normal
# number.
GROUPS = 16
QUANTILES, NORMAL_QUANTILES = (0.95, 0.99), (1.96, 2.576)
# Only pixels that stand out by this multiple of the usual difference are looked at closely, so many at a time, unless
# they are this share of the image; and about so many pixels tell the noise.
COMMON, BLOCK, MAX_CANDIDATES, SAMPLES = 4.0, 100_000, 0.05, 60_000
# The sides of the neighbourhood and of its surroundings.
BESIDE, AROUND = 3, 7
MAX_NAMED = 3


def hot_pixels(y: FloatArray, model: Model, traits: Traits) -> BoolArray | None:
    """Return where pixels are brighter than the blur allows; None if there are none.

    Parameters
    ----------
    y : array
        The observation, ``(H, W)`` or ``(H, W, C)``, on the working scale.
    model, traits : Model, Traits
        The model and its traits; only convolutions of 2-D images without missing pixels can be judged.

    Examples
    --------
    >>> import numpy as np, plugplay as pp
    >>> blur = pp.models.Deblurring(pp.kernels.gaussian(9, sigma=1.5), boundary="unknown")
    >>> y = blur.simulate(np.random.default_rng(0).random((72, 72)) / 2, noise=0.01, rng=0)
    >>> hot_pixels(y, blur, blur.traits(y)) is None
    True
    >>> y[20, 30] += 0.5
    >>> where_hot(hot_pixels(y, blur, blur.traits(y)), y)[0].partition(":")[0]
    '1 pixel is brighter than the blur allows beside its neighbours (row 20, column 30)'
    """
    if traits.spectrum is None or traits.pointwise or traits.decimation > 1 or traits.observed is not None:
        return None
    if traits.spatial_ndim != 2 or traits.observes != "intensities" or not takes_mask(model):
        return None
    taps = taps_of(traits.spectrum)
    ratio, reach = _bound(taps)
    if ratio < MIN_RATIO or min(y.shape[:2]) < 2 * AROUND:
        return None
    channels = [y] if y.ndim == 2 else [y[..., channel] for channel in range(y.shape[-1])]
    found = np.logical_or.reduce(
        [_hot(np.ascontiguousarray(channel, np.float32), ratio, reach) for channel in channels]
    )
    places, count = ndimage.label(found, np.ones((3, 3)))
    sizes = np.bincount(places.ravel(), minlength=count + 1)
    found &= sizes[places] <= MAX_PIXELS
    return found if 0 < found.mean() <= MAX_SHARE else None


def where_hot(found: BoolArray | None, y: NDArray[Any]) -> tuple[str, ...]:
    """Return a warning that says which pixels of y count as missing, if there are any."""
    if found is None or not found.any():
        return ()
    far = "".join(f"{text.partition(': ')[0]}; " for text in far_from_all_others(y, None))
    places = np.argwhere(found)
    named = " and ".join(f"row {row}, column {column}" for row, column in places[:MAX_NAMED])
    if len(places) == 1:
        return (
            f"{far}1 pixel is brighter than the blur allows beside its neighbours ({named}): it counts as missing, as "
            "a hot pixel does",
        )
    named = f"such as {named}" if len(places) > MAX_NAMED else named
    return (
        f"{far}{len(places)} pixels are brighter than the blur allows beside their neighbours ({named}): they count as "
        "missing, as hot pixels do",
    )


def _bound(taps: NDArray[np.float64]) -> tuple[float, int]:
    """Return r, and the width of the kernel without its tails; 0 if some of the kernel is negative."""
    largest = float(taps.max())
    if float(taps.min()) < -MAX_NEGATIVE * largest:
        return 0.0, 0
    kernel = np.pad(np.maximum(taps, 0), 1)
    beside = ndimage.convolve(kernel, _ring(BESIDE), mode="constant")
    core = kernel >= MIN_TAP * largest
    width = int(max(np.ptp(np.flatnonzero(core.any(axis=axis))) for axis in (0, 1))) + 1
    return float(np.min(beside[core] / kernel[core])), width


def _hot(y: NDArray[np.float32], ratio: float, reach: int) -> BoolArray:
    darkest = ndimage.minimum_filter(y, max(reach, AROUND), mode="mirror")
    mean = (9 * ndimage.uniform_filter(y, BESIDE, mode="mirror") - y) / 8
    excess = MARGIN * ratio * (y - darkest) - 8 * (mean - darkest)
    height = y - mean
    tall = max(MIN_HEIGHT, COMMON * float(np.median(np.abs(height[::3, ::3]))))
    found: BoolArray = (excess > 0) & (height > tall)
    count = np.count_nonzero(found)
    if count == 0 or count > MAX_CANDIDATES * y.size:  # as in nearly all images
        return np.zeros(y.shape, np.bool_)
    places = np.nonzero(found)
    beside, around = _medians(y, places)
    alone = beside - around <= MAX_BESIDE * (y[places] - around)
    step = max(1, math.isqrt(y.size // SAMPLES))
    sample = tuple(each.ravel() for each in np.meshgrid(*(np.arange(0, n, step) for n in y.shape), indexing="ij"))
    level = _medians(y, sample)[0]
    spread = math.sqrt((MARGIN * ratio) ** 2 + 8)
    found[places] = alone & (excess[places] > DEVIATIONS * spread * _noise(y[sample] - level, level, beside))
    return found


def _medians(y: NDArray[np.float32], places: tuple[Any, ...]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the medians of the eight neighbours of some pixels, and of their surroundings."""
    half, inner = AROUND // 2, slice((AROUND - BESIDE) // 2, (AROUND + BESIDE) // 2)
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(y, half, mode="reflect"), (AROUND, AROUND))
    beside, around = np.empty(len(places[0])), np.empty(len(places[0]))
    for first in range(0, beside.size, BLOCK):
        some = slice(first, first + BLOCK)
        pixels = windows[tuple(axis[some] for axis in places)]
        near = pixels[:, inner, inner].reshape(len(pixels), -1)
        beside[some] = np.median(np.delete(near, BESIDE**2 // 2, axis=1), axis=1)
        around[some] = np.median(pixels.reshape(len(pixels), -1), axis=1)
    return beside, around


def _noise(
    heights: NDArray[np.float64], levels: NDArray[np.float64], wanted: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the standard deviation of the noise where the brightness is as `wanted`, from a sample."""
    edges = np.quantile(levels, np.linspace(0, 1, GROUPS + 1)[1:-1])
    group, noise = np.searchsorted(edges, levels), np.zeros(GROUPS)
    for number in range(GROUPS):
        some = np.abs(heights[group == number])
        if some.size:
            noise[number] = np.max(np.quantile(some, QUANTILES) / NORMAL_QUANTILES)
    return np.asarray(noise[np.searchsorted(edges, wanted)])


def _ring(side: int) -> NDArray[np.float64]:
    """Return ones around a zero."""
    ring = np.ones((side, side))
    ring[side // 2, side // 2] = 0
    return ring
