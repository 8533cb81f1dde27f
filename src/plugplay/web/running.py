"""The work on a task: restore all pages and report progress, or restore a part as a preview."""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING, Any

import numpy as np

import plugplay as pp
from plugplay import io
from plugplay.arrays import records
from plugplay.arrays.scale import nominal_range
from plugplay.pnp.forecast import remaining_iterations, seconds_left
from plugplay.web.preview import estimated_noise, restored_crop
from plugplay.web.rendering import png, screen_image
from plugplay.web.restoring import Problem, blamed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    from plugplay.pnp.results import Parameters, Result
    from plugplay.pnp.state import State
    from plugplay.web.messages import Preview, Restore

__all__ = ["plain", "preview", "restore"]

PREVIEW_SECONDS = 0.5
PREVIEW_SIDE = 1024


def restore(
    request: Restore,
    tell: Callable[[dict[str, Any], bytes | None], None],
    check: Callable[[float], None],
) -> dict[str, Any]:
    """Restore every page, write the result and return its description."""
    problem = Problem(request.task, request.sources)
    began = previewed = time.monotonic()
    results: list[Result] = []
    reference, count = problem.reference, problem.pages  # mistakes are found before the work
    for page in range(count):
        check(0.0)
        with blamed("kind"):
            plan = problem.plan(page)
        states = plan.iterate(progress=check)
        done, again = 0, False
        while True:
            try:
                state = next(states)
            except StopIteration as end:
                results.append(end.value)
                break
            check(0.0)
            rendered = None
            if time.monotonic() - previewed >= PREVIEW_SECONDS:
                rendered = png(_on_screen(problem, plan.image(state), request.shown, PREVIEW_SIDE))
                previewed = time.monotonic()
            done, again = state.iteration, again or state.iteration <= done
            tell({**_figures(state, plan.parameters, page, count), "again": again}, rendered)
        check(0.0)
    image = problem.restored([result.image for result in results], request.output)
    with problem.kept_warnings():
        io.write(request.output, image)
    return {
        "seconds": round(time.monotonic() - began, 3),
        "width": int(image.pages.shape[2]),
        "height": int(image.pages.shape[1]),
        "pages": [_told(problem, result, page, reference) for page, result in enumerate(results)],
        "warnings": [request.named(text) for text in problem.warned],
    }


def preview(
    read: Callable[[Path], io.ImageFile], known: dict[object, Any], request: Preview, check: Callable[[float], None]
) -> tuple[bytes, tuple[int, int, int, int]]:
    """Restore a part of a page; `known` caches estimates for other parts of the same page."""
    task, sources = request.task, request.sources
    problem = Problem(task, sources, given=None if task.kind == "photon" else read(sources.image))
    if not 0 <= request.page < problem.pages:
        raise ValueError(f"there is no page {request.page + 1}")
    key = (sources.image, sources.mask, request.page, task.kind, task.factor, task.noise)
    with blamed("kind"):
        if key not in known:
            known[key] = estimated_noise(problem, request.page)
        check(0.0)
        pixels, box = restored_crop(problem, request.page, request.centre, noise=known[key], progress=check)
    return png(_on_screen(problem, pixels, request.shown, PREVIEW_SIDE)), box


def plain(value: object) -> Any:
    """Return a value that JSON can represent.

    Examples
    --------
    >>> plain({"schedule": pp.Monotone(rho0=1.0, gamma=2.0), "sigma": float("nan")})
    {'schedule': {'kind': 'Monotone', 'rho0': 1.0, 'gamma': 2.0}, 'sigma': None}
    """
    return records.plain(value, endless=lambda _: None)


def _figures(state: State, parameters: Parameters, page: int, pages: int) -> dict[str, Any]:
    history = state.history
    spent, left = float(history.seconds.sum()), seconds_left(state, parameters)
    whole = max(spent + left, 1e-9)
    return {
        "page": page,
        "pages": pages,
        "iteration": state.iteration,
        "expected": state.iteration + remaining_iterations(state, parameters),
        "sigma": plain(history.sigma[-1]),
        "delta": plain(history.delta[-1]),
        "tol": parameters.tol,
        "seconds_left": round(left + (pages - page - 1) * whole, 1),
        "share": round((page + spent / whole) / pages, 4),
    }


def _on_screen(problem: Problem, pixels: NDArray[Any], shown: tuple[float, float], side: int) -> NDArray[np.uint8]:
    """Return a restored image, in the units of ``Result.image``, as it looks when it is stored in the file."""
    if problem.task.kind != "photon" and problem.image.pixels.dtype.kind != "f":
        low, high = problem.image.data_range
        pixels = pixels * (high - low) + low
    return screen_image(pixels, (0.0, 1.0) if problem.task.kind == "photon" else shown, max_side=side)


def _told(problem: Problem, result: Result, page: int, reference: NDArray[Any] | None) -> dict[str, Any]:
    named = {f.name: getattr(result.parameters, f.name) for f in dataclasses.fields(result.parameters)}
    named.pop("prepared")
    told = {
        "status": result.status.name.lower(),
        "advice": str(result.status),
        "warnings": list(result.warnings),
        "iterations": len(result.history),
        "parameters": plain(named),
        "curve": [[plain(s), plain(d)] for s, d in zip(result.history.sigma, result.history.delta, strict=True)],
    }
    if reference is not None:
        truth, before = _unit(reference[page % len(reference)]), _unit(problem.image.pages[page])
        told["quality"] = _quality(result.image, truth)
        if before.shape == truth.shape:
            told["quality_before"] = _quality(np.nan_to_num(before), truth)
    return told


def _unit(pixels: NDArray[Any]) -> NDArray[np.float64]:
    """Return integers on [0, 1] and floats as they are, as ``Result.image`` has them."""
    low, high = nominal_range(pixels.dtype) if pixels.dtype.kind in "iu" else (0.0, 1.0)
    unit: NDArray[np.float64] = (pixels.astype(np.float64) - low) / (high - low)
    return unit


def _quality(image: NDArray[Any], truth: NDArray[np.float64]) -> dict[str, float | None]:
    """Return PSNR and SSIM, both images clipped to [0, 1], or to the range of the reference if that lies elsewhere."""
    from skimage.metrics import structural_similarity

    low, high = float(np.nanmin(truth)), float(np.nanmax(truth))
    if (low >= -0.5 and high <= 1.5) or not high > low:
        low, high = 0.0, 1.0
    pair = [np.clip((np.asarray(a, np.float64) - low) / (high - low), 0, 1) for a in (image, truth)]
    ssim = None
    if min(pair[0].shape[:2]) >= 7:  # the size of SSIM's window
        ssim = float(structural_similarity(*pair, data_range=1.0, channel_axis=-1 if pair[0].ndim == 3 else None))
    return {"psnr": plain(float(pp.psnr(*pair))), "ssim": plain(ssim)}
