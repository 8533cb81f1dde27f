"""What has been measured, as experiments look it up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from plugplay_paper.store import key

if TYPE_CHECKING:
    from plugplay_paper.cells.base import Cell
    from plugplay_paper.store import Store

__all__ = ["Results"]

Record = TypeVar("Record")


@dataclass(frozen=True)
class Results:
    """The records of a store; each is read once."""

    store: Store
    _read: dict[str, Any] = field(default_factory=dict)

    def of(self, cell: Cell[Record]) -> Record | None:
        """Return a cell's record, or None if it has not been computed."""
        name = key(cell)
        if name not in self._read:
            self._read[name] = self.store.load(cell)
        found: Record | None = self._read[name]
        return found

    def count(self, cells: Sequence[Cell[Any]]) -> int:
        """Return how many of the cells have been computed."""
        return sum(self.of(cell) is not None for cell in cells)
