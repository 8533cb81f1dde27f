"""How far a run has come: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

if TYPE_CHECKING:
    from types import TracebackType

    from plugplay_paper.cells.base import Cell

__all__ = ["CellProgress"]

# Seconds between lines: a run takes minutes to hours, and its log should stay readable.
QUIET = 10.0


class CellProgress:
    """Shows on standard error how many cells have finished, the latest, and the remaining time."""

    def __init__(self, *, total: int) -> None:
        self._total, self._done = total, 0
        self._reported = time.monotonic()
        self._bar: Progress | None = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            self._bar = Progress(
                BarColumn(),
                TextColumn("{task.completed}/{task.total}  {task.fields[left]} left  {task.description}", markup=False),
                console=Console(stderr=True),
                transient=True,  # what stays on the screen is the result
            )
            self._bar.start()
            self._task = self._bar.add_task("", total=self._total, left="?")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def finished(self, cell: Cell[Any], seconds_left: float) -> None:
        """Show a cell that has finished."""
        self._done += 1
        left = f"{seconds_left / 60:.1f} min"
        if self._bar is not None:
            self._bar.update(self._task, completed=self._done, left=left, description=cell.label)
        elif time.monotonic() - self._reported >= QUIET or self._done == self._total:
            self._reported = time.monotonic()
            sys.stderr.write(f"{self._done}/{self._total} cells, {left} left; latest: {cell.label}\n")
            sys.stderr.flush()
