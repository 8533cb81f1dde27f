"""The variance of the noise at several brightnesses, and which of these measurements are reliable.

The blocks of an image are divided by brightness, and the quietest blocks of each part give a variance. If a part has no
flat places, it measures texture, which is stronger at middle frequencies than at high ones, or differs from block to
block by more than white noise does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plugplay.arrays.checks import BoolArray, frozen
from plugplay.noise.blocks import Blocks
from plugplay.noise.quiet import BLACK, HIGH, MIDDLE

__all__ = ["Brightness", "Powers", "Variance", "brightness_of"]

# The variance of the noise as a function of the brightness.
Variance = Callable[[NDArray[np.float64]], NDArray[np.float64]]

_MAX_BINS = 16  # of equally many blocks; those that span more of the range than its share are divided again
_MIN_BLOCKS = 40  # in each bin
_SHARE = 0.04  # of quiet blocks
_MIN_QUIET = 32
_MAX_CLIPPED = 0.02
_CLEAR_OF_CLIPPING = 3.0  # standard deviations
# For white noise, the ratio of middle to high frequencies and the dispersion are 1; and how many standard errors may be
# chance.
_MAX_RATIO, _MAX_DISPERSION = 1.25, 1.5
_CHANCE = 2.0
_COUNT = np.array([[np.count_nonzero(colour & part) for colour in (BLACK, ~BLACK)] for part in (MIDDLE, HIGH)])


@dataclass(frozen=True, eq=False)
class Brightness:
    """Measurements at several brightnesses, of all channels one after another.

    Attributes
    ----------
    levels, variances : arrays
        The brightness of the quiet blocks of each part, and their variance.
    errors : array
        The relative standard error of the variance, from the number of blocks alone.
    white : array of bool
        Whether the part shows white noise and not texture.
    """

    levels: NDArray[np.float64]
    variances: NDArray[np.float64]
    errors: NDArray[np.float64]
    white: BoolArray


def brightness_of(blocks: Blocks, powers: list[Powers], variance: Variance | None = None) -> Brightness:
    """Measure the blocks of an image; `powers` are those of its channels.

    `variance`, if it is roughly known, helps to avoid clipped blocks.
    """
    parts = [
        _part(powers[c], blocks.means[:, c], part, blocks.distinct, variance)
        for c in range(blocks.means.shape[1])
        for part in _bins(blocks.means[:, c], np.flatnonzero(_clear(blocks, c, variance)))
    ]
    found = np.array(parts).reshape(-1, 4)
    found = found[found[:, 1] > 0]
    levels, variances, errors, white = (frozen(column) for column in found.T)
    return Brightness(levels, variances, errors, white > 0)


def _clear(blocks: Blocks, channel: int, variance: Variance | None) -> BoolArray:
    """Return which blocks are not affected by clipping."""
    mean, clipped = blocks.means[:, channel], blocks.clipped[:, channel]
    if variance is None:
        return np.asarray(clipped <= _MAX_CLIPPED)
    margin = _CLEAR_OF_CLIPPING * np.sqrt(variance(mean))
    # Counts of photons end at 0, where a mean close to the least value is no sign of clipping.
    dark = (mean - blocks.low[channel] > margin) | (clipped == 0)
    return np.asarray(dark & (blocks.high[channel] - mean > margin) & (clipped < 0.2))


def _bins(mean: NDArray[np.float64], clear: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Divide blocks by brightness, in order, so that a few dark places among many bright ones get their own parts."""
    ordered = clear[np.argsort(mean[clear], kind="stable")]
    number = min(_MAX_BINS, ordered.size // _MIN_BLOCKS)
    if not number:
        return []
    width = (mean[ordered[-1]] - mean[ordered[0]]) / _MAX_BINS
    parts, todo = [], list(np.array_split(ordered, number))[::-1]
    while todo:
        part = todo.pop()
        values = mean[part]
        if part.size < 2 * _MIN_BLOCKS or values[-1] - values[0] <= width:
            parts.append(part)
            continue
        middle = int(np.searchsorted(values, (values[0] + values[-1]) / 2))
        middle = min(max(middle, _MIN_BLOCKS), part.size - _MIN_BLOCKS)
        todo += [part[middle:], part[:middle]]
    return parts


def _part(
    powers: Powers, mean: NDArray[np.float64], part: NDArray[np.intp], distinct: float, variance: Variance | None
) -> tuple[float, float, float, bool]:
    """Return the brightness, the variance, its relative error, and whether it is that of white noise."""
    # Within a part, too, dark places must not count as quiet.
    uneven = np.ones(part.size) if variance is None else variance(mean[part])
    quiet = powers.quiet(part, uneven)
    level = float(mean[part[quiet.order]].mean())
    power = quiet.power * (1.0 if variance is None else float(variance(np.array(level))))
    independent = max(1.0, quiet.order.shape[1] * min(1.0, 2 * distinct))
    error = math.sqrt(2 / (independent * _COUNT[1].sum()))
    ratio_error = math.hypot(error, math.sqrt(2 / (independent * _COUNT[0].sum())))
    white = quiet.ratio < _MAX_RATIO + _CHANCE * ratio_error
    white &= quiet.dispersion < _MAX_DISPERSION + _CHANCE * math.sqrt(1 / independent)
    return level, power, error, white


@dataclass(frozen=True, eq=False)
class _Quiet:
    """The quietest blocks of a part: `order` has those chosen by the black and by the white coefficients."""

    order: NDArray[np.intp]
    power: float
    ratio: float
    dispersion: float


@dataclass(frozen=True, eq=False)
class Powers:
    """The power of blocks, in their black and in their white coefficients.

    Attributes
    ----------
    whole, middle, high : arrays of shape (2, N)
        The sum of all squares, of those with a middle frequency, and with a high one.
    """

    whole: NDArray[np.float64]
    middle: NDArray[np.float64]
    high: NDArray[np.float64]

    @classmethod
    def of_channels(cls, blocks: Blocks) -> list[Powers]:
        """Measure each channel of the blocks of an image."""
        return [cls.of(blocks.coefficients[:, c]) for c in range(blocks.means.shape[1])]

    @classmethod
    def of(cls, coefficients: NDArray[np.float64]) -> Powers:
        """Measure blocks whose coefficients are an array of shape (N, 64)."""
        power = np.square(coefficients)
        colours = (BLACK, ~BLACK)
        # Not by BLAS, whose threads wait for each other on a busy machine.
        return cls(
            *(
                np.stack([np.einsum("nc,c->n", power, (colour & chosen).astype(np.float64)) for colour in colours])
                for chosen in (np.ones_like(BLACK), MIDDLE, HIGH)
            )
        )

    def quiet(self, part: NDArray[np.intp], uneven: NDArray[np.float64]) -> _Quiet:
        """Measure the quietest blocks of a part; `uneven` is the variance of its noise, relative to any level."""
        chosen = min(part.size, max(int(_SHARE * part.size), _MIN_QUIET))
        order = np.stack([np.argsort(self.whole[seen, part] / uneven, kind="stable")[:chosen] for seen in (0, 1)])
        # Blocks chosen by their black coefficients are measured by the white ones, and vice versa.
        middle, high = (
            np.stack([power[1 - seen, part[order[seen]]] / uneven[order[seen]] for seen in (0, 1)])
            for power in (self.middle, self.high)
        )
        power = float(high.sum()) / (chosen * _COUNT[1].sum())
        ratio = float(middle.sum()) / (chosen * _COUNT[0].sum()) / max(power, 1e-300)
        # The sum of squares of n Gaussian values has a relative variance of 2 / n.
        spread = (high / np.maximum(high.mean(axis=1, keepdims=True), 1e-300)).var(axis=1)
        return _Quiet(order, power, ratio, float(np.mean(spread * _COUNT[1][::-1] / 2)))
