"""Proximal steps of data terms that are no squares, by steps of squares that are close to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from plugplay.arrays.checks import FloatArray

__all__ = ["minimised"]

# It ends when the objective falls by less than this share, or after so many steps and halvings.
MIN_DECREASE = 1e-13
MAX_STEPS, MAX_HALVINGS = 100, 40


def minimised(
    objective: Callable[[FloatArray], float],
    towards: Callable[[FloatArray], FloatArray],
    start: FloatArray,
    *,
    min_decrease: float = MIN_DECREASE,
) -> FloatArray:
    """Return where an objective no longer falls, stepping from `start`.

    Parameters
    ----------
    objective : callable
        What is to be minimised.
    towards : callable
        Returns the minimiser of a square that touches the objective at its argument. Steps that go too far are halved.
    start : array
        Where to begin.
    min_decrease : float
        The relative decrease at which to stop.

    Examples
    --------
    >>> import numpy as np
    >>> quartic = minimised(lambda x: float(np.sum(x**4 - x)), lambda x: x - (4 * x**3 - 1) / 12, np.ones(1))
    >>> quartic.round(6)
    array([0.629961])
    """
    x, best = start, objective(start)
    for _ in range(MAX_STEPS):
        move = towards(x) - x
        for _ in range(MAX_HALVINGS):
            reached = objective(x + move)
            if reached <= best:
                break
            move = move / 2
        else:
            break
        x, fall, best = x + move, best - reached, reached
        if fall <= min_decrease * abs(best):
            break
    return x
