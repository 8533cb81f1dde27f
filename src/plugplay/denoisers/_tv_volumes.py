r"""Total variation of volumes: the algorithm of `plugplay.denoisers.tv` with one axis more.

One iteration of fast gradient projection on the dual problem is two sweeps over the volume,

.. math::

    v = x + w \operatorname{div} q, \qquad
    p' = P\bigl(q + \tfrac1{12 w} \nabla v\bigr), \qquad q' = p' + m\,(p' - p),

where P shortens the vectors at each voxel to length 1 at most. The first sweep writes v only, the second changes p and
q at one voxel at a time, so that both can be cut anywhere and need no copies: a volume takes eight arrays of its size.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from plugplay.arrays.checks import FloatArray
from plugplay.arrays.strips import strips, threads
from plugplay.compiling import kernel
from plugplay.denoisers._scalars import Scalar

__all__ = ["minimise_volume"]

# Rows that a thread gets at a time, counted through all slices.
ROWS = 256


def minimise_volume(
    x: FloatArray, strength: float, tolerance: float, *, momenta: FloatArray, stride: int, workers: int
) -> FloatArray:
    """Return the minimiser for channels-first `x`, to the RMS error `tolerance`.

    Parameters
    ----------
    x : array
        ``(C, D, H, W)``.
    strength : float
        The weight w of the total variation.
    tolerance : float
        The RMS distance from the minimiser at which to stop.
    momenta : array
        The factors m of all iterations.
    stride : int
        Iterations between two looks at the duality gap.
    workers : int
        Number of threads.
    """
    p, q = (np.zeros((3, *x.shape), x.dtype) for _ in range(2))
    v = np.empty_like(x)
    weight, pace = x.dtype.type(strength), x.dtype.type(1 / (12 * strength))
    pieces = strips(x.shape[1] * x.shape[2], ROWS)
    run = threads(workers)
    for iteration, momentum in enumerate(momenta.astype(x.dtype), start=1):
        run(partial(_primal, x, q, weight, v), pieces)
        run(partial(_dual, v, p, q, pace, momentum), pieces)
        if iteration % stride == 0 or iteration == len(momenta):
            run(partial(_primal, x, p, weight, v), pieces)
            gap = math.fsum(run(partial(_gap, v, p, weight), pieces))
            if 2 * gap <= tolerance**2 * x.size:
                break
    return v


@kernel
def _primal(x: FloatArray, field: FloatArray, weight: Scalar, v: FloatArray, first: int, stop: int) -> None:
    """Fill rows `first` to `stop` of v = x + weight div p; what would leave the volume is zero in the field."""
    channels, _, height, width = x.shape
    for c in range(channels):
        for row in range(first, stop):
            z, y = row // height, row % height
            out, here = v[c, z, y], x[c, z, y]
            inward, down, along = field[0, c, z, y], field[1, c, z, y], field[2, c, z, y]
            for j in range(width):
                out[j] = here[j] + weight * (inward[j] + down[j] + along[j])
            for j in range(1, width):
                out[j] -= weight * along[j - 1]
            if y > 0:
                above = field[1, c, z, y - 1]
                for j in range(width):
                    out[j] -= weight * above[j]
            if z > 0:
                before = field[0, c, z - 1, y]
                for j in range(width):
                    out[j] -= weight * before[j]


@kernel
def _differences(v: FloatArray, c: int, z: int, y: int, steps: FloatArray) -> None:
    """Fill `steps` with the differences to the next slice, the next row and the next column; zero at the ends."""
    _, depth, height, width = v.shape
    here = v[c, z, y]
    steps[:] = 0
    if z + 1 < depth:
        behind = v[c, z + 1, y]
        for j in range(width):
            steps[0, j] = behind[j] - here[j]
    if y + 1 < height:
        below = v[c, z, y + 1]
        for j in range(width):
            steps[1, j] = below[j] - here[j]
    for j in range(width - 1):
        steps[2, j] = here[j + 1] - here[j]


@kernel
def _dual(v: FloatArray, p: FloatArray, q: FloatArray, pace: Scalar, momentum: Scalar, first: int, stop: int) -> None:
    """Move p and q, in the rows `first` to `stop`, along the gradient of v, and shorten what is longer than 1."""
    channels, _, height, width = v.shape
    one = v.dtype.type(1)
    steps = np.empty((channels, 3, width), v.dtype)
    norm = np.empty(width, v.dtype)
    for row in range(first, stop):
        z, y = row // height, row % height
        norm[:] = 0
        for c in range(channels):
            _differences(v, c, z, y, steps[c])
            for k in range(3):
                moved, source = steps[c, k], q[k, c, z, y]
                for j in range(width):
                    moved[j] = source[j] + pace * moved[j]
                    norm[j] += moved[j] * moved[j]
        for j in range(width):
            norm[j] = one / max(one, np.sqrt(norm[j]))
        for c in range(channels):
            for k in range(3):
                moved, old, ahead = steps[c, k], p[k, c, z, y], q[k, c, z, y]
                for j in range(width):
                    new = moved[j] * norm[j]
                    ahead[j] = new + momentum * (new - old[j])
                    old[j] = new


@kernel
def _gap(v: FloatArray, p: FloatArray, weight: Scalar, first: int, stop: int) -> float:
    """Return what the rows `first` to `stop` add to the duality gap, weight * (norm of grad v - p . grad v)."""
    channels, _, height, width = v.shape
    steps = np.empty((3, width), v.dtype)
    norm, dot = np.empty(width, v.dtype), np.empty(width, v.dtype)
    total = 0.0
    for row in range(first, stop):
        z, y = row // height, row % height
        norm[:] = 0
        dot[:] = 0
        for c in range(channels):
            _differences(v, c, z, y, steps)
            for k in range(3):
                step, field = steps[k], p[k, c, z, y]
                for j in range(width):
                    norm[j] += step[j] * step[j]
                    dot[j] += step[j] * field[j]
        for j in range(width):
            norm[j] = np.sqrt(norm[j]) - dot[j]
        for j in range(width):
            total += norm[j]
    return float(weight) * total
