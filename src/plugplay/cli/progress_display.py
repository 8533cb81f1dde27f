"""Progress of a restoration: a bar on a terminal, plain lines elsewhere, and the time left."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Self

from plugplay.cli.terminal import err
from plugplay.pnp.forecast import seconds_left

if TYPE_CHECKING:
    from types import TracebackType

    from rich.progress import Progress, TaskID

    from plugplay.pnp.results import Parameters
    from plugplay.pnp.state import State

__all__ = ["PAUSE", "Display", "bar", "duration", "shown"]

# Seconds between plain lines, so that a log stays readable.
PAUSE = 2.0
# The first iterations say little about the duration of the rest.
MIN_ITERATIONS = 3
# Fewer pixels are not counted in millions.
MIN_MEGAPIXELS = 100_000


class Display:
    """Shows megapixels, iteration, sigma and the time left, on standard error.

    Parameters
    ----------
    label : str
        Name of the image.
    parameters : Parameters
        Parameters of the restoration.
    pixels : int
        Pixels of the result.
    first : int
        Number of iterations that an earlier run has done.
    quiet : bool
        Whether nothing is shown.
    """

    def __init__(self, label: str, parameters: Parameters, *, pixels: int, first: int = 0, quiet: bool = False) -> None:
        size = f"{pixels / 1e6:.1f} MP" if pixels >= MIN_MEGAPIXELS else f"{pixels:,} pixels"
        self._label = f"{label}: restoring {size}"
        self._parameters, self._quiet, self._done = parameters, quiet, first
        self._single = parameters.max_iter == 1
        self._figures = "" if first == 0 else f"resuming after iteration {first}"
        self._spoke = self._began = time.monotonic()
        # When the run will probably end.
        self._end: float | None = None
        self._level = 0
        self._again = False
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        if self._quiet:
            return self
        if sys.stderr.isatty():
            self._bar = bar()
            self._bar.start()
            self._task = self._bar.add_task(shown(self._label), total=1.0, figures=self._figures)
        else:
            self._say(self._figures)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def share(self, done: float) -> None:
        """Show the share of the current call of the denoiser, or of the search for lambda, that is done."""
        if self._quiet:
            return
        percent = f"{100 * done:.0f} %"
        if self._parameters.tune is not None and self._done == 0:
            self._show(f"choosing lambda, {percent}")
        elif self._single:
            self._show(f"denoising, {percent}{self._left_within(done)}")
        else:
            self._show(f"{self._iteration(self._done + 1)}, {percent} of it{self._left_now()}")

    def update(self, state: State) -> None:
        """Show the progress after an iteration."""
        self._again = self._again or state.iteration <= self._done
        self._done = state.iteration
        if self._quiet:
            return
        self._level = int(state.history.level[-1])
        figures = f"{self._iteration(state.iteration)}, sigma {state.history.sigma[-1]:.4f}"
        if self._single:
            self._show(f"denoised with sigma {state.history.sigma[-1]:.4f}", share=1.0)
            return
        spent, left = float(state.history.seconds.sum()), seconds_left(state, self._parameters)
        self._end = time.monotonic() + left if state.iteration >= MIN_ITERATIONS else None
        if self._end is not None:
            figures += f", about {duration(left)} left"
        self._show(figures, share=spent / (spent + left) if spent + left > 0 else 1.0)

    def _iteration(self, number: int) -> str:
        # Whether the run will be repeated with another noise level cannot be predicted.
        again = "repeated with other noise, " if self._again else ""
        return f"{again}iteration {number}" + (" at half resolution" if self._level else "")

    def _left_within(self, done: float) -> str:
        """Return the time left of a denoiser's only call, once it has run for a while."""
        spent = time.monotonic() - self._began
        if not self._single or done <= 0 or spent < PAUSE:
            return ""
        return f", about {duration(spent * (1 - done) / done)} left"

    def _left_now(self) -> str:
        """Say what is left of the time that was foretold after the last iteration, unless it has run out."""
        left = 0.0 if self._end is None else self._end - time.monotonic()
        return f", about {duration(left)} left" if left > 0 else ""

    def _show(self, figures: str, *, share: float | None = None) -> None:
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, figures=figures, completed=share)
        elif time.monotonic() - self._spoke >= PAUSE:
            self._say(figures)

    def _say(self, figures: str) -> None:
        self._spoke = time.monotonic()
        err(f"{self._label}, {figures}" if figures else self._label)


def bar() -> Progress:
    """Return a bar on standard error that is cleared when it is stopped."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[figures]}", markup=False),
        console=Console(stderr=True),
        transient=True,  # only results stay on the screen
    )


def shown(label: str) -> str:
    """Return a label that the terminal can display."""
    from plugplay.io import printable

    return printable(label, encoding=sys.stderr.encoding or "utf-8")


def duration(seconds: float) -> str:
    """Return a duration in words.

    Examples
    --------
    >>> duration(8.3), duration(200), duration(9000)
    ('8 s', '3.3 min', '2.5 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
