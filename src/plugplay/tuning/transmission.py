r"""Which frequencies of an image an observation decides.

With the spectrum :math:`S(f) \propto 1 / (|f|^2 + f_0^2)` that natural images share, a blur :math:`\hat h` and noise s,
the observation decides the share

.. math:: e = \operatorname{mean}_f \frac{|\hat h|^2 S}{|\hat h|^2 S + s^2}

of all frequencies: all of them without blur and noise, none of them if there is only noise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["NATURAL_VARIANCE", "natural_spectrum", "transmission"]

# The variance of the natural spectrum, and the frequency below which it is flat, in cycles per pixel.
NATURAL_VARIANCE = 0.05
NATURAL_FLATNESS = 1 / 64


def natural_spectrum(shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return the power that natural images have on average at the frequencies of an FFT of this shape."""
    squares = np.zeros(shape)
    for axis, n in enumerate(shape):
        squares += np.square(np.fft.fftfreq(n)).reshape([-1 if other == axis else 1 for other in range(len(shape))])
    spectrum: NDArray[np.float64] = 1 / (squares + NATURAL_FLATNESS**2)
    return np.asarray(spectrum * (NATURAL_VARIANCE / spectrum.mean()))


def transmission(spectrum: NDArray[np.complex128], noise: float) -> float:
    """Return e, the share of an image's frequencies that its observation decides, between 0 and 1.

    Parameters
    ----------
    spectrum : array
        The spectrum of the blur.
    noise : float
        Standard deviation of the noise.

    Examples
    --------
    >>> blur = np.full((64, 64), 0.5)
    >>> [round(transmission(blur, noise), 2) for noise in (0.0, 0.01, 0.1, 1.0)]
    [1.0, 0.97, 0.33, 0.01]
    """
    power = np.square(np.abs(spectrum)) * natural_spectrum(spectrum.shape)
    return float(np.mean(power / (power + noise**2)))
