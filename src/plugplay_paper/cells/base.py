"""Cells: the pieces a report is computed from, each by itself, each recognised by everything that defines it."""

from __future__ import annotations

from typing import Generic, Protocol, TypeVar, runtime_checkable

__all__ = ["Cell", "Record"]

Record = TypeVar("Record", covariant=True)


@runtime_checkable
class Cell(Protocol, Generic[Record]):
    """A frozen dataclass that knows how to measure something.

    It travels to another process and comes back as a record: a frozen dataclass of numbers, texts, tuples of numbers
    and arrays, which `plugplay_paper.store` can keep.
    """

    @property
    def record(self) -> type[Record]:
        """The class of what `measure` returns."""
        ...

    @property
    def label(self) -> str:
        """What the progress display and error messages call it."""
        ...

    @property
    def cost(self) -> float:
        """About how many seconds it takes."""
        ...

    @property
    def alone(self) -> bool:
        """Whether nothing else may run beside it, as when it measures time."""
        ...

    def fingerprint(self) -> str:
        """Return a digest of all its fields."""
        ...

    def measure(self) -> Record:
        """Do the work."""
        ...
