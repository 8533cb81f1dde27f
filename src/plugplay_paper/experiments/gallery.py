"""The paper's figure of the test images."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure

from plugplay_paper.report.blocks import Plot, Section
from plugplay_paper.report.labels import shown

if TYPE_CHECKING:
    from plugplay_paper.cells.base import Cell
    from plugplay_paper.experiments.base import Scope
    from plugplay_paper.results import Results

__all__ = ["Gallery"]

ACROSS = 5


@dataclass(frozen=True)
class Gallery:
    """The test images."""

    name: str = "images"
    title: str = "Figure: the test images"

    def cells(self, scope: Scope) -> list[Cell[Any]]:  # noqa: ARG002
        """Return nothing: there is nothing to compute."""
        return []

    def section(self, scope: Scope, results: Results) -> Section:  # noqa: ARG002
        """Show the images."""
        rows = -(-len(scope.images) // ACROSS)
        figure = Figure(figsize=(2.4 * ACROSS, 2.7 * rows), layout="constrained")
        panels = figure.subplots(rows, ACROSS, squeeze=False).ravel()
        for axes in panels:
            axes.set_axis_off()
        for axes, image in zip(panels, scope.images, strict=False):
            axes.imshow(image.pixels, cmap="gray", vmin=0, vmax=1)
            height, width = image.pixels.shape
            axes.set_title(f"{shown(image.name)}, {width} x {height}", fontsize="small")
        plot = Plot("images", f"{len(scope.images)} test images", figure)
        return Section(self.name, self.title, "Gray, with sides cut to multiples of 4.", (plot,), 0, 0)
