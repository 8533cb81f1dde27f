"""Outcomes of jobs: figures and texts without arrays, so that any number of them can be kept."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from plugplay.cli.jobs import Job
from plugplay.cli.notices import spelt_as_options

if TYPE_CHECKING:
    from plugplay.cli.sources import Page
    from plugplay.pnp.results import Result

__all__ = ["Outcome", "PageFigures", "failure", "page_figures", "plain_status"]

# Statuses that say themselves that the result is not good.
_BAD = ("DOUBTFUL", "DIVERGED")


@dataclass(frozen=True)
class PageFigures:
    """The figures of one restored page.

    Attributes
    ----------
    result : str
        Name of the status; FINISHED for a single denoising, which has nothing to converge.
    advice : str
        The advice of the status.
    iterations : int
        Number of iterations.
    seconds : float
        Duration.
    parameters : dict
        All parameters, as plain values.
    warnings : tuple of str
        Warnings of the run.
    doubtful : bool
        Whether the result is doubtful.
    quality : dict
        PSNR and SSIM, and the range they are for, if there is a reference.
    """

    result: str
    advice: str
    iterations: int
    seconds: float
    parameters: dict[str, Any]
    warnings: tuple[str, ...]
    doubtful: bool
    quality: dict[str, Any]

    @property
    def chosen(self) -> list[str]:
        """Names of the automatic parameters; of noise with unknown values, those were estimated."""
        used = self.parameters
        return [key for key in used if key in used["chosen"] or (key == "noise" and isinstance(used[key], dict))]


@dataclass(frozen=True)
class Outcome:
    """The outcome of one file.

    Attributes
    ----------
    job : Job
        The job.
    status : {"restored", "skipped", "failed"}
        What was done.
    error : str, optional
        Why it failed.
    seconds : float
        Duration.
    warnings : tuple of str
        All warnings, in order.
    doubtful : bool
        Whether the result is doubtful.
    shape, dtype, data_range, channels, resumed
        Properties of the result, and the iteration after which an interrupted restoration was resumed.
    pages : tuple of PageFigures
        One for each page.
    silent : bool
        Whether a worker did it, so that its warnings have not been shown yet.
    """

    job: Job
    status: str
    error: str | None = None
    seconds: float = 0.0
    warnings: tuple[str, ...] = ()
    doubtful: bool = False
    shape: tuple[int, ...] = ()
    dtype: str = ""
    data_range: tuple[float, float] = (0.0, 1.0)
    channels: int | None = None
    pages: tuple[PageFigures, ...] = ()
    silent: bool = False


def failure(job: Job, error: str) -> str:
    """Return an error with the name of the file that it is about, once."""
    from plugplay.io import printable

    source = job.source_name
    return error if error.startswith((source, printable(source))) else f"{source}: {error}"


def page_figures(page: Page, result: Result, *, verb: str) -> PageFigures:
    """Collect the figures of a page."""
    status, used = result.status.name, result.parameters
    # A single call of the denoiser, as of photons, has nothing that could converge.
    single_step = used.max_iter == 1 and (verb == "denoise" or "max_iter" in used.chosen)
    return PageFigures(
        result=plain_status(status, single_step=single_step),
        advice=str(result.status),
        iterations=len(result.history),
        seconds=float(result.history.seconds.sum()),
        parameters=result.parameters.plain(),
        warnings=tuple(map(spelt_as_options, result.warnings)),
        doubtful=status in _BAD,
        quality=_quality(page, result),
    )


def plain_status(status: str, *, single_step: bool) -> str:
    """Return the name of a status; a single step has nothing to converge."""
    return "FINISHED" if single_step and status in ("CONVERGED", "MAX_ITERATIONS") else status


def _quality(page: Page, result: Result) -> dict[str, Any]:
    """Return PSNR and SSIM against the reference, in the range that the denoiser saw."""
    if page.reference is None:
        return {}
    import numpy as np
    from skimage.metrics import structural_similarity

    from plugplay.arrays.axes import Axes
    from plugplay.arrays.observation import Conversion
    from plugplay.arrays.scale import Scale
    from plugplay.metrics import psnr

    parameters, dtype = result.parameters, page.pixels.dtype
    nominal = parameters.data_range or (0.0, 1.0)
    axes = Axes.of(result.image.shape, "the image", channel_axis=page.channel_axis)
    conversion = Conversion(axes, Scale(*nominal, integer=dtype.kind in "biu"), dtype, parameters.data_range)
    image, truth = (
        conversion.to_nominal(array, name).astype(np.float64)
        for name, array in (("image", result.image), ("reference", page.reference))
    )
    low, high = working = parameters.working_range or nominal
    if working == nominal:  # what lies beyond black and white is not seen
        image, truth = np.clip(image, 0, 1), np.clip(truth, 0, 1)
    else:
        width = nominal[1] - nominal[0]
        image, truth = ((array * width + nominal[0] - low) / (high - low) for array in (image, truth))
    ssim = None
    if min(image.shape[:2]) >= 7:  # the size of SSIM's window
        axis = -1 if image.ndim == 3 else None
        ssim = float(structural_similarity(image, truth, data_range=1.0, channel_axis=axis))
    error = float(np.mean((image - truth) ** 2))
    ratio = psnr(image, truth) if working == nominal else -10 * math.log10(error) if error else math.inf
    return {"psnr": ratio, "ssim": ssim, "range": working}
