"""Aggregation: every pixel becomes the weighted mean of all its estimates.

    result = sum over groups and blocks (weight * window * block) / sum (weight * window)

Sums and weights are laid out as noisy image and estimate are on the canvas: the row of weights follows the row of sums.
As the window is the same for all blocks, each block leaves one number among the weights, and the window is applied once
at the end. A strip of reference rows has sums of its own, which cover only the rows that its blocks can reach; strips
are added up in their order, so that the result does not depend on which thread finishes first, and rows that no further
strip reaches are completed at once: only a band of the sums is in memory at any time.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plugplay.compiling import inline, kernel
from plugplay.denoisers.bm3d.canvas import MARGIN, Canvas, Positions
from plugplay.denoisers.bm3d.profiles import BLOCK
from plugplay.denoisers.bm3d.vectors import LANES, Float8, Floats, fma, load, splat, store

__all__ = ["Band", "Sums", "add_block", "kaiser_window", "weigh"]


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
    def reachable(cls, canvas: Canvas, rows: Positions, reach: int) -> Sums:
        """Return empty sums for all rows that groups of the reference rows `rows` can touch."""
        top = max(0, int(rows[0]) - reach)
        bottom = min(canvas.height, int(rows[-1]) + reach + BLOCK)
        return cls(np.zeros((canvas.channels, bottom - top, 2, canvas.stride), np.float32), top)

    @property
    def plane(self) -> int:
        """Distance between channels."""
        return int(self.memory[0].size)


class Band:
    """The rows of sums that further strips can still reach; the rows above are complete and on the canvas.

    Parameters
    ----------
    canvas : Canvas
        The canvas, whose estimate gets the weighted means.
    kaiser : float
        Shape parameter of the window.
    """

    def __init__(self, canvas: Canvas, kaiser: float) -> None:
        self._canvas, self._profile = canvas, kaiser_profile(kaiser)
        self._sums = Sums(np.zeros((canvas.channels, 0, 2, canvas.stride), np.float32), 0)
        self._filled = self._written = 0

    def add(self, part: Sums) -> None:
        """Add the sums of a strip."""
        rows = part.memory.shape[1]
        end = part.top + rows
        if end > self._sums.top + self._sums.memory.shape[1]:
            self._make_room(2 * rows)
        first, known = part.top - self._sums.top, max(self._filled - part.top, 0)
        self._sums.memory[:, first : first + known] += part.memory[:, :known]
        self._sums.memory[:, first + known : first + rows] = part.memory[:, known:]
        self._filled = max(self._filled, end)

    def _make_room(self, rows: int) -> None:
        """Leave out the rows that are not needed any more, and append so many."""
        # The weights of blocks that begin in the rows just above are still needed.
        top = max(self._written - BLOCK + 1, self._sums.top)
        kept = self._sums.memory[:, top - self._sums.top : self._filled - self._sums.top]
        memory = np.empty((kept.shape[0], kept.shape[1] + rows, *kept.shape[2:]), np.float32)
        memory[:, : kept.shape[1]] = kept
        self._sums = Sums(memory, top)

    def write_means(self, end: int) -> None:
        """Write the weighted means of the rows before `end`, which no further strip reaches, into the estimate."""
        canvas, sums = self._canvas, self._sums
        divide(
            sums.memory.reshape(-1), sums.plane, sums.top, self._written, end,
            canvas.channels, canvas.height, canvas.width, canvas.stride, self._profile, canvas.flat, BLOCK,
        )  # fmt: skip
        self._written = end


@functools.cache
def kaiser_profile(shape: float) -> NDArray[np.float32]:
    """Return the Kaiser window of a block's length, which gives less weight to the borders of a block."""
    return np.kaiser(BLOCK, shape).astype(np.float32)


@functools.cache
def kaiser_window(shape: float) -> NDArray[np.float32]:
    """Return the 8x8 Kaiser window, flat."""
    return np.outer(kaiser_profile(shape), kaiser_profile(shape)).ravel()


@inline
def add_block(
    sums: Floats, at: int, pitch: int, stride: int, weight: np.float32, window: Floats,
    r0: Float8, r1: Float8, r2: Float8, r3: Float8, r4: Float8, r5: Float8, r6: Float8, r7: Float8,
) -> None:  # fmt: skip
    """Add the block with the rows `r0` to `r7` at position `at`; `window` is already multiplied by `weight`."""
    store(sums, at, fma(load(window, 0), r0, load(sums, at)))
    store(sums, at + pitch, fma(load(window, 8), r1, load(sums, at + pitch)))
    store(sums, at + 2 * pitch, fma(load(window, 16), r2, load(sums, at + 2 * pitch)))
    store(sums, at + 3 * pitch, fma(load(window, 24), r3, load(sums, at + 3 * pitch)))
    store(sums, at + 4 * pitch, fma(load(window, 32), r4, load(sums, at + 4 * pitch)))
    store(sums, at + 5 * pitch, fma(load(window, 40), r5, load(sums, at + 5 * pitch)))
    store(sums, at + 6 * pitch, fma(load(window, 48), r6, load(sums, at + 6 * pitch)))
    store(sums, at + 7 * pitch, fma(load(window, 56), r7, load(sums, at + 7 * pitch)))
    sums[at + stride] += weight


@inline
def weigh(window: Floats, weight: np.float32, weighted: Floats) -> None:
    """Write `window` multiplied by `weight`."""
    scale = splat(weight)
    for j in range(0, BLOCK * BLOCK, LANES):
        store(weighted, j, scale * load(window, j))


@kernel
def divide(
    sums: Floats, plane: int, top: int, first: int, end: int,
    channels: int, height: int, width: int, stride: int, profile: Floats, canvas: Floats, block: int,
) -> None:  # fmt: skip
    """Write the weighted means of the rows from `first` to `end` into the estimate on the canvas.

    The weight of a block is stored where the block starts. The weights of pixels are this map, filtered by the window:
    first along columns and then along rows, because the window is separable.
    """
    columns = np.zeros(stride, np.float32)
    for channel in range(channels):
        for y in range(first, end):
            above = min(block, y + 1)
            at = channel * plane + (y - top) * 2 * stride + MARGIN
            for x in range(0, width, LANES):
                weights = splat(0.0)
                for i in range(above):
                    weights = fma(splat(profile[i]), load(sums, at + stride - 2 * i * stride + x), weights)
                store(columns, MARGIN + x, weights)
            target = (channel * height + y) * 2 * stride + stride + MARGIN
            for x in range(0, width, LANES):
                weights = splat(0.0)
                for j in range(block):
                    weights = fma(splat(profile[j]), load(columns, MARGIN + x - j), weights)
                store(canvas, target + x, load(sums, at + x) / weights)
            for x in range(target + width, target + stride - MARGIN):
                canvas[x] = 0
