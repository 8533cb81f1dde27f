"""Block matching in bytes: that of `plugplay.denoisers.bm3d.integers` where 255 levels are enough.

Four pixels, one above the other, share a lane, and one instruction multiplies and adds them. It takes the bytes of one
factor as unsigned, those of the other as signed: candidates have levels u from 1 to 255, and what they are multiplied
by is 128 - u. So

    sum (u - u')**2 = (sum u**2 - 256 sum u) + sum u'**2 + 2 sum u (128 - u')

with u' for the reference block: one energy for blocks as candidates, another one for them as reference blocks. Where
the CPU has no such instruction, pairs of the same levels are faster, and give the same distances.
"""

from __future__ import annotations

import numpy as np

from plugplay.compiling import inline
from plugplay.denoisers.bm3d.canvas import MARGIN
from plugplay.denoisers.bm3d.instructions import multiply_bytes
from plugplay.denoisers.bm3d.integers import BEYOND, store_row
from plugplay.denoisers.bm3d.profiles import BLOCK
from plugplay.denoisers.bm3d.vectors import (
    LANES,
    Floats,
    Int8,
    Ints,
    broadcast_int,
    load,
    load_ints,
    splat,
    splat_int,
    store_ints,
    to_ints,
)

__all__ = ["pack_quads", "quad_energies", "sum_quads"]

_ONES = 0x01010101  # 1 in every byte


@inline
def pack_quads(
    canvas: Floats, pitch: int, at: int, rows: int, width: int, stride: int, low: np.float32, scale: np.float32,
    quads: Ints, factors: Ints,
) -> None:  # fmt: skip
    """Write rows of levels, each pixel together with the three below it; what is below the last row is zero.

    Both arrays have room for one row more, which is zero.
    """
    bottom, factor, rounding = splat(low), splat(scale), splat(np.float32(1.5))
    middle, byte, up = splat_int(128), splat_int(255), splat_int(8)
    for row in range(rows - 1, -1, -1):
        source = at + row * pitch
        here = row * stride + MARGIN
        for start in range(0, width, LANES):
            x = min(start, width - LANES)
            levels = to_ints((load(canvas, source + x) - bottom) * factor + rounding)
            store_ints(quads, here + x, levels | load_ints(quads, here + stride + x) << up)
            store_ints(factors, here + x, middle - levels & byte | load_ints(factors, here + stride + x) << up)


@inline
def quad_energies(
    quads: Ints, factors: Ints, rows: int, width: int, stride: int, columns: Ints, candidates: Ints, references: Ints
) -> None:
    """Write half of both energies of every block that starts in one of some rows, and `BEYOND` around them."""
    nothing, one, ones, middle = splat_int(0), splat_int(1), splat_int(_ONES), splat_int(7)
    end = MARGIN + width - BLOCK + 1
    for row in range(rows):
        start = row * stride
        for x in range(start, start + stride, LANES):
            upper, lower = load_ints(quads, x), load_ints(quads, x + 4 * stride)
            level = multiply_bytes(multiply_bytes(nothing, upper, ones), lower, ones)
            power = multiply_bytes(nothing, upper, load_ints(factors, x))
            power = multiply_bytes(power, lower, load_ints(factors, x + 4 * stride))
            store_ints(columns, x - start, level << middle)
            store_ints(columns, x - start + stride, power)
            store_ints(candidates, x, splat_int(BEYOND))
        # Sums of u (128 - u) and 128 u; what is written beyond the last block is replaced.
        for x in range(MARGIN, end, LANES):
            level, power = sum_of_eight(columns, x), sum_of_eight(columns, stride + x)
            store_ints(candidates, start + x, nothing - power - level >> one)
            store_ints(references, start + x, level - power + one >> one)
        for x in range(start + end, start + stride):
            candidates[x] = BEYOND


@inline
def sum_of_eight(columns: Ints, at: int) -> Int8:
    """Return the sums of eight columns, from each of eight columns on."""
    left = load_ints(columns, at) + load_ints(columns, at + 1)
    left = left + (load_ints(columns, at + 2) + load_ints(columns, at + 3))
    right = load_ints(columns, at + 4) + load_ints(columns, at + 5)
    right = right + (load_ints(columns, at + 6) + load_ints(columns, at + 7))
    return left + right


@inline
def sum_quads(
    factors: Ints, quads: Ints, stride: int, reference: int, candidate: int, width: int, sums: Ints, totals: Ints
) -> None:
    """Do what `sum_products` does with pairs."""
    end = (width + 2 * LANES - 1) // (2 * LANES) * 2 * LANES
    nothing = splat_int(0)
    store_row(sums, 40 * end, nothing, nothing, nothing, nothing, nothing)
    for left in range(0, end, 2 * LANES):
        c0 = c1 = c2 = c3 = c4 = nothing
        d0 = d1 = d2 = d3 = d4 = nothing
        for x in range(left, left + LANES):
            store_row(sums, 40 * x, c0, c1, c2, c3, c4)
            store_row(sums, 40 * (x + LANES), d0, d1, d2, d3, d4)
            for row in range(2):
                here = reference + x + 4 * row * stride
                there = candidate + x + 4 * row * stride
                first = broadcast_int(factors, here)
                second = broadcast_int(factors, here + 8)
                c0 = multiply_bytes(c0, load_ints(quads, there), first)
                levels = load_ints(quads, there + 8)
                c1, d0 = multiply_bytes(c1, levels, first), multiply_bytes(d0, levels, second)
                levels = load_ints(quads, there + 16)
                c2, d1 = multiply_bytes(c2, levels, first), multiply_bytes(d1, levels, second)
                levels = load_ints(quads, there + 24)
                c3, d2 = multiply_bytes(c3, levels, first), multiply_bytes(d2, levels, second)
                levels = load_ints(quads, there + 32)
                c4, d3 = multiply_bytes(c4, levels, first), multiply_bytes(d3, levels, second)
                d4 = multiply_bytes(d4, load_ints(quads, there + 40), second)
        store_row(totals, 5 * left, c0, c1, c2, c3, c4)
        store_row(totals, 5 * (left + LANES), d0, d1, d2, d3, d4)
