"""From a list of experiments to a report: plan the cells, compute what is missing, write what there is."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plugplay_paper.arrays import check_integer
from plugplay_paper.baselines.dictionaries import trained_dictionaries
from plugplay_paper.cells.trials import Trial
from plugplay_paper.environment import Environment, available_cores
from plugplay_paper.experiments import EXPERIMENTS, Scope, by_name
from plugplay_paper.files import remove_leftovers
from plugplay_paper.images import bundled, colour_image, from_folder
from plugplay_paper.methods import SparseCoding
from plugplay_paper.report.document import Document, Run
from plugplay_paper.report.writer import write_report
from plugplay_paper.results import Results
from plugplay_paper.runner import Failure, Progress, estimate, pending, run
from plugplay_paper.store import Store

if TYPE_CHECKING:
    from plugplay.scale import Executor
    from plugplay_paper.cells.base import Cell

__all__ = ["Reproduction", "reproduce"]

# The most processes that a pool of Python can have on Windows. More than cores would only hinder each other anyway.
MAX_WORKERS = 61


@dataclass(frozen=True, eq=False)
class Reproduction:
    """What is to be done, what of it is done, and about how long the rest takes.

    Attributes
    ----------
    scope : Scope
        How much of it.
    out : Path
        The folder of the report.
    images : str
        Where the images come from.
    cells, waiting : sequences
        All cells of the experiments, and those that have not been computed.
    workers : int
        Cells at a time.
    """

    scope: Scope
    out: Path
    images: str
    cells: Sequence[Cell[Any]]
    waiting: Sequence[Cell[Any]]
    workers: int

    @classmethod
    def of(
        cls,
        experiments: Sequence[str] = ("all",),
        *,
        out: Path,
        images: Path | None = None,
        quick: bool = False,
        realisations: int | None = None,
        workers: int | None = None,
    ) -> Reproduction:
        """Plan experiments, by name, and look up which cells are stored; parameters as in `reproduce`."""
        limit = None if realisations is None else check_integer(realisations, "realisations", minimum=1)
        chosen = by_name(list(experiments))
        _check_folder(out)
        test_images = bundled() if images is None else from_folder(images)
        colour = colour_image()
        scope = Scope(test_images, colour.cropped(128) if quick else colour, quick, limit)
        # Long cells come first, so that no core is idle while the last one of an experiment ends.
        cells = [cell for e in chosen for cell in sorted(e.cells(scope), key=lambda cell: -cell.cost)]
        waiting = pending(cells, Store(out / "cells"))
        source = "images of scikit-image" if images is None else str(images)
        wanted = available_cores() if workers is None else check_integer(workers, "workers", minimum=1)
        return cls(scope, out, source, cells, waiting, min(wanted, available_cores(), MAX_WORKERS))

    @property
    def seconds(self) -> float:
        """About how long the rest will take."""
        return estimate(self.waiting, self.workers)

    def prepare(self) -> None:
        """Train what has to be trained, once, before many processes would all do it, and tidy up after killed runs."""
        remove_leftovers(self.out / "cells")
        if any(isinstance(cell, Trial) and isinstance(cell.method, SparseCoding) for cell in self.waiting):
            trained_dictionaries(2)

    def run(self, progress: Progress, failures: list[Failure], *, executor: Executor | None = None) -> None:
        """Compute what is missing and add to the failures; an interrupt loses nothing that has finished."""
        store = Store(self.out / "cells")
        run(self.waiting, store, workers=self.workers, progress=progress, failures=failures, executor=executor)

    def report(self, *, command: str, seconds: float, failures: Sequence[Failure]) -> Path:
        """Write the report, with everything that has been computed so far, asked for or not; return its path."""
        results = Results(Store(self.out / "cells"))
        everything = {e.name: e.cells(self.scope) for e in EXPERIMENTS}
        cells = [cell for group in everything.values() for cell in group]
        done = results.count(cells)
        computed = results.count(self.waiting)
        circumstances = Run(
            command=command,
            images=f"{self.images}: {', '.join(map(str, self.scope.chosen))}",
            quick=self.scope.quick,
            environment=Environment.here(),
            workers=self.workers,
            finished=time.time(),
            seconds=seconds,
            computed=computed,
            earlier=done - computed,
            missing=len(cells) - done,
            failures=tuple(failures),
        )
        sections = tuple(experiment.section(self.scope, results) for experiment in EXPERIMENTS)
        trials = [
            (cell, record) for cell in cells if isinstance(cell, Trial) and (record := results.of(cell)) is not None
        ]
        return write_report(self.out, Document(circumstances, sections, trials))


def _check_folder(out: Path) -> None:
    """Refuse what cannot be written into before hours are spent."""
    there = next(place for place in (out, *out.absolute().parents) if place.exists())
    if not there.is_dir():
        raise ValueError(f"cannot write the report to {out}: {there} is not a folder")
    if not os.access(there, os.W_OK):
        raise ValueError(f"cannot write the report to {out}: {there} is not writable")


class _Silent:
    """Progress that is not shown."""

    def finished(self, cell: Cell[Any], seconds_left: float) -> None:
        """Show nothing."""


def reproduce(
    *experiments: str,
    out: str | Path,
    images: str | Path | None = None,
    quick: bool = False,
    realisations: int | None = None,
    workers: int | None = None,
) -> Path:
    """Run experiments of the paper and write the report.

    Parameters
    ----------
    *experiments : str
        Names as ``plugplay reproduce --help`` lists them; all of them by default.
    out : path
        The folder of the report. Cells that are there already are not computed again.
    images : path, optional
        A folder of images, such as the paper's ten; by default images that scikit-image brings.
    quick : bool
        A reduced set: two images, one realisation.
    realisations : int, optional
        Limit of the number of realisations of the noise.
    workers : int, optional
        Cells at a time, one core each; by default, and at most, all cores.

    Returns
    -------
    Path
        Of the page, ``index.html``.

    Warns
    -----
    UserWarning
        If cells failed; the report lists them.
    """
    reproduction = Reproduction.of(
        experiments or ("all",),
        out=Path(out),
        images=None if images is None else Path(images),
        quick=quick,
        realisations=realisations,
        workers=workers,
    )
    began = time.monotonic()
    failures: list[Failure] = []
    reproduction.prepare()
    reproduction.run(_Silent(), failures)
    if failures:
        warnings.warn(
            f"{len(failures)} cells failed, the first with {failures[0].error}; the report lists them", stacklevel=2
        )
    words = ("reproduce", *(experiments or ("all",)))
    return reproduction.report(command=" ".join(words), seconds=time.monotonic() - began, failures=failures)
