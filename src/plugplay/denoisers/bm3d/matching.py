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

Unless the noise is tiny, pixels are rounded to integers of 8 or 16 bits, which are faster: see
`plugplay.denoisers.bm3d.integers`.
"""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plugplay.compiling import inline, kernel
from plugplay.denoisers.bm3d.canvas import MARGIN, Canvas, Positions
from plugplay.denoisers.bm3d.floats import block_energies, distances, multiply_columns
from plugplay.denoisers.bm3d.instructions import has_byte_products
from plugplay.denoisers.bm3d.integers import (
    MAX_COARSE_LEVEL,
    TOO_FAR,
    distance_bits,
    energies_of,
    largest_level,
    pack_rows,
    store_row,
    sum_products,
)
from plugplay.denoisers.bm3d.profiles import BLOCK, Stage
from plugplay.denoisers.bm3d.quads import pack_quads, quad_energies, sum_quads
from plugplay.denoisers.bm3d.sorting import HIGHEST, lane_orders, select, select_from_rows
from plugplay.denoisers.bm3d.spectra import Scratch
from plugplay.denoisers.bm3d.vectors import (
    LANES,
    Floats,
    Ints,
    broadcast_int,
    load_ints,
    lower_of,
    splat_int,
    store_ints,
)

__all__ = ["REACH", "Matches", "match"]

REACH = 19
"""The largest displacement that the search can measure."""

WIDTH = 5 * LANES
"""Displacements that are measured together: as many products as fit into the registers of a CPU."""

_WINDOW = (2 * REACH + 1) * WIDTH
_SPAN = 80  # columns that are measured together: their keys fit into the CPU's second-level cache
_SPARE_ROWS = 9  # up to a multiple of ten
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
    scratch: Scratch | None = None,
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
    scratch : Scratch, optional
        Memory to work in.
    """
    blocks = rows.size * columns.size
    matches = Matches(np.zeros(blocks * stage.group, np.int32), np.zeros(blocks, np.int32))
    codes, steps = displacement_codes(stage.reach), code_offsets(canvas.pitch)
    place = canvas.flat, canvas.pitch, MARGIN + guide * canvas.stride, canvas.height, canvas.width, rows, columns
    top, bottom = max(0, rows[0] - stage.reach), min(canvas.height, rows[-1] + stage.reach + BLOCK)
    seen = canvas.memory[0, top:bottom, guide, MARGIN : MARGIN + canvas.width]
    low, high = float(seen.min()), float(seen.max())
    largest = largest_level(high - low, sigma, coarse=stage.coarse)
    if largest:
        scratch = scratch or Scratch()
        memory = scratch.take(sum(sizes := _sizes((bottom - top + 1) * canvas.stride, canvas.stride)) // 2)
        scale = 2 * largest / (high - low)
        limit = min(key_limit(stage.limit(sigma) * scale**2 / 2), key_limit(TOO_FAR / BLOCK**2) & ~_CODE_BITS)
        match_rounded_rows(
            *place, np.float32(low), np.float32(scale), largest, largest == MAX_COARSE_LEVEL and has_byte_products(),
            stage.reach, stage.group, limit, codes, beyond_reach(stage.reach), steps,
            lane_orders(), matches.offsets, matches.counts, BLOCK, *_divided(memory, sizes),
        )  # fmt: skip
        scratch.give_back(memory)
    else:
        limit = key_limit(stage.limit(sigma))
        match_rows(
            *place, stage.reach, stage.group, limit, codes, steps,
            lane_orders(), matches.offsets, matches.counts, BLOCK,
        )  # fmt: skip
    return matches


def _sizes(strip: int, stride: int) -> list[int]:
    """Return the sizes of the arrays that `match_rounded_rows` works in, in their order, given that of a strip."""
    sums = (_SPAN + 2 * LANES) * WIDTH
    rows = 2 * REACH + 1 + _SPARE_ROWS
    columns = [max(sums, 2 * stride), sums // LANES, _SPAN * _WINDOW, _SPAN * rows * LANES]
    return [*[strip] * 4, *columns, 2 * WIDTH, _WINDOW + LANES, 4 * LANES]


def _divided(memory: NDArray[np.float32], sizes: list[int]) -> list[Ints]:
    """Return integer arrays of these sizes; the first two, which have margins, are zero."""
    flat = memory.reshape(-1).view(np.int32)
    arrays = [flat[end - size : end] for size, end in zip(sizes, itertools.accumulate(sizes), strict=True)]
    for array in arrays[:2]:
        array.fill(0)
    return arrays


@functools.cache
def displacement_codes(reach: int) -> NDArray[np.int32]:
    """Return the code of every displacement of the window; those beyond `reach` get a key that is never chosen."""
    dy, dx = np.mgrid[-REACH : REACH + 1, -REACH : WIDTH - REACH]
    code = ((dy + REACH) * WIDTH + dx + REACH) ^ _CENTRE
    return np.where(np.abs(dx) <= reach, code, HIGHEST).astype(np.int32).ravel()


@functools.cache
def beyond_reach(reach: int) -> NDArray[np.int32]:
    """Return 0 for the displacements of a row of the window, and for those beyond `reach` what no key is above."""
    return np.where(np.abs(np.arange(-REACH, WIDTH - REACH)) <= reach, 0, HIGHEST).astype(np.int32)


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
    line = np.empty(stride, np.float32)
    block_energies(canvas, pitch, guide + top * pitch, bottom - top + 1, width, stride, line, energies)
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
    low: np.float32, scale: np.float32, largest: int, quads: bool, reach: int, group: int, limit: int, codes: Ints,
    beyond: Ints, code_offsets: Ints, orders: Ints, offsets: Ints, counts: Ints, block: int,
    packed: Ints, factors: Ints, energies: Ints, own: Ints, sums: Ints, totals: Ints, bits: Ints, lows: Ints,
    minima: Ints, kept: Ints, best: Ints,
) -> None:  # fmt: skip
    """Do what `match_rows` does on pixels that are rounded to multiples of ``1 / scale`` above `low`.

    As quads if `quads`, else as pairs. Keys are made of the few distances that are kept in the end.
    """
    stride = pitch // 2
    top = max(0, rows[0] - reach)
    bottom = min(height - block, rows[-1] + reach)
    if quads:
        pack_quads(canvas, pitch, guide + top * pitch, bottom - top + block, width, stride, low, scale, packed, factors)
        quad_energies(packed, factors, bottom - top + 1, width, stride, sums, energies, own)
    else:
        pack_rows(
            canvas, pitch, guide + top * pitch, bottom - top + block, width, stride, low, scale, largest,
            packed, factors,
        )  # fmt: skip
        energies_of(packed, bottom - top + 1, width, stride, block, sums, energies, own)
    b0, b1, b2 = load_ints(beyond, 0), load_ints(beyond, 8), load_ints(beyond, 16)
    b3, b4 = load_ints(beyond, 24), load_ints(beyond, 32)
    for row in range(rows.size):
        y = rows[row]
        lowest = max(-reach, -y)
        highest = min(reach, height - block - y)
        first = 0
        while first < columns.size:
            left = columns[first]
            last = first
            while last < columns.size and columns[last] + block - left <= _SPAN:
                last += 1
            reference = (y - top) * stride + MARGIN + left
            span = columns[last - 1] + block - left
            low_at = 0
            for dy in range(lowest, highest + 1):
                candidates = reference + dy * stride - REACH
                if quads:
                    sum_quads(factors, packed, stride, reference, candidates, span, sums, totals)
                else:
                    sum_products(factors, packed, stride, reference, candidates, span, sums, totals)
                for index in range(first, last):
                    x = columns[np.uintp(index)] - left
                    energy = broadcast_int(own, reference + x)
                    at = candidates + x
                    d0 = distance_bits(sums, totals, x, 0, energy, energies, at) | b0
                    d1 = distance_bits(sums, totals, x, 8, energy, energies, at + 8) | b1
                    d2 = distance_bits(sums, totals, x, 16, energy, energies, at + 16) | b2
                    d3 = distance_bits(sums, totals, x, 24, energy, energies, at + 24) | b3
                    d4 = distance_bits(sums, totals, x, 32, energy, energies, at + 32) | b4
                    store_row(bits, 5 * low_at, d0, d1, d2, d3, d4)
                    store_ints(lows, low_at, lower_of(lower_of(lower_of(d0, d1), lower_of(d2, d3)), d4))
                    low_at += LANES
            step = (last - first) * LANES
            for at in range(low_at, low_at + _SPARE_ROWS * step, LANES):
                store_ints(lows, at, splat_int(HIGHEST))
            for index in range(first, last):
                fill = select_from_rows(
                    bits, lows, (index - first) * LANES, step, highest + 1 - lowest, codes, (lowest + REACH) * WIDTH,
                    _CODE_BITS, group, limit, orders, minima, kept, best,
                )  # fmt: skip
                form_group(row * columns.size + index, fill, group, code_offsets, best, offsets, counts)
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
        form_group(place + index, fill, group, code_offsets, best, offsets, counts)


@inline
def form_group(place: int, fill: int, group: int, code_offsets: Ints, best: Ints, offsets: Ints, counts: Ints) -> None:
    """Write the displacements of a group: as many as there are keys below `fill`, down to a power of two."""
    count = 1
    while 2 * count <= group and best[2 * count - 1] < fill:
        count *= 2
    counts[place] = count
    for i in range(count):
        offsets[place * group + i] = code_offsets[best[i] & _CODE_BITS]
