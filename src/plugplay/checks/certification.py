"""`certify`: whether a run behaved as Theorem 1 says, and whether the theorem is about it at all."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, cast

import numpy as np

from plugplay.arrays.checks import check_number, check_same_shape, generator
from plugplay.checks.assumptions import bounded_denoiser, bounded_gradient, growing_rho
from plugplay.checks.boundedness import Boundedness, boundedness
from plugplay.checks.bounds import FIRST_DELTA, FIRST_DUAL, Bounds, exponent, measured_constants
from plugplay.checks.certificate import Certificate
from plugplay.checks.denoiser_report import DenoiserReport
from plugplay.checks.probe import DenoiserFailedError, Probe
from plugplay.checks.report import Check
from plugplay.denoisers.base import Denoiser, name_of
from plugplay.pnp.schedules import Monotone, TwoSpeed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay.models.base import DataTerm
    from plugplay.pnp.results import Result
    from plugplay.pnp.schedules import Schedule
    from plugplay.pnp.state import History

__all__ = ["certify"]

# The search for C that a bare denoiser gets; a `DenoiserReport` brings a longer one.
SIZE, STEPS = 32, 5
# A "constant" that grows faster than this power of rho is none. Below it L leaves |x - (v - u)| of the order of
# 1/sqrt(rho), as the theorem needs; the C of a denoiser that does not tend to the identity grows like rho itself.
GROWTH = 0.5


def certify(
    result: Result,
    data_term: DataTerm,
    denoiser: Denoiser | str | DenoiserReport | None = None,
    *,
    constant: float | None = None,
    rng: np.random.Generator | int = 0,
) -> Certificate:
    """Check the bounds behind Theorem 1 on the recorded iterates of a run, and the theorem's assumptions.

    The bounds and their constants are derived in `plugplay.checks.bounds`. With L and C measured on the run they
    are consequences of the algorithm, so that a violation means a broken record or a broken step; what can fail in an
    honest run is that the "constants" are none, and grow with rho. With a `constant` known beforehand they are a test
    of the denoiser.

    Parameters
    ----------
    result : Result
        What `plugplay.restore` or `plugplay.pnp_admm` returned.
    data_term : DataTerm
        f, on the scale [0, 1]: ``result.parameters.model.data_term(y)``.
    denoiser : callable, str or DenoiserReport, optional
        The denoiser of the run, which is tried on about 200 small images; by default, or by its name, as it was fitted
        to the problem. Or what `plugplay.check_denoiser` said
        about it.
    constant : float, optional
        C of Definition 1, if it is known. Default: the largest value on the run.
    rng : numpy.random.Generator or int
        Source of the images.

    Returns
    -------
    Certificate
        ``print(certificate)``; ``certificate.behaved`` and ``certificate.covered``.

    Examples
    --------
    >>> import numpy as np, plugplay as pp
    >>> term = pp.models.Denoising().data_term(np.eye(8))
    >>> shrink = lambda image, sigma: image / (1 + sigma)
    >>> result = pp.pnp_admm(term, shrink, schedule=pp.Monotone(rho0=1.0, gamma=2.0), lam=1e-2)
    >>> certificate = pp.certify(result, term, shrink)
    >>> certificate.behaved, certificate.covered
    (True, True)
    """
    if result.parameters.iteration != "admm":
        raise ValueError(
            f"Theorem 1 is about Plug-and-Play ADMM, but the run was made with the iteration "
            f"{result.parameters.iteration!r}"
        )
    if denoiser is None:
        denoiser = result.parameters.denoiser
    _check_belongs(result, data_term, denoiser)
    if isinstance(denoiser, str):  # the one that ran, not another of that name
        denoiser = cast("Denoiser", result.parameters.prepared)
    # Iterations on a coarser grid have led to the first guess, of which nothing is assumed.
    history, schedule = result.history.at_level(0), result.parameters.schedule
    known = None if constant is None else check_number(constant, "constant", minimum=0)
    found = _searched(denoiser, generator(rng, "certify"))
    rounding = 8 * float(np.finfo(result.state.x.dtype).eps)
    c, slopes = measured_constants(history, rounding)
    bounds = Bounds(
        lam=float(history.rho[0] * history.sigma[0] ** 2),  # on the scale of the iterates
        constant=_largest(c) if known is None else known,
        slope=_largest(slopes),
        rho=history.rho,
    )
    checks = (
        _denoiser_check(history, bounds, c, found, known, rounding),
        _model_check(history, slopes),
        _below(
            "|u| <= L/rho + sqrt(lambda C) (1/sqrt(rho) + 1/sqrt(previous rho))",
            history.dual[FIRST_DUAL:],
            bounds.dual,
            FIRST_DUAL,
            rounding,
        ),
        _below(
            "delta <= C'/sqrt(rho)",
            history.delta[FIRST_DELTA:],
            np.minimum(bounds.delta, bounds.c_prime / np.sqrt(history.rho[FIRST_DELTA:])),
            FIRST_DELTA,
            rounding,
        ),
    )
    return Certificate(
        iteration=result.parameters.iteration,
        rule=type(schedule).__name__,
        status=result.status,
        constant=bounds.constant,
        slope=bounds.slope,
        c_prime=bounds.c_prime,
        largest=_largest((history.delta * np.sqrt(history.rho))[FIRST_DELTA:]),
        rate=_rate(history),
        promised_rate=_promised_rate(schedule, history),
        bounds=checks,
        assumptions=(bounded_gradient(data_term), bounded_denoiser(found), growing_rho(schedule)),
    )


def _check_belongs(result: Result, data_term: DataTerm, denoiser: Denoiser | str | DenoiserReport) -> None:
    """Refuse a data term or a denoiser that the run was not made with."""
    if len(result.history) == 0:
        raise ValueError("the run has no iterations, so there is nothing to certify")
    check_same_shape(result.state.x, tuple(data_term.shape), "the run's x", "the unknown image of data_term")
    then, now = result.history.fidelity[-1], data_term.value(result.state.x)
    if not (then == now or math.isclose(then, now, rel_tol=1e-3, abs_tol=1e-9)):
        raise ValueError(f"data_term is not that of the run: f(x) is {now:.6g} with it and was {then:.6g}")
    name = (
        denoiser
        if isinstance(denoiser, str)
        else denoiser.name
        if isinstance(denoiser, DenoiserReport)
        else name_of(denoiser)
    )
    if name != result.parameters.denoiser:
        raise ValueError(f"the run was made with the denoiser {result.parameters.denoiser!r}, not with {name!r}")


def _searched(denoiser: Denoiser | DenoiserReport, rng: np.random.Generator) -> Boundedness | None:
    if isinstance(denoiser, DenoiserReport):
        return denoiser.boundedness
    probe = Probe(denoiser)
    try:
        return boundedness(probe, size=SIZE, steps=STEPS, rng=rng)
    except DenoiserFailedError:
        return None


def _denoiser_check(
    history: History,
    bounds: Bounds,
    c: NDArray[np.float64],
    found: Boundedness | None,
    known: float | None,
    rounding: float,
) -> Check:
    name = "|D(w) - w| <= sqrt(C) sigma"
    if known is not None:
        return _below(name, history.denoiser_move, bounds.denoiser_move, 0, rounding)
    growth = exponent(history.rho, c)
    # A transient may look like growth, but ends below what the search has found for all sigmas.
    grows = growth > GROWTH and not (found is not None and found.bounded and bounds.constant <= 2 * found.constant)
    trend = "" if math.isnan(growth) else f", and goes like rho^{growth:.2f} at the end"
    return Check(name, not grows, f"with C = {bounds.constant:.3g}, the largest on the run{trend}")


def _model_check(history: History, slopes: NDArray[np.float64]) -> Check:
    growth = exponent(history.rho, slopes)
    trend = "" if math.isnan(growth) else f", and goes like rho^{growth:.2f} at the end"
    detail = f"with L = {_largest(slopes):.3g}, the largest on the run{trend}"
    return Check("|x - (v - u)| <= L/rho", not growth > GROWTH, detail)


def _below(name: str, values: NDArray[np.float64], limits: NDArray[np.float64], first: int, rounding: float) -> Check:
    if values.size == 0:
        return Check(name, True, "the run is too short for it")
    # Norms of what is left of single or double precision do not fall with rho.
    allowed = limits * (1 + 1e-9) + rounding
    share = values / allowed
    worst = int(share.argmax())
    detail = f"at most {share[worst]:.2g} of the bound, at iteration {first + worst + 1}"
    return Check(name, bool(share[worst] <= 1), detail)


def _largest(values: NDArray[np.float64]) -> float:
    known = values[np.isfinite(values)]
    return float(known.max(initial=0.0))


def _rate(history: History) -> float:
    """Fit the factor per iteration to the second half of the run."""
    tail = history.delta[len(history) // 2 :]
    if len(history) < 8 or not (tail > 0).all():
        return math.nan
    return float(np.exp(np.polyfit(np.arange(tail.size), np.log(tail), 1)[0]))


def _promised_rate(schedule: Schedule, history: History) -> float:
    """Return ``1/sqrt(gamma)`` if rho grew at least as the monotone rule says; in a resumed run it may not have."""
    if not isinstance(schedule, Monotone | TwoSpeed) or schedule.gamma <= 1:
        return math.nan
    followed = (history.rho[1:] >= (1 - 1e-6) * schedule.gamma * history.rho[:-1]).all()
    return 1 / math.sqrt(schedule.gamma) if followed else math.nan
