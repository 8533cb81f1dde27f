r"""The quietest blocks of an image, and their noise at each frequency.

A photograph has flat places, in which there is only noise. But the blocks of least power are those where the noise
happens to be low. So the 63 frequencies of a block are divided like a chessboard: the blocks are ordered by the power
of the black frequencies and measured on the white ones, and vice versa. The noise of different frequencies is
independent, hence the measurement is unbiased whatever share of the blocks is taken. The growth of the power with that
share distinguishes noise from texture: it does not grow as long as there are flat blocks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plugplay.noise.blocks import FREQUENCY, SIDE
from plugplay.noise.compression import Rounding

__all__ = ["BLACK", "HIGH", "MIDDLE", "SHARES", "Plane", "Quiet", "growth", "judge", "quiet_power"]

SHARES = (0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32)
_TYPICAL = 2  # the share whose median is kept
_MIN_BLOCKS = 32
BLACK = np.add.outer(np.arange(SIDE), np.arange(SIDE)).ravel() % 2 == 0
DC = FREQUENCY == 0
LOWEST = FREQUENCY < 0.25
LOW = (FREQUENCY >= 0.25) & (FREQUENCY < 0.5)
MIDDLE = (FREQUENCY >= 0.5) & (FREQUENCY < 0.75)
HIGH = FREQUENCY >= 0.75
# The constants below were chosen on the images that benchmarks/noise.py marks "fit".
_CLIMB = 0.02  # more blocks are taken as long as their power is not higher than this
_MAX_RISE = 1.6  # of coloured noise towards the lowest frequencies
_TEXTURE = 0.04  # growth of middle frequencies from which on they are not believed to be noise
_LOG_RATIO, _LOG_RATIO_WIDTH = 0.35, 0.1  # of middle to high frequencies, from which on noise is coloured
_MAX_RATIO, _MAX_STEEPNESS = 20.0, 6.0
_WEAKEST, _TEXTURED_RATIO = 12, 1.8
_LEFT, _MAX_FALL = 0.3, 0.6
# Parts of the relative uncertainty.
_FLOOR, _COLOUR_FLOOR = 0.025, 0.03
_JPEG_FLOOR, _JPEG_COLOUR_FLOOR = 0.04, 0.06
_GROWTH_WEIGHT, _CHANCE_GROWTH = 3.0, 0.025  # the latter is what white noise shows in small images
_TAIL_WEIGHT = 0.5
_GAUSSIAN_MEDIAN = 0.4549  # median over mean of the square of a Gaussian


@dataclass(frozen=True, eq=False)
class Quiet:
    """The power of the quietest blocks, for each of `SHARES` of all blocks.

    Attributes
    ----------
    mean : array of shape (shares, planes, 64)
        Mean square of each coefficient.
    median : array of shape (planes, 64)
        For one share, the median of the square, times what makes it equal to the mean if the coefficient is Gaussian.
    chosen : array of int of shape (shares,)
        The number of blocks of each share.
    telling, bounding : arrays of shape (shares, planes)
        How many coefficients of high frequency determine the power, and its upper bound.
    distinct : float
        The share of them that would remain without overlap.
    """

    mean: NDArray[np.float64]
    median: NDArray[np.float64]
    chosen: NDArray[np.int64]
    telling: NDArray[np.float64]
    bounding: NDArray[np.float64]
    distinct: float


def quiet_power(coefficients: NDArray[np.float64], distinct: float, rounding: Rounding | None = None) -> Quiet:
    """Measure the quietest of blocks whose coefficients are an array of shape (N, planes, 64).

    If they were rounded, `mean` is that of the noise before.
    """
    count = len(coefficients)
    chosen = np.array([min(count, max(int(share * count), _MIN_BLOCKS)) for share in SHARES])
    # Black before white: slices instead of copies.
    power = np.square(coefficients[:, :, np.argsort(~BLACK, kind="stable")])
    halves = (slice(0, BLACK.sum()), slice(BLACK.sum(), None))
    mean, median = np.zeros((2, len(SHARES), *power.shape[1:]))
    for seen, measured, target in ((halves[0], halves[1], ~BLACK), (halves[1], halves[0], BLACK)):
        # Planes count in proportion to their own quiet power, lest the noisiest alone decides what is quiet. The mean
        # of a block was taken out, so its first coefficient adds nothing.
        size = power[:, :, seen].sum(axis=2)
        size = (size / np.maximum(np.quantile(size, 0.05, axis=0), 1e-300)).sum(axis=1)
        order = np.argsort(size, kind="stable")[: chosen[-1]]
        some = power[order, :, measured]
        for k, number in enumerate(chosen):
            mean[k][:, target] = some[:number].mean(axis=0)
            median[k][:, target] = np.median(some[:number], axis=0) / _GAUSSIAN_MEDIAN if k == _TYPICAL else 0.0
    telling = bounding = np.tile(np.count_nonzero(HIGH) * 1.0 * chosen[:, None], power.shape[1])
    if rounding is not None:
        mean, *numbers = rounding.undone(mean, chosen)
        telling, bounding = (number[:, :, HIGH].sum(axis=2) for number in numbers)
    return Quiet(mean, median[_TYPICAL], chosen, telling, bounding, distinct)


@dataclass(frozen=True, eq=False)
class Plane:
    """The noise of one plane.

    Attributes
    ----------
    power : float
        Its variance.
    relative : float
        The standard error of its standard deviation, as a share of it.
    above : float
        The same for errors above the level; different from `relative` in JPEG files, where the level may be a bound.
    coloured : float
        0 for white noise, 1 for coloured noise, or in between.
    textured : float
        The growth of the power of the quietest blocks with their number, as an exponent.
    ratio : float
        Power at middle frequencies over that at high ones.
    spectrum : array of shape (64,)
        The power of each coefficient, from which `power` is made if the noise is coloured.
    """

    power: float
    relative: float
    above: float
    coloured: float
    textured: float
    ratio: float
    spectrum: NDArray[np.float64]


def growth(power: NDArray[np.float64], chosen: NDArray[np.int64], *, reach: float) -> float:
    """Return the exponent with which the amplitude grows over `reach` times more blocks, where it grows least."""
    slopes = []
    for k in range(len(chosen)):
        larger = np.flatnonzero(chosen >= 0.9 * reach * chosen[k])
        if larger.size and (k == 0 or chosen[k] > chosen[k - 1]):
            change = math.log(power[larger[0]] / power[k])
            slopes.append(0.5 * change / math.log(chosen[larger[0]] / chosen[k]))
    if not slopes:
        change = math.log(power[-1] / power[0])
        slopes.append(0.5 * change / math.log(max(chosen[-1] / chosen[0], 1.5)))
    return max(0.0, min(slopes[:3]))


def judge(quiet: Quiet, plane: int, *, gridded: bool = False) -> Plane:
    """Distinguish noise from texture, and white noise from coloured."""
    mean, chosen = quiet.mean[:, plane], quiet.chosen
    if mean[-1, HIGH].mean() <= 0:
        return Plane(0.0, 0.0, 0.0, 0.0, 0.0, 1.0, np.zeros(SIDE**2))
    # The quietest blocks of a clean image may have no power at all; ratios and logarithms need some.
    mean = np.maximum(mean, 1e-9 * mean[-1].mean())
    high = mean[:, HIGH].mean(axis=1)
    k = 1
    while k + 2 < len(SHARES) and high[k + 1] <= (1 + _CLIMB) * high[1]:
        k += 1
    # The spectrum is that of the blocks whose middle frequencies do not grow either.
    middle = mean[:, MIDDLE].mean(axis=1)
    m = 1
    while m < k and middle[m + 1] <= (1 + _CLIMB) * middle[1]:
        m += 1
    spectrum = mean[m].copy()
    # The lowest frequencies hold the image's own slopes, even in flat places.
    spectrum[LOWEST] = np.minimum(spectrum[LOWEST], _MAX_RISE * spectrum[LOW].mean())
    spectrum[DC] = spectrum[LOWEST & ~DC].mean()
    level, total = float(high[k]), float(spectrum.mean())
    ratio = float(middle[m]) / float(high[m])
    texture = growth(middle, chosen, reach=2)
    # Noise with hardly any high frequencies went through the lens: it belongs to the scene and not to the camera. What
    # falls that steeply from low to middle ones is the texture of fingerprints and ripples.
    steepness = float(mean[m, LOW].mean() / middle[m])
    plateau = 1 / (1 + (texture / _TEXTURE) ** 4)
    plateau /= (1 + (ratio / _MAX_RATIO) ** 8) * (1 + (steepness / _MAX_STEEPNESS) ** 8)
    coloured = plateau / (1 + math.exp(-(math.log(ratio) - _LOG_RATIO) / _LOG_RATIO_WIDTH))
    # Where everything is texture, the weakest of the high frequencies have least of it.
    weakest = float(np.sort(mean[k, HIGH])[:_WEAKEST].mean())
    textured = (1 - coloured) / (1 + (_TEXTURED_RATIO / ratio) ** 8)
    excess = 0.5 * textured * math.log(level / weakest)
    level *= math.exp(-2 * excess)
    # Texture falls with the frequency, but does not end.
    fall = (1 - coloured) * (1 - textured) * min(max(0.0, ratio - 1), _MAX_FALL)
    level *= 1 - _LEFT * fall
    doubt = 4 * coloured * (1 - coloured) * 0.5 * abs(math.log(total / level))
    # What lies on the lattice of a JPEG file is not Gaussian, whatever the noise was.
    middling = max(float(quiet.median[plane, HIGH].mean()), 1e-3 * high[_TYPICAL])
    tails = 0.0 if gridded else max(0.0, 0.5 * math.log(high[_TYPICAL] / middling))
    fine_texture = growth(high, chosen, reach=4)
    # In a small image the quietest blocks are a large part of all, and less likely to be flat.
    fewness = 1 + math.log(max(1.0, chosen[1] / chosen[-1] * SHARES[-1] / SHARES[1]))
    doubts = math.hypot(
        _FLOOR + _COLOUR_FLOOR * fewness * coloured,
        (_JPEG_FLOOR + _JPEG_COLOUR_FLOOR * coloured) if gridded else 0.0,
        _GROWTH_WEIGHT * fewness * (fine_texture + 5 * max(0.0, fine_texture - _CHANCE_GROWTH)),
        _TAIL_WEIGHT * tails,
        doubt,
        excess,
    )
    numbers = (
        max(1.0, float(some[k, plane]) * min(1.0, 2 * quiet.distinct)) for some in (quiet.telling, quiet.bounding)
    )
    relative, above = (min(1.0, math.hypot(doubts, 1.5 / math.sqrt(2 * number))) for number in numbers)
    return Plane(level + coloured * (total - level), relative, above, coloured, fine_texture, ratio, spectrum)
