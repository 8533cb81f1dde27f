r"""Rules for mild blur.

**Nearly white noise.** If an observation decides more than 0.7 of all frequencies (`plugplay.tuning.transmission`), the
model's step leaves noise that is nearly white, and the denoiser is prepared for white noise: BM3D then uses its third
stage and gains 0.1 to 0.4 dB, with a slightly smaller lambda.

**Denoising first.** A still milder blur is best inverted once, after a single denoising d of the data
(`plugplay.pnp.denoise_first`): the noise in the data is white, which the denoiser removes best, and leaves little of.
Let the error of d be white, of variance :math:`c s^2`, and let x differ from d by what the blur removed, of variance
:math:`t^2 = \operatorname{mean}_f S |1 - \hat h|^2`. Then the most likely x minimises
:math:`\|G x - d\|^2 / c s^2 + \|x - d\|^2 / t^2`, which is the model's step on d with

.. math:: \rho = c s^2 / t^2, \qquad x = d\, (\hat h^* + \rho) / (|\hat h|^2 + \rho) \text{ at each frequency.}

If the blur removes much less than the noise adds, rho is large and x = d. The step multiplies the variance of the error
of d by the mean square A of that gain; where A is large, the loop is better, which denoises it again. (Kernels that
reverse the phase of a frequency, as shifts do, are not mild.) With c = 0.1 (0.05 to 0.2 are as good) and A below 2.4,
six images it was chosen on (camera, astronaut, coffee, motorcycle, bridge, nuthatch) and Gaussian, disk and motion blur
gain 0.04 to 0.4 dB on average over the loop where it is used, and lose 0.1 to 0.5 dB beyond, at A of 2.7 to 11. On six
others (rocket, retina, moon, wine, seeding, grass; Gaussian of 0.3 to 0.7 pixels, noise 2, 8 and 20/255) it is 0.45 dB
above the loop to 0.02 below, and 0.003 dB below a single denoising at worst, on average over the images; single ones
from -0.19 to +1.31.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from plugplay.tuning.transmission import natural_spectrum, transmission

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay.traits import Traits

__all__ = [
    "denoises_first",
    "is_mild_throughout",
    "leaves_nearly_white_noise",
    "rho_after_denoising",
    "spectrum_of_blur",
]

# c, the share of the noise's variance that a denoising leaves, and the limit of A.
LEFT_BY_DENOISING = 0.1
MAX_AMPLIFICATION = 2.4
# A blur is mild if the observation decides this share of all frequencies.
MILD_BLUR = 0.7
# A loop saves time if the observation decides this share even with the noise that is assumed at least.
MILD_THROUGHOUT, MIN_ASSUMED = 0.6, 0.6 / 255


def leaves_nearly_white_noise(traits: Traits, noise: float) -> bool:
    """Tell whether a blur is so mild that the model's step leaves nearly white noise."""
    spectrum = spectrum_of_blur(traits)
    return spectrum is not None and transmission(spectrum, noise) > MILD_BLUR


def is_mild_throughout(traits: Traits, noise: float) -> bool:
    """Tell whether the loop behind a mild blur may have sparse blocks, rougher steps and fewer calls.

    Not if only the noise of rounding makes a blur mild: without it, a disk of 4 pixels leaves edges that ring, which is
    taken for a wrong noise level (camera, 1.8 dB).

    Examples
    --------
    >>> import numpy as np, plugplay as pp
    >>> blurs = [pp.models.Deblurring(pp.kernels.disk(radius)) for radius in (2.5, 4)]
    >>> [is_mild_throughout(blur.traits(np.zeros((64, 64))), 0.3 / 255) for blur in blurs]
    [True, False]
    """
    spectrum = spectrum_of_blur(traits)
    if spectrum is None or not leaves_nearly_white_noise(traits, noise):
        return False
    return transmission(spectrum, max(noise, MIN_ASSUMED)) > MILD_THROUGHOUT


def denoises_first(traits: Traits, noise: float) -> bool:
    """Tell whether a blur is so mild that it is best inverted once, after a denoising.

    Examples
    --------
    >>> import numpy as np, plugplay as pp
    >>> blurs = [pp.models.Deblurring(pp.kernels.gaussian(9, sigma=width)) for width in (0.4, 0.5, 0.6)]
    >>> [denoises_first(blur.traits(np.zeros((64, 64))), 20 / 255) for blur in blurs]
    [True, True, False]
    """
    h = spectrum_of_blur(traits)
    if h is None or not np.all(h.real > 0):  # a kernel that reverses the phase of a frequency is not mild
        return False
    rho = rho_after_denoising(h, noise)
    gain = np.abs((h.conj() + rho) / (np.square(np.abs(h)) + rho))
    return float(np.mean(np.square(gain))) < MAX_AMPLIFICATION


def rho_after_denoising(spectrum: NDArray[np.complex128], noise: float) -> float:
    """Return the rho of the step after a denoising: the variance of its error over that of what the blur removed."""
    taken = float(np.mean(natural_spectrum(spectrum.shape) * np.square(np.abs(1 - spectrum))))
    return LEFT_BY_DENOISING * max(noise, 1e-9) ** 2 / max(taken, 1e-12)


def spectrum_of_blur(traits: Traits) -> NDArray[np.complex128] | None:
    """Return the spectrum of a convolution with ``f = ½ ||G x - y||²`` and no missing pixels; else None."""
    plain = traits.weight is None and traits.decimation == 1 and traits.unknowns_per_sample == 1
    return traits.spectrum if plain else None
