"""Timing that is fair on a shared machine: contenders take turns, and each keeps its best time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["best_times"]


def best_times(contenders: dict[str, Callable[[], object]], *, repeats: int = 15) -> dict[str, float]:
    """Return the best time of each contender in seconds; they run in turns, so that load hits all alike."""
    best = dict.fromkeys(contenders, float("inf"))
    for run in contenders.values():  # first calls plan transforms and allocate
        run()
    for _ in range(repeats):
        for name, run in contenders.items():
            began = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - began)
    return best
