"""The two stages, run over strips of the image by a pool of threads.

Strips are fixed by the image alone and their sums are added in order: any number of threads gives the same bits.
The pool lives as long as one stage, so that nothing is left over that a forked process would inherit.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from plugplay.denoisers.bm3d.aggregation import Sums
from plugplay.denoisers.bm3d.canvas import Canvas, reference_positions
from plugplay.denoisers.bm3d.filtering import hard_threshold, wiener
from plugplay.denoisers.bm3d.matching import Matches, match
from plugplay.denoisers.bm3d.profiles import Profile

__all__ = ["Groups", "denoise_planes"]

_STRIP = 8  # reference rows

Task = TypeVar("Task")
Outcome = TypeVar("Outcome")


Groups: TypeAlias = dict[tuple[int, int], Matches]
"""The groups of an image, by stage (0 and 1) and strip."""


def denoise_planes(
    planes: NDArray[np.float32],
    sigmas: NDArray[np.float64],
    profile: Profile,
    *,
    workers: int,
    groups: Groups | None = None,
) -> NDArray[np.float32]:
    """Denoise the channels of an image with common groups, which are found in the first one.

    Parameters
    ----------
    planes : ndarray of float32, shape (C, H, W)
        The channels, at least 8x8.
    sigmas : ndarray, shape (C,)
        Standard deviation of the noise in each.
    profile : Profile
        The settings.
    workers : int
        Number of threads.
    groups : Groups, optional
        Groups of an image of the same shape, to be used instead of searching. What is not there yet is added.

    Returns
    -------
    ndarray of float32, shape (C, H, W)
        The estimate.
    """
    canvas = Canvas.of(planes)
    for index in (0, 1):
        _run_stage(index, canvas, sigmas, profile, workers, groups).write_means(canvas, profile.kaiser)
    return canvas.estimate


def _run_stage(
    index: int,
    canvas: Canvas,
    sigmas: NDArray[np.float64],
    profile: Profile,
    workers: int,
    groups: Groups | None,
) -> Sums:
    """Filter all strips of a stage and add them up."""
    # The first stage compares blocks of the noisy image, the second those of the first's estimate.
    stage, shrink = ((profile.pilot, hard_threshold), (profile.final, wiener))[index]
    all_rows = reference_positions(canvas.height, stage.step, stage.offset)
    columns = reference_positions(canvas.width, stage.step, stage.offset)

    def filter_strip(strip: int) -> Sums:
        rows = all_rows[strip * _STRIP : (strip + 1) * _STRIP]
        matches = groups.get((index, strip)) if groups is not None else None
        if matches is None:
            matches = match(canvas, stage, float(sigmas[0]), rows, columns, guide=index)
        if groups is not None:
            groups[index, strip] = matches
        return shrink(canvas, profile, sigmas, rows, columns, matches)

    sums = Sums.whole(canvas)
    for part in _in_order(filter_strip, range(-(-all_rows.size // _STRIP)), workers):
        sums.add(part)
    return sums


def _in_order(work: Callable[[Task], Outcome], tasks: Sequence[Task], workers: int) -> Iterator[Outcome]:
    """Yield ``work(task)`` for all tasks, in their order, with only a few outcomes waiting at a time."""
    if workers == 1 or len(tasks) == 1:
        yield from map(work, tasks)
        return
    with ThreadPoolExecutor(workers) as pool:
        waiting: deque[Future[Outcome]] = deque()
        for task in tasks:
            waiting.append(pool.submit(work, task))
            if len(waiting) > 2 * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
