"""How much noise there is: estimated from the observation alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.ndimage import uniform_filter

from plugplay.arrays.checks import BoolArray, float_image
from plugplay.arrays.masks import mask_for

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["NoiseEstimate", "estimate_noise", "quiet_power"]

_BLOCK = 9
# In pure noise the RMS of the quietest hundredth of all blocks is 0.70 of the noise; in photographs, where only part of
# the blocks are flat, it is between 0.71 and 0.75 for noise from 5/255 to 25/255 (scikit-image's camera, coffee, coins,
# brick, chelsea and astronaut).
_QUIET_SHARE = 0.01
_QUIET_LEVEL = 0.72
_PATCH = 8
_MIN_PATCHES = 4 * _PATCH**2
_MAX_PATCHES = 50_000  # more do not change the estimate
_MIN_SQUARES = 50


@dataclass(frozen=True)
class NoiseEstimate:
    """The standard deviation of white Gaussian noise, as estimated.

    Attributes
    ----------
    sigma : float
        The estimate, on the scale of the image.
    uncertainty : float
        Its standard error, from the scatter among the quarters of the image.
    """

    sigma: float
    uncertainty: float


def estimate_noise(y: ArrayLike, *, mask: BoolArray | None = None) -> NoiseEstimate:
    r"""Estimate the standard deviation of white Gaussian noise in an image.

    Two estimates err on the high side for different reasons, and the smaller one is returned:

    * the **quietest blocks**: after a filter that removes constants and ramps, the RMS of the flattest blocks is that
      of the noise alone; too high if the whole image is textured;
    * the **least eigenvalue** of the covariance of small patches: texture lives in few dimensions, noise in all; too
      high if the image has detail at every frequency.

    Parameters
    ----------
    y : array
        The observation: its noise is white whatever the model, because it comes after blur and sampling.
    mask : array of bool, optional
        True where y was observed; only what lies there is looked at.

    Returns
    -------
    NoiseEstimate
        0 with infinite uncertainty if too little was observed to tell.

    Examples
    --------
    >>> import numpy as np
    >>> image = np.random.default_rng(0).normal(0.5, 0.05, (128, 128))
    >>> abs(estimate_noise(image).sigma - 0.05) < 0.003
    True
    """
    image = float_image(y, "y", finite=mask is None)
    observed = np.ones(image.shape, np.bool_) if mask is None else mask_for(image, mask)
    pixels: NDArray[np.float64] = np.where(observed, image, 0).astype(np.float64)
    if pixels.ndim == 2:
        pixels, observed = pixels[..., None], observed[..., None]
    channels = [_of_channel(pixels[..., c], observed[..., c]) for c in range(pixels.shape[2])]
    known = [sigma for sigma in channels if math.isfinite(sigma)]
    if not known:
        return NoiseEstimate(0.0, math.inf)
    half, middle = pixels.shape[0] // 2, pixels.shape[1] // 2
    quarters = [
        _of_channel(pixels[rows, columns, c], observed[rows, columns, c])
        for rows in (slice(half), slice(half, None))
        for columns in (slice(middle), slice(middle, None))
        for c in range(pixels.shape[2])
    ]
    told = [sigma for sigma in quarters if math.isfinite(sigma)]
    scatter = float(np.std(told, ddof=1)) / math.sqrt(len(told)) if len(told) > 1 else math.inf
    return NoiseEstimate(float(np.median(known)), scatter)


def _of_channel(image: NDArray[np.float64], observed: BoolArray) -> float:
    estimate = min(_from_quiet_blocks(image, observed), _from_patches(image, observed))
    return estimate if math.isfinite(estimate) else _from_lone_pixels(image, observed)


def quiet_power(
    image: NDArray[np.float64], observed: BoolArray | None, *, bins: int = 1
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean brightness and the noise variance of the quietest blocks, for each of several brightnesses.

    Parameters
    ----------
    image : 2-D array
        One channel.
    observed : 2-D array of bool, optional
        True where it was observed; None means everywhere.
    bins : int
        Into how many equal parts the blocks are divided by brightness.

    Returns
    -------
    mean, power : arrays
        Of `bins` elements, or fewer if there are too few blocks for each to have ten.
    """
    if min(image.shape) < 3:
        return np.empty(0), np.empty(0)
    # The second difference along both axes, which white noise of standard deviation 1 leaves with that of 1.
    detail = np.diff(np.diff(image, 2, axis=0), 2, axis=1) / 6
    side = min(_BLOCK, *detail.shape)
    inner = tuple(slice(side // 2, n - (side - 1) // 2) for n in detail.shape)
    power = uniform_filter(np.square(detail), side)[inner].ravel()
    mean = uniform_filter(image[1:-1, 1:-1], side)[inner].ravel() if bins > 1 else np.zeros(power.shape)
    if observed is not None and not observed.all():
        whole = _whole_windows(observed, side + 2).ravel()
        power, mean = power[whole], mean[whole]
    if not power.size:
        return np.empty(0), np.empty(0)
    bins = max(1, min(bins, power.size // 10))
    parts = [np.arange(power.size)] if bins == 1 else np.array_split(np.argsort(mean, kind="stable"), bins)
    levels = [max(0.0, float(np.quantile(power[part], _QUIET_SHARE))) / _QUIET_LEVEL**2 for part in parts]
    return np.array([mean[part].mean() for part in parts]), np.array(levels)


def _from_quiet_blocks(image: NDArray[np.float64], observed: BoolArray) -> float:
    power = quiet_power(image, observed)[1]
    return math.sqrt(power[0]) if power.size else math.inf


def _from_patches(image: NDArray[np.float64], observed: BoolArray) -> float:
    if min(image.shape) < _PATCH:
        return math.inf
    windows = np.lib.stride_tricks.sliding_window_view(image, (_PATCH, _PATCH))
    usable = np.flatnonzero(_whole_windows(observed, _PATCH))
    if usable.size < _MIN_PATCHES:
        return math.inf
    some = usable[:: max(1, usable.size // _MAX_PATCHES)]
    rows, columns = np.unravel_index(some, windows.shape[:2])
    patches = windows[rows, columns].reshape(-1, _PATCH**2)
    patches = patches - patches.mean(axis=0)
    least = float(np.linalg.eigvalsh(patches.T @ patches / len(patches))[0])
    # The least of d sample eigenvalues of N vectors of noise is about (1 - sqrt(d/N))² too small.
    shrinkage = 1 - math.sqrt(_PATCH**2 / len(patches))
    return math.sqrt(max(0.0, least)) / shrinkage


def _from_lone_pixels(image: NDArray[np.float64], observed: BoolArray) -> float:
    """Estimate from squares of four pixels, the most that scattered observations offer."""
    if min(image.shape) < 2:
        return math.inf
    detail = np.diff(np.diff(image, axis=0), axis=1) / 2
    sizes = np.abs(detail[_whole_windows(observed, 2)])
    # A low quantile, because flat places have the smallest differences.
    return float(np.quantile(sizes, 0.2)) / 0.2533 if sizes.size >= _MIN_SQUARES else math.inf


def _whole_windows(observed: BoolArray, side: int) -> BoolArray:
    """Tell for every window of `side` pixels whether all of it was observed."""
    counts = np.pad(observed.astype(np.int64).cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))
    inside = counts[side:, side:] - counts[:-side, side:] - counts[side:, :-side] + counts[:-side, :-side]
    return np.asarray(inside == side**2)
