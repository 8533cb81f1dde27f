r"""How strong noise is at the frequencies where it is strongest, which is what counts when a blur is inverted.

A sensor behind a colour filter sees one colour at each pixel, and the others are interpolated. That smooths the noise:
in a demosaicked photograph it is several times as strong at low frequencies as at high ones, where
`plugplay.noise.estimation` measures it if texture hides the rest. Denoising at that level removes too little.
Deblurring does worse: it amplifies what is left at middle frequencies until nothing else is to be seen.

Interpolation smooths differences between colours at least as much as it smooths luminance, and there is hardly any
texture in them. So they show that an image was demosaicked: in its quietest blocks, at least one difference has 5.7 to
13 times as much power at middle frequencies as at high ones (3.9 times for noise of 4/255 over feathers), in white
noise 0.9 to 1.4 times (noise of 2/255 and more), and with noise of 0.5/255 up to 4 times where the photographs
themselves had subsampled chroma, 6.8 times over feathers. At the lowest frequencies, where the image hides it, the
noise of luminance is 0.9 to 2.6 times that of the stronger difference in quiet blocks, 1.5 times in the middle:
`LUMINANCE` times counts from the second limit of `SMOOTHED` on, nothing below the first, gradually between.

Compression with subsampled chroma takes that sign away. In a JPEG file luma shows by how much the noise grows from
high to middle frequencies, and it grows about as much again towards low ones: with amplitudes h and m, pure demosaicked
noise has 0.75 (Malvar) and 0.9 (bilinear) of :math:`m^2 / h` there, photographs 0.65 to 1.5. `FILE` times that, or what
chroma has there if it was not subsampled, counts if m / h is beyond the limits of `RISING`, nothing below them, and
gradually between. Demosaicked noise of 4/255 and more mostly has 1.3 to 2, white noise of 5/255 and more 0.9 to 1.2.
But fine texture has up to 2 as well, so a caller that knows more must bound the level (`plugplay.tuning.smoothed`).

Found on astronaut, nuthatch, coffee and rocket (``benchmarks/demosaicked.py --images fit``), and that white noise does
not pass for it also on the photographs Bridge, aitzgorri, friends, umang and life.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from plugplay.noise.quiet import HIGH, LOWEST, MIDDLE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay.noise.quiet import Plane

__all__ = ["strongest_of_file", "strongest_of_planes"]

SMOOTHED = (4.0, 6.0)
LUMINANCE = 1.7
RISING = (1.1, 1.2)
FILE = 1.15


def strongest_of_planes(planes: list[Plane], level: float) -> float:
    """Return the standard deviation of white noise as strong as this at low frequencies; 0 if it passes for white.

    Parameters
    ----------
    planes : list of Plane
        Luminance and two differences of colours.
    level : float
        The noise that was measured, of which the result is a multiple.
    """
    differences = [plane for plane in planes[1:] if plane.power > 0]
    evidence = max((plane.ratio for plane in differences), default=1.0)
    return _raised(level, evidence, SMOOTHED, LUMINANCE * max(_amplitude(plane, LOWEST) for plane in planes[1:]))


def strongest_of_file(planes: list[Plane], level: float) -> float:
    """Return the same for a colour JPEG file, given its luma, and its chroma if that was not subsampled."""
    if planes[0].power <= 0:
        return 0.0
    middle, high = (_amplitude(planes[0], ring) for ring in (MIDDLE, HIGH))
    strongest = max([middle**2 / high, *(_amplitude(plane, LOWEST) for plane in planes[1:])])
    return _raised(level, middle / high, RISING, FILE * strongest)


def _raised(level: float, evidence: float, limits: tuple[float, float], strongest: float) -> float:
    """Return what counts if the evidence is between two limits; 0 if that is not more than the level."""
    share = float(np.clip((evidence - limits[0]) / (limits[1] - limits[0]), 0, 1))
    return float(level ** (1 - share) * strongest**share) if share and strongest > level > 0 else 0.0


def _amplitude(plane: Plane, ring: NDArray[np.bool_]) -> float:
    return math.sqrt(float(plane.spectrum[ring].mean()))
