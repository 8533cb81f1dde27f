"""The paper's figure on stopping: what PSNR a tolerance leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from plugplay_paper import paper
from plugplay_paper.cells.trials import Trial
from plugplay_paper.experiments.super_resolution import BORDER, by_hand, problem
from plugplay_paper.report.blocks import Plot, Section, Series
from plugplay_paper.report.labels import shown

if TYPE_CHECKING:
    from plugplay_paper.experiments.base import Scope
    from plugplay_paper.results import Results

__all__ = ["Tolerance", "psnr_at"]

TOLERANCES = tuple(float(tolerance) for tolerance in np.logspace(-1, -4, 25))
CONFIGURATION = paper.CONFIGURATIONS[2]

CONVENTIONS = """
Configuration 3 with the paper's parameters and the monotone rule, one realisation (seed 0), followed to a change of
0.0001. The PSNR that a tolerance leaves is that of the first iteration whose change is at most the tolerance. Clipped
to [0, 1], without a border of 4 pixels, peak 1.
"""


@dataclass(frozen=True)
class Tolerance:
    """Stopping tolerance against PSNR."""

    name: str = "tolerance"
    title: str = "Figure: stopping tolerance"

    def cells(self, scope: Scope) -> list[Trial]:
        """Return one long run for each image."""
        method = replace(by_hand(CONFIGURATION), tol=TOLERANCES[-1], max_iter=120, sessions=False)
        return [
            Trial(image=image, problem=problem(CONFIGURATION), method=method, seed=0, border=BORDER, curves=True)
            for image in scope.chosen
        ]

    def section(self, scope: Scope, results: Results) -> Section:
        """Draw a curve for each image."""
        cells = self.cells(scope)
        series = [
            Series(cell.image.name, "tolerance", "PSNR (dB)", *psnr_at(record.delta_curve, record.psnr_curve))
            for cell in cells
            if (record := results.of(cell)) is not None
        ]
        plot = Plot("tolerance", "PSNR where a run with this tolerance ends", _figure(series), tuple(series))
        return Section(self.name, self.title, CONVENTIONS, (plot,), len(cells), len(series))


def psnr_at(deltas: Sequence[float], psnr: Sequence[float]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the tolerances that the run reached, and the PSNR of the iteration that each would have ended at.

    Examples
    --------
    >>> tolerances, quality = psnr_at([0.2, 0.05, 0.01], [20.0, 25.0, 26.0])
    >>> [round(tolerances[0], 3), quality[0], quality[-1]]
    [0.1, 25.0, 26.0]
    """
    reached = [(tolerance, np.flatnonzero(np.asarray(deltas) <= tolerance)) for tolerance in TOLERANCES]
    pairs = [(tolerance, psnr[int(where[0])]) for tolerance, where in reached if where.size]
    return tuple(tolerance for tolerance, _ in pairs), tuple(quality for _, quality in pairs)


def _figure(series: Sequence[Series]) -> Figure | None:
    if not series:
        return None
    figure = Figure(figsize=(7.5, 4.5), layout="constrained")
    axes = figure.subplots()
    for line in series:
        axes.semilogx(line.x, line.y, marker=".", label=shown(line.label))
    axes.axvline(1e-3, color="gray", linestyle=":", label="the default, 0.001")
    axes.invert_xaxis()
    axes.set_xlabel("tolerance")
    axes.set_ylabel("PSNR (dB)")
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right upper", fontsize="small")
    return figure
