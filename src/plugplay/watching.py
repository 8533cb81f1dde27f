"""What a restoration is held against: before it begins, by the data alone, and when it has ended."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from plugplay.models.description import darkest_of, evened
from plugplay.noise.estimation import estimate_noise
from plugplay.noise.growing import PoissonGaussian
from plugplay.posing import numbers_of
from plugplay.tuning.doubts import Seen
from plugplay.tuning.folding import noise_bounds
from plugplay.tuning.mild_blur import leaves_nearly_white_noise
from plugplay.tuning.spectra import taps_of
from plugplay.tuning.suspicion import Suspicion, suspect
from plugplay.tuning.watch import Watch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay.arrays.checks import FloatArray
    from plugplay.arrays.scale import Scale
    from plugplay.models.base import DataTerm, Model
    from plugplay.posing import Posed
    from plugplay.traits import Traits

__all__ = ["suspicion", "watch_for"]

# Noise that exceeds what was assumed by this factor is taken into account.
CONTRADICTION = 1.15


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
) -> Suspicion:
    """Return the noise to assume, and the kernel, if a run is watched and the data contradict those given or found."""
    # Noise that grows with the signal has no one level; what is hidden at nulls is then not looked for.
    if not watched or traits.observes != "intensities" or isinstance(problem.noise, PoissonGaussian):
        return Suspicion(model, traits)
    told = _contradicted(y, traits, problem.level, scale) if isinstance(noise, int | float) else None
    return suspect(y, model, traits, problem.level, told, reshape=reshape)


def watch_for(data_term: DataTerm, traits: Traits, y: NDArray[Any], problem: Posed, scale: Scale) -> Watch | None:
    """Return what the result will be held against; None where f is not a distance from the data."""
    noise, described = problem.level, problem.noise
    if described is None:
        return None
    if traits.pointwise and isinstance(described, PoissonGaussian):  # what was not observed may be NaN
        y = evened(data_term, y if traits.observed is None else np.where(traits.observed, y, y.dtype.type(0)))
    # How much an image varies cannot be told from sums of its pixels.
    projected = traits.observes == "projections"
    seen = Seen(0.0, 0.0, 0.0, y.size) if projected else Seen.of(y, traits.observed)
    # Clipping what is darker than possible is work that the multiplier does in sound runs, too.
    bounded = scale.is_nominal and not math.isfinite(darkest_of(data_term))
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
    )


def _contradicted(y: FloatArray, traits: Traits, noise: float, scale: Scale) -> float | None:
    """Return the noise that is certainly in the data, if it is well above the assumed one; else None.

    Told too little noise, a restoration ends in noise (see `plugplay.tuning.rules`); told too much, it is a little less
    sharp. So it is only ever raised, and only as far as the estimate is certain. In decimated images folded detail
    passes for noise; there, only what no detail can be is certain.
    """
    numbers = numbers_of(y, scale)
    if traits.decimation > 1:
        certain = noise_bounds(numbers, traits).low
    else:
        estimate = estimate_noise(numbers, mask=traits.observed, spatial_ndim=traits.spatial_ndim)
        certain = estimate.sigma - 2 * estimate.uncertainty
    certain *= scale.slope
    return certain if certain > CONTRADICTION * noise else None
