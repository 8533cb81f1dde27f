"""Block matching: which blocks look like the reference block?

For every reference block the search measures the squared distance

    d(dy, dx) = sum over the block of (image[y + dy + i, x + dx + j] - image[y + i, x + j])**2

for all displacements of the window and keeps the smallest. Eight neighbouring `dx` sit in one vector. Reference
blocks of one row overlap, so distances are first summed down each column of a block, once, and these sums are
shared by all reference blocks that contain the column.

Distances are sorted as integer keys: the bits of a non-negative float are ordered like the float, and the lowest
bits of the key are replaced by the displacement's code. The reference block itself has code 0 and distance 0, hence
the smallest key of all: it is always in its group, and every pixel is in some group.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plugplay.denoisers.bm3d.canvas import MARGIN, Canvas
from plugplay.denoisers.bm3d.compiling import inline, kernel
from plugplay.denoisers.bm3d.profiles import BLOCK, Stage
from plugplay.denoisers.bm3d.sorting import (
    HIGHEST,
    bound_16,
    bound_32,
    collect_16,
    collect_32,
    column_minima,
)
from plugplay.denoisers.bm3d.vectors import (
    LANES,
    as_ints,
    fma,
    load,
    load_ints,
    splat,
    splat_int,
    store,
    store_ints,
)

__all__ = ["REACH", "Matches", "match"]

REACH = 19
"""The largest displacement that the search can measure."""

_WIDTH = 5 * LANES  # displacements per row of the window: -19 to 19, and one that is always refused
_WINDOW = (2 * REACH + 1) * _WIDTH
_SPAN = 80  # columns that are measured together: their keys fit into the CPU's second-level cache
_CODE_BITS = 0x7FF
_CENTRE = REACH * _WIDTH + REACH


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
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
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
        rows,
        columns,
        stage.reach,
        stage.group,
        key_limit(stage.limit(sigma)),
        displacement_codes(stage.reach),
        code_offsets(canvas.pitch),
        matches.offsets,
        matches.counts,
    )
    return matches


def displacement_codes(reach: int) -> NDArray[np.int32]:
    """Return the code of every displacement of the window; those beyond `reach` get a key that is never taken."""
    dy, dx = np.mgrid[-REACH : REACH + 1, -REACH : _WIDTH - REACH]
    code = ((dy + REACH) * _WIDTH + dx + REACH) ^ _CENTRE
    return np.where(np.abs(dx) <= reach, code, HIGHEST).astype(np.int32).ravel()


def code_offsets(pitch: int) -> NDArray[np.int32]:
    """Return the offset on the canvas for every code."""
    index = np.arange(_CODE_BITS + 1) ^ _CENTRE
    return ((index // _WIDTH - REACH) * pitch + index % _WIDTH - REACH).astype(np.int32)


def key_limit(mean_squared_difference: float) -> int:
    """Return the integer that keys of similar blocks are below."""
    bits = np.array(mean_squared_difference * BLOCK**2, np.float32).view(np.int32)
    return min(int(bits) | _CODE_BITS, HIGHEST)


@kernel
def match_rows(
    canvas: Any,
    pitch: int,
    guide: int,
    height: int,
    rows: Any,
    columns: Any,
    reach: int,
    group: int,
    limit: int,
    codes: Any,
    code_offsets: Any,
    offsets: Any,
    counts: Any,
) -> None:
    """Fill `offsets` and `counts` for all reference blocks of `rows`; `guide` is where pixel (0, 0) is."""
    pairs = np.empty((_SPAN + 1) * _WIDTH, np.float32)
    keys = np.empty(_SPAN * _WINDOW, np.int32)
    minima = np.empty(2 * _WIDTH, np.int32)
    best = np.empty(32, np.int32)
    for row in range(rows.size):
        y = rows[row]
        lowest = max(-reach, -y)
        highest = min(reach, height - BLOCK - y)
        size = (highest - lowest + 1) * _WIDTH
        first = 0
        while first < columns.size:
            left = columns[first]
            last = first
            while last < columns.size and columns[last] + BLOCK - left <= _SPAN:
                last += 1
            reference = guide + y * pitch + left
            for dy in range(lowest, highest + 1):
                width = columns[last - 1] + BLOCK - left
                measure_columns(canvas, pitch, reference, reference + dy * pitch - REACH, width, pairs)
                code = (dy + REACH) * _WIDTH
                for block in range(first, last):
                    key = (block - first) * size + (dy - lowest) * _WIDTH
                    make_keys(pairs, (columns[block] - left) * _WIDTH, codes, code, keys, key)
            for block in range(first, last):
                start = (block - first) * size
                fill = select(keys, start, start - lowest * _WIDTH, start + size, group, limit, minima, best)
                count = 1
                while 2 * count <= group and best[2 * count - 1] < fill:
                    count *= 2
                place = row * columns.size + block
                counts[place] = count
                for i in range(count):
                    offsets[place * group + i] = code_offsets[best[i] & _CODE_BITS]
            first = last


@inline
def measure_columns(canvas: Any, pitch: int, reference: int, candidate: int, width: int, pairs: Any) -> None:
    """Sum squared differences over the columns of a row of blocks, for the 40 `dx` of one `dy`.

    Entry `x` of `pairs` becomes the sum for the columns `x - 1` and `x`.
    """
    p0 = p1 = p2 = p3 = p4 = splat(0.0)
    for x in range(width):
        c0 = c1 = c2 = c3 = c4 = splat(0.0)
        for row in range(BLOCK):
            pixel = splat(canvas[reference + x + row * pitch])
            other = candidate + x + row * pitch
            e0 = pixel - load(canvas, other)
            e1 = pixel - load(canvas, other + 8)
            e2 = pixel - load(canvas, other + 16)
            e3 = pixel - load(canvas, other + 24)
            e4 = pixel - load(canvas, other + 32)
            c0 = fma(e0, e0, c0)
            c1 = fma(e1, e1, c1)
            c2 = fma(e2, e2, c2)
            c3 = fma(e3, e3, c3)
            c4 = fma(e4, e4, c4)
        at = x * _WIDTH
        store(pairs, at, p0 + c0)
        store(pairs, at + 8, p1 + c1)
        store(pairs, at + 16, p2 + c2)
        store(pairs, at + 24, p3 + c3)
        store(pairs, at + 32, p4 + c4)
        p0, p1, p2, p3, p4 = c0, c1, c2, c3, c4


@inline
def make_keys(pairs: Any, at: int, codes: Any, code: int, keys: Any, key: int) -> None:
    """Add the columns of one block up and write its 40 keys for one `dy`."""
    for j in range(0, _WIDTH, LANES):
        left = load(pairs, at + _WIDTH + j) + load(pairs, at + 3 * _WIDTH + j)
        right = load(pairs, at + 5 * _WIDTH + j) + load(pairs, at + 7 * _WIDTH + j)
        distance = as_ints(left + right) & splat_int(~_CODE_BITS)
        store_ints(keys, key + j, distance | load_ints(codes, code + j))


@inline
def select(
    keys: Any, start: int, middle: int, stop: int, group: int, limit: int, minima: Any, best: Any
) -> int:
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
