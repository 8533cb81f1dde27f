"""Conjugate gradients, for proximal steps without a closed form."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from plugplay.arrays.checks import FloatArray

__all__ = ["Solution", "conjugate_gradients"]

MAX_ITERATIONS = 2000
# Residuals that have not halved in this many iterations never will: rounding errors have the upper hand.
STALLED = 250
# The residual is updated, not computed; after so many updates it is computed once, to see whether it is still true.
FAITHFUL = 20


@dataclass(frozen=True, eq=False)
class Solution:
    """What an iterative solver found.

    Attributes
    ----------
    w : array
        The solution.
    iterations : int
        Iterations taken.
    residual : float
        Norm of the residual relative to that of the right-hand side.
    converged : bool
        Whether the residual is as small as was asked for.
    """

    w: FloatArray
    iterations: int
    residual: float
    converged: bool


def conjugate_gradients(
    system: Callable[[FloatArray], FloatArray],
    rhs: FloatArray,
    *,
    guess: FloatArray,
    preconditioner: Callable[[FloatArray], FloatArray],
    rtol: float,
    max_iter: int = MAX_ITERATIONS,
) -> Solution:
    """Solve ``system(w) = rhs`` for a symmetric positive definite system.

    Written out because library versions sum with BLAS, whose result depends on the number of threads.

    Parameters
    ----------
    system, preconditioner : callable
        The system, and an approximate inverse of it.
    rhs : array
        The right-hand side.
    guess : array
        Where to start.
    rtol : float
        Stop when the norm of the residual, relative to that of `rhs`, is at most this.
    max_iter : int
        Limit of iterations.

    Returns
    -------
    Solution
        The iterate with the smallest residual.

    Examples
    --------
    >>> import numpy as np
    >>> solution = conjugate_gradients(
    ...     lambda w: 2 * w, np.ones(3), guess=np.zeros(3), preconditioner=lambda w: w, rtol=1e-9)
    >>> solution.w, solution.converged
    (array([0.5, 0.5, 0.5]), True)
    """
    size = math.sqrt(_dot(rhs, rhs))
    goal = rtol * size
    w = guess
    residual = rhs - system(w) if guess.any() else rhs
    norm = math.sqrt(_dot(residual, residual))
    if norm > size:  # a guess worse than none
        w, residual, norm = np.zeros_like(rhs), rhs, size
    best, best_norm, best_at = w, norm, 0
    milestone, milestone_at = norm, 0
    direction = np.zeros_like(rhs)
    energy = math.inf
    iterations = 0
    while norm > goal and iterations < max_iter and iterations - milestone_at < STALLED:
        conditioned = preconditioner(residual)
        previous, energy = energy, _dot(residual, conditioned)
        direction = conditioned + (energy / previous) * direction
        applied = system(direction)
        curvature = _dot(direction, applied)
        if not curvature > 0:  # rounding errors have made the system indefinite
            break
        length = energy / curvature
        w = w + length * direction
        residual = residual - length * applied
        norm = math.sqrt(_dot(residual, residual))
        iterations += 1
        if norm < best_norm:
            best, best_norm, best_at = w, norm, iterations
        if norm < milestone / 2:
            milestone, milestone_at = norm, iterations
    if best_at != iterations and norm > goal:
        w, norm = best, best_norm
    if iterations > FAITHFUL:
        residual = rhs - system(w)
        norm = math.sqrt(_dot(residual, residual))
        goal *= 2
    return Solution(w, iterations, norm / size if size else 0.0, norm <= goal)


def _dot(a: FloatArray, b: FloatArray) -> float:
    return float(np.sum(a * b, dtype=np.float64))
