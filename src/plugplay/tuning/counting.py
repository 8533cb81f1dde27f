"""Whether data have the noise of photons, in counts or behind a transfer curve, if the user does not say so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from plugplay.arrays.checks import FloatArray
from plugplay.arrays.scale import MAX_VALUE, Scale
from plugplay.arrays.transfer import linearise
from plugplay.models.description import knows_photons
from plugplay.noise.curve import estimate_curve, find_growing_noise, grows_with_signal
from plugplay.noise.growing import PoissonGaussian

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay.models.base import Model
    from plugplay.noise.coloured import ColouredNoise
    from plugplay.traits import Traits

__all__ = ["MAX_8_BIT", "grows_untold", "is_of_photons", "leaves_noise_alone", "likely_noise"]

MAX_8_BIT, MAX_16_BIT = 255, 65535
_COLOURS = 3


def likely_noise(
    y: NDArray[Any],
    traits: Traits,
    noise: float | PoissonGaussian | ColouredNoise | str | None,
    data_range: tuple[float, float] | None,
    transfer: str = "linear",
    *,
    squares: bool = False,
) -> tuple[float | PoissonGaussian | ColouredNoise | str | None, str]:
    """Return `noise` and `transfer`, or those of photon noise if an image to be denoised clearly has it.

    The noise may grow with the signal, in counts, or with light, which a transfer curve turned into the values of a
    photograph. This is found out first, because making the noise uniform changes the range. With `squares`, the noise
    must be uniform.
    """
    told = squares or not (noise is None or noise == "auto") or transfer != "linear"
    if told or traits.observes != "intensities" or not leaves_noise_alone(traits) or y.dtype.kind not in "iuf":
        return noise, transfer
    nominal = Scale.nominal_of(y.dtype, data_range)
    if nominal.integer and nominal.high - nominal.low > MAX_16_BIT:
        return noise, transfer
    values = (y.astype(np.float64) - nominal.low) / (nominal.high - nominal.low)
    if not np.abs(values).max(initial=0) <= MAX_VALUE:  # written so that NaN counts
        return noise, transfer
    counts = nominal.integer and nominal.high - nominal.low > MAX_8_BIT
    if counts and grows_with_signal(values, spatial_ndim=traits.spatial_ndim, counts=True):
        return PoissonGaussian(), "linear"
    found = find_growing_noise(values, spatial_ndim=traits.spatial_ndim)
    if found is None or (found != transfer and estimate_curve(linearise(values, found)) is None):
        return noise, transfer  # there may be too few pixels to measure it in light
    return PoissonGaussian(), found


def is_of_photons(y: FloatArray, model: Model, traits: Traits, scale: Scale) -> bool:
    """Tell whether these are counts whose noise clearly grows with the signal.

    Counts are 16-bit integers: 8-bit images usually have a transfer curve. Photographs are left out, and decimated
    images, because aliased detail looks like noise, and is stronger where it is bright.
    """
    counts = scale.integer and MAX_8_BIT < scale.high - scale.low <= MAX_16_BIT and traits.observes == "intensities"
    if not counts or _is_photograph(y, traits, scale) or traits.decimation > 1 or not knows_photons(model):
        return False
    return grows_with_signal(y, mask=traits.observed, spatial_ndim=traits.spatial_ndim, counts=True)


def _is_photograph(y: FloatArray, traits: Traits, scale: Scale) -> bool:
    """Tell whether an image was encoded for the eye, or is one in three colours that fills its range.

    What a transfer curve was undone for has more noise where it is bright, whatever made the noise. A blur that is a
    little wrong then counts most where it is dark, where photons would leave hardly any noise: with uniform noise,
    photographs end 0.5 to 5 dB better. Channels of a microscope lie in a corner of their range.
    """
    colours = y.ndim == traits.spatial_ndim + 1 and y.shape[-1] == _COLOURS
    return scale.transfer != "linear" or (colours and scale.is_nominal)


def grows_untold(y: FloatArray, model: Model, traits: Traits, scale: Scale) -> tuple[str, ...]:
    """Return a warning if floats that are not only denoised have noise that grows with the signal.

    It is not assumed to be that of photons, because detail that a blur left may also grow with the brightness.
    """
    floats = not scale.integer and scale.transfer == "linear"
    if not floats or traits.pointwise or traits.decimation > 1 or not knows_photons(model):
        return ()
    if not grows_with_signal(y, mask=traits.observed, spatial_ndim=traits.spatial_ndim):
        return ()
    return (
        "the noise grows with the signal: if these are counts, noise=PoissonGaussian(), or --noise poisson, restores "
        "with that of photons",
    )


def leaves_noise_alone(traits: Traits) -> bool:
    """Tell whether the denoiser sees the noise as it is in the data."""
    return traits.pointwise and traits.leaves == "white" and traits.unknowns_per_sample == 1
