"""The columns of blocks in the transform's domain: half of every transform, done once for all blocks.

The transform of a block goes down its columns and along its rows. A column of eight pixels belongs to up to eight
blocks, and each of these to many groups. So columns are transformed beforehand, all of a strip, and a block is read as
its eight columns, which only want the transform along the rows. On the way back only that is undone for each block;
what blocks contribute is summed up as columns, and the columns are transformed back at the end.

Spectra are laid out as the canvas is, with the eight coefficients of the column that starts at a pixel in place of the
pixel: what is at `i` there is at ``8 * i`` here.

Groups are transformed across their blocks as they are read, eight blocks at a time, and back as they are added to the
results.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from plugplay.compiling import inline
from plugplay.denoisers.bm3d.canvas import MARGIN, load_block, store_block
from plugplay.denoisers.bm3d.profiles import BLOCK
from plugplay.denoisers.bm3d.transforms import (
    biorthogonal,
    dct,
    haar_8,
    inverse_biorthogonal,
    inverse_dct,
    inverse_haar_8,
)
from plugplay.denoisers.bm3d.vectors import (
    LANES,
    Float8,
    Floats,
    Ints,
    broadcast,
    fma,
    load,
    load_ints,
    splat,
    splat_int,
    store,
    store_ints,
    transpose,
)

__all__ = [
    "PIXELS",
    "Scratch",
    "analyse_columns",
    "clear_columns",
    "place_blocks",
    "put_back",
    "read_octet",
    "synthesise_columns",
]

PIXELS = BLOCK * BLOCK

_BLOCK_BITS = 3  # of a number below that of a block's columns

_LINE = 16  # floats in a line of the CPU's cache


class Scratch:
    """Memory for spectra and results, which the strips of a stage use one after another: new memory costs time."""

    def __init__(self) -> None:
        self._unused: list[NDArray[np.float32]] = []

    def take(self, size: int) -> NDArray[np.float32]:
        """Return two rows of at least `size` floats, whatever is in them."""
        memory = self._unused.pop() if self._unused else _aligned(size)
        return memory if memory.shape[1] >= size else _aligned(size)

    def give_back(self, memory: NDArray[np.float32]) -> None:
        """Leave what was taken to others."""
        self._unused.append(memory)


def _aligned(size: int) -> NDArray[np.float32]:
    """Return two rows of memory in which no vector is in two lines of the cache."""
    size = -(-size // _LINE) * _LINE
    memory = np.empty(2 * size + _LINE, np.float32)
    first = -(memory.ctypes.data // memory.itemsize) % _LINE
    return memory[first : first + 2 * size].reshape(2, size)


@inline
def analyse_columns(
    canvas: Floats, source: int, pitch: int, rows: int, width: int, wavelet: bool, spectra: Floats, target: int
) -> None:
    """Transform the columns that start in some rows of the canvas, the first at `source`, by wavelet or DCT.

    They are written from `target` on, a number as on the canvas.
    """
    for row in range(rows):
        for x in range(row * pitch, row * pitch + width, LANES):
            r0, r1, r2, r3, r4, r5, r6, r7 = load_block(canvas, source + x, pitch)
            if wavelet:
                r0, r1, r2, r3, r4, r5, r6, r7 = biorthogonal(r0, r1, r2, r3, r4, r5, r6, r7)
            else:
                r0, r1, r2, r3, r4, r5, r6, r7 = dct(r0, r1, r2, r3, r4, r5, r6, r7)
            r0, r1, r2, r3, r4, r5, r6, r7 = transpose(r0, r1, r2, r3, r4, r5, r6, r7)
            store_block(spectra, BLOCK * (target + x), BLOCK, r0, r1, r2, r3, r4, r5, r6, r7)


@inline
def clear_columns(results: Floats, pitch: int, rows: int, width: int) -> None:
    """Set the spectra of the columns that start in some rows to zero."""
    for row in range(rows):
        first = BLOCK * (row * pitch + MARGIN)
        # Up to the end of the last vector of columns that is transformed back.
        for i in range(first, first + BLOCK * (width + LANES), LANES):
            store(results, i, splat(0.0))


@inline
def synthesise_columns(
    results: Floats, pitch: int, rows: int, width: int, wavelet: bool, window: Floats, sums: Floats, target: int
) -> None:
    """Transform the columns that start in some rows back, multiply by the window, add to the sums from `target` on."""
    w0, w1, w2, w3 = broadcast(window, 0), broadcast(window, 1), broadcast(window, 2), broadcast(window, 3)
    w4, w5, w6, w7 = broadcast(window, 4), broadcast(window, 5), broadcast(window, 6), broadcast(window, 7)
    for row in range(rows):
        for x in range(row * pitch, row * pitch + width, LANES):
            r0, r1, r2, r3, r4, r5, r6, r7 = load_block(results, BLOCK * (MARGIN + x), BLOCK)
            r0, r1, r2, r3, r4, r5, r6, r7 = transpose(r0, r1, r2, r3, r4, r5, r6, r7)
            if wavelet:
                r0, r1, r2, r3, r4, r5, r6, r7 = inverse_biorthogonal(r0, r1, r2, r3, r4, r5, r6, r7)
            else:
                r0, r1, r2, r3, r4, r5, r6, r7 = inverse_dct(r0, r1, r2, r3, r4, r5, r6, r7)
            at = target + x
            s0, s1, s2, s3, s4, s5, s6, s7 = load_block(sums, at, pitch)
            s0, s1, s2, s3 = fma(w0, r0, s0), fma(w1, r1, s1), fma(w2, r2, s2), fma(w3, r3, s3)
            s4, s5, s6, s7 = fma(w4, r4, s4), fma(w5, r5, s5), fma(w6, r6, s6), fma(w7, r7, s7)
            store_block(sums, at, pitch, s0, s1, s2, s3, s4, s5, s6, s7)


@inline
def place_blocks(offsets: Ints, first: int, count: int, at: int, places: Ints) -> int:
    """Write where the spectra of a group's blocks are, the reference block being at `at`; return how many blocks.

    Groups below eight blocks are filled up to eight with copies. The transform of copies is that of the blocks, but
    for zeros and for the norm: the noise's variance is multiplied by the number of copies.
    """
    if count >= 8:
        for i in range(0, count, LANES):
            once = load_ints(offsets, first + i) + splat_int(at)
            twice = once + once
            four_times = twice + twice
            store_ints(places, i, four_times + four_times)
        return count
    copies = 8 // count
    for i in range(8):
        places[i] = BLOCK * (at + offsets[first + i // copies])
    return 8


@inline
def read_octet(spectra: Floats, places: Ints, first: int, shift: int, group: Floats, target: int) -> None:
    """Read eight blocks, from `first` of `places` on, and transform across them; `shift` is added to their places."""
    p0, p1, p2, p3 = places[first], places[first + 1], places[first + 2], places[first + 3]
    p4, p5, p6, p7 = places[first + 4], places[first + 5], places[first + 6], places[first + 7]
    for j in range(0, PIXELS, BLOCK):
        i = shift + j
        a0, a1, a2, a3, a4, a5, a6, a7 = haar_8(
            load(spectra, p0 + i), load(spectra, p1 + i), load(spectra, p2 + i), load(spectra, p3 + i),
            load(spectra, p4 + i), load(spectra, p5 + i), load(spectra, p6 + i), load(spectra, p7 + i),
        )  # fmt: skip
        store_block(group, target + j, PIXELS, a0, a1, a2, a3, a4, a5, a6, a7)


@inline
def put_back(
    group: Floats, places: Ints, blocks: int, copies: int, weight: np.float32, window: Floats, results: Floats,
    sums: Floats, weights: int,
) -> None:  # fmt: skip
    """Add the blocks of a group to the results, with weight and window, and its weight to the sums from `weights` on.

    What it adds is multiplied along the rows of a block by the window; `synthesise_columns` does so down the columns.
    """
    share = splat(weight / np.float32(copies))
    for first in range(0, blocks, 8):
        spread_octet(group, share, window, results, places, first)
    for i in range(0, blocks, copies):
        sums[np.uintp(weights + (places[i] >> _BLOCK_BITS))] += weight


@inline
def spread_octet(group: Floats, weight: Float8, window: Floats, results: Floats, places: Ints, first: int) -> None:
    """Transform eight blocks back across the group and add them to the results, with weight and window."""
    p0, p1, p2, p3 = places[first], places[first + 1], places[first + 2], places[first + 3]
    p4, p5, p6, p7 = places[first + 4], places[first + 5], places[first + 6], places[first + 7]
    for column in range(BLOCK):
        i = BLOCK * column
        a0, a1, a2, a3, a4, a5, a6, a7 = load_block(group, first * PIXELS + i, PIXELS)
        a0, a1, a2, a3, a4, a5, a6, a7 = inverse_haar_8(a0, a1, a2, a3, a4, a5, a6, a7)
        factor = weight * broadcast(window, column)
        # One after the other: copies of a block have the same place.
        store(results, p0 + i, fma(factor, a0, load(results, p0 + i)))
        store(results, p1 + i, fma(factor, a1, load(results, p1 + i)))
        store(results, p2 + i, fma(factor, a2, load(results, p2 + i)))
        store(results, p3 + i, fma(factor, a3, load(results, p3 + i)))
        store(results, p4 + i, fma(factor, a4, load(results, p4 + i)))
        store(results, p5 + i, fma(factor, a5, load(results, p5 + i)))
        store(results, p6 + i, fma(factor, a6, load(results, p6 + i)))
        store(results, p7 + i, fma(factor, a7, load(results, p7 + i)))
