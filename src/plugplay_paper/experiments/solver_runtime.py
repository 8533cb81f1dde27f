"""The paper's figure on the model's step: the closed form against conjugate gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from plugplay_paper.cells.solver_timing import REPEATS, RHO, SolverTiming, SolverTimingRecord
from plugplay_paper.report.blocks import Plot, Section, Series

if TYPE_CHECKING:
    from plugplay_paper.experiments.base import Scope
    from plugplay_paper.results import Results

__all__ = ["SolverRuntime"]

FACTORS = (2, 4)

CONVENTIONS = f"""
One model's step of super-resolution with a Gaussian filter and noise of 5/255, seed 0 (rho {RHO:g}), in double
precision on one core, with nothing beside it: the relative distance from the solution, and the milliseconds it took
to get there. The closed form takes its time once (best of {REPEATS}); conjugate gradients, on the normal equations
with the same transfer functions, are timed after every iteration (the fastest of {REPEATS} runs). The solution is the
closed form's, which the tests compare with dense matrices.
"""


@dataclass(frozen=True)
class SolverRuntime:
    """Runtime of the closed form against conjugate gradients."""

    name: str = "runtime"
    title: str = "Figure: runtime of the model's step"

    def cells(self, scope: Scope) -> list[SolverTiming]:
        """Return a timing for each factor, on the largest image."""
        largest = scope.amount(max(scope.images, key=lambda image: image.pixels.size), scope.example)
        return [SolverTiming(largest, factor) for factor in FACTORS]

    def section(self, scope: Scope, results: Results) -> Section:
        """Draw distance by milliseconds."""
        cells = self.cells(scope)
        records = {cell.factor: record for cell in cells if (record := results.of(cell)) is not None}
        series = []
        for factor, record in records.items():
            milliseconds = tuple(1e3 * second for second in record.cg_seconds)
            series.append(
                Series(f"conjugate gradients, x{factor}", "ms", "relative distance", milliseconds, record.cg_distance)
            )
            series.append(
                Series(f"closed form, x{factor}", "ms", "relative distance", (1e3 * record.closed_form,), (0.0,))
            )
        caption = f"Relative distance from the solution by time, {cells[0].image}"
        plot = Plot("runtime", caption, _figure(records), tuple(series))
        return Section(self.name, self.title, CONVENTIONS, (plot,), len(cells), len(records))


def _figure(records: dict[int, SolverTimingRecord]) -> Figure | None:
    if not records:
        return None
    figure = Figure(figsize=(5.2 * len(records), 3.8), layout="constrained")
    panels = figure.subplots(1, len(records), squeeze=False)[0]
    for axes, (factor, record) in zip(panels, records.items(), strict=True):
        axes.semilogy([1e3 * s for s in record.cg_seconds], record.cg_distance, marker=".", label="conjugate gradients")
        axes.axvline(
            1e3 * record.closed_form,
            color="tab:red",
            label=f"closed form: exact after {1e3 * record.closed_form:.1f} ms",
        )
        axes.set_title(f"x{factor}")
        axes.set_xlabel("milliseconds")
        axes.set_ylabel("relative distance from the solution")
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
    return figure
