"""Tables of methods by images, in the layout of the paper's."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from plugplay_paper import paper
from plugplay_paper.cells.trials import Trial
from plugplay_paper.methods import Method
from plugplay_paper.problems import Problem
from plugplay_paper.report.blocks import Column, Entry, Row, Section, Table

if TYPE_CHECKING:
    from plugplay_paper.cells.trials import TrialRecord
    from plugplay_paper.experiments.base import Scope
    from plugplay_paper.images import TestImage
    from plugplay_paper.results import Results

__all__ = ["Contender", "ImageTables", "Part", "averaging", "mean_entry"]


@dataclass(frozen=True)
class Contender:
    """A row of a table.

    Attributes
    ----------
    label : str
        Its name in the table.
    method : Method
        How it is computed.
    printed : tuple or None
        The paper's row.
    printed_spread : float or None
        The paper's standard deviation over realisations, averaged over its images.
    """

    label: str
    method: Method
    printed: paper.Row | None = None
    printed_spread: float | None = None


@dataclass(frozen=True)
class Part:
    """One table: a problem, restored by several contenders.

    Attributes
    ----------
    name, caption : str
        For files and for people.
    problem : Problem
        What happens to the images.
    contenders : tuple of Contender
        The rows.
    realisations : int
        How many realisations of the noise the paper averages.
    quick : bool
        Whether it is part of a quick run.
    """

    name: str
    caption: str
    problem: Problem
    contenders: tuple[Contender, ...]
    realisations: int
    quick: bool = True


@dataclass(frozen=True)
class ImageTables:
    """An experiment of several tables, each of methods by images.

    Attributes
    ----------
    name, title : str
        For the command line and for the heading.
    parts : tuple of Part
        The tables.
    border : int
        Pixels that the PSNR leaves out along each side.
    averaged : str
        What is averaged over realisations of the noise, as the subject of a sentence.
    conventions : str
        The rest of what has to be said.
    """

    name: str
    title: str
    parts: tuple[Part, ...]
    border: int
    averaged: str
    conventions: str

    def cells(self, scope: Scope) -> list[Trial]:
        """Return the trials of all tables."""
        return [
            trial
            for part in self._parts(scope)
            for contender in part.contenders
            for image in scope.chosen
            for trial in self._trials(scope, part, contender.method, image)
        ]

    def section(self, scope: Scope, results: Results) -> Section:
        """Return all tables."""
        parts, cells = self._parts(scope), self.cells(scope)
        tables = tuple(self._table(part, scope, results) for part in parts)
        count = scope.realisations(max(part.realisations for part in parts))
        conventions = f"{averaging(count, self.averaged)} {self.conventions}"
        return Section(self.name, self.title, conventions, tables, len(cells), results.count(cells))

    def _parts(self, scope: Scope) -> tuple[Part, ...]:
        return tuple(part for part in self.parts if part.quick or not scope.quick)

    def _trials(self, scope: Scope, part: Part, method: Method, image: TestImage) -> list[Trial]:
        return [
            Trial(image=image, problem=part.problem, method=method, seed=seed, border=self.border)
            for seed in range(scope.realisations(part.realisations))
        ]

    def _table(self, part: Part, scope: Scope, results: Results) -> Table:
        columns = (
            *(Column(image.name) for image in scope.chosen),
            Column("average", summary=True),
            Column("STD", digits=3, summary=True),
            Column("seconds", summary=True),
        )
        rows = []
        for contender in part.contenders:
            records = [
                [results.of(cell) for cell in self._trials(scope, part, contender.method, image)]
                for image in scope.chosen
            ]
            rows.append(_measured(contender, scope.chosen, records))
        return Table(part.name, part.caption, columns, tuple(rows), results=True)


def averaging(realisations: int, what: str) -> str:
    """Return what has to be said about the realisations of the noise.

    Examples
    --------
    >>> averaging(1, "All numbers")
    'All numbers are of one realisation of the noise (seed 0).'
    """
    if realisations == 1:
        return f"{what} are of one realisation of the noise (seed 0)."
    return (
        f"{what} are averages over {realisations} realisations of the noise (seeds 0 to {realisations - 1}); the "
        "standard deviation over them stands behind ±, and its mean over the images in the column STD."
    )


def mean_entry(records: Sequence[TrialRecord | None], *, printed: float | None = None) -> Entry:
    """Return the mean PSNR of the records that are there, and say if some are not."""
    done = [record.psnr for record in records if record is not None]
    if not done:
        return Entry(None, paper=printed)
    spread = statistics.stdev(done) if len(done) > 1 and all(map(math.isfinite, done)) else None
    note = "" if len(done) == len(records) else f"{len(done)} of {len(records)}"
    return Entry(statistics.fmean(done), spread=spread, paper=printed, note=note)


def _measured(
    contender: Contender, images: Sequence[TestImage], records: Sequence[Sequence[TrialRecord | None]]
) -> Row:
    entries = [
        mean_entry(group, printed=_printed(contender, image)) for image, group in zip(images, records, strict=True)
    ]
    seconds = [None if record is None else record.seconds for group in records for record in group]
    average = Entry(
        _mean([entry.value for entry in entries]),
        paper=_mean([entry.paper for entry in entries]),
        note="not all realisations" if any(entry.note for entry in entries) else "",
    )
    spread = Entry(_mean([entry.spread for entry in entries]), paper=_printed_spread(contender, entries))
    return Row(contender.label, (*entries, average, spread, Entry(_mean(seconds))))


def _printed(contender: Contender, image: TestImage) -> float | None:
    return paper.printed(contender.printed, image.name, image.pixels.shape)


def _printed_spread(contender: Contender, entries: Sequence[Entry]) -> float | None:
    """Return the paper's standard deviation, which is an average over all its images and none else."""
    same = len(entries) == len(paper.IMAGES) and all(entry.paper is not None for entry in entries)
    return contender.printed_spread if same else None


def _mean(values: Sequence[float | None]) -> float | None:
    """Return the mean, or None if one of the values is missing: an average of fewer would be another quantity."""
    there = [value for value in values if value is not None]
    return statistics.fmean(there) if there and len(there) == len(values) else None
