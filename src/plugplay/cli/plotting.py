"""Reports as images: before and after with the convergence of a run, and contact sheets."""

from __future__ import annotations

import io
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from plugplay.cli.jobs import REPORT_MARK

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from plugplay.cli.sources import Source
    from plugplay.io import ImageFile
    from plugplay.pnp.results import Parameters
    from plugplay.pnp.state import History

__all__ = ["save_report", "shown", "write_plot"]

# The longer side of an image in a report, in pixels.
PLOTTED = 800


def write_plot(path: Path, source: Source, image: ImageFile, history: History, parameters: Parameters) -> None:
    """Write an image of the first page before and after, of its reference, and of the convergence."""
    from matplotlib.figure import Figure
    from matplotlib.image import imread

    from plugplay.arrays.scale import nominal_range
    from plugplay.plots.curves import convergence_figure

    before, after, reference = source.before(), image.pages[0], source.page(0).reference
    worked = parameters.working_range or (0.0, 1.0)
    # What has the input's type or its numbers is shown as the denoiser saw it; others have their own black and white.
    alike = after.dtype == before.dtype or image.data_range == nominal_range(before.dtype, parameters.data_range)
    images = [("before", before, worked), ("after", after, worked if alike else image.data_range)]
    if reference is not None:
        own = worked if reference.dtype == before.dtype else nominal_range(reference.dtype)
        images.append(("reference", reference, own))
    curves = io.BytesIO()
    convergence_figure(history, parameters).savefig(curves, format="png", dpi=110)
    curves.seek(0)
    figure = Figure(figsize=(4.2 * len(images), 7.2), layout="constrained")
    rows = figure.subplots(2, 1, height_ratios=(2.2, 1))
    rows[1].imshow(imread(curves, format="png"))
    rows[1].set_axis_off()
    places = rows[0].get_subplotspec().subgridspec(1, len(images))
    rows[0].remove()
    for place, (title, pixels, pixels_range) in zip(places, images, strict=True):
        axes = figure.add_subplot(place)
        axes.imshow(shown(pixels, pixels_range), cmap="gray", vmin=0, vmax=1)
        axes.set_title(f"{title} ({pixels.shape[1]} x {pixels.shape[0]})")
        axes.set_axis_off()
    save_report(path, figure)


def save_report(path: Path, figure: Figure) -> None:
    """Write a figure as a PNG file, marked as a report so that it is not taken for an input."""
    from plugplay.io import atomic

    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic(path) as temporary:
        figure.savefig(temporary, format="png", dpi=110, metadata={"Software": REPORT_MARK.decode()})


def shown(pixels: NDArray[Any], data_range: tuple[float, float]) -> NDArray[Any]:
    """Return an image of at most `PLOTTED` pixels along a side, with black at 0 and white at 1."""
    step = max(1, math.ceil(max(pixels.shape[:2]) / PLOTTED))
    low, high = data_range
    unit = np.clip((pixels[::step, ::step].astype(np.float64) - low) / (high - low), 0, 1)
    return unit if unit.ndim == 2 or unit.shape[-1] == 3 else unit.mean(axis=-1)
