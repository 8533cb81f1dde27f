"""Gaussian smoothing: the simplest denoiser, and a yardstick for the others."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from scipy.ndimage import gaussian_filter

from plugplay._checks import FloatArray
from plugplay.denoisers._inputs import checked, is_negligible

__all__ = ["Gaussian", "blur_width"]


def blur_width(sigma: float) -> float:
    """Return the standard deviation, in pixels, of the Gaussian that suits noise of standard deviation `sigma`.

    The squared width is a quadratic in sigma, fitted by hand to the widths with the best mean PSNR over crops of
    scikit-image's camera, coins, astronaut and coffee: 0.42, 0.55, 0.66, 0.87, 1.1, 1.38 and 1.8 pixels for
    sigma of 5, 10, 15, 25, 35, 50 and 75 over 255.

    Examples
    --------
    >>> round(blur_width(25 / 255), 2)
    0.92
    """
    return math.sqrt(7.4 * sigma + 12 * sigma**2)


@dataclass(frozen=True, kw_only=True)
class Gaussian:
    r"""Convolve with a Gaussian of :math:`\sqrt{7.4\,\sigma + 12\,\sigma^2}` pixels, mirrored at the edges.

    It is bounded in the sense of the paper: what a pixel gets from its neighbours vanishes like
    :math:`e^{-1/(14.8\,\sigma)}` as :math:`\sigma \to 0`, faster than any power.

    Examples
    --------
    >>> import numpy as np
    >>> dot = np.zeros((5, 5)); dot[2, 2] = 1
    >>> Gaussian()(dot, 0.1).round(2)[2]
    array([0.02, 0.1 , 0.19, 0.1 , 0.02])
    """

    name: ClassVar[str] = "gaussian"

    def __call__(self, image: FloatArray, sigma: float, /) -> FloatArray:
        """Denoise; colour channels are treated one by one."""
        noisy, sigma = checked(image, sigma)
        if is_negligible(sigma):
            return noisy.copy()
        smooth: FloatArray = gaussian_filter(noisy, blur_width(sigma), mode="reflect", axes=(0, 1))
        return smooth
