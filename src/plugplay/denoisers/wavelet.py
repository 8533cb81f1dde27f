"""Wavelet thresholding with BayesShrink, as scikit-image implements it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from plugplay._checks import FloatArray, check_number, float_image

__all__ = ["Wavelet"]


@dataclass(frozen=True)
class Wavelet:
    """Shrink the wavelet coefficients by a threshold that is chosen for each sub-band.

    Examples
    --------
    >>> import numpy as np
    >>> Wavelet()(np.full((8, 8), 0.5, np.float32), 0.1).dtype
    dtype('float32')
    """

    name: ClassVar[str] = "wavelet"

    def __call__(self, image: FloatArray, sigma: float, /) -> FloatArray:
        """Denoise; colour channels are treated one by one."""
        from skimage.restoration import denoise_wavelet

        noisy = float_image(image, "image")
        sigma = check_number(sigma, "sigma", minimum=0)
        if sigma == 0:
            return noisy.copy()
        smooth = denoise_wavelet(
            noisy.astype(np.float64),
            sigma=sigma,
            wavelet="db2",
            method="BayesShrink",
            mode="soft",
            rescale_sigma=False,
            channel_axis=-1 if noisy.ndim == 3 else None,
        )
        return np.asarray(smooth).astype(noisy.dtype)
