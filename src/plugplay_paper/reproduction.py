"""From a list of experiments to a report: plan the cells, compute what is missing, write what there is."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plugplay.arrays.checks import check_integer, check_workers
from plugplay_paper.baselines.dictionaries import trained_dictionaries
from plugplay_paper.cells.trials import Trial
from plugplay_paper.environment import Environment
from plugplay_paper.experiments import EXPERIMENTS, Scope, by_name
from plugplay_paper.images import bundled, colour_picture, from_folder
from plugplay_paper.methods import SparseCoding
from plugplay_paper.report.document import Document, Run
from plugplay_paper.report.writer import write_report
from plugplay_paper.results import Results
from plugplay_paper.runner import Failure, Progress, estimate, pending, run
from plugplay_paper.store import Store

if TYPE_CHECKING:
    from plugplay_paper.cells.base import Cell

__all__ = ["Plan", "reproduce"]


@dataclass(frozen=True, eq=False)
class Plan:
    """What is to be done, what of it is done, and about how long the rest takes.

    Attributes
    ----------
    scope : Scope
        How much of it.
    out : Path
        The folder of the report.
    images : str
        Where the pictures come from.
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
    ) -> Plan:
        """Plan experiments, by name, and look up what is there already; parameters as in `reproduce`."""
        limit = None if realisations is None else check_integer(realisations, "realisations", minimum=1)
        chosen = by_name(list(experiments))
        _check_folder(out)
        pictures = bundled() if images is None else from_folder(images)
        colour = colour_picture()
        scope = Scope(pictures, colour.cropped(128) if quick else colour, quick, limit)
        # Long cells come first, so that no core is idle while the last one of an experiment ends.
        cells = [cell for e in chosen for cell in sorted(e.cells(scope), key=lambda cell: -cell.cost)]
        waiting = pending(cells, Store(out / "cells"))
        source = "pictures of scikit-image" if images is None else str(images)
        # More processes than cores would only get into each other's way, and Windows waits for 61 at most.
        at_once = min(check_workers(workers), check_workers(None), 61)
        return cls(scope, out, source, cells, waiting, at_once)

    @property
    def seconds(self) -> float:
        """About how long the rest will take."""
        return estimate(self.waiting, self.workers)

    def prepare(self) -> None:
        """Train what has to be trained, once, before many processes would all do it."""
        if any(isinstance(cell, Trial) and isinstance(cell.method, SparseCoding) for cell in self.waiting):
            trained_dictionaries(2)

    def run(self, progress: Progress, failures: list[Failure]) -> None:
        """Compute what is missing and add to the failures; an interrupt loses nothing that has finished."""
        store = Store(self.out / "cells")
        run(self.waiting, store, workers=self.workers, progress=progress, failures=failures)

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
        raise ValueError(f"{there} is not a folder, but the report is to go to {out}; give another --out")
    if not os.access(there, os.W_OK):
        raise ValueError(f"nothing can be written into {there}, but the report is to go to {out}; give another --out")


class _Silent:
    """Progress that nobody looks at."""

    def finished(self, cell: Cell[Any], seconds_left: float) -> None:
        """Say nothing."""


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
        A folder of pictures, such as the paper's ten; by default pictures that scikit-image brings.
    quick : bool
        A reduced set: two pictures, one realisation.
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
    plan = Plan.of(
        experiments or ("all",),
        out=Path(out),
        images=None if images is None else Path(images),
        quick=quick,
        realisations=realisations,
        workers=workers,
    )
    began = time.monotonic()
    failures: list[Failure] = []
    plan.prepare()
    plan.run(_Silent(), failures)
    if failures:
        warnings.warn(
            f"cells failed: {len(failures)}, the first by {failures[0].error}; the report lists all", stacklevel=2
        )
    words = ("reproduce", *(experiments or ("all",)))
    return plan.report(command=" ".join(words), seconds=time.monotonic() - began, failures=failures)
