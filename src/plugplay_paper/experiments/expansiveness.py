"""The paper's Appendix A: non-local means is not non-expansive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from plugplay_paper.cells.expansion import Expansion, ExpansionRecord
from plugplay_paper.report.blocks import Column, Entry, Plot, Row, Section, Table

if TYPE_CHECKING:
    from plugplay_paper.experiments.base import Scope
    from plugplay_paper.results import Results

__all__ = ["CounterExample"]

DENOISERS = {"nlm": "non-local means", "dsg-nlm": "non-local means, doubly stochastic"}
PRINTED_KAPPA = 1.1775

CONVENTIONS = """
kappa is the ratio of squared distances, after denoising to before; a denoiser with kappa above 1 for one pair is not
non-expansive. As in the paper, the pairs are inputs of the denoiser while Plug-and-Play ADMM with a constant rho
fills in an image with half of its pixels missing (seed 0; sigma 0.04, 25 iterations, every two of the inputs). The
second column is the largest kappa that the search of plugplay.check_denoiser finds. The paper's pair and its image
are not published.
"""


@dataclass(frozen=True)
class CounterExample:
    """A pair of images that non-local means drives apart."""

    name: str = "expansiveness"
    title: str = "Figure: a counter-example to non-expansiveness"

    def cells(self, scope: Scope) -> list[Expansion]:
        """Return a search for each denoiser."""
        return [Expansion(image=scope.example, denoiser=denoiser) for denoiser in DENOISERS]

    def section(self, scope: Scope, results: Results) -> Section:
        """Draw the pair as the paper does, and tabulate kappa."""
        cells = self.cells(scope)
        rows = []
        for cell in cells:
            record = results.of(cell)
            kappa = None if record is None else record.kappa
            searched = None if record is None else record.searched_kappa
            note = "" if record is None else f"{record.expansive} of {record.pairs} pairs above 1"
            printed = PRINTED_KAPPA if cell.denoiser == "nlm" else None
            entries = (Entry(kappa, paper=printed, note=note), Entry(searched))
            rows.append(Row(DENOISERS[cell.denoiser], entries))
        columns = (Column("kappa within an inpainting", 4), Column("largest kappa found", 4))
        table = Table("expansiveness", f"kappa, {scope.example.name}", columns, tuple(rows))
        shown = results.of(cells[0])
        caption = "Pairs that non-local means drives apart, before and after denoising (differences amplified alike)"
        plot = Plot("expansiveness", caption, None if shown is None else _figure(shown))
        return Section(self.name, self.title, CONVENTIONS, (plot, table), len(cells), results.count(cells))


def _figure(record: ExpansionRecord) -> Figure:
    figure = Figure(figsize=(15, 5.6), layout="constrained")
    pairs = (
        (f"inpainting, $\\kappa$ = {record.kappa:.4f}", record.pair),
        (f"search, $\\kappa$ = {record.searched_kappa:.2f}", record.searched_pair),
    )
    for row, (title, (x, y, denoised_x, denoised_y)) in zip(figure.subplots(2, 6), pairs, strict=True):
        before, after = x - y, denoised_x - denoised_y
        limit = max(float(abs(before).max()), float(abs(after).max())) / 2
        panels = {
            f"$x$ ({title})": x,
            "$y$": y,
            "$x - y$": before,
            "$D(x)$": denoised_x,
            "$D(y)$": denoised_y,
            "$D(x) - D(y)$": after,
        }
        for axes, (heading, image) in zip(row, panels.items(), strict=True):
            low, high = (-limit, limit) if image is before or image is after else (0.0, 1.0)
            axes.imshow(image, cmap="gray", vmin=low, vmax=high)
            axes.set_title(heading, fontsize="small")
            axes.set_axis_off()
    return figure
