"""What every built-in does with its two arguments before it starts."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from plugplay.arrays.checks import FloatArray, check_number, float_image

__all__ = ["channels_first", "channels_last", "checked", "is_negligible"]

# A noise level this far below the rounding errors of an image on [0, 1] means that there is nothing to do;
# it also keeps 1 / sigma² within single precision.
NEGLIGIBLE = 1e-12


def checked(image: ArrayLike, sigma: object, spatial_ndim: int = 2) -> tuple[FloatArray, float]:
    """Return the image, or the volume if `spatial_ndim` is 3, and sigma, or raise."""
    return float_image(image, "image", spatial_ndim=spatial_ndim), check_number(sigma, "sigma", minimum=0)


def is_negligible(sigma: float) -> bool:
    """Tell whether a denoiser should return its input as it is.

    Examples
    --------
    >>> is_negligible(0.0), is_negligible(1e-4)
    (True, False)
    """
    return sigma < NEGLIGIBLE


def channels_first(image: FloatArray, spatial_ndim: int = 2) -> FloatArray:
    """Return a copy of the image as ``(C, H, W)``, or of the volume as ``(C, D, H, W)``.

    Always a copy, so that kernels see one kind of array and are compiled once: for Numba, a read-only array or one with
    another order in memory has another type.
    """
    with_channels = image if image.ndim > spatial_ndim else image[..., np.newaxis]
    return np.array(np.moveaxis(with_channels, -1, 0), order="C")


def channels_last(planes: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    """Return ``(C, H, W)`` or ``(C, D, H, W)`` as the image or volume of shape `shape` that it came from.

    Examples
    --------
    >>> image = np.random.default_rng(0).random((2, 3))
    >>> np.array_equal(channels_last(channels_first(image), image.shape), image)
    True
    """
    return np.ascontiguousarray(np.moveaxis(planes, 0, -1)).reshape(shape)
