"""Tiles: parts of an image that are restored separately and merged without seams.

The image is cut into **cores**. Each tile is a core with a **halo** around it, so that the core is restored as if the
rest of the image were there. Across the border between two cores, the results of both are **blended** over a
band: the weights of all tiles add up to 1 everywhere.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay.arrays.checks import FloatArray

__all__ = ["ALIGNMENT", "Grid", "Span", "Tile"]

# Tiles begin at multiples of this, so that the grids of BM3D's blocks, of 2, 3, 4, 5 or 6 pixels, are those of the
# whole image.
ALIGNMENT = 60


@dataclass(frozen=True)
class Span:
    """One axis of a tile, in pixels of the observation.

    Attributes
    ----------
    start, stop : int
        The core.
    first, last : int
        The core with its halo, which is read.
    low, high : int
        The core with the bands in which it is blended with its neighbours.
    """

    start: int
    stop: int
    first: int
    last: int
    low: int
    high: int

    def weights(self, blend: int, factor: int) -> NDArray[np.float32]:
        """Return the weight of this tile from `low` to `high`, in pixels of the result."""
        places = np.arange(self.low * factor, self.high * factor, dtype=np.float64) + 0.5
        weights = np.ones_like(places)
        # Both sides of a border take the same numbers, once from 0 and once from 1.
        if self.low < self.start:
            weights *= np.clip((places / factor - self.start + blend) / (2 * blend), 0, 1)
        if self.high > self.stop:
            weights *= 1 - np.clip((places / factor - self.stop + blend) / (2 * blend), 0, 1)
        return weights.astype(np.float32)


@dataclass(frozen=True)
class Tile:
    """A part of one page.

    Attributes
    ----------
    page : int
        Which image of a stack.
    row, column : int
        Its place in the grid.
    rows, columns : Span
        Its place in the image.
    """

    page: int
    row: int
    column: int
    rows: Span
    columns: Span

    @property
    def name(self) -> str:
        """A name that sorts by position."""
        return f"{self.page:06}-{self.row:06}-{self.column:06}"

    @property
    def outer(self) -> tuple[slice, slice]:
        """The core with its halo, which is read."""
        return slice(self.rows.first, self.rows.last), slice(self.columns.first, self.columns.last)

    @property
    def core(self) -> tuple[slice, slice]:
        """The core."""
        return slice(self.rows.start, self.rows.stop), slice(self.columns.start, self.columns.stop)

    def kept(self, restored: NDArray[Any], factor: int) -> NDArray[Any]:
        """Return the part of the restored tile that is kept: the core and the bands around it."""
        rows, columns = (
            slice((span.low - span.first) * factor, (span.high - span.first) * factor)
            for span in (self.rows, self.columns)
        )
        return restored[rows, columns]


@dataclass(frozen=True)
class Grid:
    """How pages of one size are cut into tiles.

    Attributes
    ----------
    shape : (int, int)
        Height and width of a page.
    core : (int, int)
        Height and width of a core.
    halo : int
        Pixels around each core.
    blend : int
        Half the width of the band in which neighbours are blended; at most the halo, and half a core.
    pages : int
        How many pages there are.
    factor : int
        The factor by which the result is larger.

    Examples
    --------
    >>> grid = Grid((300, 500), (256, 256), halo=32, blend=8)
    >>> len(list(grid.tiles())), grid.tile(0, 1, 1).outer
    (4, (slice(180, 300, None), slice(180, 500, None)))
    """

    shape: tuple[int, int]
    core: tuple[int, int]
    halo: int
    blend: int
    pages: int = 1
    factor: int = 1

    def __post_init__(self) -> None:
        if min(self.core) < 1 or not 0 <= self.blend <= self.halo or 2 * self.blend > min(self.core):
            raise ValueError(
                f"cores of {self.core} with a halo of {self.halo} cannot be blended over {self.blend} pixels: the band "
                "must fit into the halo, and twice into a core"
            )

    @property
    def counts(self) -> tuple[int, int]:
        """Rows and columns of tiles."""
        return math.ceil(self.shape[0] / self.core[0]), math.ceil(self.shape[1] / self.core[1])

    def __len__(self) -> int:
        return self.pages * self.counts[0] * self.counts[1]

    def tiles(self) -> Iterator[Tile]:
        """Yield all tiles, page by page and row by row."""
        rows, columns = self.counts
        for page, row, column in itertools.product(range(self.pages), range(rows), range(columns)):
            yield self.tile(page, row, column)

    def tile(self, page: int, row: int, column: int) -> Tile:
        """Return one tile."""
        return Tile(page, row, column, self._span(0, row), self._span(1, column))

    def around(self, tile: Tile) -> Iterator[Tile]:
        """Yield the tiles that the core of a tile is made of: itself and its neighbours, in a fixed order."""
        rows, columns = self.counts
        for row in range(max(tile.row - 1, 0), min(tile.row + 2, rows)):
            for column in range(max(tile.column - 1, 0), min(tile.column + 2, columns)):
                yield self.tile(tile.page, row, column)

    def assembled(self, tile: Tile, parts: dict[str, FloatArray]) -> FloatArray:
        """Return the restored core of a tile from the kept parts of it and of its neighbours, by name."""
        factor = self.factor
        own = parts[tile.name]
        size = tuple((span.stop - span.start) * factor for span in (tile.rows, tile.columns))
        total = np.zeros((*size, *own.shape[2:]), own.dtype)
        for other in self.around(tile):
            part = parts[other.name]
            here, there, weights = [], [], []
            for mine, theirs in ((tile.rows, other.rows), (tile.columns, other.columns)):
                low, high = max(mine.start, theirs.low), min(mine.stop, theirs.high)
                here.append(slice((low - mine.start) * factor, (high - mine.start) * factor))
                there.append(slice((low - theirs.low) * factor, (high - theirs.low) * factor))
                weights.append(theirs.weights(self.blend, factor)[there[-1]])
            if any(s.stop <= s.start for s in here):
                continue
            weight = np.multiply.outer(*weights).reshape(weights[0].size, weights[1].size, *[1] * (own.ndim - 2))
            total[tuple(here)] += weight * part[tuple(there)]
        return total

    def _span(self, axis: int, number: int) -> Span:
        size, core = self.shape[axis], self.core[axis]
        start, stop = number * core, min((number + 1) * core, size)
        first = max(start - self.halo, 0) // ALIGNMENT * ALIGNMENT
        last = min(stop + self.halo, size)
        return Span(start, stop, first, last, max(start - self.blend, 0), min(stop + self.blend, size))
