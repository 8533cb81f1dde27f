"""Patches of an enlarged image, one around each sample of the small one, on a circular domain.

A sample of the small image is a cell of K x K pixels of the large one. A patch is a block of 3 x 3 cells, so that
all patches see the grid of samples in the same place; each pixel lies in nine of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from plugplay_paper.arrays import FloatArray

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["average_patches", "derivatives", "patches"]

# Cells along each side of a patch.
_SIDE = 3


def derivatives(image: FloatArray, factor: int) -> FloatArray:
    """Return the first and second derivatives along both axes, ``(4, H, W)``, over distances of a cell.

    Examples
    --------
    >>> ramp = np.tile(np.arange(16.0), (16, 1))
    >>> derivatives(ramp, 2)[:, 8, 8]
    array([0., 4., 0., 0.])
    """
    first, second = [], []
    for axis in (0, 1):
        first.append(np.roll(image, -factor, axis) - np.roll(image, factor, axis))
        far = np.roll(image, -2 * factor, axis) + np.roll(image, 2 * factor, axis)
        second.append(0.5 * far - image)
    return np.stack(first + second)


def patches(maps: FloatArray, factor: int, where: NDArray[np.intp] | None = None, *, side: int = _SIDE) -> FloatArray:
    """Return the patches around the samples numbered `where`, all by default, as rows.

    Parameters
    ----------
    maps : array, ``(C, H, W)``
        One or several images; a row holds the patches of all.
    factor : int
        K, the side of a cell.
    where : array of int, optional
        Samples, numbered row by row.
    side : int
        Cells along each side of a patch, an odd number.

    Examples
    --------
    >>> patches(np.arange(144.0).reshape(1, 12, 12), 2).shape
    (36, 36)
    """
    margin = factor * (side // 2)
    padded = np.pad(maps, ((0, 0), (margin, margin), (margin, margin)), mode="wrap")
    windows = sliding_window_view(padded, (side * factor, side * factor), axis=(1, 2))[:, ::factor, ::factor]
    height, width = windows.shape[1:3]
    rows, columns = np.divmod(np.arange(height * width) if where is None else where, width)
    size = len(maps) * (side * factor) ** 2
    return windows[:, rows, columns].swapaxes(0, 1).reshape(len(rows), size)


def average_patches(rows: FloatArray, shape: tuple[int, int], factor: int) -> FloatArray:
    """Put the patches of a single map, one for each sample of an image of `shape`, in their places; average them.

    Examples
    --------
    >>> image = np.arange(144.0).reshape(12, 12)
    >>> bool(np.allclose(average_patches(patches(image[None], 2), (6, 6), 2), image))
    True
    """
    height, width = shape
    cells = rows.reshape(height, width, _SIDE, factor, _SIDE, factor)
    total = np.zeros((height, width, factor, factor), rows.dtype)
    for down in range(_SIDE):
        for right in range(_SIDE):
            total += np.roll(cells[:, :, down, :, right, :], (down - _SIDE // 2, right - _SIDE // 2), axis=(0, 1))
    return total.swapaxes(1, 2).reshape(height * factor, width * factor) / _SIDE**2
