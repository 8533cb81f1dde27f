"""Estimate the standard deviation of the noise from the observation alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from plugplay.arrays.checks import BoolArray, check_number
from plugplay.noise.blocks import Blocks, quantisation_step, take_blocks
from plugplay.noise.compression import zeroed
from plugplay.noise.planes import Measured, measure_planes
from plugplay.noise.scattered import from_differences, from_scattered, unlike_scattered
from plugplay.noise.stacks import stacked

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["NoiseEstimate", "estimate_noise"]

# Colour files of quality 90 to 95 hide up to this much noise, in steps of the pixels' values, because flat places are
# rounded to zero. If more is measured, nothing is hidden.
_HIDDEN, _SHOWN = 2.0, 3.0
_CERTAIN = 0.1


@dataclass(frozen=True)
class NoiseEstimate:
    """The standard deviation of the noise, as estimated.

    Attributes
    ----------
    sigma : float
        The estimate, on the scale of the image; it includes what rounding to 8 bits adds. For a JPEG file it is the
        noise before the compression, as far as that can be determined.
    uncertainty : float
        Its standard error; infinite if nothing could be measured.
    reasons : tuple of str
        Why it is uncertain, in a few words each; empty if the standard error is below a tenth.
    compressed : bool
        Whether the image shows the grid of a JPEG file.
    rounding : float
        The standard deviation of what rounding in a JPEG file added to the noise, if its quantisation steps show.
    step : float
        The step of the values if they lie on a lattice, as those of 8-bit files do, else 0.
    quality : int, optional
        The quality of a JPEG file, 1 to 100, if its quantisation steps show.
    strongest : float
        The standard deviation of white noise that is as strong as this noise at low frequencies, if it is stronger
        there than at high ones, as in demosaicked photographs; 0 if it passes for white.
    planes : (float, float, float), optional
        If the noise of a colour image is clearly alike in all channels: its standard deviation in luminance and two
        colour differences, relative to `sigma`.

    Examples
    --------
    >>> NoiseEstimate(0.02, 0.004, ("texture",)).upper
    0.028
    """

    sigma: float
    uncertainty: float
    reasons: tuple[str, ...] = ()
    compressed: bool = False
    rounding: float = 0.0
    step: float = 0.0
    quality: int | None = None
    strongest: float = 0.0
    planes: tuple[float, float, float] | None = None

    @property
    def upper(self) -> float:
        """A level that the noise hardly ever exceeds: two standard errors more than `sigma`."""
        return self.sigma + 2 * self.uncertainty

    @property
    def zeroed(self) -> float:
        """The standard deviation of what compression may have made zero; 0 if the image was not compressed."""
        return self.step * zeroed(self.quality) if self.compressed else 0.0


def estimate_noise(
    y: ArrayLike,
    *,
    mask: BoolArray | None = None,
    spatial_ndim: int = 2,
    quantisation: float | None = None,
) -> NoiseEstimate:
    r"""Estimate the standard deviation of the noise in an image.

    The noise is measured in the quietest blocks of 8x8 pixels, frequency by frequency (`plugplay.noise.quiet`). Then:

    * **Clipping.** Noise near black or white is cut off on one side. A block's variance is divided by the share
      that clipping leaves at its brightness; blocks where that is less than half are left out.
    * **Rounding.** A step q of the values counts as noise of :math:`q / \sqrt{12}`, and no estimate is below it.
    * **Colour of the noise.** If middle frequencies are stronger than high ones even in the quietest blocks, and do
      not become so by taking more blocks, the noise is coloured and all frequencies are averaged; otherwise it is
      white, and its level is that of the high frequencies, where there is least texture.
    * **JPEG.** Blocks are aligned with the grid of the file if it shows. If its quantisation steps show as well, the
      effect of rounding to them is undone (`plugplay.noise.compression`).
    * **Colour images.** Luminance and two colour differences are measured. Texture is mainly in the luminance, which
      is corrected by the others where it is uncertain and they are white.
    * **Scattered observations.** Where no block is whole, planes are fitted to windows of scattered pixels.

    Parameters
    ----------
    y : array
        The observation, ``(H, W)`` or ``(H, W, C)``. Blur and sampling come before the noise and do not change it.
    mask : array of bool, optional
        True where y was observed; all other pixels are ignored.
    spatial_ndim : int
        3 for volumes ``(D, H, W)`` or ``(D, H, W, C)``, which are measured slice by slice.
    quantisation : float, optional
        The standard deviation of the rounding errors of a file's compression, if it is known: a lower bound of the
        noise.

    Returns
    -------
    NoiseEstimate
        0 with infinite uncertainty if too little was observed.

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
    blocks = take_blocks(stack, observed, step=step)
    measured = None if blocks is None else measure_planes(blocks)
    found = None if blocks is None or measured is None else _from_planes(measured, blocks)
    planes = None if measured is None else measured.unlike
    if found is None:
        found = from_scattered(stack, observed)
    if planes is None and observed is not None and not (blocks and blocks.gridded):
        planes = unlike_scattered(stack, observed)
    if found is None:
        found = from_differences(stack, observed)
    if found is None:
        return NoiseEstimate(0.0, math.inf, ("too few pixels",))
    sigma, relative, reasons = found
    uncertainty, compressed = relative * sigma, "JPEG" in reasons
    if compressed and stack.shape[-1] == 3 and not (measured and measured.held):
        uncertainty = math.hypot(uncertainty, _HIDDEN * max(0.0, step - sigma / _SHOWN))
    if sigma < floor:
        # Noise below half a step may vanish in the rounding altogether.
        sigma, uncertainty, reasons = floor, max(uncertainty, floor), (*reasons, "rounding")
    told = tuple(dict.fromkeys(reasons)) if uncertainty > _CERTAIN * sigma else ()
    if measured is None:
        return NoiseEstimate(sigma, uncertainty, told, compressed, step=step, planes=planes)
    return NoiseEstimate(
        sigma,
        uncertainty,
        told,
        compressed,
        rounding=measured.rounding,
        step=step,
        quality=measured.quality,
        strongest=measured.strongest(),
        planes=planes,
    )


def _from_planes(measured: Measured, blocks: Blocks) -> tuple[float, float, tuple[str, ...]]:
    """Return the level, its relative uncertainty and the reasons for it."""
    sigma, relative = measured.level()
    planes, reasons = measured.telling, []
    if any(plane.textured > 0.03 or (plane.coloured < 0.1 and plane.ratio > 1.8) for plane in planes):
        reasons.append("texture")
    if any(0.1 < plane.coloured < 0.9 for plane in planes):
        reasons.append("texture or coloured noise")
    if blocks.gridded:
        reasons.append("JPEG")
    if measured.grows:
        reasons.append("grows with the signal")
    if measured.share < 0.1:
        reasons.append("clipped")
        relative = math.hypot(relative, 0.1)
    if len(blocks.means) * blocks.distinct < 500:
        reasons.append("few pixels")
    return sigma, relative, tuple(reasons)
