"""The stages, run over strips of the image by a pool of threads.

Strips depend on the image only and their sums are added in order, so results are bit-identical for any number of
threads. The pool exists for one stage only, so that no forked process inherits it.
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable, Generator, Iterator, MutableMapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from plugplay.denoisers.bm3d.aggregation import Band, Sums
from plugplay.denoisers.bm3d.canvas import Canvas, Positions, reference_positions
from plugplay.denoisers.bm3d.filtering import hard_threshold, wiener
from plugplay.denoisers.bm3d.local import correct_rows, learned_filters
from plugplay.denoisers.bm3d.matching import Matches, match
from plugplay.denoisers.bm3d.principal import principal_wiener
from plugplay.denoisers.bm3d.profiles import Profile, Stage
from plugplay.denoisers.bm3d.spectra import Scratch

__all__ = ["Groups", "Progress", "denoise_canvas", "denoise_planes", "in_order", "strips_of"]

_LOCAL_STRIP = 64  # rows of pixels
_STRIP = 8  # reference rows, or half of them on coarse grids; the number of strips limits that of busy threads

Task = TypeVar("Task")
Outcome = TypeVar("Outcome")


Groups: TypeAlias = MutableMapping[tuple[int, int], Matches]
"""The groups of an image, by stage (0 to 2) and strip."""

Filter: TypeAlias = Callable[[Canvas, Profile, NDArray[np.float64], Positions, Positions, Matches], Sums]
"""Filters the groups of some reference rows of a canvas."""

Progress: TypeAlias = Callable[[float], None]
"""Is told the share of the work that is done, above 0 and at last 1; what it raises ends the work."""


def denoise_planes(
    planes: NDArray[np.float32],
    sigmas: NDArray[np.float64],
    profile: Profile,
    *,
    workers: int,
    groups: Groups | None = None,
    progress: Progress | None = None,
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
        Groups of an image of the same shape, to be used instead of searching. Missing ones are added.
    progress : callable, optional
        Called from this thread whenever a strip is done.

    Returns
    -------
    ndarray of float32, shape (C, H, W)
        The estimate.
    """
    return denoise_canvas(Canvas.of(planes), sigmas, profile, workers=workers, groups=groups, progress=progress)


def denoise_canvas(
    canvas: Canvas,
    sigmas: NDArray[np.float64],
    profile: Profile,
    *,
    workers: int,
    groups: Groups | None = None,
    progress: Progress | None = None,
) -> NDArray[np.float32]:
    """Denoise the image on a canvas, as `denoise_planes` does; its planes need not be kept in memory."""
    scratch = Scratch()
    stages = [
        _Stage(canvas if every else canvas.first_channel(), sigmas, profile, index, settings, shrink, scratch)
        for index, settings, shrink, every in _stages(profile, scratch)
    ]
    total = sum(len(stage.strips) for stage in stages)
    done = 0
    for stage in stages:
        band = Band(stage.canvas, profile.kaiser)
        with closing(in_order(functools.partial(stage.filter_strip, groups), stage.strips, workers)) as parts:
            for strip, part in enumerate(parts):
                band.add(part)
                # Later strips, some of them running already, neither read nor change the rows above.
                band.write_means(stage.top_of(strip + 1))
                done += 1
                if progress:
                    progress(done / total)
    if profile.local:
        _correct(canvas, float(sigmas[0]), workers)
    return canvas.estimate


def _correct(canvas: Canvas, sigma: float, workers: int) -> None:
    """Correct the first channel by learned filters."""
    noisy, estimate, filters = canvas.noisy[0], canvas.estimate[0], learned_filters()
    strips = [slice(first, min(first + _LOCAL_STRIP, canvas.height)) for first in range(0, canvas.height, _LOCAL_STRIP)]
    corrected = np.empty_like(estimate)  # every strip sees the rows around it as they were
    parts = in_order(lambda rows: correct_rows(noisy, estimate, sigma, rows, filters), strips, workers)
    for rows, part in zip(strips, parts, strict=True):
        corrected[rows] = part
    estimate[...] = corrected


def _stages(profile: Profile, scratch: Scratch) -> Iterator[tuple[int, Stage, Filter, bool]]:
    """Yield the number, the settings and the filter of every stage, and whether it filters all channels."""
    yield 0, profile.pilot, functools.partial(hard_threshold, scratch=scratch), True
    yield 1, profile.final, functools.partial(wiener, scratch=scratch), True
    if profile.principal:
        yield 2, profile.principal, principal_wiener, not profile.principal_luminance


class _Stage:
    """One stage, applied to the strips of an image."""

    def __init__(
        self,
        canvas: Canvas,
        sigmas: NDArray[np.float64],
        profile: Profile,
        index: int,
        settings: Stage,
        shrink: Filter,
        scratch: Scratch,
    ) -> None:
        self.canvas, self._sigmas, self._profile = canvas, sigmas, profile
        self._index, self._settings, self._shrink, self._scratch = index, settings, shrink, scratch
        self._rows = strips_of(reference_positions(canvas.height, settings.step, settings.offset), settings)
        self._columns = reference_positions(canvas.width, settings.step, settings.offset)
        self.strips = range(len(self._rows))

    def top_of(self, strip: int) -> int:
        """Return the first row that a strip can reach; that after the last one for a strip that is none."""
        if strip == len(self.strips):
            return self.canvas.height
        return max(0, int(self._rows[strip][0]) - self._settings.reach)

    def filter_strip(self, groups: Groups | None, strip: int) -> Sums:
        """Find the groups of a strip, unless they are known, and filter them."""
        rows = self._rows[strip]
        matches = groups.get((self._index, strip)) if groups is not None else None
        if matches is None:
            # The first stage compares blocks of the noisy image, the others those of the current estimate.
            guide = min(self._index, 1)
            matches = match(
                self.canvas, self._settings, float(self._sigmas[0]), rows, self._columns,
                guide=guide, scratch=self._scratch,
            )  # fmt: skip
            if groups is not None:
                groups[self._index, strip] = matches
        return self._shrink(self.canvas, self._profile, self._sigmas, rows, self._columns, matches)


def strips_of(rows: Positions, settings: Stage) -> list[Positions]:
    """Return the reference rows of every strip.

    Strips have about the same height, and their number is a multiple of four if there are as many, so that two or four
    threads end together. All begin with an even row.

    Examples
    --------
    >>> stage = Stage(step=3, reach=19, group=16, similarity=0.01, noise_share=2.5)
    >>> [strip.size for strip in strips_of(np.arange(0, 210, 3), stage)]
    [8, 8, 10, 8, 8, 10, 8, 10]
    """
    count = max(1, round(rows.size / (_STRIP if settings.step <= 4 else _STRIP // 2)))
    if count > 2:
        count = max(4, round(count / 4) * 4)
    return np.split(rows, [2 * (rows.size * strip // count // 2) for strip in range(1, count)])


def in_order(work: Callable[[Task], Outcome], tasks: Sequence[Task], workers: int) -> Generator[Outcome, None, None]:
    """Yield ``work(task)`` for all tasks in order, with only a few results waiting at a time.

    Closing the generator cancels the tasks that have not started and waits for the others.
    """
    if workers == 1 or len(tasks) == 1:
        yield from map(work, tasks)
        return
    pool = ThreadPoolExecutor(workers)
    try:
        waiting: deque[Future[Outcome]] = deque()
        for task in tasks:
            waiting.append(pool.submit(work, task))
            if len(waiting) > 2 * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
