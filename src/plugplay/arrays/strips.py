"""Strips of an array that threads share out among themselves."""

from __future__ import annotations

import functools
import os
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias

__all__ = ["Pieces", "Runner", "share_out", "strips", "threads"]

Pieces: TypeAlias = list[tuple[int, int]]
Runner: TypeAlias = Callable[[Callable[..., Any], Pieces], list[Any]]

# Rows per strip. The cuts never depend on the number of threads, so neither does the order of any sum.
STRIP = 32
# Threads that are kept in a process. Where more are asked for at a time, those who ask do the work themselves.
MAX_THREADS = 128


def strips(rows: int, height: int = STRIP) -> Pieces:
    """Cut ``range(rows)`` into pieces ``(first, stop)`` of at most `height` rows.

    Examples
    --------
    >>> strips(70)
    [(0, 32), (32, 64), (64, 70)]
    """
    return [(first, min(first + height, rows)) for first in range(0, rows, height)]


def share_out(task: Callable[..., Any], pieces: Sequence[tuple[Any, ...]], workers: int) -> list[Any]:
    """Return ``[task(*piece) for piece in pieces]``, with the pieces done by several threads.

    The thread that calls is one of them. The others are kept between calls, because starting threads takes as long as
    the model's step of a small image.

    Parameters
    ----------
    task : callable
        What to do with a piece; it should release the interpreter lock.
    pieces : sequence of tuple
        Its arguments.
    workers : int
        Number of threads.

    Examples
    --------
    >>> share_out(lambda first, stop: stop - first, strips(70), workers=2)
    [32, 32, 6]
    """
    helpers = min(workers, len(pieces)) - 1
    if helpers < 1:
        return [task(*piece) for piece in pieces]
    results: list[Any] = [None] * len(pieces)
    waiting = deque(enumerate(pieces))

    def work() -> None:
        while waiting:
            try:
                number, piece = waiting.popleft()
            except IndexError:  # another thread was faster
                return
            try:
                results[number] = task(*piece)
            except BaseException:
                waiting.clear()
                raise

    pool = _pool(os.getpid())
    futures = [pool.submit(work) for _ in range(helpers)]
    try:
        work()
    finally:
        for future in futures:
            if not future.cancel():  # one that has not begun has nothing left to do
                future.result()
    return results


def threads(workers: int) -> Runner:
    """Return a function ``run(task, pieces)`` that is `share_out` with so many threads.

    Examples
    --------
    >>> run = threads(2)
    >>> run(lambda first, stop: stop - first, strips(70))
    [32, 32, 6]
    """
    return functools.partial(share_out, workers=workers)


@functools.cache
def _pool(process: int) -> ThreadPoolExecutor:  # noqa: ARG001 - a forked process has none of its parent's threads
    """Return the threads of a process."""
    return ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="plugplay")
