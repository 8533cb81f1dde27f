"""The opponent colours in which colour images are denoised.

Luminance carries most of the structure, so that groups are looked for there; the two chrominance channels carry
most of the noise.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["from_opponent", "opponent_noise", "to_opponent"]

_FORWARD: NDArray[np.float64] = np.array([[1 / 3, 1 / 3, 1 / 3], [1 / 2, 0, -1 / 2], [1 / 4, -1 / 2, 1 / 4]])
_INVERSE: NDArray[np.float64] = np.linalg.inv(_FORWARD).astype(np.float64)


def to_opponent(planes: NDArray[np.float32]) -> NDArray[np.float32]:
    """Turn red, green, blue ``(3, H, W)`` into luminance, red-blue and magenta-green."""
    return _mixed(planes, _FORWARD)


def from_opponent(planes: NDArray[np.float32]) -> NDArray[np.float32]:
    """Undo `to_opponent`."""
    return _mixed(planes, _INVERSE)


def opponent_noise(sigma: float) -> NDArray[np.float64]:
    """Return the standard deviations, after `to_opponent`, of white noise with `sigma` in each colour.

    Examples
    --------
    >>> opponent_noise(1.0).round(3)
    array([0.577, 0.707, 0.612])
    """
    norms: NDArray[np.float64] = np.linalg.norm(_FORWARD, axis=1)
    return sigma * norms


def _mixed(planes: NDArray[np.float32], matrix: NDArray[np.float64]) -> NDArray[np.float32]:
    # Written out rather than as a matrix product: the sum has the same order on every machine.
    mixed = np.empty_like(planes)
    for row, target in zip(matrix.astype(np.float32), mixed, strict=True):
        np.multiply(planes[0], row[0], out=target)
        target += row[1] * planes[1]
        target += row[2] * planes[2]
    return mixed
