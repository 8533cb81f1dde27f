r"""The law of one jot: it fires if at least q photons arrive, and photons arrive with a Poisson rate s.

.. math::

    P(s) = \Pr(Z \ge q) = \frac{1}{(q-1)!} \int_0^s t^{q-1} e^{-t}\, dt, \qquad Q = 1 - P, \qquad
    p(s) = P'(s) = \frac{s^{q-1} e^{-s}}{(q-1)!}.

For q = 1 this is :math:`P = 1 - e^{-s}`. Both :math:`-\log P` and :math:`-\log Q` are convex in s, so the
likelihood of any counts of ones and zeros has one minimum, and so has the proximal step, which `solve_rate` finds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from scipy import special

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "minus_log_one",
    "minus_log_zero",
    "most_likely_rate",
    "probability_of_one",
    "slope_one",
    "slope_zero",
    "solve_rate",
]

Rates: TypeAlias = "NDArray[np.float64]"

# Below this probability P is taken from its leading term s^q / q!, because it underflows.
_TINY = 1e-290
_MAX_NEWTON = 200
# Newton's method converges quadratically: after a step this small, relative to s, there is nothing left to gain.
_STEP_TOLERANCE = 1e-10
_ROUNDING = 1e-16
# Pixels solved together: few enough for everything about them to stay in the cache.
_CHUNK = 16384


def probability_of_one(s: Rates, q: int) -> Rates:
    """Return P(s), the probability that a jot fires."""
    return -np.expm1(-s) if q == 1 else _as_array(special.gammainc(q, s))


def minus_log_one(s: Rates, q: int) -> Rates:
    """Return ``-log P(s)``; infinite at s = 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        p = probability_of_one(s, q)
        leading = q * np.log(s) - special.gammaln(q + 1) - s
        return -np.where(p > _TINY, np.log(p), leading)


def minus_log_zero(s: Rates, q: int) -> Rates:
    """Return ``-log Q(s)``, which is ``s - log(1 + s + ... + s^(q-1)/(q-1)!)``."""
    total = np.ones_like(s)
    for n in range(q - 1, 0, -1):
        total = 1 + total * s / n
    return s - np.log(total)


def slope_one(s: Rates, q: int) -> Rates:
    """Return ``-(-log P)' = p / P``, which falls from infinity at s = 0 (like q/s) to zero."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        if q == 1:
            return 1 / np.expm1(s)
        density = np.exp((q - 1) * np.log(s) - s - special.gammaln(q))
        return np.where(special.gammainc(q, s) > _TINY, density / special.gammainc(q, s), q / s)


def slope_zero(s: Rates, q: int) -> Rates:
    """Return ``(-log Q)' = p / Q``, which rises from 0 (1 for q = 1) to one.

    It is Erlang's loss formula for q - 1 servers, whose recursion has no cancellation.
    """
    ratio = np.ones_like(s)
    for n in range(1, q):
        ratio = s * ratio / (n + s * ratio)
    return ratio


def most_likely_rate(ones: Rates, trials: Rates, q: int) -> Rates:
    """Return the rate that makes the counts most likely, ``P⁻¹(ones / trials)``; infinite if all fired."""
    share = np.divide(ones, trials, out=np.zeros_like(ones), where=trials > 0)
    with np.errstate(divide="ignore"):
        return -np.log1p(-share) if q == 1 else _as_array(special.gammaincinv(q, share))


def solve_rate(ones: Rates, zeros: Rates, *, weight: float, target: Rates, floor: float, q: int) -> Rates:
    r"""Take the proximal step of the likelihood: minimise for every pixel, over :math:`s \ge` `floor`.

    .. math:: -K_1 \log P(s) - K_0 \log Q(s) + \tfrac{w}{2} (s - t)^2.

    The slope :math:`K_0\, p/Q - K_1\, p/P + w (s - t)` increases, so its root is bracketed and found by Newton's
    method, with bisection where Newton leaves the bracket. For q = 1 the slope is concave and the first guess lies
    below the root, whence Newton ascends to it without ever leaving.

    Parameters
    ----------
    ones, zeros : 1-D arrays
        The counts K1 and K0.
    weight : float
        w > 0.
    target : 1-D array
        t.
    floor : float
        The lowest rate, that of an unlit jot.
    q : int
        Threshold.

    Returns
    -------
    1-D array
        The minimisers.
    """
    rate = np.empty_like(target)
    for first in range(0, target.size, _CHUNK):
        part = slice(first, first + _CHUNK)
        rate[part] = _solve_chunk(ones[part], zeros[part], weight, target[part], floor, q)
    return rate


def _solve_chunk(ones: Rates, zeros: Rates, weight: float, target: Rates, floor: float, q: int) -> Rates:
    # p/P <= q/s everywhere and p/Q >= 0: the root of w s² - w t s - q K1 is not below the root sought.
    high = np.maximum(_positive_root(-target, q * ones / weight), floor)
    # p/P is about q/s - q/(q+1) and p/Q at most 1; for q = 1 both are bounds from the safe side.
    b = (zeros + ones * (q / (q + 1))) / weight - target
    rate = np.clip(_positive_root(b, q * ones / weight), floor, high)
    low = np.full_like(rate, floor)

    lowest = _slope(low, ones, zeros, weight, target, q)[0]
    rate[lowest >= 0] = floor
    active = np.flatnonzero(lowest < 0)
    for _ in range(_MAX_NEWTON):
        if active.size == 0:
            break
        s, t = rate[active], target[active]
        slope, curvature = _slope(s, ones[active], zeros[active], weight, t, q)
        below = slope < 0
        bottom = low[active] = np.where(below, s, low[active])
        top = high[active] = np.where(below, high[active], s)
        moved = s - slope / curvature
        inside = (moved >= bottom) & (moved <= top)  # not so if the curvature is not finite
        moved = rate[active] = np.where(inside, moved, 0.5 * (bottom + top))
        active = active[np.abs(moved - s) > _STEP_TOLERANCE * moved + _ROUNDING * np.abs(t)]
    return rate


def _slope(s: Rates, ones: Rates, zeros: Rates, weight: float, target: Rates, q: int) -> tuple[Rates, Rates]:
    """Return the slope of the objective of `solve_rate` and the slope of the slope."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        zero = slope_zero(s, q)
        one = slope_one(s, q)
        relative = (q - 1) / s - 1  # p'/p
        fired = np.where(ones > 0, ones * one, 0.0)
        slope = zeros * zero - fired + weight * (s - target)
        curvature = np.where(ones > 0, fired * (one - relative), 0.0) + weight
        if q > 1:  # for q = 1 the zeros contribute a straight line
            curvature = curvature + zeros * zero * (relative + zero)
    return slope, curvature


def _positive_root(b: Rates, c: Rates) -> Rates:
    """Return the root of ``s² + b s - c`` that is not negative, without cancellation; c >= 0."""
    spread = np.hypot(0.5 * b, np.sqrt(c))
    with np.errstate(divide="ignore", invalid="ignore"):
        small = np.where(c > 0, c / (0.5 * b + spread), 0.0)
    return np.where(b > 0, small, spread - 0.5 * b)


def _as_array(value: Any) -> Rates:
    return np.asarray(value, dtype=np.float64)
