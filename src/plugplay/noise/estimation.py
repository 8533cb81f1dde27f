"""How much noise there is: estimated from the observation alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from plugplay.arrays.checks import BoolArray, check_number
from plugplay.noise.blocks import Blocks, quantisation_step, take_blocks
from plugplay.noise.curve import curve_of_blocks
from plugplay.noise.quiet import Plane, judge, quiet_power
from plugplay.noise.scattered import from_differences, from_scattered
from plugplay.noise.stacks import stacked

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["NoiseEstimate", "estimate_noise", "measure_planes"]

# Orthonormal: the mean power of the three planes is that of the three channels, whatever correlates them.
_OPPONENT = np.array([[1, 1, 1], [1, 0, -1], [0.5, -1, 0.5]]) / np.sqrt([[3.0], [2.0], [1.5]])
_MIN_BLOCKS = 48
_ROUNDS = 5
_SETTLED = 0.01
# Between texture in the luminance and noise that is stronger there: the luminance is not believed where its own
# uncertainty is larger than this.
_TRUSTED = 0.05
_WHITE_RATIO = 1.3
# JPEG rounds chroma away before luminance; the noise of the channels is then at least this part of the luminance's.
_MIN_OF_LUMINANCE = 0.65
_JPEG_DOUBT = 0.2
# Colour files of quality 90 to 95 hide up to so much noise, in steps of the pixels' values: what is rounded to zero in
# flat places shows nothing. Where more is seen, nothing is hidden.
_HIDDEN, _SHOWN = 2.0, 3.0
_GROWTH_DOUBT = 0.05
_MANY_CLIPPED = 0.5
_CERTAIN = 0.1


@dataclass(frozen=True)
class NoiseEstimate:
    """The standard deviation of the noise, as estimated.

    Attributes
    ----------
    sigma : float
        The estimate, on the scale of the image: what rounding to 8 bits adds is part of it.
    uncertainty : float
        Its standard error; infinite if nothing could be measured.
    reasons : tuple of str
        Why it is uncertain, in a few words each; empty if the standard error is below a tenth.
    compressed : bool
        Whether the image shows the grid of a JPEG file.

    Examples
    --------
    >>> NoiseEstimate(0.02, 0.004, ("texture",)).upper
    0.028
    """

    sigma: float
    uncertainty: float
    reasons: tuple[str, ...] = ()
    compressed: bool = False

    @property
    def upper(self) -> float:
        """A level the noise is hardly above: two standard errors more than `sigma`."""
        return self.sigma + 2 * self.uncertainty


def estimate_noise(
    y: ArrayLike,
    *,
    mask: BoolArray | None = None,
    spatial_ndim: int = 2,
    quantisation: float | None = None,
) -> NoiseEstimate:
    r"""Estimate the standard deviation of the noise in an image.

    The noise is measured in the quietest blocks of 8x8 pixels, frequency by frequency, as `plugplay.noise.quiet`
    tells. From there:

    * **Clipping.** Noise near black or white is cut off on one side. A block's variance is divided by the share
      that clipping leaves at its brightness; blocks where that is less than half are left out.
    * **Rounding.** A step q of the values counts as noise of :math:`q / \sqrt{12}`, and no estimate is below it.
    * **Colour of the noise.** If middle frequencies are stronger than high ones even in the quietest blocks, and do
      not become so by taking more blocks, the noise is coloured and all frequencies are averaged; else it is white,
      and the high ones, where there is least texture, tell its level.
    * **JPEG.** Blocks follow the file's own grid if one shows.
    * **Colour images.** Luminance and two colour differences are measured. Texture is mainly in the luminance, which
      is corrected by the others where it is uncertain and they are white.
    * **Scattered observations.** Where no block is whole, planes are fitted to windows of scattered pixels.

    Parameters
    ----------
    y : array
        The observation, ``(H, W)`` or ``(H, W, C)``. Blur and sampling come before the noise and do not change it.
    mask : array of bool, optional
        True where y was observed; only what lies there is looked at.
    spatial_ndim : int
        3 for volumes ``(D, H, W)`` or ``(D, H, W, C)``, which are measured slice by slice.
    quantisation : float, optional
        The standard deviation of what a file's compression rounded away, if it is known: a lower bound of the noise.

    Returns
    -------
    NoiseEstimate
        0 with infinite uncertainty if too little was observed to tell.

    Examples
    --------
    >>> import numpy as np
    >>> image = np.random.default_rng(0).normal(0.5, 0.05, (128, 128))
    >>> found = estimate_noise(image)
    >>> abs(found.sigma - 0.05) < 0.003
    True
    """
    stack, observed = stacked(y, mask, spatial_ndim)
    step = quantisation_step(stack, observed)
    floor = step / math.sqrt(12)
    if quantisation is not None:
        floor = max(floor, check_number(quantisation, "quantisation", minimum=0))
    found = _from_blocks(take_blocks(stack, observed, step=step))
    if found is None:
        found = from_scattered(stack, observed)
    if found is None:
        found = from_differences(stack, observed)
    if found is None:
        return NoiseEstimate(0.0, math.inf, ("too few pixels",))
    sigma, relative, reasons = found
    uncertainty, compressed = relative * sigma, "JPEG" in reasons
    if compressed and stack.shape[-1] == 3:
        uncertainty = math.hypot(uncertainty, _HIDDEN * max(0.0, step - sigma / _SHOWN))
    if sigma < floor:
        # Noise below half a step may vanish in the rounding altogether.
        sigma, uncertainty, reasons = floor, max(uncertainty, floor), (*reasons, "rounding")
    uncertain = uncertainty > _CERTAIN * sigma
    return NoiseEstimate(sigma, uncertainty, tuple(dict.fromkeys(reasons)) if uncertain else (), compressed)


def measure_planes(blocks: Blocks) -> tuple[list[Plane], float, bool] | None:
    """Return the noise of each plane, the share of blocks that clipping left usable, and whether the noise grows.

    None if there are too few blocks.
    """
    plain = _rounds(blocks, np.ones_like(blocks.means))
    curve = curve_of_blocks(blocks)
    if plain is None or curve is None or not curve.grows:
        return None if plain is None else (*plain, False)
    # Noise that grows with the signal is brought to its mean level, lest dark places count as quiet. Texture that
    # grows with the brightness looks alike; but then the quietest blocks agree better as they are.
    uneven = curve.variance(blocks.means)
    levelled = _rounds(blocks, uneven / uneven.mean())
    if levelled is None or _of_planes(levelled[0])[1] >= _of_planes(plain[0])[1]:
        return *plain, False
    return *levelled, True


def _rounds(blocks: Blocks, uneven: NDArray[np.float64]) -> tuple[list[Plane], float] | None:
    """Measure the planes, given their relative variance, until what is clipped agrees with the level found."""
    channels = blocks.means.shape[1]
    planes: list[Plane] | None = None
    sigma: float | None = None
    share = 0.0
    for _ in range(_ROUNDS):
        left = blocks.unclipped(sigma)
        usable = (left > 0).all(axis=1)
        if np.count_nonzero(usable) < _MIN_BLOCKS:
            if planes is not None:
                break
            left = np.where(blocks.clipped < _MANY_CLIPPED, 1.0, 0.0)
            usable = (left > 0).all(axis=1)
            if np.count_nonzero(usable) < _MIN_BLOCKS:
                return None
        corrected = blocks.coefficients[usable] / np.sqrt(left[usable] * uneven[usable])[..., None]
        if channels == 3:
            corrected = np.einsum("pc,ncz->npz", _OPPONENT, corrected)
        quiet = quiet_power(corrected, blocks.distinct)
        planes = [judge(quiet, p, gridded=blocks.gridded) for p in range(channels)]
        share = float(usable.mean())
        found = math.sqrt(float(np.mean([plane.power for plane in planes])))
        if found == 0 or (sigma is not None and abs(found - sigma) <= _SETTLED * found):
            break
        sigma = found
    return None if planes is None else (planes, share)


def _from_blocks(blocks: Blocks | None) -> tuple[float, float, tuple[str, ...]] | None:
    """Return the level, its relative uncertainty and the reasons for it."""
    measured = None if blocks is None else measure_planes(blocks)
    if blocks is None or measured is None:
        return None
    planes, share, grows = measured
    sigma, relative = _of_colour(planes, blocks.gridded) if len(planes) == 3 else _of_planes(planes)
    reasons = []
    if any(plane.textured > 0.03 or (plane.coloured < 0.1 and plane.ratio > 1.8) for plane in planes):
        reasons.append("texture")
    if any(0.1 < plane.coloured < 0.9 for plane in planes):
        reasons.append("texture or coloured noise")
    if blocks.gridded:
        reasons.append("JPEG")
    if grows:
        reasons.append("grows with the signal")
        relative = math.hypot(relative, _GROWTH_DOUBT)
    if share < 0.1:
        reasons.append("clipped")
        relative = math.hypot(relative, 0.1)
    if len(blocks.means) * blocks.distinct < 500:
        reasons.append("few pixels")
    return sigma, relative, tuple(reasons)


def _of_planes(planes: list[Plane]) -> tuple[float, float]:
    power = np.array([plane.power for plane in planes])
    weight = power / max(power.sum(), 1e-300)
    relative = math.sqrt(float(np.sum(np.square(weight * [plane.relative for plane in planes]))))
    return math.sqrt(float(power.mean())), relative


def _of_colour(planes: list[Plane], gridded: bool) -> tuple[float, float]:
    """Combine luminance and colour differences."""
    sigma, relative = _of_planes(planes)
    luminance = math.sqrt(planes[0].power)
    chroma, doubt = _of_planes(planes[1:])
    if gridded:
        if chroma < _MIN_OF_LUMINANCE * luminance:
            return max(sigma, _MIN_OF_LUMINANCE * luminance), math.hypot(relative, _JPEG_DOUBT)
        return sigma, relative
    if luminance <= chroma or chroma == 0 or any(plane.ratio > _WHITE_RATIO for plane in planes[1:]):
        return sigma, relative
    own = planes[0].relative
    excess = math.log(luminance / chroma)
    pull = own**2 / (own**2 + _TRUSTED**2)
    sigma = math.sqrt((luminance**2 * math.exp(-2 * pull * excess) + 2 * chroma**2) / 3)
    return sigma, math.hypot((1 - pull) * own / 3, doubt, pull * (1 - pull) * excess)
