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


def with_planes(
    problem: Posed, y: FloatArray, traits: Traits, scale: Scale, denoiser: str | Denoiser, *, whole: bool
) -> Posed:
    """Return the problem with the noise of luminance and colour differences, if it is alike in all channels.

    Only BM3D is told them; for other denoisers, an estimated level becomes that of the luminance if noise is all there
    is to remove. Deblurring, which compares its noise with the spectrum of the luminance and raises it by itself, is
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
    if not whole or not colour or inverted or not isinstance(problem.noise, float) or problem.noise == 0:
        return replace(problem, planes=None)
    alone = leaves_noise_alone(traits)
    knows, estimated = name_of(denoiser) == _KNOWS_PLANES, problem.error is not None
    planes = problem.planes
    if not estimated and knows:
        stored = y if scale.transfer == "linear" else scale.to_nominal(y)
        planes = estimate_noise(stored, mask=traits.observed).planes
    if planes is None or not (knows or alone):
        return replace(problem, planes=None)
    told = (
        f"the noise is largely alike in all channels: {min(planes[0] / max(planes[1:]), 99.0):.1f} times as strong in "
        "luminance as in colour differences, which was allowed for",
    )
    if knows:
        least = _MIN_PLANE if alone else _MIN_PLANE_IN_LOOP
        raised = (planes[0], max(planes[1], least), max(planes[2], least))
        return replace(problem, planes=raised, notes=(*problem.notes, *told))
    level = planes[0] * problem.level
    noise = planes[0] * problem.noise
    return replace(problem, level=level, noise=noise, planes=None, notes=(*problem.notes, *told))
