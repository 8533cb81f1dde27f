"""Progress of an image that is restored in parts: a bar on a terminal, lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    pass

__all__ = ["PartProgress"]


class PartProgress:
    """A bar, or a line now and then, with the number of parts that are done.

    Parameters
    ----------
    label : str
        Name of the image.
    quiet : bool
        Whether nothing is shown.
    parts : str
        What the parts are called.
    first : str
        What is done before the first part.
    """

    def __init__(self, label: str, *, quiet: bool, parts: str = "parts", first: str = "choosing parameters") -> None:
        self._words = first
        self._label, self._quiet, self._parts = label, quiet, parts
        self._bar: Any = None
        self._number: Any = None
        self._began = self._spoke = time.monotonic()
        self._first: int | None = None

    def __enter__(self) -> PartProgress:
        if not self._quiet and sys.stderr.isatty():
            from plugplay.cli.progress_display import bar, shown

            self._bar = bar()
            self._bar.start()
            self._number = self._bar.add_task(shown(self._label), total=1.0, figures=self._words)
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, done: int, count: int) -> None:
        """Show the progress."""
        from plugplay.cli.progress_display import PAUSE, duration
        from plugplay.cli.terminal import err

        if self._quiet:
            return
        now = time.monotonic()
        if self._first is None:
            self._first, self._began = done, now
        left = ""
        if done > self._first:
            rest = (now - self._began) / (done - self._first) * (count - done)
            left = f", about {duration(rest)} left"
        text = f"{done} of {count} {self._parts}{left}"
        if self._bar is not None:
            self._bar.update(self._number, completed=done / count, figures=text)
        elif now - self._spoke >= PAUSE:
            self._spoke = now
            err(f"{self._label}, {text}")
