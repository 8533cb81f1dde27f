"""The kernels of conjugate gradients: vector updates between two products, in one pass.

Vectors are flat. Kernels work on the elements from `first` to `stop`; scalars have the precision of the vectors.
Importing this module imports Numba.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from plugplay.compiling import kernel

if TYPE_CHECKING:
    from plugplay.arrays.checks import FloatArray

    Scalar = np.floating[Any]

__all__ = ["advance", "combine"]

# Sums that are kept side by side, so that they are added as vectors.
LANES = 256


@kernel
def combine(a: FloatArray, factor: Scalar, b: FloatArray, out: FloatArray, first: int, stop: int) -> None:
    """Write ``a + factor * b``."""
    one, other, made = a[first:stop], b[first:stop], out[first:stop]
    for i in range(made.size):
        made[i] = one[i] + factor * other[i]


@kernel
def advance(
    w: FloatArray,
    residual: FloatArray,
    length: Scalar,
    direction: FloatArray,
    applied: FloatArray,
    moved: FloatArray,
    left: FloatArray,
    first: int,
    stop: int,
) -> float:
    """Write ``w + length * direction`` and ``residual - length * applied``; return the latter's sum of squares."""
    squares = np.zeros(LANES, np.float64)
    for begin in range(first, stop, LANES):
        end = min(begin + LANES, stop)
        start, along, to = w[begin:end], direction[begin:end], moved[begin:end]
        before, seen, off = residual[begin:end], applied[begin:end], left[begin:end]
        for j in range(to.size):
            to[j] = start[j] + length * along[j]
            value = before[j] - length * seen[j]
            off[j] = value
            squares[j] += value * value
    return float(squares.sum())
