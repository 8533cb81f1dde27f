"""The driver, which runs the loop; an iteration defines a single pass.

Schedule, stopping rules, history, callbacks, cancelling, divergence and checks of the denoiser's output are the same
for all iterations and are implemented here.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from plugplay.arrays.checks import FloatArray, check_number, check_same_shape, float_image, numeric_array
from plugplay.denoisers.base import Denoiser, open_session
from plugplay.models.description import is_mirrored, open_steps, warnings_of
from plugplay.pnp.iterations import Diverged, Problem, rms_difference
from plugplay.pnp.results import Parameters, Result, Status
from plugplay.pnp.state import Figures, History, State

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import ArrayLike

    from plugplay.models.base import DataTerm
    from plugplay.pnp.iterations import Iteration, Pass
    from plugplay.pnp.schedules import Schedule

__all__ = ["COARSE_FACTOR", "COARSE_TOLERANCE", "Cancelled", "Driver", "check_callback"]


# The ratio of pixel widths from one grid to the next.
COARSE_FACTOR = 2
# The factor of the tolerance on a coarse grid: the first iterations on the next grid change the image anyway.
COARSE_TOLERANCE = 3.0


class Cancelled(Exception):  # noqa: N818 - nothing went wrong
    """Raised by a progress function to end a run inside an iteration; the last complete one is returned."""


class Driver:
    """One run of the loop: `states` does one iteration per state that is asked for, `run` does all of them.

    Parameters
    ----------
    data_term : DataTerm
        f.
    denoiser : callable
        ``(image, sigma) -> image``. If it has a ``session()``, a new session is used for this run.
    iteration : Iteration
        Defines one pass.
    parameters : Parameters
        All other parameters.
    start : array or State, optional
        The first guess, or a state to continue from. Default ``data_term.start()``.
    quality : callable, optional
        Returns the PSNR of a cropped image, for the history.
    rtol : float, optional
        The relative residual that iterative model steps need to reach; by default they are exact.
    progress : callable, optional
        Called by denoisers that report progress, with the share of the current call that is done. An exception that it
        raises ends the iteration, `Cancelled` ends the run.
    level : int, optional
        How much coarser the grid is than that of the image, for the history: 0 for the full resolution.
    """

    def __init__(
        self,
        data_term: DataTerm,
        denoiser: Denoiser,
        iteration: Iteration,
        parameters: Parameters,
        *,
        start: ArrayLike | State | None = None,
        quality: Callable[[FloatArray], float] | None = None,
        rtol: float | None = None,
        progress: Callable[[float], object] | None = None,
        level: int = 0,
    ) -> None:
        _check_parts(data_term, denoiser, parameters.schedule)
        self._level = level
        self._denoiser, self._rtol, self._progress = denoiser, rtol, progress
        self.data_term, self._iteration, self._parameters = data_term, iteration, parameters
        self.state = self._shown(self._first_state(start, parameters.schedule))
        self.status: Status | None = None
        self._stopped = False
        self._quality = quality
        self._steps = open_steps(data_term, rtol)
        # Not a method of the driver, which would then wait for the garbage collector with all its arrays.
        framed = data_term if is_mirrored(data_term) else None
        self._denoise = _CheckedDenoiser(open_session(denoiser, progress), parameters.denoiser, framed)
        self._problem = Problem(data_term, self._steps, self._denoise, parameters.lam, parameters.clip)

    def coarser(
        self,
        data_term: DataTerm,
        *,
        lam: float,
        schedule: Schedule,
        start: FloatArray | State | None,
        enlarge: Callable[[FloatArray], FloatArray],
        min_iter: int = 0,
        max_iter: int | None = None,
    ) -> Driver:
        """Return a run with the same denoiser on a grid one level coarser; `enlarge` maps its images to this grid.

        It has at least `min_iter` iterations, and at most `max_iter`, by default the limit of this run.
        """
        quality, own = self._quality, self._parameters
        limit = own.max_iter if max_iter is None else max_iter
        return Driver(
            data_term,
            self._denoiser,
            self._iteration,
            replace(own, lam=lam, schedule=schedule, tol=COARSE_TOLERANCE * own.tol, min_iter=min_iter, max_iter=limit),
            start=start,
            quality=None if quality is None else lambda image: quality(enlarge(image)),
            rtol=self._rtol,
            progress=self._progress,
            level=self._level + 1,
        )

    def begin(self, first: FloatArray, history: History, *, stopped: bool) -> None:
        """Begin with the result of a run on a coarser grid, or end there if that run was `stopped`."""
        state = self._first_state(first, self._parameters.schedule)
        self.state = self._shown(replace(state, iteration=len(history), history=history))
        self._stopped = stopped

    def states(self) -> Iterator[State]:
        """Yield the state after each iteration until the run ends; `status` is set then."""
        figures = self.state.history.iterations()
        while True:
            self.status = self._ended(figures)
            if self.status is not None:
                return
            try:
                self.state = self._advanced(figures)
            except Diverged:
                self.status = Status.DIVERGED
                return
            except Cancelled:
                self.status = Status.STOPPED
                return
            yield self.state

    def run(self, *, callback: Callable[[State], object] | None = None) -> Result:
        """Do all iterations; `callback` sees each state and may raise ``StopIteration`` to end the run."""
        check_callback(callback)
        for state in self.states():
            if callback is not None:
                try:
                    callback(state)
                except (StopIteration, Cancelled):
                    self.status = Status.STOPPED
                    break
        return self.result()

    def result(self) -> Result:
        """Return the result of the iterations so far; a run that has not ended counts as stopped."""
        status = Status.STOPPED if self.status is None else self.status
        state = self.state
        return Result(state.image, status, state.history, self._parameters, state, warnings_of(self._steps))

    def _ended(self, figures: list[Figures]) -> Status | None:
        if self._stopped:
            return Status.STOPPED
        parameters = self._parameters
        last = self._last(figures)
        done = self.state.iteration - sum(row.level != self._level for row in figures)
        if last is not None and done >= parameters.min_iter and _settled(last, parameters):
            return Status.CONVERGED
        if last is not None and self._problem.sigma(self.state.rho) < parameters.last_sigma:
            return Status.FINISHED
        return Status.MAX_ITERATIONS if done >= parameters.max_iter else None

    def _last(self, figures: list[Figures]) -> Figures | None:
        """Return the figures of the last iteration on this grid."""
        return figures[-1] if figures and figures[-1].level == self._level else None

    def _advanced(self, figures: list[Figures]) -> State:
        """Do one iteration and append its figures."""
        began, before = time.perf_counter(), self.state
        self._denoise.iteration = before.iteration + 1
        made = self._iteration.step(self._problem, before)
        for array in (made.x, made.v, made.u):
            array.setflags(write=False)
        after = self._shown(replace(before, iteration=before.iteration + 1, x=made.x, v=made.v, u=made.u))
        previous = self._last(figures)
        figures.append(self._measured(made, before, after, began))
        rho = self._parameters.schedule.next_rho(
            before.rho, figures[-1].delta, None if previous is None else previous.delta
        )
        return replace(after, rho=rho, history=History.of(figures))

    def _measured(self, made: Pass, before: State, after: State, began: float) -> Figures:
        moves = ((made.x, before.x), (made.v, before.v), (made.u, before.u))
        dx, dv, du = (rms_difference(new, old) for new, old in moves)
        return Figures(
            rho=before.rho,
            sigma=self._problem.sigma(before.rho),
            delta=dx + dv + du,
            dx=dx,
            dv=dv,
            du=du,
            fidelity=self.data_term.value(made.x) if math.isnan(made.fidelity) else made.fidelity,
            seconds=time.perf_counter() - began,
            model_move=made.model_move,
            denoiser_move=made.denoiser_move,
            clip_move=made.clip_move,
            dual=made.dual,
            psnr=math.nan if self._quality is None else self._quality(after.image),
            level=float(self._level),
        )

    def _first_state(self, start: ArrayLike | State | None, schedule: Schedule) -> State:
        shape = tuple(self.data_term.shape)
        if isinstance(start, State):
            for name in ("x", "v", "u"):
                check_same_shape(getattr(start, name), shape, f"start.{name}", "the unknown image")
            return start
        if start is None:
            first = _any_rank(self.data_term.start(), "data_term.start()")
        else:
            first = _any_rank(numeric_array(start, "start"), "start")
            check_same_shape(first, shape, "start", "the unknown image")
        return self._iteration.init(first, check_number(schedule.rho0, "schedule.rho0", above=0))

    def _shown(self, state: State) -> State:
        """Return the state with its image, which is read-only, and the planned number of iterations."""
        image = self.data_term.crop(self._iteration.image(state)).view()
        image.setflags(write=False)
        return replace(state, image=image, planned=self._parameters.min_iter)


class _CheckedDenoiser:
    """A denoiser whose results are checked; errors name it and the iteration.

    Given a data term whose x is `framed` by its own mirror image, it denoises the frame alone and mirrors the result:
    the denoised margin would be another estimate of the same pixels.
    """

    def __init__(self, denoise: Denoiser, name: str, framed: DataTerm | None = None) -> None:
        self._denoise, self._name, self._framed = denoise, name, framed
        self.iteration = 0

    def __call__(self, noisy: FloatArray, sigma: float) -> FloatArray:
        """Call the denoiser and check what it returns."""
        framed = self._framed
        if framed is None or noisy.shape != tuple(framed.shape):  # an iteration may denoise the observation itself
            return self._denoised(noisy, sigma).copy()
        return framed.enter(self._denoised(framed.crop(noisy), sigma))  # a view: large images leave no room for a copy

    def _denoised(self, noisy: FloatArray, sigma: float) -> FloatArray:
        """Return what the denoiser makes of an image, in memory that may be its own."""
        where = f"denoiser {self._name!r} at iteration {self.iteration} (sigma {sigma:.3g})"
        given = noisy.view()
        given.setflags(write=False)
        try:
            output = np.asarray(self._denoise(given, sigma))
        except Cancelled:
            raise
        except Exception as error:
            kind = type(error) if type(error) in (ValueError, TypeError) else RuntimeError
            # NumPy's words for an input that a denoiser works on in place.
            hint = "; it seems to write into its input: copy the input first" if "read-only" in str(error) else ""
            raise kind(f"{where} raised {type(error).__name__}: {error}{hint}") from error
        if output.dtype.kind != "f":
            raise TypeError(f"{where} returned an array of dtype {output.dtype}; floats are needed")
        if output.shape != noisy.shape:
            raise ValueError(f"{where} returned the shape {output.shape} for an image of shape {noisy.shape}")
        if not np.isfinite(output).all():
            raise ValueError(f"{where} returned NaN or infinite values for a finite image")
        with np.errstate(over="ignore"):  # values that overflow in single precision count as divergence
            return output.astype(noisy.dtype, copy=False)


def check_callback(callback: object) -> None:
    """Raise an error unless the callback is None or callable."""
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be callable with a State; got {callback!r}")


def _settled(last: Figures, parameters: Parameters) -> bool:
    if parameters.stop_rule == "sum":
        return last.delta <= parameters.tol
    return max(last.dx, last.dv, last.du) <= parameters.tol / 3


def _any_rank(array: ArrayLike, name: str) -> FloatArray:
    # Which axes are spatial does not matter to the driver.
    return float_image(array, name, spatial_ndim=3 if np.ndim(array) == 4 else 2)


def _check_parts(data_term: object, denoiser: object, schedule: object) -> None:
    if isinstance(data_term, type) or not hasattr(data_term, "prox"):
        hint = ": bind it with model.data_term(y)" if hasattr(data_term, "data_term") else ""
        raise TypeError(f"data_term must have prox, value, start and crop; got {data_term!r}{hint}")
    if not callable(denoiser):
        hint = "; plugplay.denoisers.get makes one from a name" if isinstance(denoiser, str) else ""
        raise TypeError(f"denoiser must be a callable (image, sigma) -> image; got {denoiser!r}{hint}")
    if isinstance(schedule, type) or not hasattr(schedule, "next_rho"):
        raise TypeError(f"schedule must be one such as Monotone(rho0=1e-3, gamma=1.5); got {schedule!r}")
