r"""Algorithm 1: Plug-and-Play ADMM with a continuation scheme.

.. math::

    x_{k+1} &= \arg\min_x f(x) + \tfrac{\rho_k}{2} \|x - (v_k - u_k)\|^2 \\
    v_{k+1} &= D_{\sigma_k}(x_{k+1} + u_k), \qquad \sigma_k = \sqrt{\lambda / \rho_k} \\
    u_{k+1} &= u_k + x_{k+1} - v_{k+1} \\
    \rho_{k+1} &= \text{schedule}(\rho_k, \Delta_{k+1}, \Delta_k)

until :math:`\Delta_{k+1} = (\|x_{k+1} - x_k\| + \|v_{k+1} - v_k\| + \|u_{k+1} - u_k\|) / \sqrt n \le` tol.

The first three lines are `ADMM.step`; the schedule and the stopping rule are the driver's (`plugplay.pnp.driver`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from plugplay.arrays.checks import (
    FloatArray,
    check_choice,
    check_integer,
    check_interval,
    check_number,
    check_same_shape,
    numeric_array,
)
from plugplay.denoisers.base import Denoiser, name_of
from plugplay.metrics import psnr
from plugplay.pnp.driver import Driver
from plugplay.pnp.iterations import Pass, Problem, check_bounded, check_sizes, first_state, rms, rms_difference
from plugplay.pnp.results import Parameters, Result
from plugplay.pnp.state import State

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from plugplay.models.base import DataTerm
    from plugplay.pnp.schedules import Schedule

__all__ = ["ADMM", "pnp_admm"]


@dataclass(frozen=True)
class ADMM:
    """One pass of Algorithm 1."""

    name: ClassVar[str] = "admm"

    def init(self, first: FloatArray, rho: float) -> State:
        """Begin with x = v = first and u = 0."""
        return first_state(first, rho)

    def step(self, problem: Problem, state: State) -> Pass:
        """Do one pass."""
        target = state.v - state.u
        x = problem.prox(target, state.rho)
        fidelity = problem.known_fidelity()
        w = x + state.u
        check_bounded(x, w)
        noisy = problem.clipped(w)
        model_move, clip_move = rms_difference(x, target), rms_difference(w, noisy)
        del target, w  # frees memory for the denoiser
        v = problem.denoise(noisy, problem.sigma(state.rho))
        denoiser_move = rms_difference(v, noisy)
        del noisy
        u = x + state.u
        u -= v
        dual = rms(u)
        check_sizes(rms(v), dual)
        return Pass(
            x, v, u,
            model_move=model_move, denoiser_move=denoiser_move, clip_move=clip_move, dual=dual, fidelity=fidelity,
        )  # fmt: skip

    def image(self, state: State) -> FloatArray:
        """Return v."""
        return state.v


def pnp_admm(
    data_term: DataTerm,
    denoiser: Denoiser,
    *,
    schedule: Schedule,
    lam: float,
    tol: float = 1e-3,
    max_iter: int = 100,
    start: ArrayLike | State | None = None,
    stop_rule: Literal["sum", "max"] = "sum",
    clip: tuple[float, float] | None = (0.0, 1.0),
    reference: ArrayLike | None = None,
    callback: Callable[[State], object] | None = None,
) -> Result:
    """Run Algorithm 1 with given parameters; none is chosen automatically.

    Parameters
    ----------
    data_term : DataTerm
        f, from ``model.data_term(y)``.
    denoiser : callable
        ``(image, sigma) -> image``. If it has a ``session()``, a new session is used for this run.
    schedule : Schedule
        `Constant`, `Monotone`, `TwoSpeed` or `Adaptive`.
    lam : float
        Lambda, the weight of the prior.
    tol : float
        Tolerance of the stopping rule.
    max_iter : int
        Limit of the number of iterations, those of a resumed state included.
    start : array or State, optional
        The first x and v (u is then 0), or a state to continue from. Default ``data_term.start()``.
    stop_rule : {"sum", "max"}
        Stop when the sum of the RMS changes of x, v and u is at most `tol`, or when the largest is at most
        ``tol / 3``.
    clip : (low, high) or None
        The denoiser's input is clipped to this range; u is updated with the unclipped values.
    reference : array, optional
        The true image, for the PSNR in the history.
    callback : callable, optional
        Called with the `State` after every iteration; it may raise ``StopIteration`` to end the run.

    Returns
    -------
    Result
        The image is the v of the last iteration, cropped to the frame.

    Examples
    --------
    >>> import numpy as np, plugplay as pp
    >>> term = pp.models.Denoising().data_term(np.eye(8))
    >>> shrink = lambda image, sigma: image / (1 + sigma)
    >>> result = pp.pnp_admm(term, shrink, schedule=pp.Monotone(rho0=1.0, gamma=2.0), lam=1e-2)
    >>> result.status.name
    'CONVERGED'
    """
    parameters = Parameters(
        denoiser=name_of(denoiser),
        prepared=denoiser,
        schedule=schedule,
        lam=check_number(lam, "lam", above=0),
        tol=check_number(tol, "tol", minimum=0),
        max_iter=check_integer(max_iter, "max_iter", minimum=0),
        stop_rule=check_choice(stop_rule, "stop_rule", ("sum", "max")),
        clip=None if clip is None else check_interval(clip, "clip"),
    )
    driver = Driver(data_term, denoiser, ADMM(), parameters, start=start, quality=_quality(reference))
    if reference is not None:
        check_same_shape(np.asarray(reference), driver.state.image.shape, "reference", "the restored image")
    return driver.run(callback=callback)


def _quality(reference: ArrayLike | None) -> Callable[[FloatArray], float] | None:
    if reference is None:
        return None
    truth = numeric_array(reference, "reference")
    return lambda image: psnr(image, truth)
