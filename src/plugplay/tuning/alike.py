"""Noise that is alike in all channels of a colour image, as of grain or of a gray image that was tinted.

It is stronger in the luminance than independent noise of the same level, by up to the root of three, and weaker in the
colour differences. A denoiser that expects independent noise leaves it in the luminance.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from plugplay.denoisers.base import name_of
from plugplay.noise.estimation import estimate_noise
from plugplay.tuning.counting import leaves_noise_alone

if TYPE_CHECKING:
    from plugplay.arrays.checks import FloatArray
    from plugplay.arrays.scale import Scale
    from plugplay.denoisers.base import Denoiser
    from plugplay.posing import Posed
    from plugplay.traits import Traits

__all__ = ["with_planes"]

_KNOWS_PLANES = "bm3d"
# In a loop, the colour differences are not denoised less than this, because it has more to do than to remove noise: of
# 0.05, 0.2, 0.5 and 1, coffee shrunk by two has 29.2, 31.3, 31.4 and 31.2 dB.
_MIN_PLANE, _MIN_PLANE_IN_LOOP = 0.1, 0.5
_MAX_RATIO = 99.0


def with_planes(
    problem: Posed, y: FloatArray, traits: Traits, scale: Scale, denoiser: str | Denoiser, *, whole: bool
) -> Posed:
    """Return the problem with the noise of luminance and colour differences, if it is alike in all channels.

    Only BM3D is told: total variation and non-local means, which look at all channels at once, were better with the
    level as it is. Deblurring, which compares its noise with the spectrum of the luminance and raises it by itself, is
    left as it is.

    Parameters
    ----------
    problem, y, traits, scale
        The problem, its observation on the working scale, the traits of the model, and the scale.
    denoiser : str or callable
        The denoiser.
    whole : bool
        Whether y is not a part of an image; parts get what was found in samples of the whole.
    """
    colour = traits.spatial_ndim == 2 and y.ndim == 3 and y.shape[-1] == 3
    inverted = traits.spectrum is not None and traits.decimation == 1 and not traits.pointwise
    uniform = isinstance(problem.noise, float) and problem.noise > 0
    if not (whole and colour and uniform) or inverted or name_of(denoiser) != _KNOWS_PLANES:
        return replace(problem, planes=None)
    planes = problem.planes
    if problem.error is None:  # the level was given
        stored = y if scale.transfer == "linear" else scale.to_nominal(y)
        planes = estimate_noise(stored, mask=traits.observed).planes
    if planes is None:
        return problem
    least = _MIN_PLANE if leaves_noise_alone(traits) else _MIN_PLANE_IN_LOOP
    ratio = planes[0] / max(*planes[1:], planes[0] / _MAX_RATIO)
    told = (
        f"the noise is largely alike in all channels, {ratio:.1f} times as strong in luminance as in colour "
        "differences, and was removed accordingly"
    )
    raised = (planes[0], max(planes[1], least), max(planes[2], least))
    return replace(problem, planes=raised, notes=(*problem.notes, told))
