"""One luminance and two chrominances in an orthonormal basis, in which white noise stays white."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from plugplay.arrays.checks import FloatArray

__all__ = ["OPPONENT", "from_opponent", "to_opponent"]

OPPONENT: NDArray[np.float64] = np.array([[1, 1, 1], [1, 0, -1], [1, -2, 1]]) / np.sqrt([[3], [2], [6]])


def to_opponent(planes: FloatArray) -> FloatArray:
    """Return ``(..., 3, H, W)``, red, green and blue, in the basis; the dtype is kept.

    Examples
    --------
    >>> gray = np.ones((3, 1, 1))
    >>> to_opponent(gray).ravel().round(3) + 0.0
    array([1.732, 0.   , 0.   ])
    """
    return _mixed(OPPONENT, planes)


def from_opponent(planes: FloatArray) -> FloatArray:
    """Return to red, green and blue."""
    return _mixed(OPPONENT.T, planes)


def _mixed(basis: NDArray[np.float64], planes: FloatArray) -> FloatArray:
    red, green, blue = (planes[..., index, :, :] for index in range(3))
    weights = basis.astype(planes.dtype)
    # Written out, since a matrix product may sum in another order on another machine or with other threads.
    rows = [row[0] * red + row[1] * green + row[2] * blue for row in weights]
    return np.stack(rows, axis=-3)
