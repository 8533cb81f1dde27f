"""The third stage: a Wiener filter in each group's own principal axes.

The transforms of the first two stages are the same for all groups. Here every group has its own: with the blocks of the
estimate as the rows of `P` and those of the noisy image as the rows of `N`, both without the mean `m` of the estimated
blocks, the filtered blocks are

    m + N P' (P P' + c I)^-1 P,    c = q beta sigma^2

for `q` blocks: the principal components of `P`, each multiplied by the Wiener gain for its variance. With
``T = I - (P P' / c + I)^-1``, the remaining noise grows with ``1 + tr T^2``, and groups are weighted by its inverse.

In theory, if the estimate is the truth, beta is 1. How far it can be trusted follows from what it removed: with the
mean square `r` of ``N - P`` in units of sigma^2,

    beta = 1 - TRUST_SLOPE (r - TRUST_CENTRE),  from MIN_BETA to MAX_BETA.

If more than the noise was removed, it was texture, and filtering with the estimate would remove more of it; if less
was, noise is still there. Only the blocks most similar to the reference block are put back: the others are filtered
better in their own groups.

Everything is a product of small matrices, done in tiles of 8 x 16 that stay in registers, and the inverse of a
32 x 32 matrix. With ``R = N - P``, what the estimate removed, the filtered blocks are computed as

    m + P + (R P' / c - I) (P P' / c + I)^-1 P

which is equivalent, but has no large terms that cancel. So single precision suffices; `c` is at least a small share of
``tr P P'``, which bounds the condition number of the matrix.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from plugplay.compiling import inline, kernel
from plugplay.denoisers.bm3d.aggregation import Sums, add_block, kaiser_window, weigh
from plugplay.denoisers.bm3d.canvas import MARGIN, Canvas, Positions, depths, load_block, store_block
from plugplay.denoisers.bm3d.matching import REACH, Matches
from plugplay.denoisers.bm3d.profiles import BLOCK, Profile
from plugplay.denoisers.bm3d.vectors import (
    Float8,
    Floats,
    Ints,
    broadcast,
    fma,
    inverse_cholesky,
    load,
    splat,
    store,
    total,
    transpose,
)

__all__ = [
    "GROUP",
    "MAX_BETA",
    "MIN_BETA",
    "MIN_NOISE_SHARE",
    "OUTPUTS",
    "TRUST_CENTRE",
    "TRUST_SLOPE",
    "principal_wiener",
]

GROUP = 32
"""Blocks in a group; smaller groups, in tiny images, are filled up with zeros."""

OUTPUTS = 16
"""Blocks of a group that are put back, the most similar ones."""

TRUST_SLOPE, TRUST_CENTRE = 3.0, 0.85
MIN_BETA, MAX_BETA = 0.2, 1.5

MIN_NOISE_SHARE = 2e-6
"""What is added to `c`, as a share of ``tr P P'``."""

_PIXELS = BLOCK * BLOCK
_MIN_NOISE = 1e-30  # keeps 1 / c finite in float32


def principal_wiener(
    canvas: Canvas,
    profile: Profile,
    sigmas: NDArray[np.float64],
    rows: Positions,
    columns: Positions,
    matches: Matches,
) -> Sums:
    """Return the third stage's sums for some reference rows.

    Parameters
    ----------
    canvas : Canvas
        The noisy image, and the estimate of the second stage.
    profile : Profile
        Noise and window.
    sigmas : ndarray
        Standard deviation of the noise in each channel.
    rows, columns, matches
        The reference blocks and their groups.
    """
    sums = Sums.reachable(canvas, rows, REACH)
    noise = np.maximum(profile.principal_noise * sigmas**2, _MIN_NOISE).astype(np.float32)
    principal_rows(
        canvas.flat, depths(canvas, rows, columns, profile.thinning), canvas.flat.size // canvas.channels,
        canvas.pitch, canvas.stride,
        rows * canvas.pitch + MARGIN, columns, matches.offsets, matches.counts,
        noise, kaiser_window(profile.kaiser),
        sums.memory.reshape(-1), sums.plane, sums.top * canvas.pitch, BLOCK,
    )  # fmt: skip
    return sums


@kernel
def principal_rows(
    canvas: Floats, depths: Ints, plane: int, pitch: int, stride: int,
    rows: Positions, columns: Positions, offsets: Ints, counts: Ints,
    noise: Floats, window: Floats,
    sums: Floats, sums_plane: int, sums_origin: int, block: int,
) -> None:  # fmt: skip
    """Filter the groups of some reference rows; `rows` holds where the rows start on the canvas."""
    mean = np.empty(_PIXELS, np.float32)
    pilot = np.empty(GROUP * _PIXELS, np.float32)
    pilot_columns = np.empty(_PIXELS * GROUP, np.float32)
    removed_columns = np.empty(_PIXELS * OUTPUTS, np.float32)
    matrix = np.empty(GROUP * GROUP, np.float32)
    factor = np.empty(2 * _PIXELS, np.float32)
    panel = np.empty(BLOCK * GROUP, np.float32)
    solved = np.empty(BLOCK * GROUP, np.float32)
    cross = np.empty(GROUP * OUTPUTS, np.float32)
    mix = np.empty(GROUP * OUTPUTS, np.float32)
    filtered = np.empty(OUTPUTS * _PIXELS, np.float32)
    weighted = np.empty(_PIXELS, np.float32)
    # Loops of known length are unrolled by the compiler, which then runs out of registers.
    pixels, size = block * block, 4 * block
    for reference in range(counts.size):
        count = counts[reference]
        first = reference * GROUP
        at = rows[reference // columns.size] + columns[reference % columns.size]
        for channel in range(depths[reference]):
            source = at + channel * plane
            gather_pilot(canvas, source + stride, pitch, offsets, first, count, pilot, mean)
            energy = centre_pilot(pilot, mean, pilot_columns)
            gather_removed(canvas, source, pitch, stride, offsets, first, removed_columns)
            taken = removed(canvas, source, pitch, stride, offsets, first, min(count, OUTPUTS))
            beta = trusted(taken / noise[channel])
            scale = 1 / (np.float32(count) * beta * noise[channel] + np.float32(MIN_NOISE_SHARE) * energy)
            gram(pilot_columns, pixels, scale, matrix)
            invert(matrix, size, factor, panel, solved)
            for i in range(0, GROUP, BLOCK):
                multiply(pilot_columns, i, GROUP, removed_columns, 0, OUTPUTS, pixels, cross, i * OUTPUTS, OUTPUTS)
            for i in range(OUTPUTS):
                cross[i * (OUTPUTS + 1)] -= 1 / scale
            for i in range(0, GROUP, BLOCK):
                multiply(matrix, i, GROUP, cross, 0, OUTPUTS, size, mix, i * OUTPUTS, OUTPUTS)
            for i in range(0, OUTPUTS, BLOCK):
                for j in range(0, _PIXELS, 2 * BLOCK):
                    multiply(mix, i, OUTPUTS, pilot, j, _PIXELS, size, filtered, i * _PIXELS + j, _PIXELS)
            weight = 1 / (1 + max(trace_of_squared_gains(matrix), np.float32(0)))
            weigh(window, weight, weighted)
            target = at - sums_origin + channel * sums_plane
            minus = splat(-scale)
            for i in range(min(count, OUTPUTS)):
                r0, r1, r2, r3, r4, r5, r6, r7 = load_block(filtered, i * _PIXELS, BLOCK)
                p0, p1, p2, p3, p4, p5, p6, p7 = load_block(canvas, source + stride + offsets[first + i], pitch)
                place = target + offsets[first + i]
                add_block(
                    sums, place, pitch, stride, weight, weighted,
                    fma(minus, r0, p0), fma(minus, r1, p1), fma(minus, r2, p2), fma(minus, r3, p3),
                    fma(minus, r4, p4), fma(minus, r5, p5), fma(minus, r6, p6), fma(minus, r7, p7),
                )  # fmt: skip


@inline
def gather_pilot(
    canvas: Floats, source: int, pitch: int, offsets: Ints, first: int, count: int, pilot: Floats, mean: Floats
) -> None:
    """Copy the estimated blocks of a group and write their mean; missing blocks become the mean."""
    m0 = m1 = m2 = m3 = m4 = m5 = m6 = m7 = splat(0.0)
    for i in range(count):
        r0, r1, r2, r3, r4, r5, r6, r7 = load_block(canvas, source + offsets[first + i], pitch)
        store_block(pilot, i * _PIXELS, BLOCK, r0, r1, r2, r3, r4, r5, r6, r7)
        m0, m1, m2, m3 = m0 + r0, m1 + r1, m2 + r2, m3 + r3
        m4, m5, m6, m7 = m4 + r4, m5 + r5, m6 + r6, m7 + r7
    share = splat(1 / np.float32(count))
    m0, m1, m2, m3 = share * m0, share * m1, share * m2, share * m3
    m4, m5, m6, m7 = share * m4, share * m5, share * m6, share * m7
    store_block(mean, 0, BLOCK, m0, m1, m2, m3, m4, m5, m6, m7)
    for i in range(count, GROUP):
        store_block(pilot, i * _PIXELS, BLOCK, m0, m1, m2, m3, m4, m5, m6, m7)


@inline
def centre_pilot(pilot: Floats, mean: Floats, columns: Floats) -> np.float32:
    """Subtract the mean from the estimated blocks, write a second copy ordered by pixels, and return their energy."""
    energy = splat(0.0)
    for j in range(0, _PIXELS, BLOCK):
        m = load(mean, j)
        for i in range(0, GROUP, 8):
            r0, r1, r2, r3, r4, r5, r6, r7 = load_block(pilot, i * _PIXELS + j, _PIXELS)
            r0, r1, r2, r3, r4, r5, r6, r7 = r0 - m, r1 - m, r2 - m, r3 - m, r4 - m, r5 - m, r6 - m, r7 - m
            energy = fma(r0, r0, fma(r1, r1, fma(r2, r2, fma(r3, r3, energy))))
            energy = fma(r4, r4, fma(r5, r5, fma(r6, r6, fma(r7, r7, energy))))
            store_block(pilot, i * _PIXELS + j, _PIXELS, r0, r1, r2, r3, r4, r5, r6, r7)
            r0, r1, r2, r3, r4, r5, r6, r7 = transpose(r0, r1, r2, r3, r4, r5, r6, r7)
            store_block(columns, j * GROUP + i, GROUP, r0, r1, r2, r3, r4, r5, r6, r7)
    squares: np.float32 = total(energy)
    return squares


@inline
def gather_removed(
    canvas: Floats, source: int, pitch: int, stride: int, offsets: Ints, first: int, columns: Floats
) -> None:
    """Write what was removed from the first noisy blocks of a group, by pixels."""
    for i in range(0, OUTPUTS, 8):
        o0, o1, o2, o3 = offsets[first + i], offsets[first + i + 1], offsets[first + i + 2], offsets[first + i + 3]
        o4, o5, o6, o7 = offsets[first + i + 4], offsets[first + i + 5], offsets[first + i + 6], offsets[first + i + 7]
        for j in range(BLOCK):
            row = source + j * pitch
            r0, r1, r2, r3, r4, r5, r6, r7 = transpose(
                load_removed(canvas, row + o0, stride), load_removed(canvas, row + o1, stride),
                load_removed(canvas, row + o2, stride), load_removed(canvas, row + o3, stride),
                load_removed(canvas, row + o4, stride), load_removed(canvas, row + o5, stride),
                load_removed(canvas, row + o6, stride), load_removed(canvas, row + o7, stride),
            )  # fmt: skip
            store_block(columns, j * BLOCK * OUTPUTS + i, OUTPUTS, r0, r1, r2, r3, r4, r5, r6, r7)


@inline
def load_removed(canvas: Floats, at: int, stride: int) -> Float8:
    """Return eight noisy pixels minus the estimated ones."""
    return load(canvas, at) - load(canvas, at + stride)


@inline
def removed(canvas: Floats, source: int, pitch: int, stride: int, offsets: Ints, first: int, count: int) -> np.float32:
    """Return the mean square of noisy minus estimated pixels in the first blocks of a group."""
    squares = splat(0.0)
    for i in range(count):
        at = source + offsets[first + i]
        for j in range(at, at + BLOCK * pitch, pitch):
            difference = load_removed(canvas, j, stride)
            squares = fma(difference, difference, squares)
    mean: np.float32 = total(squares) / np.float32(count * _PIXELS)
    return mean


@inline
def trusted(residual: np.float32) -> np.float32:
    """Return beta, given the mean square of what was removed, in units of the variance of the noise."""
    beta = np.float32(1) - np.float32(TRUST_SLOPE) * (residual - np.float32(TRUST_CENTRE))
    return min(max(beta, np.float32(MIN_BETA)), np.float32(MAX_BETA))


@inline
def gram(columns: Floats, pixels: int, scale: np.float32, matrix: Floats) -> None:
    """Write ``scale * P P' + I``."""
    for j in range(0, GROUP, 16):
        for i in range(j, GROUP, 8):
            multiply(columns, i, GROUP, columns, j, GROUP, pixels, matrix, i * GROUP + j, GROUP)
    for i in range(16, GROUP, 8):
        for j in range(0, 16, 8):
            r0, r1, r2, r3, r4, r5, r6, r7 = load_block(matrix, i * GROUP + j, GROUP)
            r0, r1, r2, r3, r4, r5, r6, r7 = transpose(r0, r1, r2, r3, r4, r5, r6, r7)
            store_block(matrix, j * GROUP + i, GROUP, r0, r1, r2, r3, r4, r5, r6, r7)
    factor = splat(scale)
    for i in range(0, GROUP * GROUP, 8):
        store(matrix, i, factor * load(matrix, i))
    for i in range(GROUP):
        matrix[i * (GROUP + 1)] += np.float32(1)


@inline
def multiply(
    left: Floats, i: int, left_pitch: int, right: Floats, j: int, right_pitch: int, length: int,
    product: Floats, at: int, pitch: int,
) -> None:  # fmt: skip
    """Write the tile ``left[:, i : i + 8].T @ right[:, j : j + 16]``; both have `length` rows."""
    for k in range(0, BLOCK * pitch, pitch):
        store(product, at + k, splat(0.0))
        store(product, at + k + 8, splat(0.0))
    multiply_add(left, i, left_pitch, right, j, right_pitch, length, product, at, pitch)


@inline
def multiply_add(
    left: Floats, i: int, left_pitch: int, right: Floats, j: int, right_pitch: int, length: int,
    product: Floats, at: int, pitch: int,
) -> None:  # fmt: skip
    """Add the tile that `multiply` writes."""
    a0, a1, a2, a3, a4, a5, a6, a7 = load_block(product, at, pitch)
    b0, b1, b2, b3, b4, b5, b6, b7 = load_block(product, at + 8, pitch)
    for _ in range(length):
        a, b = load(right, j), load(right, j + 8)
        x = broadcast(left, i)
        a0, b0 = fma(x, a, a0), fma(x, b, b0)
        x = broadcast(left, i + 1)
        a1, b1 = fma(x, a, a1), fma(x, b, b1)
        x = broadcast(left, i + 2)
        a2, b2 = fma(x, a, a2), fma(x, b, b2)
        x = broadcast(left, i + 3)
        a3, b3 = fma(x, a, a3), fma(x, b, b3)
        x = broadcast(left, i + 4)
        a4, b4 = fma(x, a, a4), fma(x, b, b4)
        x = broadcast(left, i + 5)
        a5, b5 = fma(x, a, a5), fma(x, b, b5)
        x = broadcast(left, i + 6)
        a6, b6 = fma(x, a, a6), fma(x, b, b6)
        x = broadcast(left, i + 7)
        a7, b7 = fma(x, a, a7), fma(x, b, b7)
        i += left_pitch
        j += right_pitch
    store_block(product, at, pitch, a0, a1, a2, a3, a4, a5, a6, a7)
    store_block(product, at + 8, pitch, b0, b1, b2, b3, b4, b5, b6, b7)


@inline
def invert(matrix: Floats, size: int, factor: Floats, rows: Floats, solved: Floats) -> None:
    """Replace a symmetric matrix with eigenvalues of at least 1 by minus its inverse.

    The sweep operator with 8 x 8 blocks as pivots: with the rows `R` of the pivot `D`, the others become ``A - R' D^-1
    R``, the rows of the pivot ``D^-1 R``, its columns the transpose of them, and itself ``-D^-1``. With ``D = L L'``
    and ``W = L^-1 R`` the update is ``A - W' W``, which is numerically more stable. With -I in place of `D` in `R`, and
    zeros in its columns of `A`, the same formulas hold for all blocks.
    """
    zero, minus_one = splat(0.0), np.float32(-1)
    for k in range(0, size, BLOCK):
        top = k * GROUP
        r0, r1, r2, r3, r4, r5, r6, r7 = load_block(matrix, top + k, GROUP)
        r0, r1, r2, r3, r4, r5, r6, r7 = inverse_cholesky(r0, r1, r2, r3, r4, r5, r6, r7)
        store_block(factor, 0, BLOCK, r0, r1, r2, r3, r4, r5, r6, r7)
        r0, r1, r2, r3, r4, r5, r6, r7 = transpose(r0, r1, r2, r3, r4, r5, r6, r7)
        store_block(factor, _PIXELS, BLOCK, r0, r1, r2, r3, r4, r5, r6, r7)
        for i in range(0, size, BLOCK):
            store_block(matrix, i * GROUP + k, GROUP, zero, zero, zero, zero, zero, zero, zero, zero)
        for i in range(BLOCK):
            matrix[top + k + i * (GROUP + 1)] = minus_one
        for j in range(0, GROUP, 16):
            multiply(factor, _PIXELS, BLOCK, matrix, top + j, GROUP, BLOCK, solved, j, GROUP)
        for j in range(0, BLOCK * GROUP, 8):
            store(rows, j, zero - load(solved, j))
        for j in range(0, GROUP, 16):
            for i in range(0, size, BLOCK):
                if i == k:
                    multiply(factor, 0, BLOCK, solved, j, GROUP, BLOCK, matrix, top + j, GROUP)
                else:
                    multiply_add(rows, i, GROUP, solved, j, GROUP, BLOCK, matrix, i * GROUP + j, GROUP)


@inline
def trace_of_squared_gains(matrix: Floats) -> np.float32:
    """Return ``tr (I + matrix)^2`` for what `invert` has written."""
    squares = splat(0.0)
    for i in range(0, GROUP * GROUP, 8):
        row = load(matrix, i)
        squares = fma(row, row, squares)
    trace = np.float32(GROUP) + total(squares)
    for i in range(GROUP):
        trace += 2 * matrix[i * (GROUP + 1)]
    return np.float32(trace)
