r"""Algorithm 1: Plug-and-Play ADMM with a continuation scheme.

.. math::

    x_{k+1} &= \arg\min_x f(x) + \tfrac{\rho_k}{2} \|x - (v_k - u_k)\|^2 \\
    v_{k+1} &= D_{\sigma_k}(x_{k+1} + u_k), \qquad \sigma_k = \sqrt{\lambda / \rho_k} \\
    u_{k+1} &= u_k + x_{k+1} - v_{k+1} \\
    \rho_{k+1} &= \text{schedule}(\rho_k, \Delta_{k+1}, \Delta_k)

until :math:`\Delta_{k+1} = (\|x_{k+1} - x_k\| + \|v_{k+1} - v_k\| + \|u_{k+1} - u_k\|) / \sqrt n \le` tol.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from plugplay.arrays.checks import (
    FloatArray,
    check_choice,
    check_integer,
    check_interval,
    check_number,
    check_same_shape,
    float_image,
    numeric_array,
)
from plugplay.denoisers.base import Denoiser, name_of, open_session
from plugplay.metrics import psnr
from plugplay.models.base import open_steps
from plugplay.pnp.results import History, Iteration, Parameters, Result, State, Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from plugplay.models.base import DataTerm, ProxSession
    from plugplay.pnp.schedules import Schedule

__all__ = ["pnp_admm"]

# Iterates live on the scale [0, 1]; one whose RMS is beyond this is on its way to infinity.
EXPLODED = 1e3
# Sums take this many elements at a time, so that large images need no copies in double precision.
_PIECE = 1 << 18


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
    """Run Algorithm 1; nothing is guessed.

    Parameters
    ----------
    data_term : DataTerm
        f, from ``model.data_term(y)``.
    denoiser : callable
        ``(image, sigma) -> image``. One that offers ``session()`` gets one for this run.
    schedule : Schedule
        `Constant`, `Monotone` or `Adaptive`.
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
        The denoiser's input is clipped to this range; u is updated with what was not clipped.
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
    _check_parts(data_term, denoiser, schedule, callback)
    parameters = Parameters(
        denoiser=name_of(denoiser),
        schedule=schedule,
        lam=check_number(lam, "lam", above=0),
        tol=check_number(tol, "tol", minimum=0),
        max_iter=check_integer(max_iter, "max_iter", minimum=0),
        stop_rule=check_choice(stop_rule, "stop_rule", ("sum", "max")),
        clip=None if clip is None else check_interval(clip, "clip"),
    )
    truth = None if reference is None else float_image(reference, "reference")
    state = _first_state(data_term, start, schedule)
    if truth is not None:
        check_same_shape(truth, data_term.crop(state.v).shape, "reference", "the restored image")
    loop = _Loop(data_term, open_steps(data_term), open_session(denoiser), parameters, truth)

    status = None
    iterations = state.history.iterations()
    while status is None:
        if iterations and _settled(iterations[-1], parameters):
            status = Status.CONVERGED
        elif state.iteration >= parameters.max_iter:
            status = Status.MAX_ITERATIONS
        else:
            following = loop.step(state, iterations)
            if following is None:
                status = Status.DIVERGED
                break
            state = following
            if callback is not None:
                try:
                    callback(state)
                except StopIteration:
                    status = Status.STOPPED
    return Result(state.image, status, state.history, parameters, state)


@dataclass(frozen=True)
class _Loop:
    """What stays the same from iteration to iteration."""

    data_term: DataTerm
    steps: ProxSession
    denoise: Denoiser
    parameters: Parameters
    reference: FloatArray | None

    def step(self, state: State, iterations: list[Iteration]) -> State | None:
        """Do one iteration and append its figures; return None if the iterates explode."""
        began = time.perf_counter()
        x0, v0, u0, rho = state.x, state.v, state.u, state.rho
        sigma = math.sqrt(self.parameters.lam / rho)

        target = v0 - u0
        x = np.array(self.steps.prox(target, rho))  # a copy: whoever made it may use its memory again
        w = x + u0
        if _exploded(x, w):
            return None
        noisy = w if self.parameters.clip is None else np.clip(w, *self.parameters.clip)
        v = self._denoised(noisy, sigma, state.iteration)
        u = w - v
        if _exploded(v, u):
            return None

        dx, dv, du = _rms(x - x0), _rms(v - v0), _rms(u - u0)
        delta = dx + dv + du
        image = self.data_term.crop(v)
        previous = iterations[-1].delta if iterations else None
        iterations.append(
            Iteration(
                rho=rho,
                sigma=sigma,
                delta=delta,
                dx=dx,
                dv=dv,
                du=du,
                fidelity=self.data_term.value(x),
                seconds=time.perf_counter() - began,
                model_move=_rms(x - target),
                denoiser_move=_rms(v - noisy),
                clip_move=_rms(w - noisy),
                dual=_rms(u),
                psnr=math.nan if self.reference is None else psnr(image, self.reference),
            )
        )
        for array in (x, v, u):
            array.setflags(write=False)
        rho = self.parameters.schedule.next_rho(rho, delta, previous)
        return State(state.iteration + 1, x, v, u, rho, History.of(iterations), image)

    def _denoised(self, noisy: FloatArray, sigma: float, iteration: int) -> FloatArray:
        """Call the denoiser and check what it returns, naming it and the iteration if it fails."""
        where = f"denoiser {self.parameters.denoiser!r} at iteration {iteration + 1} (sigma {sigma:.3g})"
        given = noisy.view()
        given.setflags(write=False)
        try:
            output = np.asarray(self.denoise(given, sigma))
        except Exception as error:
            kind = type(error) if type(error) in (ValueError, TypeError) else RuntimeError
            raise kind(f"{where} raised {type(error).__name__}: {error}") from error
        if output.dtype.kind != "f":
            raise TypeError(f"{where} returned an array of dtype {output.dtype}; floats are needed")
        if output.shape != noisy.shape:
            raise ValueError(f"{where} returned the shape {output.shape} for an image of shape {noisy.shape}")
        if not np.isfinite(output).all():
            raise ValueError(f"{where} returned NaN or infinite values for a finite image")
        with np.errstate(over="ignore"):  # too large for single precision: the caller sees it explode
            return output.astype(noisy.dtype, copy=True)


def _first_state(data_term: DataTerm, start: ArrayLike | State | None, schedule: Schedule) -> State:
    if isinstance(start, State):
        for name in ("x", "v", "u"):
            check_same_shape(getattr(start, name), tuple(data_term.shape), f"start.{name}", "the unknown image")
        return replace(start, image=data_term.crop(start.v))
    if start is None:
        first = float_image(data_term.start(), "data_term.start()")
    else:
        first = float_image(numeric_array(start, "start"), "start")
        check_same_shape(first, tuple(data_term.shape), "start", "the unknown image")
    first = first.copy()
    first.setflags(write=False)
    zero = np.zeros_like(first)
    zero.setflags(write=False)
    rho0 = check_number(schedule.rho0, "schedule.rho0", above=0)
    return State(0, first, first, zero, rho0, History.of([]), data_term.crop(first))


def _settled(last: Iteration, parameters: Parameters) -> bool:
    if parameters.stop_rule == "sum":
        return last.delta <= parameters.tol
    return max(last.dx, last.dv, last.du) <= parameters.tol / 3


def _exploded(*arrays: FloatArray) -> bool:
    return not all(_rms(array) <= EXPLODED for array in arrays)  # written so that NaN counts


def _rms(array: FloatArray) -> float:
    """Return the root mean square, summed in a fixed order whatever the number of threads, and a piece at a time."""
    values = array.ravel()
    pieces = (values[first : first + _PIECE] for first in range(0, values.size, _PIECE))
    with np.errstate(over="ignore"):
        return math.sqrt(sum(float(np.sum(np.square(piece, dtype=np.float64))) for piece in pieces) / values.size)


def _check_parts(data_term: object, denoiser: object, schedule: object, callback: object) -> None:
    if isinstance(data_term, type) or not hasattr(data_term, "prox"):
        hint = ": bind it with model.data_term(y)" if hasattr(data_term, "data_term") else ""
        raise TypeError(f"data_term must have prox, value, start and crop; got {data_term!r}{hint}")
    if not callable(denoiser):
        hint = "; plugplay.denoisers.get makes one from a name" if isinstance(denoiser, str) else ""
        raise TypeError(f"denoiser must be a callable (image, sigma) -> image; got {denoiser!r}{hint}")
    if isinstance(schedule, type) or not hasattr(schedule, "next_rho"):
        raise TypeError(f"schedule must be one such as Monotone(rho0=1e-3, gamma=1.5); got {schedule!r}")
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be callable with a State; got {callback!r}")
