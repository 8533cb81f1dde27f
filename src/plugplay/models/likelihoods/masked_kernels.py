"""The kernels of a `MaskedProblem`: what happens to the vectors of its equations between two transforms.

Vectors are planes on the grid, with four axes: channels, the one that is cut into strips, another one, which has a
length of one for images, and columns. Kernels work on the strip from `first` on, whose G v or filtered w, the `rows`,
have just come out of a transform. Observations, masks and variances may be shorter than the grid; what lies beyond them
was not observed. Sums are over the strip, column by column first, in double precision. Arrays are whole ones, as strips
of several planes would not lie in one piece, which compiles to slower loops. Importing this module imports Numba.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from plugplay.compiling import inline, kernel, summing_kernel

if TYPE_CHECKING:
    from plugplay.arrays.checks import BoolArray, FloatArray

    Scalar = np.floating[Any]

__all__ = ["leave", "observe", "restrict", "resume", "settle"]


@inline
def _ridge(rho: Scalar, variances: FloatArray, k: int, d: int, i: int, ridge: FloatArray) -> None:
    """Write a row of what is added to the diagonal, rho times the variances; it is rho beyond them."""
    if d < variances.shape[1] and i < variances.shape[2]:
        factors = variances[k, d, i]
        for j in range(factors.size):
            ridge[j] = rho * factors[j]
        ridge[factors.size :] = rho
    elif variances.size:
        ridge[:] = rho


@inline
def _observe(
    rows: FloatArray, y: FloatArray, mask: BoolArray, k: int, d: int, i: int, first: int, out: FloatArray
) -> None:
    """Write a row of M (y - G v), given G v."""
    if first + d >= y.shape[1] or i >= y.shape[2]:
        out[:] = 0
        return
    seen, samples, observed = rows[k, d, i], y[k, first + d, i], mask[k, first + d, i]
    nothing = out.dtype.type(0)
    for j in range(samples.size):
        out[j] = samples[j] - seen[j] if observed[j] else nothing
    out[samples.size :] = 0


@summing_kernel
def observe(rows: FloatArray, y: FloatArray, mask: BoolArray, rhs: FloatArray, first: int) -> float:
    """Write M (y - G v), given G v, and return its sum of squares."""
    size = 0.0
    for k, d, i in np.ndindex(rows.shape[:3]):
        target = rhs[k, first + d, i]
        _observe(rows, y, mask, k, d, i, first, target)
        squares = rhs.dtype.type(0)
        for j in range(target.size):
            squares += target[j] * target[j]
        size += float(squares)
    return size


@summing_kernel
def resume(
    rows: FloatArray,
    y: FloatArray,
    mask: BoolArray,
    rho: Scalar,
    variances: FloatArray,
    share: Scalar,
    rhs: FloatArray,
    w: FloatArray,
    seen: FloatArray,
    first: int,
) -> tuple[float, float, float]:
    """Do what `observe` does, and turn w and M G Gᵀ M w into `share` times themselves.

    Return the sums of squares of M (y - G v), of what the new w leaves of it in the equations, and of M (y - G x).
    """
    ridge = np.full(rhs.shape[3], rho)
    size, norm, fidelity = 0.0, 0.0, 0.0
    for k, d, i in np.ndindex(rows.shape[:3]):
        _ridge(rho, variances, k, first + d, i, ridge)
        target, guess, made = rhs[k, first + d, i], w[k, first + d, i], seen[k, first + d, i]
        _observe(rows, y, mask, k, d, i, first, target)
        squares = values = misfits = rhs.dtype.type(0)
        for j in range(target.size):
            scaled, image = share * guess[j], share * made[j]
            misfit = target[j] - image
            value = misfit - ridge[j] * scaled
            guess[j] = scaled
            made[j] = image
            squares += target[j] * target[j]
            misfits += misfit * misfit
            values += value * value
        size += float(squares)
        norm += float(values)
        fidelity += float(misfits)
    return size, norm, fidelity


@kernel
def leave(
    rhs: FloatArray, rho: Scalar, variances: FloatArray, w: FloatArray, seen: FloatArray, first: int, stop: int
) -> None:
    """Turn M G Gᵀ M w into what w leaves of `rhs` in the equations."""
    ridge = np.full(rhs.shape[3], rho)
    for k, d, i in np.ndindex((rhs.shape[0], stop - first, rhs.shape[2])):
        _ridge(rho, variances, k, first + d, i, ridge)
        target, guess, left = rhs[k, first + d, i], w[k, first + d, i], seen[k, first + d, i]
        for j in range(target.size):
            left[j] = target[j] - left[j] - ridge[j] * guess[j]


@summing_kernel
def restrict(
    rows: FloatArray,
    mask: BoolArray,
    rho: Scalar,
    variances: FloatArray,
    w: FloatArray,
    out: FloatArray,
    first: int,
) -> float:
    """Write M (filtered w) + ridge w for a w that is zero outside of M, and return its inner product with w."""
    product, ridge = 0.0, np.full(rows.shape[3], rho)
    nothing = out.dtype.type(0)
    for k, d, i in np.ndindex(rows.shape[:3]):
        filtered, before, after = rows[k, d, i], w[k, first + d, i], out[k, first + d, i]
        if first + d >= mask.shape[1] or i >= mask.shape[2]:
            after[:] = 0
            continue
        _ridge(rho, variances, k, first + d, i, ridge)
        observed, products = mask[k, first + d, i], nothing
        for j in range(observed.size):
            value = filtered[j] + ridge[j] * before[j] if observed[j] else nothing
            after[j] = value
            products += before[j] * value
        after[observed.size :] = 0
        product += float(products)
    return product


@summing_kernel
def settle(
    left: FloatArray, w: FloatArray, rho: Scalar, variances: FloatArray, rhs: FloatArray, first: int, stop: int
) -> float:
    """Turn M (y - G v) into M G Gᵀ M w, and return the sum of squares of M (y - G x), which is what else it is."""
    size, ridge = 0.0, np.full(rhs.shape[3], rho)
    for k, d, i in np.ndindex((rhs.shape[0], stop - first, rhs.shape[2])):
        _ridge(rho, variances, k, first + d, i, ridge)
        rest, solution, target = left[k, first + d, i], w[k, first + d, i], rhs[k, first + d, i]
        squares = rhs.dtype.type(0)
        for j in range(target.size):
            misfit = rest[j] + ridge[j] * solution[j]
            target[j] -= misfit
            squares += misfit * misfit
        size += float(squares)
    return size
