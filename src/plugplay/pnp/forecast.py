"""How long a restoration will still take: how many iterations there are, and how long each of them takes.

**Iterations.** Where schedule and tolerance are chosen, the number of iterations is planned before the first
(`plugplay.tuning.length`), and only a run that has not come to rest by then goes on. Where the tolerance is given, a
run ends when delta, the change per iteration, reaches it. By the theorem delta is bounded by a multiple of sigma, and
sigma falls evenly: near the end, delta falls as sigma does from where it is. Far from it delta jumps about, and what
counts is how large it is in the end, relative to sigma and to the step by which sigma falls: about 1.3 with noise in
the data and 2.6 without. The forecast goes from one to the other.

**Seconds.** Calls of a denoiser take longer where it has more stages or looks for groups anew, which it knows
beforehand (``efforts``, see `plugplay.denoisers.base`). The last iterations tell how long a unit of that work takes.

A run that begins on a coarser grid (`plugplay.levels`) is foretold in two parts: an iteration with four times as many
pixels takes four times as long. A run that is repeated with other noise (`plugplay.tuning.watch`) cannot be foreseen;
it has a forecast of its own, and says that it is another.

From the fourth iteration on, the iterations left are right within 30 % or one iteration in all cases of deblurring,
super-resolution and filling holes (``python benchmarks/lengths.py``: 18 images, of which six had no say, and 20
problems). Where runs end at a tolerance it is 85, 78 and 70 % of cases on these six, and 83, 88 and 66 % on the others.
The seconds left were 0.74 to 1.21 of the true ones while more than one was left (``python benchmarks/progress.py
--cpu``: ten restorations of half a megapixel), and 0.78 to 1.25 with two images that had no say (``--others``), both
with ``OPENBLAS_NUM_THREADS=1``. On the clock they are as good as the machine is even: what others take from the
processor, and threads of BLAS that wait for each other while it is busy, are not foreseen.
"""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING

from plugplay.denoisers.base import efforts_of
from plugplay.pnp.driver import COARSE_FACTOR, COARSE_TOLERANCE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from plugplay.pnp.results import Parameters
    from plugplay.pnp.state import History, State

__all__ = ["iterations_left", "last_ratio", "remaining_iterations", "seconds_left"]

# delta / sigma where runs end, for each unit by which the logarithm of sigma falls in an iteration: with noise in the
# data, without, and on a coarse grid.
LAST_RATIO, EXACT_LAST_RATIO, COARSE_LAST_RATIO = 1.3, 2.6, 2.3
# The root of lambda, about as large as the noise, below which there is none.
EXACT = 0.003
# How many iterations make a trend where sigma does not fall, and how many the time of the next.
TREND = 8
RECENT = 6
# The first ones, which have to set things up, do not count.
UNTYPICAL = 2
# A smaller fall of the logarithm of sigma is none.
MIN_FALL = 1e-6
# What an iteration takes beside the denoiser, relative to a call of it.
MODEL_WORK = 0.1
# What looking at the result takes, in the same units: none where holes are filled, one after a deblurring.
LAST_WORK = 1.1
# Of a planned run, what delta is now does not count before so many iterations are left.
SURE = 3
# What delta is now counts for half when it is so many powers of e above the tolerance.
NEAR = 1.0


def seconds_left(state: State, parameters: Parameters) -> float:
    """Return the seconds that a run will still take, after an iteration."""
    history = state.history
    level = int(history.level[-1])
    here = history.at_level(level)
    sigma, seconds = here.sigma.tolist(), here.seconds.tolist()
    colour = state.image.ndim == 3 and state.image.shape[2] == 3
    left = _left_here(state, parameters)
    work = _work([*sigma, *_next_sigmas(sigma, math.ceil(left), level, parameters)], parameters, colour)
    done = len(sigma)
    unit = _unit(seconds, work[:done])
    if done <= RECENT and len(history) > done:  # the first iterations on a grid tell less than those on the one before
        before = history.at_level(level + 1)
        coarse = COARSE_FACTOR**2 * _unit(before.seconds.tolist(), _work(before.sigma.tolist(), parameters, colour))
        unit = coarse + (unit - coarse) * (done - 1) / RECENT
    rest = math.fsum(work[done:]) - (math.ceil(left) - left) * work[-1]
    if level > 0:  # both grids begin with about the same sigma
        count = math.ceil(_full_length(sigma[0], parameters))
        step = math.exp(-_fall(parameters))
        rest += COARSE_FACTOR**2 * math.fsum(_work([sigma[0] * step**k for k in range(count)], parameters, colour))
    return unit * (rest + math.pow(COARSE_FACTOR, 2 * level) * LAST_WORK)


def remaining_iterations(state: State, parameters: Parameters) -> int:
    """Return about how many iterations a run will still need after this state, on all grids."""
    left = math.ceil(_left_here(state, parameters))
    if state.history.level[-1] > 0:
        left += math.ceil(_full_length(float(state.history.sigma[0]), parameters))
    return left


def iterations_left(
    delta: Sequence[float],
    sigma: Sequence[float],
    *,
    tol: float,
    max_iter: int,
    min_iter: int = 0,
    ratio: float = LAST_RATIO,
) -> float:
    """Return how many iterations a run will still need, given delta and sigma of those that are done.

    Parameters
    ----------
    delta, sigma : sequence of float
        The change in each iteration, and the strength of its denoiser.
    tol, max_iter, min_iter
        Where the run ends.
    ratio : float
        What delta is relative to sigma where runs end, for each unit by which the logarithm of sigma falls.

    Examples
    --------
    >>> sigma = [0.2 / 1.15**k for k in range(10)]
    >>> round(iterations_left([0.2 * s for s in sigma], sigma, tol=1e-3, max_iter=40))
    17
    >>> iterations_left([0.2 * s for s in sigma], sigma, tol=1e-3, max_iter=40, min_iter=22)
    12
    """
    done = len(delta)
    rest = max(max_iter - done, 0)
    planned = min(min_iter - done, rest)
    if planned > SURE or (planned > 0 and (done < 2 or delta[-1] <= tol)):
        return planned
    if tol <= 0 or done < 2 or delta[-1] <= tol:
        return rest if tol <= 0 or done < 2 else 0
    fall = math.log(sigma[-2] / sigma[-1])
    if fall <= MIN_FALL:
        trend = _by_trend(delta[-TREND - 1 :], tol)
        return rest if trend is None else min(max(trend, 1.0), rest)
    distance = math.log(delta[-1] / tol)
    near = 1.0 if min_iter else 1 / (1 + (distance / NEAR) ** 2)
    left = near * distance / fall + (1 - near) * _by_sigma(sigma[-1], fall, tol, ratio)
    return min(max(left, planned, 1.0), rest)


def _left_here(state: State, parameters: Parameters) -> float:
    """Return the iterations that are left on the grid of a state."""
    history = state.history
    level = int(history.level[-1])
    here = history.at_level(level)
    delta, sigma = here.delta.tolist(), here.sigma.tolist()
    if len(sigma) == 1 and len(history) > 1 and not state.planned:  # its delta tells nothing
        return max(_full_length(sigma[0], parameters) - 1.0, 0.0)
    tol, ratio = parameters.tol, last_ratio(history)
    if level > 0:
        tol, ratio = COARSE_TOLERANCE * tol, COARSE_LAST_RATIO
    return iterations_left(delta, sigma, tol=tol, max_iter=parameters.max_iter, min_iter=state.planned, ratio=ratio)


def last_ratio(history: History) -> float:
    """Return delta / sigma where runs with a given tolerance end, for each unit by which log sigma falls."""
    exact = math.sqrt(history.rho[-1]) * history.sigma[-1] < EXACT
    return EXACT_LAST_RATIO if exact else LAST_RATIO


def _full_length(first_sigma: float, parameters: Parameters) -> float:
    """Return about how many iterations the run on the full grid needs in all."""
    if parameters.min_iter:
        return parameters.min_iter
    fall = _fall(parameters)
    if fall <= MIN_FALL or parameters.tol <= 0:
        return parameters.max_iter
    return min(_by_sigma(first_sigma, fall, parameters.tol, LAST_RATIO) + 1.0, parameters.max_iter)


def _next_sigmas(sigma: Sequence[float], count: int, level: int, parameters: Parameters) -> list[float]:
    """Return the sigmas of the iterations to come: those of the schedule, or, on a coarse grid, as they fell so far."""
    if level > 0 and len(sigma) > 1:
        return [sigma[-1] * (sigma[-1] / sigma[-2]) ** k for k in range(1, count + 1)]
    rho, found = parameters.lam / sigma[-1] ** 2, []
    for _ in range(count):
        rho = parameters.schedule.next_rho(rho, delta=1.0, previous_delta=None)
        found.append(math.sqrt(parameters.lam / rho))
    return found


def _unit(seconds: Sequence[float], work: Sequence[float]) -> float:
    """Return the seconds for each unit of work: the median of the last iterations, as any may be held up."""
    done = len(seconds)
    recent = max(min(UNTYPICAL, done - 1), done - RECENT)
    return statistics.median(took / effort for took, effort in zip(seconds[recent:], work[recent:], strict=True))


def _work(sigma: Sequence[float], parameters: Parameters, colour: bool) -> list[float]:
    """Return the work of iterations with these sigmas, from the first on: that of the denoiser, and of the model."""
    return [MODEL_WORK + effort for effort in efforts_of(parameters.prepared, sigma, colour=colour)]


def _fall(parameters: Parameters) -> float:
    """Return by how much the logarithm of sigma falls in the first iteration."""
    schedule = parameters.schedule
    return math.log(schedule.next_rho(schedule.rho0, delta=1.0, previous_delta=None) / schedule.rho0) / 2


def _by_sigma(sigma: float, fall: float, tol: float, ratio: float) -> float:
    """Return the iterations until sigma is where runs end; below zero if it is beyond that."""
    return math.log(ratio * fall * sigma / tol) / fall


def _by_trend(delta: Sequence[float], tol: float) -> float | None:
    """Return the iterations until the straight line through log delta reaches the tolerance; None if it rises."""
    logs = [math.log(max(value, 1e-300)) for value in delta]
    count = len(logs)
    line = statistics.linear_regression(range(count), logs)
    if line.slope > -1e-3:
        return None
    return max((line.intercept + line.slope * (count - 1) - math.log(tol)) / -line.slope, 0.0)
