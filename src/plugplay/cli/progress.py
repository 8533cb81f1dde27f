"""Progress of a restoration: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress

if TYPE_CHECKING:
    from types import TracebackType

    from plugplay.results import State

__all__ = ["Progress"]

# Seconds between plain lines, so that a log stays readable.
QUIET = 2.0
# The number of iterations that the automatic parameters hardly ever exceed; the bar stretches if they do.
USUAL_LIMIT = 40


class Progress:
    """Shows iteration, sigma, delta and the remaining time; `update` is a callback for a restoration.

    Everything goes to standard error, which leaves standard output to results.
    """

    def __init__(self, *, limit: int | None, label: str) -> None:
        self._limit, self._label = USUAL_LIMIT if limit is None else limit, label
        self._bar: RichProgress | None = None
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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
