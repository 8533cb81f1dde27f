"""The paper's colour figures: super-resolution x4 and single photons with K = 8, with zooms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from plugplay_paper import paper
from plugplay_paper.cells.trials import Trial
from plugplay_paper.experiments import single_photon, super_resolution
from plugplay_paper.methods import Automatic, FirstGuess, Method
from plugplay_paper.problems import Problem
from plugplay_paper.report.blocks import Plot, Section

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay_paper.experiments.base import Scope
    from plugplay_paper.results import Results

__all__ = ["COLOUR_PHOTONS", "COLOUR_SUPER_RESOLUTION", "ColourFigure"]

OVERSAMPLING = 8
SUPER_RESOLUTION = paper.CONFIGURATIONS[1]
# Where to look closer, as shares of the sides: top, left, and the side of the square.
ZOOM = (0.12, 0.33, 0.28)


@dataclass(frozen=True)
class ColourFigure:
    """A colour image, restored by several methods.

    Attributes
    ----------
    name, title, conventions : str
        As for any section.
    problem : Problem
        What happens to the image.
    methods : tuple of (str, Method)
        The panels.
    border : int
        Pixels that the PSNR leaves out along each side.
    """

    name: str
    title: str
    conventions: str
    problem: Problem
    methods: tuple[tuple[str, Method], ...]
    border: int

    def cells(self, scope: Scope) -> list[Trial]:
        """Return a trial for each method."""
        return [
            Trial(image=scope.colour, problem=self.problem, method=method, seed=0, border=self.border, keep=True)
            for _, method in self.methods
        ]

    def section(self, scope: Scope, results: Results) -> Section:
        """Show the observation, the results and the truth, and a part of each from close by."""
        cells = self.cells(scope)
        truth = scope.colour.pixels
        panels: list[tuple[str, NDArray[np.floating] | NDArray[np.uint8]]] = []
        for (label, _), cell in zip(self.methods, cells, strict=True):
            record = results.of(cell)
            if record is not None and record.image is not None:
                panels.append((f"{label}, {record.psnr:.2f} dB", record.image))
        done = len(panels)
        figure = _figure([("observed", self._observed(truth)), *panels, ("truth", truth)]) if done else None
        plot = Plot(self.name, f"{self.problem.name}, {scope.colour}", figure)
        return Section(self.name, self.title, self.conventions, (plot,), len(cells), done)

    def _observed(self, truth: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return the data as they are: jots, or the pixels of low resolution."""
        observed: NDArray[np.float32] = np.clip(self.problem.observe(truth, seed=0).y, 0, 1).astype(np.float32)
        return observed


COLOUR_SUPER_RESOLUTION = ColourFigure(
    name="colour-super-resolution",
    title="Figure: colour super-resolution x4",
    conventions="A colour image, all channels together, bicubic filter, no noise, circular boundaries. PSNR over all "
    "channels, clipped to [0, 1], without a border of 4 pixels, peak 1. The paper's image is not available, so that "
    "there are no numbers to compare with.",
    problem=super_resolution.problem(SUPER_RESOLUTION),
    methods=(
        ("bicubic", FirstGuess()),
        ("Ours-M", super_resolution.by_hand(SUPER_RESOLUTION)),
        ("automatic", Automatic()),
    ),
    border=super_resolution.BORDER,
)
COLOUR_PHOTONS = ColourFigure(
    name="colour-single-photon",
    title="Figure: colour single-photon imaging, K = 8",
    conventions="The bits of each channel are drawn by themselves, K = 8, and restored together (the paper restores "
    "channel by channel). PSNR over all channels of the whole frame, clipped to [0, 1], peak 1. The paper's image is "
    "not available; for that it prints 20.16 dB (MLE), 26.74 dB (Chan-Lu) and 28.81 dB (its method).",
    problem=single_photon.problem(OVERSAMPLING),
    methods=(
        ("MLE", FirstGuess()),
        ("Chan-Lu (TV)", single_photon.total_variation(OVERSAMPLING)),
        ("Ours-M", single_photon.by_hand()),
        ("automatic", Automatic()),
    ),
    border=0,
)


def _figure(panels: list[tuple[str, NDArray[np.floating] | NDArray[np.uint8]]]) -> Figure:
    figure = Figure(figsize=(3.1 * len(panels), 6.6), layout="constrained")
    whole, close = figure.subplots(2, len(panels), squeeze=False)
    for above, below, (title, image) in zip(whole, close, panels, strict=True):
        height, width = image.shape[:2]
        top, left, side = round(ZOOM[0] * height), round(ZOOM[1] * width), round(ZOOM[2] * min(height, width))
        above.imshow(image)
        above.add_patch(Rectangle((left, top), side, side, fill=False, edgecolor="yellow"))
        above.set_title(title, fontsize="medium")
        below.imshow(image[top : top + side, left : left + side], interpolation="nearest")
        for axes in (above, below):
            axes.set_axis_off()
    return figure
