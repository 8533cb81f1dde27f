"""Aggregation: every pixel becomes the weighted mean of all its estimates.

    result = sum over groups and blocks (weight * window * block) / sum (weight * window)

Sums and weights are laid out as noisy image and estimate are on the canvas: the row of weights follows the row of
sums. A strip of reference rows has sums of its own, which cover only the rows that its blocks can reach; strips are
added up in their order, so that the result does not depend on which thread finished first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plugplay.denoisers.bm3d.canvas import MARGIN, Canvas
from plugplay.denoisers.bm3d.compiling import inline
from plugplay.denoisers.bm3d.profiles import BLOCK
from plugplay.denoisers.bm3d.vectors import Float8, Floats, fma, load, splat, store

__all__ = ["Sums", "add_block", "kaiser_window"]


@dataclass(frozen=True, eq=False)
class Sums:
    """Weighted sums of block estimates for the rows from `top` on.

    Attributes
    ----------
    memory : ndarray of float32, shape (channels, rows, 2, stride)
        Sums and weights.
    top : int
        The image row that the first row belongs to.
    """

    memory: NDArray[np.float32]
    top: int

    @classmethod
    def reachable(cls, canvas: Canvas, rows: NDArray[np.int64], reach: int) -> Sums:
        """Return empty sums for all rows that groups of the reference rows `rows` can touch."""
        top = max(0, int(rows[0]) - reach)
        bottom = min(canvas.height, int(rows[-1]) + reach + BLOCK)
        return cls(np.zeros((canvas.channels, bottom - top, 2, canvas.stride), np.float32), top)

    @classmethod
    def whole(cls, canvas: Canvas) -> Sums:
        """Return empty sums for the whole image."""
        return cls(np.zeros_like(canvas.memory), 0)

    @property
    def plane(self) -> int:
        """Distance between channels."""
        return self.memory[0].size

    def add(self, part: Sums) -> None:
        """Add the sums of a strip."""
        rows = part.memory.shape[1]
        self.memory[:, part.top - self.top :][:, :rows] += part.memory

    def mean(self, width: int) -> NDArray[np.float32]:
        """Return the weighted means, shape (channels, height, width)."""
        columns = slice(MARGIN, MARGIN + width)
        return self.memory[:, :, 0, columns] / self.memory[:, :, 1, columns]


def kaiser_window(shape: float) -> NDArray[np.float32]:
    """Return the 8x8 Kaiser window, flat; it gives less weight to the borders of a block."""
    profile = np.kaiser(BLOCK, shape)
    return np.outer(profile, profile).astype(np.float32).ravel()


@inline
def add_block(
    sums: Floats, at: int, pitch: int, stride: int, weight: np.float32, window: Floats,
    r0: Float8, r1: Float8, r2: Float8, r3: Float8, r4: Float8, r5: Float8, r6: Float8, r7: Float8,
) -> None:  # fmt: skip
    """Add the block with the rows `r0` to `r7` and its weights at position `at`."""
    scale = splat(weight)
    add_row(sums, at, stride, scale * load(window, 0), r0)
    add_row(sums, at + pitch, stride, scale * load(window, 8), r1)
    add_row(sums, at + 2 * pitch, stride, scale * load(window, 16), r2)
    add_row(sums, at + 3 * pitch, stride, scale * load(window, 24), r3)
    add_row(sums, at + 4 * pitch, stride, scale * load(window, 32), r4)
    add_row(sums, at + 5 * pitch, stride, scale * load(window, 40), r5)
    add_row(sums, at + 6 * pitch, stride, scale * load(window, 48), r6)
    add_row(sums, at + 7 * pitch, stride, scale * load(window, 56), r7)


@inline
def add_row(sums: Floats, at: int, stride: int, weights: Float8, row: Float8) -> None:
    """Add one row of a block and its weights."""
    store(sums, at, fma(weights, row, load(sums, at)))
    store(sums, at + stride, load(sums, at + stride) + weights)
