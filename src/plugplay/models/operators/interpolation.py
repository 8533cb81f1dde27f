"""Aligned bicubic interpolation: the start of super-resolution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from plugplay.arrays.checks import FloatArray
from plugplay.kernels import cubic

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["bicubic_upsample"]


def bicubic_upsample(image: FloatArray, factor: int, position: tuple[float, ...]) -> FloatArray:
    """Enlarge `image` by `factor`, with sample i sitting at pixel ``factor * i + position`` of the result.

    There is a position for each spatial axis. The domain is circular, as that of the closed forms.

    Examples
    --------
    >>> import numpy as np
    >>> bicubic_upsample(np.eye(3), 2, (0.0, 0.0))[::2, ::2]
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    """
    for axis, where in enumerate(position):
        image = _along_axis(image, factor, where, axis)
    return image


def _along_axis(image: FloatArray, factor: int, position: float, axis: int) -> FloatArray:
    count = image.shape[axis]
    where = (np.arange(count * factor) - position) / factor
    nearest = np.floor(where).astype(np.intp)
    shape = [1] * image.ndim
    shape[axis] = -1
    result: FloatArray = np.zeros((*image.shape[:axis], count * factor, *image.shape[axis + 1 :]), image.dtype)
    for tap in range(-1, 3):
        weights: NDArray[np.float64] = cubic(where - (nearest + tap))
        taken = np.take(image, (nearest + tap) % count, axis=axis)
        result += taken * weights.reshape(shape).astype(image.dtype)
    return result
