"""A whole report: what was run where and when, and the sections."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from plugplay_paper.report.blocks import Comparison, Section, Table, comparisons

if TYPE_CHECKING:
    from collections.abc import Sequence

    from plugplay_paper.cells.trials import Trial, TrialRecord
    from plugplay_paper.environment import Environment
    from plugplay_paper.runner import Failure

__all__ = ["Document", "Run"]


@dataclass(frozen=True)
class Run:
    """The circumstances of a report.

    Attributes
    ----------
    command : str
        What was asked for.
    images : str
        Where the images came from.
    quick : bool
        Whether it is a reduced set.
    environment : Environment
        Versions and the machine.
    workers : int
        Cells at a time.
    finished : float
        When, as seconds since 1970.
    seconds : float
        Duration of this run.
    computed, earlier, missing : int
        Cells computed in this run, taken from earlier runs of the same code, and not computed.
    failures : tuple of Failure
        Cells that raised errors.
    """

    command: str
    images: str
    quick: bool
    environment: Environment
    workers: int
    finished: float
    seconds: float
    computed: int
    earlier: int
    missing: int
    failures: tuple[Failure, ...]

    @property
    def when(self) -> str:
        """The time it finished, in UTC."""
        return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(self.finished))


@dataclass(frozen=True, eq=False)
class Document:
    """The report.

    Attributes
    ----------
    run : Run
        Its circumstances.
    sections : tuple of Section
        One for each experiment.
    trials : sequence of (Trial, TrialRecord)
        Every trial that was measured, for ``cells.csv``.
    """

    run: Run
    sections: tuple[Section, ...]
    trials: Sequence[tuple[Trial, TrialRecord]]

    def against_the_paper(self) -> list[Comparison]:
        """Return how the rows of the two tables of results compare with the paper's."""
        return [
            comparison
            for section in self.sections
            for block in section.blocks
            if isinstance(block, Table) and block.results
            for comparison in comparisons(block)
        ]
