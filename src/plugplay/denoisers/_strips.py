"""What the kernels of the small denoisers share: a fast exponential, soft thresholds, strips given to threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np

from plugplay.denoisers.compiling import kernel

__all__ = ["decay", "soft", "strips", "threads"]

Scalar: TypeAlias = np.floating[Any]
Pieces: TypeAlias = list[tuple[int, int]]
Runner: TypeAlias = Callable[[Callable[..., Any], Pieces], list[Any]]

# Rows per strip. The cuts never depend on the number of threads, so neither does the order of any sum.
STRIP = 32


@kernel
def decay(t: np.float32) -> np.float32:
    """Return exp(-t) for t >= 0, to a relative error of 2e-6 up to t = 32 and 0 beyond.

    The 32nd power of a polynomial for exp(-t/32): unlike the library's function, it needs no branches and no
    tables, so the compiler works on many pixels at once.
    """
    s = min(t, np.float32(32.0)) * np.float32(1 / 32)
    p = np.float32(1 / 720) - s * np.float32(1 / 5040)
    p = np.float32(1 / 120) - s * p
    p = np.float32(1 / 24) - s * p
    p = np.float32(1 / 6) - s * p
    p = np.float32(0.5) - s * p
    p = np.float32(1.0) - s * p
    p = np.float32(1.0) - s * p
    p *= p
    p *= p
    p *= p
    p *= p
    p *= p
    return p if t < np.float32(32.0) else np.float32(0.0)


@kernel
def soft(value: Scalar, limit: Scalar) -> Scalar:
    """Return `value` moved towards zero by `limit`, or zero if that would move it past."""
    return value - min(max(value, -limit), limit)


def strips(rows: int, height: int = STRIP) -> Pieces:
    """Cut ``range(rows)`` into pieces ``(first, stop)`` of at most `height` rows.

    Examples
    --------
    >>> strips(70)
    [(0, 32), (32, 64), (64, 70)]
    """
    return [(first, min(first + height, rows)) for first in range(0, rows, height)]


@contextmanager
def threads(workers: int, pieces: int) -> Iterator[Runner]:
    """Give a function ``run(task, pieces)`` that returns ``[task(*piece) for piece in pieces]``.

    Parameters
    ----------
    workers : int
        Number of threads.
    pieces : int
        How many pieces there will be; no more threads are started.
    """
    if min(workers, pieces) == 1:
        yield lambda task, parts: [task(*part) for part in parts]
        return
    with ThreadPoolExecutor(min(workers, pieces)) as pool:
        yield lambda task, parts: list(pool.map(lambda part: task(*part), parts))
