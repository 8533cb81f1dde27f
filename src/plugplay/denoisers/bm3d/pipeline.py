"""The two stages, run over strips of the image by a pool of threads.

Strips are fixed by the image alone and their sums are added in order: any number of threads gives the same bits.
The pool lives as long as one stage, so that nothing is left over that a forked process would inherit.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from plugplay.denoisers.bm3d.aggregation import Sums
from plugplay.denoisers.bm3d.canvas import Canvas, reference_positions
from plugplay.denoisers.bm3d.filtering import hard_threshold, wiener
from plugplay.denoisers.bm3d.matching import Matches, match
from plugplay.denoisers.bm3d.profiles import Profile, Stage

__all__ = ["Groups", "denoise_planes"]

_STRIP = 8  # reference rows

Task = TypeVar("Task")
Outcome = TypeVar("Outcome")


@dataclass(frozen=True, eq=False)
class Groups:
    """The groups of both stages, strip by strip."""

    pilot: tuple[Matches, ...]
    final: tuple[Matches, ...]


def denoise_planes(
    planes: NDArray[np.float32],
    sigmas: NDArray[np.float64],
    profile: Profile,
    *,
    workers: int,
    known: Groups | None = None,
) -> tuple[NDArray[np.float32], Groups]:
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
    known : Groups, optional
        Groups of an earlier call for an image of the same shape, to be used instead of searching.

    Returns
    -------
    planes : ndarray of float32, shape (C, H, W)
        The estimate.
    groups : Groups
        The groups that were used.
    """
    canvas = Canvas.of(planes)
    pilot = _run(canvas, profile, profile.pilot, sigmas, known.pilot if known else None, workers)
    final = _run(canvas, profile, profile.final, sigmas, known.final if known else None, workers)
    return canvas.estimate, Groups(pilot, final)


def _run(
    canvas: Canvas,
    profile: Profile,
    stage: Stage,
    sigmas: NDArray[np.float64],
    known: Sequence[Matches] | None,
    workers: int,
) -> tuple[Matches, ...]:
    """Run one stage and replace the estimate on the canvas; return the groups."""
    rows = reference_positions(canvas.height, stage.step)
    columns = reference_positions(canvas.width, stage.step)
    shrink, guide = (hard_threshold, 0) if stage is profile.pilot else (wiener, 1)

    def filter_strip(index: int) -> tuple[Matches, Sums]:
        strip = rows[index * _STRIP : (index + 1) * _STRIP]
        found = known[index] if known else match(canvas, stage, float(sigmas[0]), strip, columns, guide=guide)
        return found, shrink(canvas, profile, sigmas, strip, columns, found)

    sums = Sums.whole(canvas)
    groups = []
    for matches, part in _in_order(filter_strip, range(-(-rows.size // _STRIP)), workers):
        sums.add(part)
        groups.append(matches)
    sums.write_means(canvas, profile.kaiser)
    return tuple(groups)


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
