"""Tiles with overlap, so that a network's memory does not grow with the image."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Tile", "round_up", "tiles"]


@dataclass(frozen=True)
class Tile:
    """A rectangle of the result, and the larger one that has to be computed for it.

    Attributes
    ----------
    core : (slice, slice)
        What is kept, in coordinates of the image.
    window : (slice, slice)
        What the network sees, in coordinates of the image.
    inner : (slice, slice)
        The core in coordinates of the window.
    """

    core: tuple[slice, slice]
    window: tuple[slice, slice]
    inner: tuple[slice, slice]


def round_up(value: int, multiple: int) -> int:
    """Return the smallest multiple that is at least `value`.

    Examples
    --------
    >>> round_up(13, 8), round_up(16, 8)
    (16, 16)
    """
    return -(-value // multiple) * multiple


def tiles(shape: tuple[int, int], *, tile: int | None, overlap: int, multiple: int) -> Iterator[Tile]:
    """Cut a plane whose sides are multiples of `multiple` into cores of `tile` pixels with `overlap` around them.

    A window ends where the image ends, so that a network pads exactly where it would without tiles; all its edges
    lie on multiples, so that layers that change the resolution see the same grid. If the overlap is at least the
    network's reach, the result is the same as without tiles.

    Examples
    --------
    >>> [(t.core[1], t.window[1]) for t in tiles((4, 12), tile=8, overlap=2, multiple=4)]
    [(slice(0, 8, None), slice(0, 12, None)), (slice(8, 12, None), slice(4, 12, None))]
    """
    side = max(shape) if tile is None else round_up(tile, multiple)
    margin = round_up(overlap, multiple)
    for top in range(0, shape[0], side):
        for left in range(0, shape[1], side):
            rows, columns = (_spans(start, side, margin, end) for start, end in ((top, shape[0]), (left, shape[1])))
            core, window, inner = zip(rows, columns, strict=True)
            yield Tile(core, window, inner)


def _spans(start: int, side: int, margin: int, end: int) -> tuple[slice, slice, slice]:
    stop = min(start + side, end)
    first = max(start - margin, 0)
    return slice(start, stop), slice(first, min(stop + margin, end)), slice(start - first, stop - first)
