"""What the widget asks for, and how a layer's array is restored; no napari and no Qt in here."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import plugplay as pp

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from plugplay.models.base import Model
    from plugplay.pnp.results import Result

__all__ = ["KERNELS", "TASKS", "Job", "Outcome", "kernel_of", "record", "restoring"]

TASKS = ("denoise", "deblur", "inpaint", "upscale")
KERNELS = ("gaussian", "disk", "motion", "layer")


@dataclass(frozen=True, eq=False)
class Job:
    """What happened to a layer, and how it is restored.

    Attributes
    ----------
    task : str
        One of `TASKS`.
    kernel : array, optional
        The blur, for ``"deblur"``.
    mask : array of bool, optional
        True where a pixel was observed, for ``"inpaint"``; the last axes of the image.
    factor : int
        For ``"upscale"``.
    denoiser : str
        The prior.
    noise : float, optional
        Its standard deviation on the scale from black to white; estimated if it is None.
    strength : float
        Multiplies the automatic lambda.
    rgb : bool
        Whether the last axis holds colours.
    volume : bool
        Whether the last three axes are one problem; else two, and all axes before them are pages.
    """

    task: str
    kernel: NDArray[Any] | None = None
    mask: NDArray[np.bool_] | None = None
    factor: int = 2
    denoiser: str = "bm3d"
    noise: float | None = None
    strength: float = 1.0
    rgb: bool = False
    volume: bool = False

    @property
    def spatial_ndim(self) -> int:
        """3 for volumes."""
        return 3 if self.volume else 2

    def model(self, page: int) -> Model:
        """Return the model of one page."""
        if self.task == "deblur":
            assert self.kernel is not None
            return pp.models.Deblurring(self.kernel, boundary="unknown")
        if self.task == "inpaint":
            assert self.mask is not None
            own = self.mask if self.mask.ndim == self.spatial_ndim else self._pages(self.mask)[page]
            return pp.models.Inpainting(own, spatial_ndim=self.spatial_ndim)
        if self.task == "upscale":
            return pp.models.SuperResolution(self.factor, "bicubic", boundary="reflect")
        return pp.models.Denoising(spatial_ndim=self.spatial_ndim)

    def _pages(self, mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return mask.reshape(-1, *mask.shape[-self.spatial_ndim :])


@dataclass(frozen=True, eq=False)
class Outcome:
    """A restored layer: its array, in the units of the layer, and what is to be remembered about it."""

    image: NDArray[Any]
    metadata: dict[str, Any]


def kernel_of(kind: str, size: float, angle: float, psf: NDArray[Any] | None, *, volume: bool) -> NDArray[Any]:
    """Return the kernel that sliders or a layer describe.

    Examples
    --------
    >>> kernel_of("disk", 2, 0, None, volume=False).shape
    (5, 5)
    """
    if kind == "layer":
        if psf is None:
            raise ValueError("choose the layer that holds the PSF")
        kernel = np.asarray(psf, np.float64)
        wanted = 3 if volume else 2
        if kernel.ndim != wanted or not np.isfinite(kernel).all() or kernel.sum() <= 0:
            raise ValueError(f"the PSF needs {wanted} axes and a positive sum; the layer has the shape {kernel.shape}")
        return kernel / kernel.sum()
    if volume:
        if kind != "gaussian":
            raise ValueError("for a volume, choose gaussian or a layer with a 3-D PSF as the kernel")
        reach = max(1, math.ceil(3 * size))
        line = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * size**2))
        kernel = line[:, None, None] * line[:, None] * line
        return np.asarray(kernel / kernel.sum())
    word = {"gaussian": f"gaussian:{size:g}", "disk": f"disk:{size:g}", "motion": f"motion:{size:g},{angle:g}"}[kind]
    return np.asarray(pp.kernels.parse(word))


def restoring(
    array: NDArray[Any], job: Job, cancelled: Callable[[], bool]
) -> Generator[tuple[float, str], None, Outcome]:
    """Restore a layer's array; yields the share that is done, with a word about it, and returns the outcome.

    Parameters
    ----------
    array : array
        The layer's data: pages, then spatial axes, then colours.
    job : Job
        What to do.
    cancelled : callable
        Asked often; once it says True, the run ends with `plugplay.Cancelled`.
    """
    inner = job.spatial_ndim + job.rgb
    given = np.asarray(array)
    if given.ndim < inner:
        raise ValueError(f"the layer has {given.ndim} axes; {'a volume' if job.volume else 'an image'} needs {inner}")
    pages = given.reshape(-1, *given.shape[given.ndim - inner :])
    images, results = [], []

    def check(_: float = 0.0) -> None:
        if cancelled():
            raise pp.Cancelled

    for number, page in enumerate(pages):
        check()
        plan = pp.prepare(
            page,
            job.model(number),
            denoiser=job.denoiser,
            noise=job.noise,
            strength=job.strength,
            channel_axis=-1 if job.rgb else None,
            spatial_ndim=job.spatial_ndim,
        )
        states = plan.iterate(progress=check)
        try:
            while True:
                state = next(states)
                check()
                limit = max(plan.parameters.max_iter, state.iteration)
                done = (number + state.iteration / limit) / len(pages)
                yield done, f"page {number + 1}/{len(pages)}, iteration {state.iteration}"
        except StopIteration as end:
            result: Result = end.value
        check()
        images.append(_in_units(result.image, page.dtype, rgb=job.rgb))
        results.append(result)
    image = np.stack(images).reshape(*given.shape[: given.ndim - inner], *images[0].shape)
    return Outcome(image, record(job, results))


def record(job: Job, results: list[Result]) -> dict[str, Any]:
    """Return what a layer remembers about its making: plain values, which can be written to any file."""
    first = results[0].parameters
    return {
        "version": pp.__version__,
        "task": job.task,
        "denoiser": first.denoiser,
        "noise": str(first.noise),
        "lam": first.lam,
        "strength": job.strength,
        "schedule": repr(first.schedule),
        "iterations": [len(result.history) for result in results],
        "status": sorted({result.status.name for result in results}),
        "warnings": sorted({text for result in results for text in result.warnings}),
    }


def _in_units(image: NDArray[Any], dtype: np.dtype[Any], *, rgb: bool) -> NDArray[Any]:
    """Return a restored image in the units of its layer, so that contrast limits mean the same; colours on [0, 1]."""
    if rgb:
        return np.clip(image, 0, 1).astype(np.float32)
    if dtype.kind not in "iu":
        return image
    limits = np.iinfo(dtype)
    return np.asarray(image * (float(limits.max) - float(limits.min)) + float(limits.min), np.float32)
