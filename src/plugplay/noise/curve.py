r"""How the variance of the noise depends on the brightness, from one image.

Photons give noise of variance :math:`g (x - o) + r^2`: gain g, black level (offset) o, read-out noise r. The blocks of
an image are divided by brightness; in each part the quietest give a variance, and a line through these has the slope
g and the value :math:`r^2 - g\,o` at zero. Texture only ever raises a variance, so the line follows the lower ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plugplay.arrays.checks import BoolArray, frozen
from plugplay.noise.blocks import Blocks, quantisation_step, take_blocks
from plugplay.noise.quiet import HIGH, QuietHigh
from plugplay.noise.stacks import stacked

__all__ = ["NoiseCurve", "curve_of_blocks", "estimate_curve", "grows_with_signal"]

_MAX_BINS = 16
_MIN_BLOCKS = 40  # in each bin
_ROUNDS = 3
_REFITS = 12
_MAX_CLIPPED = 0.02
_CLEAR_OF_CLIPPING = 3.0  # standard deviations
_MIN_SIGNIFICANCE = 4.0
_MIN_NEGATIVE = 3.0
_MIN_CONTRAST = 1.6  # of the variance between dark and bright places
_DARK = 0.002
_SHARE = 0.04  # of quiet blocks


@dataclass(frozen=True, eq=False)
class NoiseCurve:
    r"""The line :math:`\mathrm{var} = g\,y + c` through the noise's variance at several brightnesses.

    Attributes
    ----------
    gain, gain_error : float
        The slope, not negative, and its standard error.
    constant, constant_error : float
        The value at zero, :math:`r^2 - g\,o`, and its standard error.
    dark : float
        The brightness of the darkest places.
    levels, variances : arrays
        What the line was fitted to.
    """

    gain: float
    gain_error: float
    constant: float
    constant_error: float
    dark: float
    levels: NDArray[np.float64]
    variances: NDArray[np.float64]

    @property
    def offset(self) -> float:
        """The black level: 0, or the brightness of the darkest places if the line is clearly negative at 0."""
        if self.gain <= 0 or self.constant >= 0:
            return 0.0
        zero = -self.constant / self.gain
        return max(self.dark, zero) if self.constant < -_MIN_NEGATIVE * self.constant_error else zero

    @property
    def read(self) -> float:
        """Standard deviation of the read-out noise."""
        return math.sqrt(max(0.0, self.constant + self.gain * self.offset))

    @property
    def grows(self) -> bool:
        """Whether the noise depends on the signal so clearly that one level does not describe it."""
        low, high = self.variance(np.quantile(self.levels, [0.05, 0.95]))
        return self.gain > _MIN_SIGNIFICANCE * self.gain_error and bool(high > _MIN_CONTRAST * low)

    def variance(self, level: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the variance at some brightness, above 0."""
        least = 0.1 * float(np.min(self.variances))
        return np.asarray(np.maximum(self.gain * level + self.constant, max(least, 1e-300)))


def estimate_curve(y: ArrayLike, *, mask: BoolArray | None = None, spatial_ndim: int = 2) -> NoiseCurve | None:
    """Estimate how the noise depends on the brightness; None if too little was observed.

    Parameters
    ----------
    y : array
        The observation, ``(H, W)`` or ``(H, W, C)``, in any unit: counts are fine.
    mask : array of bool, optional
        True where it was observed.
    spatial_ndim : int
        3 for volumes.

    Examples
    --------
    >>> import numpy as np
    >>> ramp = np.linspace(10, 200, 256) * np.ones((256, 1))
    >>> curve = estimate_curve(np.random.default_rng(0).poisson(ramp).astype(float))
    >>> abs(curve.gain - 1) < 0.1, curve.grows
    (True, True)
    """
    stack, observed = stacked(y, mask, spatial_ndim)
    blocks = take_blocks(stack, observed, step=quantisation_step(stack, observed))
    return None if blocks is None else curve_of_blocks(blocks)


def grows_with_signal(y: ArrayLike, *, mask: BoolArray | None = None, spatial_ndim: int = 2) -> bool:
    """Tell whether the noise depends on the signal, as that of photons does.

    Examples
    --------
    >>> import numpy as np
    >>> rng, ramp = np.random.default_rng(0), np.linspace(10, 200, 256) * np.ones((256, 1))
    >>> grows_with_signal(rng.poisson(ramp).astype(float)), grows_with_signal(rng.normal(ramp, 8))
    (True, False)
    """
    curve = estimate_curve(y, mask=mask, spatial_ndim=spatial_ndim)
    return curve is not None and curve.grows


def curve_of_blocks(blocks: Blocks) -> NoiseCurve | None:
    """Fit the line to the blocks of an image, all channels together; None if there are too few."""
    curve = None
    quiet = [QuietHigh.of(blocks.coefficients[:, c]) for c in range(blocks.means.shape[1])]
    for _ in range(_ROUNDS):  # again without what the first fit shows to be too close to clipping
        levels, variances, weights = _points(blocks, quiet, curve)
        if levels.size < 3:
            return curve
        curve = _fit(levels, variances, weights, float(np.quantile(blocks.means, _DARK)))
    return curve


def _points(
    blocks: Blocks, quiet: list[QuietHigh], curve: NoiseCurve | None
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return brightness, variance and the relative error of that for each bin of each channel."""
    points = []
    for c in range(blocks.means.shape[1]):
        mean = blocks.means[:, c]
        clear = blocks.clipped[:, c] <= _MAX_CLIPPED
        if curve is not None:
            margin = _CLEAR_OF_CLIPPING * np.sqrt(curve.variance(mean))
            # Photons end at 0 by themselves: there a mean close to the least value is no sign of clipping.
            dark = (mean - blocks.low[c] > margin) | (blocks.clipped[:, c] == 0)
            clear = dark & (blocks.high[c] - mean > margin) & (blocks.clipped[:, c] < 0.2)
        clearly = np.flatnonzero(clear)
        bins = min(_MAX_BINS, clearly.size // _MIN_BLOCKS)
        for order in np.array_split(np.argsort(mean[clearly], kind="stable"), bins) if bins else []:
            part = clearly[order]
            level, uneven = float(mean[part].mean()), np.ones(part.size)
            if curve is not None:  # inside a bin, too, dark places must not count as quiet
                uneven = curve.variance(mean[part]) / curve.variance(np.array(level))
            power, number = quiet[c].power(part, uneven, share=_SHARE)
            chosen = max(1.0, number * min(1.0, 2 * blocks.distinct)) * np.count_nonzero(HIGH)
            points.append((level, power, math.sqrt(2 / chosen)))
    found = np.array(points).reshape(-1, 3)
    found = found[found[:, 1] > 0]
    return found[:, 0], found[:, 1], found[:, 2]


def _fit(
    levels: NDArray[np.float64], variances: NDArray[np.float64], errors: NDArray[np.float64], dark: float
) -> NoiseCurve:
    """Fit a line with a slope >= 0, reweighted towards the lower points: texture only ever adds."""
    centre = float(np.average(levels))
    design = np.stack([levels - centre, np.ones_like(levels)], axis=1)
    model = np.full_like(variances, float(np.quantile(variances, 0.3)))
    line, covariance = np.zeros(2), np.eye(2)
    for _ in range(_REFITS):
        # The error of a variance is proportional to it: to the model's, because the data's own would favour low ones.
        sizes = np.maximum(errors, 0.03) * np.maximum(model, 0.05 * float(np.median(model)))
        excess = (variances - model) / sizes
        weight = np.where(excess > 1, 1 / np.square(np.maximum(excess, 1)), 1.0) / np.square(sizes)
        normal = design.T @ (weight[:, None] * design)
        covariance = np.linalg.pinv(normal)
        line = covariance @ (design.T @ (weight * variances))
        if line[0] < 0:
            line = np.array([0.0, float(np.average(variances, weights=weight))])
        model = np.maximum(design @ line, 0.05 * float(np.min(variances)))
    residual = (variances - model) * np.sqrt(weight)
    scatter = max(1.0, float(np.sum(np.square(residual))) / max(1, levels.size - 2))
    errors_of_line = np.sqrt(np.diag(covariance) * scatter)
    constant_error = math.hypot(float(errors_of_line[1]), centre * float(errors_of_line[0]))
    return NoiseCurve(
        float(line[0]),
        float(errors_of_line[0]),
        float(line[1] - line[0] * centre),
        constant_error,
        dark,
        frozen(levels),
        frozen(variances),
    )
