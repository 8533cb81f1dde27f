"""Checks of what was given: of noise and kernel by the data before a run, and of the result by `Watch`."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.ndimage import maximum_filter

from plugplay.arrays.masks import fill_from_nearest, mask_for
from plugplay.arrays.transfer import linearise, mean_slope
from plugplay.denoisers.base import name_of
from plugplay.denoisers.registry import comes_with_plugplay
from plugplay.models.description import brightest_of, darkest_of, evened, possible_range_of, saturated_of
from plugplay.noise.estimation import NoiseEstimate, estimate_noise
from plugplay.noise.finding import assumed_noise
from plugplay.noise.growing import PoissonGaussian
from plugplay.posing import numbers_of
from plugplay.tuning.counting import MAX_8_BIT, leaves_noise_alone
from plugplay.tuning.doubts import Seen
from plugplay.tuning.folding import noise_bounds
from plugplay.tuning.foreign import TOGETHER, foreign_pixels
from plugplay.tuning.hot_pixels import hot_pixels
from plugplay.tuning.mild_blur import leaves_nearly_white_noise
from plugplay.tuning.spectra import taps_of
from plugplay.tuning.suspicion import Suspicion, suspect
from plugplay.tuning.watch import MAX_RERUNS, Watch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay.arrays.checks import BoolArray, FloatArray
    from plugplay.arrays.scale import Scale
    from plugplay.models.base import DataTerm, Model
    from plugplay.posing import Posed
    from plugplay.traits import Traits
    from plugplay.tuning.signs import Suggestion

__all__ = ["foreign_to", "reason", "reruns", "suspicion", "understated", "watch_for"]

# Certain noise above the given level by this factor replaces it.
CONTRADICTION = 1.15
# A level that was given for denoising is kept, but questioned, if the data certainly hold so many times more, and more
# than rounding to 8 bits leaves.
FAR_MORE, MIN_NOISE = 3.0, 1 / 255
KEEPS_NOISE = "exact_noise=True, or --exact-noise, keeps"
# Enlarged edges overshoot by this much. With hardly any noise, clipped overshoot is no sign of noise: from red text on
# a white page, 250/255, that was shrunk by 2, the clip removes 2.4 times what the denoiser does.
OVERSHOOT, HARDLY_NOISY = 0.05, 2 / 255


def suspicion(
    y: FloatArray,
    model: Model,
    traits: Traits,
    problem: Posed,
    noise: object,
    scale: Scale,
    *,
    reshape: bool,
    watched: bool,
    encoding: str | None = None,
) -> Suspicion:
    """Return other noise, or another kernel, if a run is `watched` and the data contradict those assumed.

    The blur is looked at in light if the values are encoded with the curve `encoding`.
    """
    # Noise that grows with the signal has no single level to compare with.
    if not watched or traits.observes != "intensities" or isinstance(problem.noise, PoissonGaussian):
        return Suspicion(model, traits)
    told, hidden = None, problem.zeroed
    if isinstance(noise, int | float):  # else the data were asked already
        numbers = numbers_of(y, scale)
        estimate = estimate_noise(numbers, mask=traits.observed, spatial_ndim=traits.spatial_ndim)
        told = _contradicted(numbers, traits, estimate, problem.level, scale)
        hidden = estimate.zeroed * scale.slope
    if encoding is None:
        return suspect(y, model, traits, problem.level, told, reshape=reshape, hidden=hidden)
    slope = mean_slope(y if traits.observed is None else y[traits.observed], encoding)
    in_light = None if told is None else slope * told
    seen = replace(traits, observed=_unsaturated(problem.data_term, traits))
    found = suspect(
        linearise(y, encoding), model, seen, slope * problem.level, in_light, reshape=reshape, hidden=slope * hidden
    )
    changed = replace(found.traits, observed=traits.observed)
    return replace(found, traits=changed, noise=None if found.noise is None else found.noise / slope)


def _unsaturated(data_term: DataTerm, traits: Traits) -> BoolArray | None:
    """Return where pixels were observed and have not saturated; None if that is everywhere."""
    full = saturated_of(data_term)
    if full is None:
        return traits.observed
    spread = (3,) * traits.spatial_ndim + (1,) * (full.ndim - traits.spatial_ndim)  # compression changes neighbours
    left = ~np.asarray(maximum_filter(full, size=spread), np.bool_)
    return left if traits.observed is None else left & traits.observed


def understated(y: FloatArray, traits: Traits, noise: object, scale: Scale) -> tuple[str, ...]:
    """Return a warning if an image that is only denoised has far more noise than was given, which is kept.

    How much noise to remove is the user's wish, so only what is certain and several times more is worth a word.
    """
    if not isinstance(noise, int | float) or not leaves_noise_alone(traits) or traits.observes != "intensities":
        return ()
    if not np.isfinite(y).all():  # the data term raises an error
        return ()
    estimate = estimate_noise(numbers_of(y, scale), spatial_ndim=traits.spatial_ndim)
    certain = (estimate.sigma - 2 * estimate.uncertainty) / scale.gain
    if certain <= max(FAR_MORE * noise, MIN_NOISE):
        return ()
    return (
        f"the data show about {estimate.sigma / scale.gain:.3g} of noise, and only the given {noise:.3g} was removed: "
        "without noise= or --noise, the level is estimated",
    )


def foreign_to(
    y: FloatArray, model: Model, traits: Traits, noise: object, scale: Scale
) -> tuple[BoolArray | None, BoolArray | None]:
    """Return the pixels that do not follow the blur: those of bars and stamps, in photographs, and hot ones.

    Each is None if there are none of its kind.
    """
    if traits.spectrum is None or traits.decimation > 1 or traits.observed is not None or not np.isfinite(y).all():
        return None, None
    hot = hot_pixels(y, model, traits)
    photograph = scale.is_nominal or scale.transfer != "linear" or scale.high - scale.low == MAX_8_BIT
    if not photograph or not (noise is None or isinstance(noise, str | int | float)):
        return None, hot
    given = float(noise) * scale.noise_gain if isinstance(noise, int | float) else None
    if not (given is None or 0 <= given < 1):  # the data term raises an error
        return None, hot
    clean = y if hot is None else fill_from_nearest(y, mask_for(y, ~hot))
    foreign = foreign_pixels(clean, model, traits, given, linear=scale.transfer != "linear")
    if foreign is None or hot is None:
        return foreign, hot
    hot &= ~maximum_filter(foreign, TOGETHER)  # the rims of what was drawn
    return foreign, hot if hot.any() else None


def reason(suggested: Suggestion, denoiser: object) -> str:
    """Return a warning about a noise level that a run changes, in addition to the level itself; may be empty."""
    if suggested.reason or comes_with_plugplay(denoiser) or suggested.sign == "excess":
        return suggested.reason
    return f"what {name_of(denoiser)!r} does not follow of the data passes for noise; {KEEPS_NOISE} a given level"


def reruns(noise: object, *, exact: bool) -> int:
    """Return how often a run may be repeated with another noise level: never if the given one is to be kept."""
    if exact and (noise is None or noise == "auto"):
        raise ValueError("exact_noise=True keeps the noise level that is given: give noise=")
    return 0 if exact else MAX_RERUNS


def watch_for(
    data_term: DataTerm, traits: Traits, y: NDArray[Any], problem: Posed, scale: Scale, *, in_light: bool = False
) -> Watch | None:
    """Return what the result will be checked against; None if f is not a distance from the data."""
    noise, described = problem.level, problem.noise
    if described is None:
        return None
    if traits.pointwise and isinstance(described, PoissonGaussian):  # missing pixels may be NaN
        y = evened(data_term, y if traits.observed is None else np.where(traits.observed, y, y.dtype.type(0)))
    # Projections do not show how much the image varies.
    projected = traits.observes == "projections"
    seen = Seen(0.0, 0.0, 0.0, y.size) if projected else Seen.of(y, traits.observed)
    # If the data term has limits of its own, clipping enlarges the multiplier in sound runs as well.
    stars = possible_range_of(data_term) is not None
    limited = math.isfinite(darkest_of(data_term)) or brightest_of(data_term, 1.0) > 1
    bounded = scale.is_nominal and not stars and not limited
    spectrum = traits.spectrum
    taps = None if spectrum is None or spectrum.ndim != 2 or traits.decimation > 1 else taps_of(spectrum)
    uniform = not isinstance(described, PoissonGaussian)
    return Watch(
        data_term=data_term,
        observed=traits.observed,
        noise=noise,
        seen=seen,
        first_noise=noise,
        bounded=bounded,
        convolution=spectrum is not None,
        taps=taps,
        observation=y if uniform else None,
        scale=scale,
        estimated=problem.error is not None,
        mild=leaves_nearly_white_noise(traits, noise),
        uniform=uniform,
        extreme=_extreme(y) if traits.decimation > 1 and noise < HARDLY_NOISY else 0.0,
        stars=stars,
        told_from_texture=problem.beside_texture,
        in_light=in_light,
    )


def _extreme(y: NDArray[Any]) -> float:
    return float(np.mean((y < OVERSHOOT) | (y > 1 - OVERSHOOT)))


def _contradicted(
    numbers: FloatArray, traits: Traits, estimate: NoiseEstimate, noise: float, scale: Scale
) -> float | None:
    """Return the noise that is certainly in the data, if it is well above the assumed one; else None.

    With too low a level a restoration ends in noise (see `plugplay.tuning.rules`); with too high a one it is a little
    less sharp. So a given level is only raised, and only as far as the estimate is certain, or to what would have been
    assumed if the data were a JPEG file, whose noise is seldom known. In decimated images aliased detail looks like
    noise; there, only the lower bound of the spectrum is certain.
    """
    if traits.decimation > 1:
        certain = noise_bounds(numbers, traits).low
    else:
        certain = estimate.sigma - 2 * estimate.uncertainty
        if estimate.compressed:
            found = assumed_noise(estimate, colour=numbers.ndim > traits.spatial_ndim)
            certain = max(certain, found.level, found.compression)
    certain *= scale.slope
    return certain if certain > CONTRADICTION * noise else None
