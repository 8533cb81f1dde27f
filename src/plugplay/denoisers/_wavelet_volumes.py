r"""Haar thresholding of volumes, averaged over all shifts: `plugplay.denoisers.wavelet` with one axis more.

A cell of level l has eight corners, `step` = 2^l voxels apart, and eight coefficients: with signs
:math:`s_k = \pm 1` along the axes that a coefficient takes differences of,
:math:`y_k = \tfrac18 \sum_c s_k(c)\, x_c` and :math:`x_c = \sum_k s_k(c)\, y_k`. A voxel is a corner of eight cells,
and the mean of what they say about it is kept.

Unlike images, volumes are large. Detail coefficients are therefore computed twice, for their energy and for the
result, and never stored: what is kept is the volume and one smoother one for each level.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from plugplay.arrays.checks import FloatArray
from plugplay.arrays.strips import Runner, strips, threads
from plugplay.compiling import kernel
from plugplay.denoisers._scalars import soft

__all__ = ["shrink_volumes"]

# Rows that a thread gets at a time, counted through all slices.
ROWS = 512


def shrink_volumes(
    x: FloatArray, sigma: float, *, levels: int, threshold: Callable[[float, float], float], workers: int
) -> FloatArray:
    """Denoise channels-first `x`, whose noise has the standard deviation sigma in every channel.

    ``threshold(power, noise)`` gives the threshold of a band with this mean square, of which this much is noise.
    """
    reach = 2**levels - 1
    smooth = np.empty_like(x)
    run = threads(workers)
    for volume, out in zip(x, smooth, strict=True):
        out[:] = _shrink(np.pad(volume, reach, mode="symmetric"), sigma, levels, threshold, run)
    return smooth


def _shrink(
    volume: FloatArray, sigma: float, levels: int, threshold: Callable[[float, float], float], run: Runner
) -> FloatArray:
    """Return the volume without what it was extended by."""
    fine, limits = [volume], []
    for level in range(levels):
        step = 2**level
        coarse = np.empty([side - step for side in fine[-1].shape], volume.dtype)
        pieces = strips(coarse.shape[0] * coarse.shape[1], ROWS)
        energy = np.sum(run(partial(_analyse, fine[-1], step, coarse), pieces), axis=0)
        noise = sigma**2 / 8 ** (level + 1)
        limits.append(np.array([threshold(power / coarse.size, noise) for power in energy], volume.dtype))
        fine.append(coarse)
    smooth = fine.pop()
    begin = 0
    for level in reversed(range(levels)):
        step = 2**level
        # A voxel is in eight cells, half of which begin `step` before it along an axis: so much is lost there.
        finer = np.empty([side - step for side in smooth.shape], volume.dtype)
        pieces = strips(finer.shape[0] * finer.shape[1], ROWS)
        run(partial(_synthesise, fine.pop(), begin, smooth, limits[level], step, finer), pieces)
        smooth = finer
        begin += step
    return smooth


@kernel
def _cells(fine: FloatArray, z: int, y: int, left: int, step: int, even: FloatArray, odd: FloatArray) -> None:
    """Fill ``even[k, j]`` and ``odd[k, j]`` with the coefficients of the cells that begin at (z, y, left + j).

    Even and odd are sums and differences along the row; k = 0 to 3 are sums and differences down the column and
    across the slices: ++, +-, -+, --.
    """
    count = even.shape[1]
    eighth = fine.dtype.type(0.125)
    a, b = fine[z, y, left:], fine[z, y + step, left:]
    c, d = fine[z + step, y, left:], fine[z + step, y + step, left:]
    for j in range(count):
        near_a, near_b, near_c, near_d = a[j], b[j], c[j], d[j]
        far_a, far_b, far_c, far_d = a[j + step], b[j + step], c[j + step], d[j + step]
        sum_a, sum_b, sum_c, sum_d = near_a + far_a, near_b + far_b, near_c + far_c, near_d + far_d
        even[0, j] = eighth * ((sum_a + sum_b) + (sum_c + sum_d))
        even[1, j] = eighth * ((sum_a + sum_b) - (sum_c + sum_d))
        even[2, j] = eighth * ((sum_a - sum_b) + (sum_c - sum_d))
        even[3, j] = eighth * ((sum_a - sum_b) - (sum_c - sum_d))
        step_a, step_b, step_c, step_d = near_a - far_a, near_b - far_b, near_c - far_c, near_d - far_d
        odd[0, j] = eighth * ((step_a + step_b) + (step_c + step_d))
        odd[1, j] = eighth * ((step_a + step_b) - (step_c + step_d))
        odd[2, j] = eighth * ((step_a - step_b) + (step_c - step_d))
        odd[3, j] = eighth * ((step_a - step_b) - (step_c - step_d))


@kernel
def _analyse(fine: FloatArray, step: int, coarse: FloatArray, first: int, stop: int) -> NDArray[np.float64]:
    """Fill rows `first` to `stop` of `coarse` and return the sums of squares of the seven detail bands."""
    _, height, width = coarse.shape
    even, odd = np.empty((4, width), fine.dtype), np.empty((4, width), fine.dtype)
    energy = np.zeros((7, width), fine.dtype)
    for row in range(first, stop):
        z, y = row // height, row % height
        _cells(fine, z, y, 0, step, even, odd)
        coarse[z, y] = even[0]
        for k in range(7):
            band, total = even[k + 1] if k < 3 else odd[k - 3], energy[k]
            for j in range(width):
                total[j] += band[j] * band[j]
    sums = np.empty(7)
    for k in range(7):
        sums[k] = np.sum(energy[k])
    return sums


@kernel
def _synthesise(
    fine: FloatArray,
    begin: int,
    coarse: FloatArray,
    limits: FloatArray,
    step: int,
    finer: FloatArray,
    first: int,
    stop: int,
) -> None:
    """Fill rows `first` to `stop` of `finer` with the mean of the eight reconstructions of each voxel.

    ``coarse[i, j, k]`` is the smoothed sum of the cell that begins at ``fine[begin + i, begin + j, begin + k]``.
    """
    _, height, width = finer.shape
    cells = width + step
    even, odd = np.empty((4, cells), fine.dtype), np.empty((4, cells), fine.dtype)
    near, far = np.empty(cells, fine.dtype), np.empty(cells, fine.dtype)
    eighth = finer.dtype.type(0.125)
    signs = np.ones(2, fine.dtype)
    signs[1] = -1
    for row in range(first, stop):
        z, y = row // height, row % height
        near[:] = 0
        far[:] = 0
        for corner in range(4):
            # The voxel is the first or the second corner of a cell, across the slices and down the column.
            dz, dy = step * (1 - corner // 2), step * (1 - corner % 2)
            across, down = signs[corner // 2], signs[corner % 2]
            _cells(fine, begin + z + dz, begin + y + dy, begin, step, even, odd)
            smooth = coarse[z + dz, y + dy]
            for j in range(cells):
                near[j] += (
                    smooth[j]
                    + across * soft(even[1, j], limits[0])
                    + down * soft(even[2, j], limits[1])
                    + across * down * soft(even[3, j], limits[2])
                )
            for j in range(cells):
                far[j] += (
                    soft(odd[0, j], limits[3])
                    + across * soft(odd[1, j], limits[4])
                    + down * soft(odd[2, j], limits[5])
                    + across * down * soft(odd[3, j], limits[6])
                )
        out = finer[z, y]
        for j in range(width):
            out[j] = eighth * (near[j + step] + far[j + step] + near[j] - far[j])
