"""Block matching in 16-bit integers: the search of `plugplay.denoisers.bm3d.matching` in less time.

Pixels of a strip are rounded to 4095 levels between its darkest and its brightest one, which is fine enough if the
noise is not tiny (`fine_enough`). Two pixels, one above the other, share a lane of a vector, and one instruction
multiplies and adds both. Sums of integers are exact in any order, which saves more than the instruction does: products
are summed from the first column of every octet on, and the sum over a block follows from three such sums.

Levels are between -2047 and 2047. So energies are below 2**28 and distances below 2**30; those of blocks that reach
over the border, whose energy is set to 5 * 2**28, are at least 2**30 and below 2**31.
"""

from __future__ import annotations

import numpy as np

from plugplay.compiling import inline
from plugplay.denoisers.bm3d.canvas import MARGIN
from plugplay.denoisers.bm3d.instructions import multiply_pairs
from plugplay.denoisers.bm3d.vectors import (
    LANES,
    Floats,
    Int8,
    Ints,
    as_ints,
    broadcast_int,
    load,
    load_ints,
    pack_pairs,
    splat,
    splat_int,
    store_ints,
    to_floats,
    to_ints,
)

__all__ = ["MAX_LEVEL", "TOO_FAR", "fine_enough"]

MAX_LEVEL = 2047

TOO_FAR = 2.0**30
"""All distances within the image are below it."""

_BEYOND = np.int32(5 * 2**28)
# Rounding adds noise with a twelfth of a level's square as variance: a thousandth of what the image has.
_NOISE_SHARE = 32.0


def fine_enough(span: float, sigma: float) -> bool:
    """Tell whether pixels from a range as wide as `span` may be rounded, given the noise in them.

    Examples
    --------
    >>> fine_enough(1.0, 2 / 255), fine_enough(1.0, 0.2 / 255)
    (True, False)
    """
    level = span / (2 * MAX_LEVEL)
    return 0 < level < 12**0.5 * sigma / _NOISE_SHARE


@inline
def pack_rows(
    canvas: Floats, pitch: int, at: int, rows: int, width: int, stride: int, low: np.float32, scale: np.float32,
    pairs: Ints, factors: Ints,
) -> None:  # fmt: skip
    """Write rows of levels, each pixel together with the one below it; the last row has none below.

    Multiplied by -2 they go into `factors`, since it is twice the products that are taken from the energies.
    """
    bottom, factor, middle, none = splat(low), splat(scale), splat_int(MAX_LEVEL), splat_int(0)
    half = splat(np.float32(0.5))
    for row in range(rows - 1):
        source = at + row * pitch
        for start in range(0, width, LANES):
            x = min(start, width - LANES)
            upper = to_ints((load(canvas, source + x) - bottom) * factor + half) - middle
            lower = to_ints((load(canvas, source + pitch + x) - bottom) * factor + half) - middle
            store_ints(pairs, row * stride + MARGIN + x, pack_pairs(upper, lower))
            minus_upper, minus_lower = none - upper, none - lower
            twice = pack_pairs(minus_upper + minus_upper, minus_lower + minus_lower)
            store_ints(factors, row * stride + MARGIN + x, twice)


@inline
def energies_of(pairs: Ints, rows: int, width: int, stride: int, block: int, energies: Ints) -> None:
    """Write the energy of every block that starts in one of the first `rows` rows, and `_BEYOND` around them."""
    columns = np.empty(stride, np.int32)
    for row in range(rows):
        start = row * stride
        for x in range(0, stride, LANES):
            energy = splat_int(0)
            for i in range(0, block, 2):
                levels = load_ints(pairs, start + i * stride + x)
                energy = energy + multiply_pairs(levels, levels)
            store_ints(columns, x, energy)
            store_ints(energies, start + x, splat_int(_BEYOND))
        total = np.int32(0)
        for x in range(block - 1):
            total += columns[MARGIN + x]
        for x in range(MARGIN, MARGIN + width - block + 1):
            total += columns[x + block - 1]
            energies[start + x] = total
            total -= columns[x]


@inline
def sum_products(
    factors: Ints, pairs: Ints, stride: int, reference: int, candidate: int, width: int, sums: Ints, totals: Ints
) -> None:
    """Sum the products of reference and candidate pixels along the rows of octets of columns, for 40 displacements.

    Entry ``40 * x + k`` of `sums` is the sum over the columns of x's octet before x, eight pixels high, and the
    candidates displaced by k; entry ``40 * octet + k`` of `totals` that over the whole octet. `width` columns are
    wanted, rounded up to a multiple of 16: two columns eight pixels apart are done at once, since they need nearly the
    same candidates, and loading those is what takes the time.
    """
    end = (width + 2 * LANES - 1) // (2 * LANES) * 2 * LANES
    nothing = splat_int(0)
    _store(sums, 40 * end, nothing, nothing, nothing, nothing, nothing)
    for left in range(0, end, 2 * LANES):
        c0 = c1 = c2 = c3 = c4 = nothing
        d0 = d1 = d2 = d3 = d4 = nothing
        for x in range(left, left + LANES):
            _store(sums, 40 * x, c0, c1, c2, c3, c4)
            _store(sums, 40 * (x + LANES), d0, d1, d2, d3, d4)
            for row in range(4):
                here = reference + x + 2 * row * stride
                there = candidate + x + 2 * row * stride
                first = broadcast_int(factors, here)
                second = broadcast_int(factors, here + 8)
                c0 = c0 + multiply_pairs(first, load_ints(pairs, there))
                levels = load_ints(pairs, there + 8)
                c1 = c1 + multiply_pairs(first, levels)
                d0 = d0 + multiply_pairs(second, levels)
                levels = load_ints(pairs, there + 16)
                c2 = c2 + multiply_pairs(first, levels)
                d1 = d1 + multiply_pairs(second, levels)
                levels = load_ints(pairs, there + 24)
                c3 = c3 + multiply_pairs(first, levels)
                d2 = d2 + multiply_pairs(second, levels)
                levels = load_ints(pairs, there + 32)
                c4 = c4 + multiply_pairs(first, levels)
                d3 = d3 + multiply_pairs(second, levels)
                d4 = d4 + multiply_pairs(second, load_ints(pairs, there + 40))
        _store(totals, 5 * left, c0, c1, c2, c3, c4)
        _store(totals, 5 * (left + LANES), d0, d1, d2, d3, d4)


@inline
def _store(array: Ints, at: int, v0: Int8, v1: Int8, v2: Int8, v3: Int8, v4: Int8) -> None:
    store_ints(array, at, v0)
    store_ints(array, at + 8, v1)
    store_ints(array, at + 16, v2)
    store_ints(array, at + 24, v3)
    store_ints(array, at + 32, v4)


@inline
def distance_bits(sums: Ints, totals: Ints, x: int, j: int, energy: Int8, energies: Ints, candidate: int) -> Int8:
    """Return the bits of eight distances, as floats, of the block that begins at column x: displacements from j on."""
    at = 40 * x + j
    # The rest of its octet, and as many columns of the next one.
    products = load_ints(totals, 40 * (x // LANES) + j) - load_ints(sums, at) + load_ints(sums, at + 40 * LANES)
    return as_ints(to_floats(energy + load_ints(energies, candidate) + products))
