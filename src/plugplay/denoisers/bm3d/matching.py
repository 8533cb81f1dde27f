"""Block matching: the search for blocks that are similar to a reference block.

For every reference block the search measures the squared distance

    d(dy, dx) = sum over the block of (image[y + dy + i, x + dx + j] - image[y + i, x + j])**2

for all displacements of the window and keeps the smallest. With the energy of a block, the sum of its squares,

    |A - B|**2 = energy(A) + energy(B) - 2 sum(A * B)

so that only the products need to be computed for every pair of blocks, one multiply-add per pixel. Reference blocks of
one row overlap: products are summed down each column of a block once, and the sums are shared by all reference blocks
that contain the column. The mean of the image is subtracted from its pixels, which keeps the energies small enough for
single precision.

Distances are sorted as integer keys: the bits of a non-negative float are ordered like the float, and the lowest
bits of the key are replaced by the displacement's code. The reference block itself has the key 0, the smallest of
all: it is always in its group, so that every pixel is in some group.

Unless the noise is tiny, pixels are rounded to 16-bit integers, which are faster: see
`plugplay.denoisers.bm3d.integers`.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plugplay.compiling import inline, kernel
from plugplay.denoisers.bm3d.canvas import MARGIN, Canvas, Positions
from plugplay.denoisers.bm3d.integers import (
    MAX_LEVEL,
    TOO_FAR,
    distance_bits,
    energies_of,
    fine_enough,
    pack_rows,
    sum_products,
)
from plugplay.denoisers.bm3d.profiles import BLOCK, Stage
from plugplay.denoisers.bm3d.sorting import HIGHEST, lane_orders, select
from plugplay.denoisers.bm3d.vectors import (
    LANES,
    Float8,
    Floats,
    Ints,
    as_ints,
    broadcast,
    broadcast_int,
    fma,
    load,
    load_ints,
    splat,
    splat_int,
    store,
    store_ints,
    upper_of,
)

__all__ = ["REACH", "Matches", "match"]

REACH = 19
"""The largest displacement that the search can measure."""

WIDTH = 5 * LANES
"""Displacements that are measured together: as many products as fit into the registers of a CPU."""

NEVER = np.float32(1e30)
"""The energy of blocks that reach over the border: no reference block is similar to them."""

_WINDOW = (2 * REACH + 1) * WIDTH
_SPAN = 80  # columns that are measured together: their keys fit into the CPU's second-level cache
_SLACK = 2 * LANES  # read beyond the last column, and not used
_CODE_BITS = 0x7FF
_CENTRE = REACH * WIDTH + REACH


@dataclass(frozen=True, eq=False)
class Matches:
    """The groups of some reference rows, in the order of the reference blocks.

    Attributes
    ----------
    offsets : ndarray of int32
        For each reference block, `Stage.group` places for the displacements of its group as offsets on the canvas,
        most similar first.
    counts : ndarray of int32
        The size of each group, a power of two.
    """

    offsets: NDArray[np.int32]
    counts: NDArray[np.int32]


def match(
    canvas: Canvas,
    stage: Stage,
    sigma: float,
    rows: Positions,
    columns: Positions,
    *,
    guide: int,
) -> Matches:
    """Find the groups of the reference blocks at `rows` x `columns`.

    Parameters
    ----------
    canvas : Canvas
        The image; only its first channel is searched.
    stage : Stage
        Group size, window and similarity.
    sigma : float
        Standard deviation of the noise in the first channel.
    rows, columns : ndarray of int64
        Where the reference blocks start, in increasing order.
    guide : int
        0 to compare the noisy image, 1 to compare the estimate.
    """
    blocks = rows.size * columns.size
    matches = Matches(np.zeros(blocks * stage.group, np.int32), np.zeros(blocks, np.int32))
    codes, steps = displacement_codes(stage.reach), code_offsets(canvas.pitch)
    place = canvas.flat, canvas.pitch, MARGIN + guide * canvas.stride, canvas.height, canvas.width, rows, columns
    top, bottom = max(0, rows[0] - stage.reach), min(canvas.height, rows[-1] + stage.reach + BLOCK)
    seen = canvas.memory[0, top:bottom, guide, MARGIN : MARGIN + canvas.width]
    low, high = float(seen.min()), float(seen.max())
    if fine_enough(high - low, sigma):
        scale = 2 * MAX_LEVEL / (high - low)
        limit = min(key_limit(stage.limit(sigma) * scale**2), key_limit(TOO_FAR / BLOCK**2) & ~_CODE_BITS)
        match_rounded_rows(
            *place, np.float32(low), np.float32(scale), stage.reach, stage.group, limit, codes, steps,
            lane_orders(), matches.offsets, matches.counts, BLOCK,
        )  # fmt: skip
    else:
        limit = key_limit(stage.limit(sigma))
        match_rows(
            *place, stage.reach, stage.group, limit, codes, steps,
            lane_orders(), matches.offsets, matches.counts, BLOCK,
        )  # fmt: skip
    return matches


@functools.cache
def displacement_codes(reach: int) -> NDArray[np.int32]:
    """Return the code of every displacement of the window; those beyond `reach` get a key that is never chosen."""
    dy, dx = np.mgrid[-REACH : REACH + 1, -REACH : WIDTH - REACH]
    code = ((dy + REACH) * WIDTH + dx + REACH) ^ _CENTRE
    return np.where(np.abs(dx) <= reach, code, HIGHEST).astype(np.int32).ravel()


@functools.lru_cache(maxsize=8)
def code_offsets(pitch: int) -> NDArray[np.int32]:
    """Return the offset on the canvas for every code."""
    index = np.arange(_CODE_BITS + 1) ^ _CENTRE
    return ((index // WIDTH - REACH) * pitch + index % WIDTH - REACH).astype(np.int32)


def key_limit(mean_squared_difference: float) -> int:
    """Return the limit below which keys belong to similar blocks."""
    largest = float(np.finfo(np.float32).max)
    bits = np.array(min(mean_squared_difference * BLOCK**2, largest), np.float32).view(np.int32)
    return min(int(bits) | _CODE_BITS, HIGHEST)


@kernel
def match_rows(
    canvas: Floats, pitch: int, guide: int, height: int, width: int, rows: Positions, columns: Positions,
    reach: int, group: int, limit: int, codes: Ints, code_offsets: Ints, orders: Ints,
    offsets: Ints, counts: Ints, block: int,
) -> None:  # fmt: skip
    """Fill `offsets` and `counts` for all reference blocks of `rows`; `guide` is the position of pixel (0, 0)."""
    stride = pitch // 2
    top = max(0, rows[0] - reach)
    bottom = min(height - block, rows[-1] + reach)
    energies = np.empty((bottom - top + 1) * stride, np.float32)
    block_energies(canvas, pitch, guide + top * pitch, bottom - top + 1, width, MARGIN, stride, energies)
    products = np.empty((_SPAN + LANES) * WIDTH, np.float32)
    keys = np.empty(_SPAN * _WINDOW, np.int32)
    minima = np.empty(2 * WIDTH, np.int32)
    kept = np.empty(_WINDOW + LANES, np.int32)
    best = np.empty(32, np.int32)
    for row in range(rows.size):
        y = rows[row]
        lowest = max(-reach, -y)
        highest = min(reach, height - block - y)
        size = (highest - lowest + 1) * WIDTH
        first = 0
        while first < columns.size:
            left = columns[first]
            last = first
            while last < columns.size and columns[last] + block - left <= _SPAN:
                last += 1
            reference = guide + y * pitch + left
            for dy in range(lowest, highest + 1):
                span = columns[last - 1] + block - left
                multiply_columns(canvas, pitch, reference, reference + dy * pitch - REACH, span, block, products)
                candidates = (y + dy - top) * stride + MARGIN - REACH
                for index in range(first, last):
                    x = columns[index]
                    energy = energies[(y - top) * stride + MARGIN + x]
                    key = (index - first) * size + (dy - lowest) * WIDTH
                    for j in range(0, WIDTH, LANES):
                        bits = distances(products, (x - left) * WIDTH + j, energy, energies, candidates + x + j)
                        code = load_ints(codes, (dy + REACH) * WIDTH + j)
                        store_ints(keys, key + j, bits & splat_int(~_CODE_BITS) | code)
            select_groups(
                keys, row * columns.size + first, last - first, lowest, size, group, limit, code_offsets, orders,
                minima, kept, best, offsets, counts,
            )  # fmt: skip
            first = last


@kernel
def match_rounded_rows(
    canvas: Floats, pitch: int, guide: int, height: int, width: int, rows: Positions, columns: Positions,
    low: np.float32, scale: np.float32, reach: int, group: int, limit: int, codes: Ints, code_offsets: Ints,
    orders: Ints, offsets: Ints, counts: Ints, block: int,
) -> None:  # fmt: skip
    """Do what `match_rows` does on pixels that are rounded to multiples of ``1 / scale`` above `low`."""
    stride = pitch // 2
    top = max(0, rows[0] - reach)
    bottom = min(height - block, rows[-1] + reach)
    pairs = np.zeros((bottom - top + block) * stride + _SLACK, np.int32)
    factors = np.zeros(pairs.size, np.int32)
    pack_rows(canvas, pitch, guide + top * pitch, bottom - top + block, width, stride, low, scale, pairs, factors)
    energies = np.empty((bottom - top + 1) * stride, np.int32)
    energies_of(pairs, bottom - top + 1, width, stride, block, energies)
    sums = np.empty((_SPAN + 2 * LANES) * WIDTH, np.int32)
    totals = np.empty((_SPAN // LANES + 2) * WIDTH, np.int32)
    keys = np.empty(_SPAN * _WINDOW, np.int32)
    minima = np.empty(2 * WIDTH, np.int32)
    kept = np.empty(_WINDOW + LANES, np.int32)
    best = np.empty(32, np.int32)
    mask = splat_int(~_CODE_BITS)
    for row in range(rows.size):
        y = rows[row]
        lowest = max(-reach, -y)
        highest = min(reach, height - block - y)
        size = (highest - lowest + 1) * WIDTH
        first = 0
        while first < columns.size:
            left = columns[first]
            last = first
            while last < columns.size and columns[last] + block - left <= _SPAN:
                last += 1
            reference = (y - top) * stride + MARGIN + left
            span = columns[last - 1] + block - left
            for dy in range(lowest, highest + 1):
                sum_products(factors, pairs, stride, reference, reference + dy * stride - REACH, span, sums, totals)
                key = (dy - lowest) * WIDTH
                for index in range(first, last):
                    x = columns[np.uintp(index)] - left
                    energy = broadcast_int(energies, reference + x)
                    candidate = reference + dy * stride - REACH + x
                    for j in range(0, WIDTH, LANES):
                        bits = distance_bits(sums, totals, x, j, energy, energies, candidate + j)
                        code = load_ints(codes, (dy + REACH) * WIDTH + j)
                        store_ints(keys, key + j, bits & mask | code)
                    key += size
            select_groups(
                keys, row * columns.size + first, last - first, lowest, size, group, limit, code_offsets, orders,
                minima, kept, best, offsets, counts,
            )  # fmt: skip
            first = last


@inline
def select_groups(
    keys: Ints, place: int, blocks: int, lowest: int, size: int, group: int, limit: int, code_offsets: Ints,
    orders: Ints, minima: Ints, kept: Ints, best: Ints, offsets: Ints, counts: Ints,
) -> None:  # fmt: skip
    """Form the groups of `blocks` reference blocks from `place` on; each has `size` keys, from row `lowest` on."""
    for index in range(blocks):
        start = index * size
        keys[start - lowest * WIDTH + REACH] = 0
        fill = select(keys, start, start + size, group, limit, orders, minima, kept, best)
        count = 1
        while 2 * count <= group and best[2 * count - 1] < fill:
            count *= 2
        counts[place + index] = count
        for i in range(count):
            offsets[(place + index) * group + i] = code_offsets[best[i] & _CODE_BITS]


@inline
def block_energies(
    canvas: Floats, pitch: int, at: int, rows: int, width: int, margin: int, stride: int, energies: Floats
) -> None:
    """Write the energy of every block whose first row is one of `rows` rows of the image, the first at `at`.

    Each row of `energies` is `stride` long and holds, after `margin`, the blocks that start at column 0, 1, ...
    """
    columns = np.empty(stride, np.float32)
    for row in range(rows):
        for x in range(0, width, LANES):
            energy = splat(0.0)
            for i in range(BLOCK):
                pixels = load(canvas, at + (row + i) * pitch + x)
                energy = fma(pixels, pixels, energy)
            store(columns, x, energy)
        start = row * stride
        for x in range(stride):
            energies[start + x] = NEVER
        for x in range(width - BLOCK + 1):
            energy = np.float32(0)
            for j in range(BLOCK):
                energy += columns[x + j]
            energies[start + margin + x] = energy


@inline
def multiply_columns(
    canvas: Floats, pitch: int, reference: int, candidate: int, width: int, height: int, products: Floats
) -> None:
    """Sum the products of reference and candidate pixels down columns of `height` pixels.

    Entry ``40 * x + k`` of `products` is for the column `x` of the reference and the column ``x + k`` of the
    candidates; `width` columns are wanted, rounded up to a multiple of 16. Two columns eight pixels apart are done at
    once, since they need nearly the same candidates: ten sums, and few loads. The height, although always that of a
    block, is an argument because the compiler would unroll a loop of known length and run out of registers.
    """
    for left in range(0, width, 2 * LANES):
        for x in range(left, left + LANES):
            c0 = c1 = c2 = c3 = c4 = splat(0.0)
            d0 = d1 = d2 = d3 = d4 = splat(0.0)
            for row in range(height):
                here = reference + x + row * pitch
                there = candidate + x + row * pitch
                first = broadcast(canvas, here)
                second = broadcast(canvas, here + 8)
                c0 = fma(first, load(canvas, there), c0)
                pixels = load(canvas, there + 8)
                c1 = fma(first, pixels, c1)
                d0 = fma(second, pixels, d0)
                pixels = load(canvas, there + 16)
                c2 = fma(first, pixels, c2)
                d1 = fma(second, pixels, d1)
                pixels = load(canvas, there + 24)
                c3 = fma(first, pixels, c3)
                d2 = fma(second, pixels, d2)
                pixels = load(canvas, there + 32)
                c4 = fma(first, pixels, c4)
                d3 = fma(second, pixels, d3)
                d4 = fma(second, load(canvas, there + 40), d4)
            _store(products, x * WIDTH, c0, c1, c2, c3, c4)
            _store(products, (x + LANES) * WIDTH, d0, d1, d2, d3, d4)


@inline
def _store(array: Floats, at: int, v0: Float8, v1: Float8, v2: Float8, v3: Float8, v4: Float8) -> None:
    store(array, at, v0)
    store(array, at + 8, v1)
    store(array, at + 16, v2)
    store(array, at + 24, v3)
    store(array, at + 32, v4)


@inline
def distances(products: Floats, at: int, energy: np.float32, energies: Floats, candidate: int) -> Float8:
    """Return the bits of eight distances: `products` from `at` on belong to the first column of the block."""
    left = load(products, at) + load(products, at + WIDTH)
    left = left + (load(products, at + 2 * WIDTH) + load(products, at + 3 * WIDTH))
    right = load(products, at + 4 * WIDTH) + load(products, at + 5 * WIDTH)
    right = right + (load(products, at + 6 * WIDTH) + load(products, at + 7 * WIDTH))
    both = splat(energy) + load(energies, candidate)
    # Rounding can make the distance of equal blocks negative; the bits of a negative float are below zero.
    return upper_of(as_ints(fma(splat(-2.0), left + right, both)), splat_int(0))
