"""Block matching in integers: the search of `plugplay.denoisers.bm3d.matching` in less time.

Pixels of a strip are rounded to levels between its darkest and its brightest one, unless the noise is tiny: to 4095, or
to 255 if that adds little enough to the noise and the stage allows it (`largest_level`). Several pixels, one above the
other, share a lane of a vector, and one instruction multiplies and adds them: pairs of 16 bits, as here, or four bytes,
as in `plugplay.denoisers.bm3d.quads`. Sums of integers are exact in any order, which saves more than the instruction
does: products are summed from the first column of every octet on, and the sum over a block follows from three such
sums.

What is compared is half of the distance. Energies are halved before, as candidates rounded down and as reference blocks
rounded up, so that equal blocks have distance 0; others may be off by a half.

Levels are between -2047 and 2047. So halves of energies are below 2**27 and those of distances below 2**29; those of
blocks that reach over the border, whose energy is set to 5 * 2**27, are at least 2**29 and below 2**30.
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

__all__ = ["MAX_COARSE_LEVEL", "MAX_LEVEL", "TOO_FAR", "largest_level"]

MAX_LEVEL = 2047

MAX_COARSE_LEVEL = 127
"""The largest of 255 levels."""

TOO_FAR = 2.0**29
"""All halves of distances within the image are below it."""

BEYOND = np.int32(5 * 2**27)
"""The energy of blocks that reach over the border."""

# Rounding adds noise with a twelfth of a level's square as variance: a thousandth of what the image has.
_NOISE_SHARE = 32.0


def largest_level(span: float, sigma: float, *, coarse: bool) -> int:
    """Return the largest level for pixels from a range as wide as `span`, given the noise in them; 0 for no rounding.

    Examples
    --------
    >>> [largest_level(1.0, noise / 255, coarse=True) for noise in (25, 2, 0.2)]
    [127, 2047, 0]
    >>> largest_level(1.0, 25 / 255, coarse=False)
    2047
    """
    for largest in (MAX_COARSE_LEVEL, MAX_LEVEL) if coarse else (MAX_LEVEL,):
        if 0 < span / (2 * largest) < 12**0.5 * sigma / _NOISE_SHARE:
            return largest
    return 0


@inline
def pack_rows(
    canvas: Floats, pitch: int, at: int, rows: int, width: int, stride: int, low: np.float32, scale: np.float32,
    largest: int, pairs: Ints, factors: Ints,
) -> None:  # fmt: skip
    """Write rows of levels, each pixel together with the one below it; the last row has none below.

    Multiplied by -1 they go into `factors`, since products are taken from the energies.
    """
    bottom, factor, middle, none = splat(low), splat(scale), splat_int(largest), splat_int(0)
    half = splat(np.float32(0.5))
    for row in range(rows - 1):
        source = at + row * pitch
        for start in range(0, width, LANES):
            x = min(start, width - LANES)
            upper = to_ints((load(canvas, source + x) - bottom) * factor + half) - middle
            lower = to_ints((load(canvas, source + pitch + x) - bottom) * factor + half) - middle
            store_ints(pairs, row * stride + MARGIN + x, pack_pairs(upper, lower))
            store_ints(factors, row * stride + MARGIN + x, pack_pairs(none - upper, none - lower))


@inline
def energies_of(
    pairs: Ints, rows: int, width: int, stride: int, block: int, columns: Ints, candidates: Ints, references: Ints
) -> None:
    """Write half the energy of every block that starts in one of the first `rows` rows, and `BEYOND` around them."""
    for row in range(rows):
        start = row * stride
        for x in range(0, stride, LANES):
            energy = splat_int(0)
            for i in range(0, block, 2):
                levels = load_ints(pairs, start + i * stride + x)
                energy = energy + multiply_pairs(levels, levels)
            store_ints(columns, x, energy)
            store_ints(candidates, start + x, splat_int(BEYOND))
        total = np.int32(0)
        for x in range(block - 1):
            total += columns[MARGIN + x]
        for x in range(MARGIN, MARGIN + width - block + 1):
            total += columns[x + block - 1]
            candidates[start + x] = total >> 1
            references[start + x] = (total + 1) >> 1
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
    store_row(sums, 40 * end, nothing, nothing, nothing, nothing, nothing)
    for left in range(0, end, 2 * LANES):
        c0 = c1 = c2 = c3 = c4 = nothing
        d0 = d1 = d2 = d3 = d4 = nothing
        for x in range(left, left + LANES):
            store_row(sums, 40 * x, c0, c1, c2, c3, c4)
            store_row(sums, 40 * (x + LANES), d0, d1, d2, d3, d4)
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
        store_row(totals, 5 * left, c0, c1, c2, c3, c4)
        store_row(totals, 5 * (left + LANES), d0, d1, d2, d3, d4)


@inline
def store_row(array: Ints, at: int, v0: Int8, v1: Int8, v2: Int8, v3: Int8, v4: Int8) -> None:
    store_ints(array, at, v0)
    store_ints(array, at + 8, v1)
    store_ints(array, at + 16, v2)
    store_ints(array, at + 24, v3)
    store_ints(array, at + 32, v4)


@inline
def distance_bits(sums: Ints, totals: Ints, x: int, j: int, energy: Int8, energies: Ints, candidate: int) -> Int8:
    """Return the bits of eight halved distances, as floats, of the block at column x: displacements from j on."""
    at = 40 * x + j
    # The rest of its octet, and as many columns of the next one.
    products = load_ints(totals, 40 * (x // LANES) + j) - load_ints(sums, at) + load_ints(sums, at + 40 * LANES)
    return as_ints(to_floats(energy + load_ints(energies, candidate) + products))
