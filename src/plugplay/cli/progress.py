"""Progress of a restoration or of many: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress

if TYPE_CHECKING:
    from types import TracebackType

    from plugplay.pnp.state import State
    from plugplay_paper.cells.base import Cell

__all__ = ["CellProgress", "Progress"]

# Seconds between plain lines, so that a log stays readable.
QUIET = 2.0
# The same where hundreds of lines would come: a report takes minutes to hours.
LONG_QUIET = 10.0
# The number of iterations that the automatic parameters hardly ever exceed; the bar stretches if they do.
USUAL_LIMIT = 40


class _Display:
    """What has a bar while it is entered."""

    _bar: RichProgress | None = None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()


class Progress(_Display):
    """Shows iteration, sigma, delta and the remaining time; `update` is a callback for a restoration.

    Everything goes to standard error, which leaves standard output to results.
    """

    def __init__(self, *, limit: int | None, label: str) -> None:
        self._limit, self._label = USUAL_LIMIT if limit is None else limit, label
        self._began = self._spoke = time.monotonic()

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            self._bar = RichProgress(
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.completed}/{task.total}  {task.fields[figures]}"),
                TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,  # what stays on the screen is the result
            )
            self._bar.start()
            self._task = self._bar.add_task(self._label, total=self._limit, figures="")
        else:
            self._say(f"{self._label}: restoring")
        return self

    def update(self, state: State) -> None:
        """Show where the restoration stands."""
        figures = f"sigma {state.history.sigma[-1]:.4f}  delta {state.history.delta[-1]:.5f}"
        self._limit = max(self._limit, state.iteration)
        if self._bar is not None:
            self._bar.update(self._task, completed=state.iteration, total=self._limit, figures=figures)
        elif time.monotonic() - self._spoke >= QUIET:
            each = (time.monotonic() - self._began) / state.iteration
            left = f"at most {each * (self._limit - state.iteration):.0f} s left"
            self._say(f"{self._label}: iteration {state.iteration}/{self._limit}  {figures}  {left}")

    def _say(self, text: str) -> None:
        self._spoke = time.monotonic()
        sys.stderr.write(text + "\n")
        sys.stderr.flush()


class CellProgress(_Display):
    """Shows how many cells of a report have finished, the latest, and the remaining time."""

    def __init__(self, *, total: int) -> None:
        self._total, self._done = total, 0
        self._spoke = time.monotonic()

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            self._bar = RichProgress(
                BarColumn(),
                TextColumn("{task.completed}/{task.total}  {task.fields[left]} left  {task.description}"),
                console=Console(stderr=True),
                transient=True,
            )
            self._bar.start()
            self._task = self._bar.add_task("", total=self._total, left="?")
        return self

    def finished(self, cell: Cell[Any], seconds_left: float) -> None:
        """Show a cell that has finished."""
        self._done += 1
        left = f"{seconds_left / 60:.1f} min"
        if self._bar is not None:
            self._bar.update(self._task, completed=self._done, left=left, description=cell.label)
        elif time.monotonic() - self._spoke >= LONG_QUIET or self._done == self._total:
            self._spoke = time.monotonic()
            sys.stderr.write(f"{self._done}/{self._total} cells, {left} left; latest: {cell.label}\n")
            sys.stderr.flush()
