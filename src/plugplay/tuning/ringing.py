r"""Whether a restored image rings: more power where the kernel left nothing than where it left much.

A natural image does not know the kernel: its spectrum is as strong at the kernel's zeros as between them. A restored
image has less there, as the prior fills in only what it can guess, and a spoilt one has more: noise that was amplified,
or what a wrong kernel, a wrong curve of brightness or compression left at frequencies that should be empty. So

.. math:: \log S = \text{smooth} + b\, \log \frac{1}{|\hat h|^2 + \epsilon}

is fitted to the restored image (`plugplay.tuning.spectra`), and b tells. It is about zero for true images and negative
for most sound restorations.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from plugplay.tuning.rules import MIN_NOISE
from plugplay.tuning.spectra import SmoothSpectra, periodogram, window_for

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay.arrays.checks import FloatArray

__all__ = ["ringing"]

# A kernel whose spectrum is itself smooth tells nothing; below the floor, which is epsilon, its power does not count.
MIN_STRUCTURE, FLOOR = 0.35, 1e-3
# An image's spectrum varies more than that of a Gaussian process.
DISPERSION = 2.0


def ringing(image: FloatArray, taps: NDArray[np.float64]) -> float:
    """Return b, less two standard errors; minus infinity if it cannot be told.

    Parameters
    ----------
    image : array
        The restored image, 2-D, with or without channels.
    taps : array
        The kernel.

    Examples
    --------
    >>> import numpy as np, plugplay as pp
    >>> x = np.random.default_rng(0).random((128, 128))
    >>> y = pp.models.Deblurring(pp.kernels.box(9)).forward(x)
    >>> told = pp.kernels.box(11)
    >>> spoilt = pp.models.Deblurring(told).data_term(y).prox(np.full((128, 128), 0.5), 1e-6)
    >>> ringing(x, told) < 0.1, ringing(spoilt, told) > 0.3
    (True, True)
    """
    side = window_for(image.shape, taps)
    if side is None:
        return -math.inf
    power = periodogram(image, side)
    spectra = SmoothSpectra(power, MIN_NOISE)
    weakness = -np.log(np.square(np.abs(spectra.transfer(taps))) + FLOOR)
    structure = spectra.beyond(weakness)
    if float(np.std(structure)) < MIN_STRUCTURE:
        return -math.inf
    error = DISPERSION / math.sqrt(float(np.sum(np.square(structure))))
    fitted = SmoothSpectra(power, MIN_NOISE / 10, further=weakness - float(weakness.min())).fit(np.ones(power.shape))
    return float(fitted.coefficients[-3]) - 2 * error
