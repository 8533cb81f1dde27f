"""The accuracy of iterative model steps in a run."""

from __future__ import annotations

__all__ = ["step_residual"]

STEP_RESIDUAL = 4e-2
"""The relative residual at which a step is good enough: each begins where the one before ended."""

BLUR_RESIDUAL = 0.1
"""The same for plain deblurring, where hardly more than the margin around the frame is left to be solved for.

On eight crops of 176 x 176 pixels (camera, gravel, motorcycle, brick, coffee, chelsea, nuthatch, bridge) with motion,
disk, Gaussian and box blur PSNR was 0.01 dB higher on average with 0.08 than with half of it, from -0.04 to +0.09 dB,
and a step took 2.5 instead of 3.1 iterations. With 0.1 instead of 0.08, 18 images (motion with noise 3/255, disk with
5/255) change by 0.00 dB on average, by -0.04 at least, and steps take 7 % fewer iterations; with 0.12, -0.01 and -0.06
dB and 14 % fewer. Among counts a residual of 0.1 lost 3 % of the light.
"""


MILD_RESIDUAL = 0.05
"""The same behind a mild blur, where the first steps are rougher still (`plugplay.models.likelihoods.masked`).

With 0.04 throughout, the first steps take a third of all time of the model; if they are three times as rough as here,
bricks behind camera shake lose 1.7 dB.
"""

LITTLE_NOISE = 2 / 255
"""With less noise than this steps are as exact as elsewhere: a motorcycle behind camera shake, with noise of 0.5/255,
gains 0.25 dB by it.
"""


def step_residual(*, plain: bool, mild: bool = False, noise: float = 0.0) -> float:
    """Return the relative residual that the model's steps of a run need to reach.

    Parameters
    ----------
    plain : bool
        Whether the run is a plain deblurring of a large image. It does not matter
        whether its parameters were chosen or given, because tiles, which get those of the whole image, must give the
        same result.
    mild : bool
        Whether the blur is mild.
    noise : float
        Standard deviation of the noise.
    """
    if plain and mild:
        return MILD_RESIDUAL
    return BLUR_RESIDUAL if plain and noise >= LITTLE_NOISE else STEP_RESIDUAL
