"""The kernels of a `ChannelProblem`: what happens to the vectors of its equations between two transforms.

Vectors are strips of the grid with three axes, the first of length one for images. Observations, masks and variances
have a fourth for channels and may be shorter along all axes; what lies beyond them was not observed. Sums are over the
strip, column by column first, in double precision. Importing this module imports Numba.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from plugplay.compiling import inline, kernel

if TYPE_CHECKING:
    from plugplay.arrays.checks import BoolArray, FloatArray

    Scalar = np.floating[Any]

__all__ = ["observe", "restrict", "resume", "settle"]


@inline
def _ridge(rho: Scalar, variances: FloatArray, d: int, i: int, channel: int, ridge: FloatArray) -> None:
    """Write a row of what is added to the diagonal: rho, times the variances if there are any."""
    ridge[:] = rho
    if d < variances.shape[0] and i < variances.shape[1]:
        for j in range(variances.shape[2]):
            ridge[j] *= variances[d, i, j, channel]


@kernel
def observe(rows: FloatArray, y: FloatArray, mask: BoolArray, channel: int, rhs: FloatArray) -> float:
    """Write M (y - G v), given G v, and return its sum of squares."""
    squares = np.zeros(rows.shape[2], np.float64)
    nothing = rhs.dtype.type(0)
    for d in range(rows.shape[0]):
        for i in range(rows.shape[1]):
            seen, out = rows[d, i], rhs[d, i]
            if d >= y.shape[0] or i >= y.shape[1]:
                out[:] = 0
                continue
            for j in range(y.shape[2]):
                value = y[d, i, j, channel] - seen[j] if mask[d, i, j, channel] else nothing
                out[j] = value
                squares[j] += value * value
            out[y.shape[2] :] = 0
    return float(squares.sum())


@kernel
def resume(
    rhs: FloatArray, rho: Scalar, variances: FloatArray, channel: int, share: Scalar, w: FloatArray, seen: FloatArray
) -> float:
    """Turn w into `share` times itself, M G Gᵀ M w into what that leaves of `rhs`, and return its sum of squares."""
    squares, ridge = np.zeros(rhs.shape[2], np.float64), np.empty(rhs.shape[2], rhs.dtype)
    for d in range(rhs.shape[0]):
        for i in range(rhs.shape[1]):
            _ridge(rho, variances, d, i, channel, ridge)
            target, guess, left = rhs[d, i], w[d, i], seen[d, i]
            for j in range(target.size):
                scaled = share * guess[j]
                value = target[j] - share * left[j] - ridge[j] * scaled
                guess[j] = scaled
                left[j] = value
                squares[j] += value * value
    return float(squares.sum())


@kernel
def restrict(
    rows: FloatArray,
    mask: BoolArray,
    rho: Scalar,
    variances: FloatArray,
    channel: int,
    w: FloatArray,
    out: FloatArray,
) -> float:
    """Write M (filtered w) + ridge w for a w that is zero outside of M, and return its inner product with w."""
    products, ridge = np.zeros(rows.shape[2], np.float64), np.empty(rows.shape[2], rows.dtype)
    nothing = out.dtype.type(0)
    for d in range(rows.shape[0]):
        for i in range(rows.shape[1]):
            filtered, before, after = rows[d, i], w[d, i], out[d, i]
            if d >= mask.shape[0] or i >= mask.shape[1]:
                after[:] = 0
                continue
            _ridge(rho, variances, d, i, channel, ridge)
            for j in range(mask.shape[2]):
                value = filtered[j] + ridge[j] * before[j] if mask[d, i, j, channel] else nothing
                after[j] = value
                products[j] += before[j] * value
            after[mask.shape[2] :] = 0
    return float(products.sum())


@kernel
def settle(left: FloatArray, w: FloatArray, rho: Scalar, variances: FloatArray, channel: int, rhs: FloatArray) -> float:
    """Turn M (y - G v) into M G Gᵀ M w, and return the sum of squares of M (y - G x), which is what else it is."""
    squares, ridge = np.zeros(rhs.shape[2], np.float64), np.empty(rhs.shape[2], rhs.dtype)
    for d in range(rhs.shape[0]):
        for i in range(rhs.shape[1]):
            _ridge(rho, variances, d, i, channel, ridge)
            rest, solution, target = left[d, i], w[d, i], rhs[d, i]
            for j in range(target.size):
                misfit = rest[j] + ridge[j] * solution[j]
                target[j] -= misfit
                squares[j] += misfit * misfit
    return float(squares.sum())
