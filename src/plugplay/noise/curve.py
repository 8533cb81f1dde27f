r"""Estimate how the variance of the noise depends on the brightness, from one image.

Photons give noise of variance :math:`g (x - o) + r^2`: gain g, black level (offset) o, read-out noise r. A line through
the variances of an image's white noise at several brightnesses has the slope g and the value :math:`r^2 - g\,o` at
zero. Parts with texture only give upper bounds, because texture always raises a variance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plugplay.arrays.checks import BoolArray
from plugplay.arrays.transfer import linearise
from plugplay.noise.blocks import Blocks, quantisation_step, take_blocks
from plugplay.noise.brightness import Brightness, Powers, Variance, brightness_of
from plugplay.noise.stacks import stacked

__all__ = ["NoiseCurve", "curve_of_blocks", "estimate_curve", "find_growing_noise", "grows_with_signal"]

_MIN_POINTS = 3
_ROUNDS = 3
_REFITS = 12
_MIN_SIGNIFICANCE = 4.0
_MIN_CONTRAST = 1.6  # of the variance between dark and bright places
_MIN_NEGATIVE = 3.0
_DARK = 0.002
# What a variance differs by from that of white noise where faint texture is left, relative to it.
_MIN_ERROR = 0.06
# Of a variance above the line, and of one below it, squared standard errors count up to so many.
_MAX_ABOVE, _MAX_BELOW = 9.0, 100.0
# Texture is above the line as a rule.
_TEXTURE, _MAX_TEXTURE = 0.1, 0.3
_MAX_CANDIDATES = 64
_PHOTOGRAPHS = "srgb"
_MIN_STEPS = 1.0  # of the numbers
_STEP = 1e-3  # over which the slope of a transfer curve is measured
# By how much, in squared standard errors, a line must fit better than a constant, how much of what the constant leaves
# may be left, and how much the variance must differ between dark and bright places, in numbers and in light. Chosen
# on the images that benchmarks/noise.py marks "fit": with uniform noise, variances in light differed by 2.8 at most
# where a line had any evidence.
_IN_NUMBERS = ((30.0, 0.33, 1.6),)
_IN_LIGHT = ((30.0, 0.45, 2.0), (30.0, 0.25, 1.5), (20.0, 0.7, 4.0))


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
        The measurements that the line was fitted to.
    grows : bool
        Whether the noise depends on the signal so clearly that one level does not describe it.
    """

    gain: float
    gain_error: float
    constant: float
    constant_error: float
    dark: float
    levels: NDArray[np.float64]
    variances: NDArray[np.float64]
    grows: bool

    @property
    def rises(self) -> bool:
        """Whether the line rises, which is enough evidence for counts, whose noise is expected to grow."""
        low, high = self.variance(np.quantile(self.levels, [0.05, 0.95]))
        return self.gain > _MIN_SIGNIFICANCE * self.gain_error and bool(high > _MIN_CONTRAST * low)

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


def grows_with_signal(
    y: ArrayLike, *, mask: BoolArray | None = None, spatial_ndim: int = 2, counts: bool = False
) -> bool:
    """Tell whether the noise depends on the signal, as that of photons does.

    With `counts`, y holds counts of photons, for which less evidence is enough, because small images have no more.

    Examples
    --------
    >>> import numpy as np
    >>> rng, ramp = np.random.default_rng(0), np.linspace(10, 200, 256) * np.ones((256, 1))
    >>> grows_with_signal(rng.poisson(ramp).astype(float)), grows_with_signal(rng.normal(ramp, 8))
    (True, False)
    """
    curve = estimate_curve(y, mask=mask, spatial_ndim=spatial_ndim)
    return curve is not None and (curve.grows or (counts and curve.rises))


def find_growing_noise(y: ArrayLike, *, spatial_ndim: int = 2) -> str | None:
    """Return the transfer curve behind which the noise grows with the light, ``"linear"`` or ``"srgb"``, if it does.

    A curve such as sRGB's makes noise that grows with the light fall with the stored values. Photographs are on [0, 1];
    other values are assumed to be proportional to light.

    Examples
    --------
    >>> import numpy as np
    >>> from plugplay.arrays.transfer import encode
    >>> rng, ramp = np.random.default_rng(0), np.linspace(0.02, 0.9, 256) * np.ones((256, 1))
    >>> light = rng.poisson(1000 * ramp) / 1000
    >>> find_growing_noise(light), find_growing_noise(encode(light, "srgb")), find_growing_noise(rng.normal(ramp, 0.05))
    ('linear', 'srgb', None)
    """
    stack, observed = stacked(y, None, spatial_ndim)
    blocks = take_blocks(stack, observed, step=quantisation_step(stack, observed))
    # JPEG rounding removes a different share of the noise at every brightness.
    if blocks is None or blocks.gridded:
        return None
    powers = Powers.of_channels(blocks)
    curve = curve_of_blocks(blocks, powers)
    if curve is not None and curve.grows:
        return "linear"
    photograph = spatial_ndim == 2 and blocks.means.min() >= 0 and blocks.means.max() <= 1
    return _PHOTOGRAPHS if photograph and _grows_in_light(blocks, powers, _PHOTOGRAPHS) else None


def _grows_in_light(blocks: Blocks, powers: list[Powers], transfer: str) -> bool:
    evident, variance = False, None
    for _ in range(_ROUNDS):
        seen = brightness_of(blocks, powers, variance)
        if seen.levels.size < _MIN_POINTS:
            return False
        line = _fit(seen, _light_design(seen.levels, transfer), in_light=True)
        evident, variance = line.is_evident, _variance_of_light(line, seen, transfer)
        # Rounding can hardly be distinguished from noise of one step.
        evident = evident and float(np.median(seen.variances[seen.white])) > _MIN_STEPS**2 * blocks.step**2
    return evident


def curve_of_blocks(blocks: Blocks, powers: list[Powers] | None = None) -> NoiseCurve | None:
    """Fit the line to the blocks of an image, all channels together; None if there are too few."""
    powers = Powers.of_channels(blocks) if powers is None else powers
    curve = None
    dark = float(np.quantile(blocks.means, _DARK))
    for _ in range(_ROUNDS):  # again without what the first fit shows to be too close to clipping
        seen = brightness_of(blocks, powers, None if curve is None else curve.variance)
        if seen.levels.size < _MIN_POINTS:
            return curve
        curve = _curve(seen, dark)
    return curve


def _curve(seen: Brightness, dark: float) -> NoiseCurve:
    centre = float(np.average(seen.levels))
    design = np.stack([seen.levels - centre, np.ones_like(seen.levels)], axis=1)
    line = _fit(seen, design)
    slope, height = line.coefficients
    slope_error, height_error = line.errors
    return NoiseCurve(
        float(slope),
        slope_error,
        float(height - slope * centre),
        math.hypot(height_error, centre * slope_error),
        dark,
        seen.levels,
        seen.variances,
        line.is_evident and bool(slope > _MIN_SIGNIFICANCE * slope_error),
    )


def _light_design(levels: NDArray[np.float64], transfer: str) -> NDArray[np.float64]:
    """Return the variance of stored values for photon noise, and for uniform noise, in light."""
    low, high = np.maximum(np.clip(levels, 0, 1) - _STEP, 0), np.clip(levels, 0, 1) + _STEP
    slopes = (linearise(high, transfer) - linearise(low, transfer)) / (high - low)
    light = linearise(np.clip(levels, 0, 1), transfer)
    return np.asarray(np.stack([light, np.ones_like(light)], axis=-1) / np.square(slopes)[..., None])


def _variance_of_light(line: _Line, seen: Brightness, transfer: str) -> Variance:
    least = 0.1 * float(seen.variances.min())
    return lambda levels: np.asarray(np.maximum(_light_design(levels, transfer) @ line.coefficients, least))


@dataclass(frozen=True, eq=False)
class _Line:
    """What was fitted: the variances are ``design @ coefficients``; errors are standard errors."""

    coefficients: NDArray[np.float64]
    errors: tuple[float, float]
    is_evident: bool


def _fit(seen: Brightness, design: NDArray[np.float64], *, in_light: bool = False) -> _Line:
    """Fit two coefficients, of which the first is not negative, in light none.

    Lines through all pairs of variances are tried, and the best is refined: refining any other line may end among a few
    dark places and take all bright ones for texture, or the other way round.
    """
    # In units that keep squares of squares within what floats can hold.
    units, unit = np.maximum(np.abs(design).max(axis=0), 1e-300), float(np.median(seen.variances))
    design, seen = design / units, replace(seen, variances=seen.variances / unit)
    sizes = np.hypot(seen.errors, _MIN_ERROR)
    lines = _candidates(seen, design, in_light=in_light)
    losses = _losses(lines @ design.T, seen, sizes)
    line = lines[int(losses.argmin())]
    least = 0.05 * float(seen.variances.min())
    covariance, weight = np.eye(2), np.ones_like(sizes)
    for _ in range(_REFITS):
        model = np.maximum(design @ line, least)
        # The error of a variance is proportional to it: to the model's, because the data's own would favour low ones.
        excess = (seen.variances - model) / (sizes * model)
        weight = np.where(seen.white, 1.0, _TEXTURE) / np.square(np.maximum(excess, 1) * sizes * model)
        covariance = np.linalg.pinv(design.T @ (weight[:, None] * design))
        line = covariance @ (design.T @ (weight * seen.variances))
        for k in range(2 if in_light else 1):
            if line[k] < 0:
                rest = design[:, 1 - k]
                line = np.zeros(2)
                line[1 - k] = np.sum(weight * rest * seen.variances) / np.sum(weight * np.square(rest))
    model = np.maximum(design @ line, least)
    scatter = max(1.0, float(np.sum(weight * np.square(seen.variances - model))) / max(1, sizes.size - 2))
    errors = np.sqrt(np.diag(covariance) * scatter) * unit / units
    left = min(float(_losses(model, seen, sizes)), float(losses.min()))
    uniform = float(_losses(np.repeat(seen.variances[:, None], sizes.size, axis=1), seen, sizes).min())
    told = model[seen.white]
    contrast = float(told.max() / told.min()) if told.size >= _MIN_POINTS else 1.0
    evident = any(
        uniform - left > evidence and left < share * uniform and contrast > least_contrast
        for evidence, share, least_contrast in (_IN_LIGHT if in_light else _IN_NUMBERS)
    )
    return _Line(line * unit / units, (float(errors[0]), float(errors[1])), evident)


def _candidates(seen: Brightness, design: NDArray[np.float64], *, in_light: bool) -> NDArray[np.float64]:
    """Return the lines through pairs of variances, and uniform ones."""
    chosen = np.unique(np.linspace(0, seen.levels.size - 1, min(_MAX_CANDIDATES, seen.levels.size)).astype(int))
    first, second = np.triu_indices(chosen.size, 1)
    pairs = np.stack([chosen[first], chosen[second]], axis=1)
    matrices, values = design[pairs], seen.variances[pairs]
    determinant = np.linalg.det(matrices)
    solvable = np.abs(determinant) > 1e-9 * np.abs(matrices).max(axis=(1, 2)) ** 2
    lines = np.linalg.solve(matrices[solvable], values[solvable][..., None])[..., 0]
    rising = lines[(lines >= 0).all(axis=1) if in_light else lines[:, 0] >= 0]
    flat = np.stack([np.zeros(chosen.size), seen.variances[chosen] / np.abs(design[chosen, 1])], axis=1)
    return np.concatenate([rising, flat])


def _losses(models: NDArray[np.float64], seen: Brightness, sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the misfit of variances for each model, in squared standard errors; texture counts as an upper bound."""
    possible = models.min(axis=-1) > 0
    distance = np.log(seen.variances / np.where(possible[..., None], models, 1.0)) / sizes
    above, below = np.square(np.maximum(distance, 0)), np.square(np.minimum(distance, 0))
    above = np.where(seen.white, np.minimum(above, _MAX_ABOVE), np.minimum(_TEXTURE * above, _MAX_TEXTURE))
    losses = np.sum(above + np.minimum(below, _MAX_BELOW), axis=-1)
    return np.asarray(np.where(possible, losses, np.inf))
