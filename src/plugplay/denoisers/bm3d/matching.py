"""Block matching: the search for blocks that look like a reference block.

For every reference block the search measures the squared distance

    d(dy, dx) = sum over the block of (image[y + dy + i, x + dx + j] - image[y + i, x + j])**2

for all displacements of the window and keeps the smallest.

Distances are sorted as integer keys: the bits of a non-negative float are ordered like the float, and the lowest
bits of the key are replaced by the displacement's code. The reference block itself has the key 0, the smallest of
all: it is always in its group, so that every pixel is in some group.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plugplay.denoisers.bm3d.canvas import MARGIN, Canvas, Positions
from plugplay.denoisers.bm3d.distances import WIDTH, block_energies, distances, multiply_columns
from plugplay.denoisers.bm3d.profiles import BLOCK, Stage
from plugplay.denoisers.bm3d.sorting import (
    HIGHEST,
    bound_16,
    bound_32,
    collect_16,
    collect_32,
    column_minima,
)
from plugplay.denoisers.bm3d.vectors import LANES, Floats, Ints, load_ints, splat_int, store_ints
from plugplay.denoisers.compiling import inline, kernel

__all__ = ["REACH", "Matches", "match"]

REACH = 19
"""The largest displacement that the search can measure."""

_WINDOW = (2 * REACH + 1) * WIDTH
_SPAN = 80  # columns that are measured together: their keys fit into the CPU's second-level cache
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
        What to search; only its first channel is looked at.
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
    match_rows(
        canvas.flat,
        canvas.pitch,
        MARGIN + guide * canvas.stride,
        canvas.height,
        canvas.width,
        rows,
        columns,
        stage.reach,
        stage.group,
        key_limit(stage.limit(sigma)),
        displacement_codes(stage.reach),
        code_offsets(canvas.pitch),
        matches.offsets,
        matches.counts,
        BLOCK,
    )
    return matches


@functools.cache
def displacement_codes(reach: int) -> NDArray[np.int32]:
    """Return the code of every displacement of the window; those beyond `reach` get a key that is never taken."""
    dy, dx = np.mgrid[-REACH : REACH + 1, -REACH : WIDTH - REACH]
    code = ((dy + REACH) * WIDTH + dx + REACH) ^ _CENTRE
    return np.where(np.abs(dx) <= reach, code, HIGHEST).astype(np.int32).ravel()


@functools.lru_cache(maxsize=8)
def code_offsets(pitch: int) -> NDArray[np.int32]:
    """Return the offset on the canvas for every code."""
    index = np.arange(_CODE_BITS + 1) ^ _CENTRE
    return ((index // WIDTH - REACH) * pitch + index % WIDTH - REACH).astype(np.int32)


def key_limit(mean_squared_difference: float) -> int:
    """Return the integer that keys of similar blocks are below."""
    bits = np.array(mean_squared_difference * BLOCK**2, np.float32).view(np.int32)
    return min(int(bits) | _CODE_BITS, HIGHEST)


@kernel
def match_rows(
    canvas: Floats, pitch: int, guide: int, height: int, width: int, rows: Positions, columns: Positions,
    reach: int, group: int, limit: int, codes: Ints, code_offsets: Ints, offsets: Ints, counts: Ints, block: int,
) -> None:  # fmt: skip
    """Fill `offsets` and `counts` for all reference blocks of `rows`; `guide` is where pixel (0, 0) is."""
    stride = pitch // 2
    top = max(0, rows[0] - reach)
    bottom = min(height - block, rows[-1] + reach)
    energies = np.empty((bottom - top + 1) * stride, np.float32)
    block_energies(canvas, pitch, guide + top * pitch, bottom - top + 1, width, MARGIN, stride, energies)
    products = np.empty((_SPAN + LANES) * WIDTH, np.float32)
    keys = np.empty(_SPAN * _WINDOW, np.int32)
    minima = np.empty(2 * WIDTH, np.int32)
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
            for index in range(first, last):
                start = (index - first) * size
                middle = start - lowest * WIDTH
                keys[middle + REACH] = 0
                fill = select(keys, start, middle, start + size, group, limit, minima, best)
                count = 1
                while 2 * count <= group and best[2 * count - 1] < fill:
                    count *= 2
                place = row * columns.size + index
                counts[place] = count
                for i in range(count):
                    offsets[place * group + i] = code_offsets[best[i] & _CODE_BITS]
            first = last


@inline
def select(keys: Ints, start: int, middle: int, stop: int, group: int, limit: int, minima: Ints, best: Ints) -> int:
    """Write the smallest keys below `limit` into `best`, sorted; places that stay empty hold the returned value.

    The row of the reference block, at `middle`, comes first: similar blocks are near, and once the list holds
    small keys, most others are refused at a glance.
    """
    column_minima(keys, start, stop, minima)
    if group <= 16:
        fill = min(limit, bound_16(minima) + 1)
        b0 = b1 = splat_int(fill)
        b0, b1 = collect_16(keys, middle, stop, b0, b1)
        b0, b1 = collect_16(keys, start, middle, b0, b1)
        store_ints(best, 0, b0)
        store_ints(best, 8, b1)
    else:
        fill = min(limit, bound_32(minima) + 1)
        b0 = b1 = b2 = b3 = splat_int(fill)
        b0, b1, b2, b3 = collect_32(keys, middle, stop, b0, b1, b2, b3)
        b0, b1, b2, b3 = collect_32(keys, start, middle, b0, b1, b2, b3)
        store_ints(best, 0, b0)
        store_ints(best, 8, b1)
        store_ints(best, 16, b2)
        store_ints(best, 24, b3)
    return fill
