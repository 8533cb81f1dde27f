r"""Whether a restored image rings: it has more power at the zeros of the kernel than between them.

The spectrum of a natural image does not depend on the kernel: it is as strong at the kernel's zeros as between them. A
sound restoration has less power there, because the prior recovers only a part, and a spoilt one has more: amplified
noise, or the effect of a wrong kernel, of a transfer curve or of compression. So

.. math:: \log S = \text{smooth} + b\, \log \frac{1}{|\hat h|^2 + \epsilon}

is fitted to the restored image (`plugplay.tuning.spectra`). b is about zero for true images, negative for most sound
restorations, and positive for ringing.
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

# Kernels with a smooth spectrum cannot be judged; and the floor epsilon of their power.
MIN_STRUCTURE, FLOOR = 0.35, 1e-3
# The standard error is larger by this factor, because spectra of images vary more than those of Gaussian processes.
DISPERSION = 2.0


def ringing(image: FloatArray, taps: NDArray[np.float64]) -> float:
    """Return b minus two standard errors; minus infinity if it cannot be measured.

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
