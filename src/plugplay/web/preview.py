"""Quick previews: a small part of an image, restored in about a second, for choosing a kernel.

A window around the part is restored by half-quadratic splitting with few calls of the fast BM3D. The noise is not
estimated from the window, which is too small for it, but from a larger part of the page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import plugplay as pp

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from plugplay.denoisers.base import Denoiser
    from plugplay.plan import Plan
    from plugplay.web.restoring import Problem

__all__ = ["PREVIEW_SIDE", "estimated_noise", "restored_crop"]

PREVIEW_SIDE = 160
"""Side of the part, in pixels of the restored image."""
ITERATIONS = 8
# Pixels around the part on each side, for the blur and for the denoiser's blocks.
MIN_MARGIN, MAX_MARGIN = 8, 40
ESTIMATED_SIDE = 512


def restored_crop(
    problem: Problem,
    page: int,
    centre: tuple[float, float],
    *,
    noise: Any = None,
    progress: Callable[[float], object] | None = None,
) -> tuple[NDArray[Any], tuple[int, int, int, int]]:
    """Restore the part of a page around a point.

    Parameters
    ----------
    problem : Problem
        Image and task.
    page : int
        Which page.
    centre : (float, float)
        Row and column in the image as it was given, between 0 and 1.
    noise : float, optional
        The result of `estimated_noise`; by default the task's noise.
    progress : callable, optional
        May raise `plugplay.Cancelled`.

    Returns
    -------
    pixels : array
        The part, in the units of ``Result.image``.
    box : (int, int, int, int)
        Top, left, height and width of the part, in pixels of the image as it was given.
    """
    scale = problem.task.scale
    rows, columns = problem.image.pages.shape[1:3]
    margin = _margin(problem)
    spans = [_span(n, share, PREVIEW_SIDE // scale, margin) for n, share in zip((rows, columns), centre, strict=True)]
    window = tuple(slice(first, last) for _, _, first, last in spans)
    result = _plan(problem, page, (window[0], window[1]), noise).run(progress=progress)
    (top, bottom, above, _), (left, right, before, _) = spans
    inner = result.image[
        (top - above) * scale : (bottom - above) * scale, (left - before) * scale : (right - before) * scale
    ]
    return inner, (top, left, bottom - top, right - left)


def estimated_noise(problem: Problem, page: int) -> Any:
    """Return the noise of a page on the nominal scale, from its middle; None for photons."""
    task = problem.task
    if task.kind == "photon" or task.noise_level is not None:
        return task.noise_level
    rows, columns = (
        slice(max(0, (n - ESTIMATED_SIDE) // 2), (n + ESTIMATED_SIDE) // 2) for n in problem.image.pages.shape[1:3]
    )
    return _plan(problem, page, (rows, columns), None).parameters.noise


def _plan(problem: Problem, page: int, window: tuple[slice, slice], noise: Any) -> Plan:
    task = problem.task
    denoiser: str | Denoiser = task.denoiser
    if task.denoiser == "bm3d":
        denoiser = pp.denoisers.get("bm3d", profile="fast")
    if task.kind == "photon":
        counts = problem.photon_counts[(slice(None), *window)]
        return pp.prepare(counts, problem.photon_model, denoiser=denoiser, iteration="hqs", max_iter=ITERATIONS)
    pixels, mask = problem.observation(page, window)
    if task.kind == "inpaint" and mask is None and (problem.masks is not None or _has_gaps(problem, page)):
        mask = np.ones(pixels.shape[:2], np.bool_)
    once = task.kind == "denoise"
    return pp.prepare(
        pixels,
        problem.model(mask),
        denoiser=denoiser,
        noise=noise,
        iteration="admm" if once else "hqs",
        max_iter=None if once else ITERATIONS,
        channel_axis=problem.image.channel_axis,
        transfer=problem.transfer,
        noise_floor=problem.image.metadata.noise_floor,
    )


def _has_gaps(problem: Problem, page: int) -> bool:
    return not np.isfinite(problem.image.pages[page]).all()


def _margin(problem: Problem) -> int:
    if problem.task.kind not in ("deblur", "upscale") or isinstance(problem.kernel, str):
        return MIN_MARGIN
    reach = max(problem.kernel.shape) // 2 // problem.task.scale
    return int(min(MAX_MARGIN, reach + MIN_MARGIN))


def _span(length: int, share: float, side: int, margin: int) -> tuple[int, int, int, int]:
    """Return the span of the part along an axis, and that of the window around it."""
    side = min(side, length)
    start = min(max(0, round(share * length - side / 2)), length - side)
    return start, start + side, max(0, start - margin), min(length, start + side + margin)
