r"""The most that the noise behind a blur can be: what an observation holds where its image has hardly anything.

Estimates from the quietest blocks of an observation (`plugplay.noise.estimation`) take fine texture and the grain of a
photograph for noise. But these were blurred with the rest of the scene, and the noise was not. Where
:math:`|\hat h|^2 S` is least, with S the spectrum that natural images share, the power of the observation,

.. math:: P = |\hat h|^2\, |\hat x|^2 + s^2 \ge s^2,

is hardly more than that of the noise, whatever the image is. A wrong kernel or another spectrum only makes it more.

White noise is the same at all frequencies, but what a camera has smoothed is least at the highest ones, where a kernel
leaves least, too. So all frequencies count at which natural images would explain at most `EXPLAINED` of the power, down
to those that decide what becomes of noise in a deblurring, and the twentieth that holds least in any case. They are
ordered by what images explain, divided into four, and the part with most power is the bound, two standard errors
added. Clipped pixels have no noise. Missing ones are filled with what their neighbours hold, which is the opposite of
what they held at the highest frequencies: if they are a share m, those keep :math:`(1 - 2m)^2` of the noise's power.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from plugplay.tuning.nulls import measured_spectra
from plugplay.tuning.small_holes import without_holes

if TYPE_CHECKING:
    from plugplay.arrays.checks import FloatArray
    from plugplay.traits import Traits

__all__ = ["most_noise"]

# Of the power at a frequency, what images may explain; and of all frequencies, those that count in any case.
EXPLAINED, LEAST_SHARE = 0.3, 0.05
PARTS = 4
STANDARD_ERRORS = 2.0
# Neighbouring frequencies of an image in a Hann window tell the same: so many, along each axis, are one.
NEIGHBOURS = 1.5
# Fewer frequencies tell nothing, nor do images without noise nearly everywhere.
MIN_FREQUENCIES, MIN_NOISY = 100, 0.25
# Large images are looked at in windows of this side.
WINDOW = 256


def most_noise(y: FloatArray, traits: Traits) -> float:
    """Return what the standard deviation of white noise is at most; infinite if nothing is known.

    Parameters
    ----------
    y : array
        The observation, 2-D, with or without channels.
    traits : Traits
        Of the model; anything but a blur of a whole image, or one with small holes, tells nothing.

    Examples
    --------
    >>> import numpy as np, plugplay as pp
    >>> blur = pp.models.Deblurring(pp.kernels.gaussian(9, sigma=1.0))
    >>> grain = 0.5 + np.random.default_rng(0).normal(0, 0.05, (128, 128))
    >>> y = blur.simulate(grain, noise=0.01, rng=1)
    >>> 0.01 <= most_noise(y, blur.traits(y)) < 0.015
    True
    """
    if traits.spectrum is None or traits.spectrum.ndim != 2 or traits.decimation > 1 or traits.pointwise:
        return math.inf
    whole, known = without_holes(y, traits)
    measured = measured_spectra(whole, known, WINDOW)
    missing = 0.0 if traits.observed is None else 1 - float(np.mean(traits.observed))
    noisy = _unclipped(whole) * (1 - 2 * missing) ** 2
    if measured is None or noisy < MIN_NOISY:
        return math.inf
    order = np.argsort(measured.signal, axis=None, kind="stable")
    power, signal = measured.power.ravel()[order], measured.signal.ravel()[order]
    least = round(LEAST_SHARE * power.size)
    if least < MIN_FREQUENCIES:
        return math.inf
    floor = float(np.mean(power[:least]))
    count = max(least, int(np.searchsorted(signal, EXPLAINED * floor)))
    parts = [float(np.mean(part)) for part in np.array_split(power[:count], min(PARTS, count // least))]
    told = count / len(parts) * measured.windows / NEIGHBOURS**2
    return math.sqrt(max(parts) / noisy) * (1 + STANDARD_ERRORS / (2 * math.sqrt(told)))


def _unclipped(y: FloatArray) -> float:
    """Return the share of all values that are neither the least nor the greatest, as clipped ones are."""
    return 1 - sum(float(np.mean(y == end)) for end in (y.min(), y.max()))
