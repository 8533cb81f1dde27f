"""Block matching in single precision, for images with next to no noise: see `plugplay.denoisers.bm3d.matching`."""

from __future__ import annotations

import numpy as np

from plugplay.compiling import inline
from plugplay.denoisers.bm3d.canvas import MARGIN
from plugplay.denoisers.bm3d.profiles import BLOCK
from plugplay.denoisers.bm3d.vectors import (
    LANES,
    Float8,
    Floats,
    Int8,
    as_ints,
    broadcast,
    fma,
    load,
    splat,
    splat_int,
    store,
    upper_of,
)

__all__ = ["block_energies", "distances", "multiply_columns"]

NEVER = np.float32(1e30)
"""The energy of blocks that reach over the border: no reference block is similar to them."""


@inline
def block_energies(
    canvas: Floats, pitch: int, at: int, rows: int, width: int, stride: int, columns: Floats, energies: Floats
) -> None:
    """Write the energy of every block whose first row is one of `rows` rows of the image, the first at `at`.

    Each row of `energies` is `stride` long and holds, after `MARGIN`, the blocks that start at column 0, 1, ...
    """
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
            energies[start + MARGIN + x] = energy


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
            _store(products, 40 * x, c0, c1, c2, c3, c4)
            _store(products, 40 * (x + LANES), d0, d1, d2, d3, d4)


@inline
def _store(array: Floats, at: int, v0: Float8, v1: Float8, v2: Float8, v3: Float8, v4: Float8) -> None:
    store(array, at, v0)
    store(array, at + 8, v1)
    store(array, at + 16, v2)
    store(array, at + 24, v3)
    store(array, at + 32, v4)


@inline
def distances(products: Floats, at: int, energy: np.float32, energies: Floats, candidate: int) -> Int8:
    """Return the bits of eight distances: `products` from `at` on belong to the first column of the block."""
    left = load(products, at) + load(products, at + 40)
    left = left + (load(products, at + 80) + load(products, at + 120))
    right = load(products, at + 160) + load(products, at + 200)
    right = right + (load(products, at + 240) + load(products, at + 280))
    both = splat(energy) + load(energies, candidate)
    # Rounding can make the distance of equal blocks negative; the bits of a negative float are below zero.
    return upper_of(as_ints(fma(splat(-2.0), left + right, both)), splat_int(0))
