"""Conjugate gradients for proximal steps without a closed form, and power iteration for the norm of an operator."""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
import scipy.fft

from plugplay.arrays.strips import share_out, strips
from plugplay.arrays.sums import dot

if TYPE_CHECKING:
    from collections.abc import Callable

    from plugplay.arrays.checks import FloatArray

__all__ = ["Solution", "Start", "StepLog", "conjugate_gradients", "largest_eigenvalue", "measured"]

Measured: TypeAlias = "Callable[[FloatArray], tuple[FloatArray, float]]"

MAX_ITERATIONS = 2000
# If the residual has not halved in this many iterations, it never will: rounding errors dominate.
STALLED = 250
# The residual is updated, not computed; after this many updates it is computed once, to check it.
FAITHFUL = 20
# Number of elements that are processed at a time: enough to be worth a call.
PIECE = 1 << 17
# Number of elements from which on threads save more time than it takes to wake them.
WORTH_SHARING = 1 << 19
POWER_STEPS = 30
# Power iteration approaches the largest eigenvalue from below.
POWER_MARGIN = 1.05


@dataclass(frozen=True, eq=False)
class Solution:
    """The solution found by an iterative solver.

    Attributes
    ----------
    w : array
        The solution.
    iterations : int
        Iterations taken.
    residual : float
        Norm of the residual relative to that of the right-hand side.
    converged : bool
        Whether the residual is as small as requested.
    left : array
        The residual itself, ``rhs - A w``.
    """

    w: FloatArray
    iterations: int
    residual: float
    converged: bool
    left: FloatArray


@dataclass(frozen=True, eq=False)
class Start:
    """The starting point of a solver; values that are not known are computed.

    Attributes
    ----------
    w : array, optional
        A guess of the solution.
    residual : array, optional
        The residual of the guess.
    size, norm : float
        The norms of the right-hand side and of the residual.
    """

    w: FloatArray | None = None
    residual: FloatArray | None = None
    size: float = math.nan
    norm: float = math.nan


def conjugate_gradients(
    system: Measured,
    rhs: FloatArray,
    *,
    start: Start | None = None,
    preconditioner: Measured | None = None,
    rtol: float,
    max_iter: int = MAX_ITERATIONS,
) -> Solution:
    """Solve ``A w = rhs`` for a symmetric positive definite A.

    Written out because library versions sum with BLAS, whose result depends on the number of threads.

    Parameters
    ----------
    system : callable
        Returns A w for a w, and the inner product of the two, which may be known by the way: see `measured`.
    rhs : array
        The right-hand side.
    start : Start, optional
        Where to start: by default at zero.
    preconditioner : callable, optional
        Returns an approximate inverse of A, applied to a w, and the inner product.
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
    >>> solution = conjugate_gradients(measured(lambda w: 2 * w), np.ones(3), rtol=1e-9)
    >>> solution.w, solution.converged
    (array([0.5, 0.5, 0.5]), True)
    """
    conditioned_by = preconditioner or measured(lambda w: w)
    w, residual, size, norm = _begun(system, rhs, start or Start())
    goal = rtol * size
    best, best_left, best_norm, best_at = w, residual, norm, 0
    milestone, milestone_at = norm, 0
    direction, energy = rhs, math.inf
    iterations = 0
    while norm > goal and iterations < max_iter and iterations - milestone_at < STALLED:
        previous = energy
        conditioned, energy = conditioned_by(residual)
        direction = conditioned if iterations == 0 else _sum(conditioned, energy / previous, direction)
        del conditioned
        applied, curvature = system(direction)
        if not curvature > 0:  # rounding errors have made the system indefinite
            break
        w, residual, norm = _advanced(w, residual, energy / curvature, direction, applied)
        del applied
        iterations += 1
        if norm < best_norm:
            best, best_left, best_norm, best_at = w, residual, norm, iterations
        if norm < milestone / 2:
            milestone, milestone_at = norm, iterations
    if best_at != iterations and norm > goal:
        w, residual, norm = best, best_left, best_norm
    if iterations > FAITHFUL:
        residual = rhs - system(w)[0]
        norm = norm_of(residual)
        goal *= 2
    return Solution(w, iterations, norm / size if size else 0.0, norm <= goal, residual)


def measured(operator: Callable[[FloatArray], FloatArray]) -> Measured:
    """Return an operator that also returns the inner product of its output with its input."""

    def applied(w: FloatArray) -> tuple[FloatArray, float]:
        made = operator(w)
        return made, _dot(w, made)

    return applied


def _begun(system: Measured, rhs: FloatArray, start: Start) -> tuple[FloatArray, FloatArray, float, float]:
    """Return a guess, its residual, and the norms of the right-hand side and of the residual."""
    size = norm_of(rhs) if math.isnan(start.size) else start.size
    residual, norm = start.residual, start.norm
    if start.w is not None and residual is None and start.w.any():
        residual, norm = rhs - system(start.w)[0], math.nan
    if start.w is not None and residual is not None:
        norm = norm_of(residual) if math.isnan(norm) else norm
        if norm <= size:
            return start.w, residual, size, norm
    # No guess, or one that is worse than none.
    return np.zeros_like(rhs), rhs, size, size


class Told(Protocol):
    """What a solver tells of a solution."""

    @property
    def residual(self) -> float:
        """Norm of the residual relative to that of the right-hand side."""
        ...

    @property
    def converged(self) -> bool:
        """Whether it is as small as was asked for."""
        ...


class StepLog:
    """A record of the iterative steps of one restoration, with a warning if some did not converge.

    Parameters
    ----------
    rtol : float
        The requested relative residual.
    """

    def __init__(self, rtol: float) -> None:
        self._rtol = rtol
        self._steps = self._failed = 0
        self._worst = 0.0

    def record(self, *solutions: Told) -> None:
        """Add one step, which may have taken several solutions, one for each channel."""
        self._steps += 1
        self._failed += not all(solution.converged for solution in solutions)
        self._worst = max(self._worst, *(solution.residual for solution in solutions))

    def warnings(self, cause: str) -> tuple[str, ...]:
        """Return what a user should know about the steps so far; `cause` says what may be behind it."""
        if not self._failed:
            return ()
        return (
            f"the conjugate gradients of {self._failed} of {self._steps} model steps stopped at a relative residual of "
            f"up to {self._worst:.1e} instead of {self._rtol:.0e}: {cause}",
        )


def largest_eigenvalue(system: Callable[[FloatArray], FloatArray], first: FloatArray) -> float:
    """Return the largest eigenvalue of a symmetric positive semidefinite system, approached from below.

    Parameters
    ----------
    system : callable
        The system, such as ``GᵀG``.
    first : array
        Where power iteration starts: anything random.

    Examples
    --------
    >>> import numpy as np
    >>> round(largest_eigenvalue(lambda x: np.array([1.0, 3.0]) * x, np.ones(2)), 6)
    3.0
    """
    x, value = first, 0.0
    for _ in range(POWER_STEPS):
        size = norm_of(x)
        if size == 0:
            break
        x = system(x / x.dtype.type(size))
        value = norm_of(x)
    return value


def norm_of(array: FloatArray) -> float:
    """Return the Euclidean norm."""
    return math.sqrt(_dot(array, array))


def _dot(a: FloatArray, b: FloatArray) -> float:
    """Return the sum of products."""
    one, other = a.reshape(-1), b.reshape(-1)
    return math.fsum(_in_pieces(lambda first, stop: dot(one[first:stop], other[first:stop]), one.size))


def _sum(a: FloatArray, factor: float, b: FloatArray) -> FloatArray:
    """Return ``a + factor * b`` in an array of its own."""
    result = np.empty(a.shape, np.result_type(a, b))
    one, other, out = a.reshape(-1), b.reshape(-1), result.reshape(-1)
    weight, combine = result.dtype.type(factor), _kernels().combine
    _in_pieces(lambda *span: combine(one, weight, other, out, *span), result.size)
    return result


def _advanced(
    w: FloatArray, residual: FloatArray, length: float, direction: FloatArray, applied: FloatArray
) -> tuple[FloatArray, FloatArray, float]:
    """Return ``w + length * direction``, ``residual - length * applied`` and the norm of the latter."""
    moved, left = np.empty(w.shape, w.dtype), np.empty(w.shape, residual.dtype)
    start, before, along, seen, to, off = (
        vector.reshape(-1) for vector in (w, residual, direction, applied, moved, left)
    )
    step, advance = moved.dtype.type(length), _kernels().advance
    squares = _in_pieces(lambda *span: advance(start, before, step, along, seen, to, off, *span), moved.size)
    return moved, left, math.sqrt(math.fsum(squares))


def _in_pieces(task: Callable[[int, int], Any], size: int) -> list[Any]:
    """Return ``task(first, stop)`` for pieces of so many elements, done by as many threads as `scipy.fft` has."""
    return share_out(task, strips(size, PIECE), scipy.fft.get_workers() if size >= WORTH_SHARING else 1)


def _kernels() -> ModuleType:
    """Return the kernels, which are imported with Numba when there is something to compute."""
    from plugplay.models import solver_kernels

    return solver_kernels
