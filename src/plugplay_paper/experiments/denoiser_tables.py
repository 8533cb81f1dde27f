"""Deblurring and inpainting, which the paper mentions as special cases, with every built-in denoiser."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from plugplay import denoisers, kernels
from plugplay.models import Deblurring
from plugplay_paper.cells.trials import Trial
from plugplay_paper.experiments.image_tables import mean_entry
from plugplay_paper.methods import Automatic, FirstGuess, Method
from plugplay_paper.problems import Degraded, Missing, Problem
from plugplay_paper.report.blocks import Column, Entry, Row, Section, Table

if TYPE_CHECKING:
    from plugplay_paper.experiments.base import Scope
    from plugplay_paper.images import TestImage
    from plugplay_paper.results import Results

__all__ = ["DEBLURRING", "INPAINTING", "DenoiserTable"]

CONVENTIONS = """
Every denoiser that needs no weight files, with the automatic parameters: nothing was given but the data and the
model. One realisation (seed 0) of each image. PSNR over the whole frame, of images clipped to [0, 1], with a peak
of 1, averaged over the images; every single one is in cells.csv. Seconds are those of an average image on one
core.
"""


@dataclass(frozen=True)
class DenoiserTable:
    """A table of built-in denoisers by problems.

    Attributes
    ----------
    name, title : str
        For the command line and for the heading.
    problems : tuple of Problem
        The columns.
    remark : str
        What is special about these problems.
    """

    name: str
    title: str
    problems: tuple[Problem, ...]
    remark: str

    def cells(self, scope: Scope) -> list[Trial]:
        """Return the trials of all problems."""
        return [
            trial for problem in self.problems for _, method in _rows() for trial in _trials(scope, problem, method)
        ]

    def section(self, scope: Scope, results: Results) -> Section:
        """Return the table."""
        rows = tuple(self._row(label, method, scope, results) for label, method in _rows())
        columns = (*(Column(problem.name) for problem in self.problems), Column("seconds", summary=True))
        table = Table(
            self.name,
            f"{self.title}, average over {len(_images(scope))} image{'s' * (len(_images(scope)) > 1)}",
            columns,
            rows,
        )
        cells = self.cells(scope)
        conventions = f"{self.remark} {CONVENTIONS}"
        return Section(self.name, self.title, conventions, (table,), len(cells), results.count(cells))

    def _row(self, label: str, method: Method, scope: Scope, results: Results) -> Row:
        entries, seconds = [], []
        for problem in self.problems:
            records = [results.of(trial) for trial in _trials(scope, problem, method)]
            # The standard deviation over images would tell of the images, not of the method.
            entry = mean_entry(records)
            entries.append(Entry(entry.value, note=entry.note))
            seconds += [record.seconds for record in records if record is not None]
        return Row(label, (*entries, Entry(sum(seconds) / len(seconds) if seconds else None)))


def _blurs() -> tuple[Degraded, ...]:
    blurs = {
        "Gaussian 1.6": kernels.gaussian(15, sigma=1.6),
        "box 9 x 9": kernels.box(9),
        "motion 15": kernels.motion(15, 30),
    }
    return tuple(
        Degraded(f"{name}, noise {level}/255", Deblurring(kernel), level / 255)
        for name, kernel in blurs.items()
        for level in (2, 10)
    )


DEBLURRING = DenoiserTable(
    name="deblurring",
    title="Deblurring",
    problems=_blurs(),
    remark="Blurred circularly by a Gaussian of standard deviation 1.6, a box of 9 x 9 or motion over 15 pixels at 30 "
    "degrees, with Gaussian noise.",
)
INPAINTING = DenoiserTable(
    name="inpainting",
    title="Inpainting",
    problems=tuple(Missing(f"{percent} % missing", percent / 100) for percent in (20, 50, 80)),
    remark="Pixels missing at random, the others exact.",
)


def _rows() -> list[tuple[str, Method]]:
    built_in: list[tuple[str, Method]] = [(name, Automatic(name)) for name in classical()]
    return [("start", FirstGuess()), *built_in]


def classical() -> tuple[str, ...]:
    """Return the names of the built-in denoisers that need no weight files."""
    return tuple(
        name for name, info in denoisers.available().items() if info.origin == "plugplay" and info.extra is None
    )


def _trials(scope: Scope, problem: Problem, method: Method) -> Sequence[Trial]:
    return [Trial(image=image, problem=problem, method=method, seed=0) for image in _images(scope)]


def _images(scope: Scope) -> tuple[TestImage, ...]:
    return (scope.example,) if scope.quick else scope.chosen
