r"""Bicubic resampling to any size on a circular domain.

Both domains have the same extent, so that pixel i of m lies at :math:`(i + \tfrac12) n / m - \tfrac12` among n. Where
the image becomes smaller the cubic is stretched, which for whole factors is the decimation of
`plugplay.models.SuperResolution` with its bicubic filter.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from plugplay_paper.arrays import FloatArray, frozen

__all__ = ["resampled"]


def resampled(image: FloatArray, shape: tuple[int, int]) -> FloatArray:
    """Return the image with another number of pixels, in its own dtype.

    Examples
    --------
    >>> resampled(np.ones((6, 9)), (8, 8)).round(6).min()
    np.float64(1.0)
    """
    down, across = (_matrix(n, m).astype(image.dtype) for n, m in zip(image.shape, shape, strict=True))
    result: FloatArray = down @ image @ across.T
    return result


@functools.lru_cache(maxsize=64)
def _matrix(n: int, m: int) -> NDArray[np.float64]:
    """Return the matrix that takes n samples to m."""
    stretch = max(1.0, n / m)
    reach = int(np.ceil(2 * stretch)) + 1
    centres = (np.arange(m) + 0.5) * n / m - 0.5
    taps = np.floor(centres)[:, None].astype(int) + np.arange(-reach, reach + 1)
    weights = _cubic((taps - centres[:, None]) / stretch)
    weights /= weights.sum(axis=1, keepdims=True)
    matrix = np.zeros((m, n))
    np.add.at(matrix, (np.arange(m)[:, None], taps % n), weights)
    return frozen(matrix)


def _cubic(t: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Keys' cubic with a = -1/2."""
    t = np.abs(t)
    inner = (1.5 * t - 2.5) * t * t + 1
    outer = ((-0.5 * t + 2.5) * t - 4) * t + 2
    return np.where(t <= 1, inner, np.where(t < 2, outer, 0))
