"""The canvas: the memory in which an image is denoised.

A canvas holds, for every channel, the rows of the noisy image and of the current estimate alternately::

    channel 0:  noisy row 0 | estimate row 0 | noisy row 1 | estimate row 1 | ...
    channel 1:  ...

so that one number locates a block in both, and a sum and its weights (see `plugplay.denoisers.bm3d.aggregation`)
can be laid out in the same way: a displacement ``(dy, dx)`` is ``dy * pitch + dx`` everywhere. Rows have margins of
zeros on both sides, so that kernels may read whole vectors beyond the border.

Kernels read and write blocks as eight rows, here and in the groups that they form.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from plugplay.compiling import inline
from plugplay.denoisers.bm3d.profiles import BLOCK
from plugplay.denoisers.bm3d.vectors import Float8, Floats, load, store

__all__ = [
    "LARGEST_PIXEL",
    "MARGIN",
    "Canvas",
    "Positions",
    "depths",
    "load_block",
    "pitch_for",
    "reference_positions",
    "store_block",
]

Positions: TypeAlias = NDArray[np.int64]

MARGIN = 24

_SLACK = 64  # the search reads beyond the last row, though it does not use what it finds there

LARGEST_PIXEL = 2.0**20
"""What pixels may reach, so that energies of blocks stay far from the limits of float32."""


@dataclass(frozen=True, eq=False)
class Canvas:
    """Noisy image and estimate.

    Attributes
    ----------
    memory : ndarray of float32, shape (channels, height, 2, stride)
        The pixels with their margins.
    width : int
        Columns of the image.
    """

    memory: NDArray[np.float32]
    width: int

    @classmethod
    def empty(cls, channels: int, height: int, width: int) -> Canvas:
        """Return a canvas for so many channels of an image, whose pixels are still to be written."""
        shape = (channels, height, 2, stride_for(width))
        return cls(np.zeros(math.prod(shape) + _SLACK, np.float32)[:-_SLACK].reshape(shape), width)

    @classmethod
    def of(cls, planes: NDArray[np.float32]) -> Canvas:
        """Put the channels ``(C, H, W)`` of a noisy image on a new canvas; its estimate is still undefined."""
        canvas = cls.empty(*planes.shape)
        canvas.noisy[...] = planes
        return canvas

    def first_channel(self) -> Canvas:
        """Return the first channel alone, in the same memory."""
        return Canvas(self.memory[:1], self.width)

    @property
    def channels(self) -> int:
        """Number of channels."""
        return int(self.memory.shape[0])

    @property
    def height(self) -> int:
        """Number of image rows."""
        return int(self.memory.shape[1])

    @property
    def stride(self) -> int:
        """Distance between a noisy pixel and the estimate of the same pixel."""
        return int(self.memory.shape[3])

    @property
    def pitch(self) -> int:
        """Distance between a pixel and the one below it."""
        return 2 * self.stride

    @property
    def flat(self) -> NDArray[np.float32]:
        """The memory in one dimension, as the kernels see it."""
        return self.memory.reshape(-1)

    @property
    def noisy(self) -> NDArray[np.float32]:
        """A view of the noisy image, shape (channels, height, width)."""
        return self.memory[:, :, 0, MARGIN : MARGIN + self.width]

    @property
    def estimate(self) -> NDArray[np.float32]:
        """A view of the estimate, shape (channels, height, width)."""
        return self.memory[:, :, 1, MARGIN : MARGIN + self.width]


def stride_for(width: int) -> int:
    """Return the length of a row with its margins.

    An odd multiple of eight: if rows were a power of two apart, the rows of a block would compete for the same
    lines of the CPU's cache.

    Examples
    --------
    >>> stride_for(512), stride_for(8)
    (568, 72)
    """
    return (width + 2 * MARGIN + 15) // 16 * 16 + 8


def pitch_for(width: int) -> int:
    """Return the distance between a pixel and the one below it, on the canvas of an image of this width.

    Examples
    --------
    >>> pitch_for(512)
    1136
    """
    return 2 * stride_for(max(width, BLOCK))


def reference_positions(length: int, step: int, offset: int) -> Positions:
    """Return where reference blocks start along an axis: every `step` pixels from `offset` on, and at both ends.

    Examples
    --------
    >>> reference_positions(16, 3, 0)
    array([0, 3, 6, 8])
    >>> reference_positions(16, 3, 2)
    array([0, 2, 5, 8])
    """
    last = length - BLOCK
    return np.unique([0, *range(offset, last, step), last]).astype(np.int64)


def depths(canvas: Canvas, rows: Positions, columns: Positions, thinning: int) -> NDArray[np.int32]:
    """Return how many channels are filtered at each reference block of a strip: all, or the first one only.

    All channels are filtered at every block (`thinning` 1), on the white squares of a chessboard (2), or at every other
    block along both axes (4). Strips begin with an even row of blocks, so that the pattern continues from one to the
    next; at the borders, blocks that no other can replace have all channels. No pixel is left out if blocks are at most
    half their width apart.
    """
    if thinning == 1 or canvas.channels == 1:
        return np.full(rows.size * columns.size, canvas.channels, np.int32)
    row, column = np.arange(rows.size)[:, None], np.arange(columns.size)[None, :]
    rightmost = column == columns.size - 1
    if thinning == 2:
        every = ((row + column) % 2 == 0) | (column == 0) | rightmost
    else:
        lowest = rows[:, None] == canvas.height - BLOCK
        every = ((row % 2 == 0) | lowest) & ((column % 2 == 0) | rightmost)
    return np.where(every, canvas.channels, 1).astype(np.int32).ravel()


@inline
def load_block(array: Floats, at: int, pitch: int) -> tuple[Float8, ...]:
    """Return the rows of the 8x8 block that starts at `at`."""
    return (
        load(array, at),
        load(array, at + pitch),
        load(array, at + 2 * pitch),
        load(array, at + 3 * pitch),
        load(array, at + 4 * pitch),
        load(array, at + 5 * pitch),
        load(array, at + 6 * pitch),
        load(array, at + 7 * pitch),
    )


@inline
def store_block(
    array: Floats, at: int, pitch: int,
    r0: Float8, r1: Float8, r2: Float8, r3: Float8, r4: Float8, r5: Float8, r6: Float8, r7: Float8,
) -> None:  # fmt: skip
    """Write the rows of an 8x8 block from `at` on."""
    store(array, at, r0)
    store(array, at + pitch, r1)
    store(array, at + 2 * pitch, r2)
    store(array, at + 3 * pitch, r3)
    store(array, at + 4 * pitch, r4)
    store(array, at + 5 * pitch, r5)
    store(array, at + 6 * pitch, r6)
    store(array, at + 7 * pitch, r7)
