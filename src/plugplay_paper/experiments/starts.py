"""The paper's figure on first guesses: a hundred random ones end at nearly the same PSNR."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from plugplay_paper import paper
from plugplay_paper.cells.trials import Trial
from plugplay_paper.experiments.super_resolution import BORDER, by_hand, problem
from plugplay_paper.report.blocks import Column, Entry, Plot, Row, Section, Series, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from plugplay_paper.experiments.base import Scope
    from plugplay_paper.results import Results

__all__ = ["RandomStarts"]

STARTS = 100
CONFIGURATION = paper.CONFIGURATIONS[2]
# "The standard deviation at the limit is 0.0059 dB."
PRINTED_DEVIATION = 0.0059

CONVENTIONS = """
Configuration 3, one image, one realisation of the noise (seed 0), the paper's parameters, sigma limited to 0.4 and
the monotone rule; first guesses (seeds 0, 1, 2, …) with every pixel drawn uniformly from [0, 1]. PSNR clipped to [0,
1], without a border of 4 pixels, peak 1. The paper does not say which image its standard deviation belongs to.
"""


@dataclass(frozen=True)
class RandomStarts:
    """Influence of the first guess."""

    name: str = "starts"
    title: str = "Figure: random first guesses"

    def cells(self, scope: Scope) -> list[Trial]:
        """Return a run for each first guess."""
        return [
            Trial(
                image=scope.example,
                problem=problem(CONFIGURATION),
                method=replace(by_hand(CONFIGURATION), random_start=seed, sessions=False),
                seed=0,
                border=BORDER,
                curves=True,
            )
            for seed in range(scope.amount(STARTS, 4))
        ]

    def section(self, scope: Scope, results: Results) -> Section:
        """Draw all curves and their mean; tabulate the spread at the end."""
        cells = self.cells(scope)
        records = [record for cell in cells if (record := results.of(cell)) is not None]
        curves = [record.psnr_curve for record in records]
        series = [
            Series(f"start {seed}", "iteration", "PSNR (dB)", tuple(float(k + 1) for k in range(len(curve))), curve)
            for seed, curve in enumerate(curves)
        ]
        finals = [record.psnr for record in records]
        spread = statistics.stdev(finals) if len(finals) > 1 and all(map(math.isfinite, finals)) else None
        mean = statistics.fmean(finals) if finals else None
        note = "" if len(finals) == len(cells) else f"{len(finals)} of {len(cells)}"
        table = Table(
            "starts",
            f"PSNR at the end, {scope.example.name}",
            (Column("mean"), Column("standard deviation", digits=4), Column("minimum", 4), Column("maximum", 4)),
            (
                Row(
                    f"{len(finals)} random first guesses",
                    (
                        Entry(mean, note=note),
                        Entry(spread, paper=PRINTED_DEVIATION),
                        Entry(min(finals, default=None)),
                        Entry(max(finals, default=None)),
                    ),
                ),
            ),
        )
        plot = Plot(
            "starts", f"PSNR by iteration from each first guess, {scope.example.name}", _figure(curves), tuple(series)
        )
        return Section(self.name, self.title, CONVENTIONS, (plot, table), len(cells), len(records))


def _figure(curves: Sequence[tuple[float, ...]]) -> Figure | None:
    if not curves:
        return None
    figure = Figure(figsize=(11, 3.8), layout="constrained")
    whole, apart = figure.subplots(1, 2)
    shortest = min(map(len, curves))
    steps = range(1, shortest + 1)
    mean = [statistics.fmean(values) for values in zip(*(curve[:shortest] for curve in curves), strict=True)]
    for curve in curves:
        whole.plot(range(1, len(curve) + 1), curve, color="tab:blue", linewidth=0.6, alpha=0.5)
        apart.plot(
            steps, [value - middle for value, middle in zip(curve, mean, strict=False)], "tab:blue", linewidth=0.6
        )
    whole.plot(steps, mean, color="tab:red", linewidth=2, label="mean")
    whole.set_ylabel("PSNR (dB)")
    whole.legend()
    # Except for the first iterations the curves lie on top of each other.
    apart.set_ylabel("difference from the mean (dB)")
    for axes in (whole, apart):
        axes.set_xlabel("iteration")
        axes.grid(alpha=0.3)
    return figure
