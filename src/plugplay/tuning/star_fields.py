"""Whether an image shows stars on a dark sky, which are restored on a nonlinear stretch."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from plugplay.arrays.checks import FloatArray, check_number
from plugplay.models.description import knows_photons
from plugplay.noise.curve import estimate_curve
from plugplay.noise.estimation import estimate_noise
from plugplay.noise.growing import PoissonGaussian, estimate_poisson_gaussian
from plugplay.noise.points import MIN_POINTS_OF_PEAKS, has_points, peaks_are_points
from plugplay.noise.sky import Sky, find_sky
from plugplay.tuning.counting import MAX_8_BIT
from plugplay.tuning.spectra import taps_of

if TYPE_CHECKING:
    from plugplay.arrays.scale import Scale
    from plugplay.models.base import Model
    from plugplay.traits import Traits

__all__ = ["star_field"]

# Pairs of the contrast of the brightest pixels, in units of the noise of the sky, and the share of the image that is
# sky: one of them must be exceeded, and most of what stands out must be points (`plugplay.noise.points`), not cells. If
# the user says that the noise is that of photons, a lower contrast is enough. A still lower one is enough if nothing
# but points stands out.
STAR_FIELDS = ((50.0, 0.8), (200.0, 0.5))
PHOTON_STAR_FIELDS = ((20.0, 0.8), (200.0, 0.5))
# Crowded stars, and those in front of a nebula, leave less sky. Then this contrast is enough if so many of the peaks
# are points: 0.49 to 0.52 of 1500 stars in 200 x 200 pixels are, and of photographs as night scenes 0.36 at most.
CROWDED, POINTS_OF_CROWDED = 20.0, 0.45
# tau = s / gain: the light, in units of the noise of the sky, at which photons add as much noise as the sky has.
# Estimates are limited to these ranges. Errors are towards more noise in stars, which does them little harm.
TAUS, KNOWN_TAUS = (2.0, 10.0), (2.0, 1000.0)


def star_field(y: FloatArray, model: Model, traits: Traits, noise: object, scale: Scale) -> tuple[Sky, float] | None:
    """Return the sky of a star field, and tau of its stretch (`plugplay.models.likelihoods.stretched`).

    Returns None for all other images. Stars are points far above a sky that is most of the image, in values that are
    proportional to light; what is stored in 8 bits, or fills the range from 0 to 1, is taken to be a photograph. Wider
    integers fill their range where stars saturate.

    Parameters
    ----------
    y : array
        The observation on the working scale.
    model, traits : Model, Traits
        The model and its traits.
    noise : float, PoissonGaussian, ColouredNoise, "auto" or None
        The noise as the user gave it.
    scale : Scale
        Nominal and working range.
    """
    filled, width = scale.is_nominal, scale.high - scale.low
    photograph = scale.transfer != "linear" or width == MAX_8_BIT or (filled and width == 1)
    if photograph or traits.spatial_ndim != 2:
        return None
    if traits.observes != "intensities" or traits.decimation > 1 or not knows_photons(model):
        return None
    told = noise if isinstance(noise, PoissonGaussian) else None
    known = None
    if told is not None:
        known = estimate_poisson_gaussian(scale.to_nominal(y), told, mask=traits.observed).moved(
            scale.gain, scale.offset
        )
        values = y if traits.observed is None else y[traits.observed]
        dark = max(float(np.quantile(values, 0.3)) - known.offset, 0.0)
        spread = math.sqrt((known.gain or 0.0) * dark + (known.read or 0.0) ** 2)
    elif isinstance(noise, int | float):
        spread = check_number(noise, "noise", minimum=0) * scale.gain
    else:
        spread = estimate_noise(y, mask=traits.observed).sigma
    sky = find_sky(y, spread, mask=traits.observed)
    limits = STAR_FIELDS if told is None else PHOTON_STAR_FIELDS
    if sky is None:
        return None
    bright = any(sky.contrast >= contrast and sky.share >= share for contrast, share in limits)
    if traits.spectrum is None:
        if filled or not bright:
            return None
    else:
        psf = taps_of(traits.spectrum)
        clear = bright or (not filled and has_points(y, sky, psf, mask=traits.observed))
        share = MIN_POINTS_OF_PEAKS if clear else POINTS_OF_CROWDED
        if not (clear or sky.contrast >= CROWDED):
            return None
        if not peaks_are_points(y, sky, psf, mask=traits.observed, share=share):
            return None
    if known is not None:
        return sky, float(np.clip(spread / (known.gain or 1e-9), *KNOWN_TAUS))
    curve = estimate_curve(y, mask=traits.observed)
    return sky, float(np.clip(spread / max(curve.gain, 1e-300), *TAUS)) if curve is not None else TAUS[1]
