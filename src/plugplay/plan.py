"""`Plan`: everything that was decided before the first iteration, and the runs that follow from it.

`plugplay.preparation.prepare` makes plans.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import scipy.fft

from plugplay import watching
from plugplay.denoisers.base import check_picklable
from plugplay.levels import is_coarse
from plugplay.metrics import psnr
from plugplay.models import description
from plugplay.noise.growing import corrected, with_correction
from plugplay.pnp.driver import Cancelled, Driver, check_callback
from plugplay.pnp.mixed import Mixed
from plugplay.pnp.results import Parameters, Result, Status
from plugplay.pnp.state import State
from plugplay.tuning.doubts import doubts
from plugplay.tuning.rehearsal import Rehearsal
from plugplay.tuning.rules import choose

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from plugplay.arrays.checks import FloatArray
    from plugplay.arrays.observation import Conversion
    from plugplay.denoisers.base import Denoiser, Progress
    from plugplay.levels import Coarse
    from plugplay.models.base import DataTerm, Model
    from plugplay.models.operators.reshaping import Reshaping
    from plugplay.noise.growing import PoissonGaussian
    from plugplay.pnp.iterations import Iteration
    from plugplay.tuning.case import Case
    from plugplay.tuning.search import LambdaSearch
    from plugplay.tuning.watch import Sign, Suggestion, Watch

__all__ = ["Plan"]


@dataclass(frozen=True, eq=False)
class Plan:
    """Everything that was decided before the first iteration; made by `prepare`.

    A plan is immutable and can be run any number of times, always with the same result. It can be pickled and run in
    another process, if its denoiser can.

    Attributes
    ----------
    parameters : Parameters
        All parameters, including those that were chosen automatically, on the nominal scale.
    warnings : tuple of str
        What was noticed before the first iteration, in plain sentences.
    reshaping : Reshaping
        How the kernel was changed because the data clearly fit another one better; ``parameters.model`` has the new
        kernel.

    Examples
    --------
    >>> import numpy as np, plugplay as pp
    >>> plan = pp.prepare(np.eye(16), pp.models.Deblurring(pp.kernels.box(3)), denoiser="tv", noise=0.01)
    >>> plan.parameters.chosen
    ('lam', 'schedule', 'tol', 'max_iter')
    >>> first = next(plan.iterate())
    >>> plan.image(first).shape
    (16, 16)
    """

    parameters: Parameters
    warnings: tuple[str, ...]
    reshaping: Reshaping
    _loop: Parameters
    _data_term: DataTerm
    _iteration: Iteration
    _conversion: Conversion
    _start: FloatArray | State | None
    _reference: FloatArray | None
    _workers: int
    _residual: float
    _search: LambdaSearch | None
    # What the result is checked against.
    _watch: Watch | None
    # What the automatic parameters follow from; None if what a run shows must not change them.
    _case: Case | None
    _coarse: Coarse | None = None
    _reruns: int = 0

    def run(self, *, callback: Callable[[State], object] | None = None, progress: Progress | None = None) -> Result:
        """Do all iterations and return the `Result`.

        Parameters
        ----------
        callback : callable, optional
            Called with the `State`, on the working scale, after every iteration; ``StopIteration`` ends the run.
        progress : callable, optional
            Called often, by a denoiser that reports its progress and during a search for lambda, with the share of the
            current call or search that is done. It may raise `plugplay.Cancelled` to end the run.
        """
        check_callback(callback)
        states = self.iterate(progress=progress)
        try:
            while True:
                state = next(states)
                try:
                    if callback is not None:
                        callback(state)
                except (StopIteration, Cancelled):
                    states.throw(Cancelled())
        except StopIteration as end:
            result: Result = end.value
            return result

    def iterate(self, *, progress: Progress | None = None) -> Generator[State, None, Result]:
        """Yield the `State` after each iteration; the generator returns the `Result`.

        An iteration is done when its state is asked for.

        Parameters
        ----------
        progress : callable, optional
            As in `run`. Throwing `plugplay.Cancelled` into the generator ends the run as well.
        """
        plan, driver = self, self._driver(progress)
        first: _Doubted | None = None  # the run before this one, if the two must be compared
        mixed: Mixed | None = None
        # Signs of more noise, by what the run with the suggested noise has shown.
        confirmed: frozenset[Sign] = frozenset()
        refuted: frozenset[Sign] = frozenset()
        try:
            if self._search is not None:
                plan = self._searched(self._search, progress)
                driver = plan._driver(progress)
            for rerun in range(self._reruns + 1):
                is_last = rerun == self._reruns
                yield from plan._coarse_states(driver)
                yield from plan._states(driver, to_the_end=is_last)
                if driver.status is Status.STOPPED:  # inside the denoiser
                    break
                if first is not None:
                    share = plan._share(first, driver, refuted)
                    if share < 1:
                        refuted |= {first.suggestion.sign}
                        mixed = Mixed(first.driver, driver, share) if share > 0 else mixed
                        plan, driver = first.plan, first.driver
                    else:
                        confirmed |= {first.suggestion.sign}
                suggestion = None if is_last else plan._suggestion(driver, refuted)
                if suggestion is None:
                    break
                settled = suggestion.is_certain or suggestion.sign in confirmed
                first = None if settled else _Doubted(plan, driver, suggestion)
                why = watching.reason(suggestion, self._loop.prepared)
                # The margin is for estimates that may be too low; excess is not such an estimate.
                plan = plan._with_noise(suggestion.noise, why, margin=suggestion.sign != "excess")
                driver = plan._driver(progress)
        except Cancelled:
            pass  # the last complete iteration is the result
        return plan._finished(driver, mixed if mixed is not None and mixed.first is driver else None)

    def _searched(self, search: LambdaSearch, progress: Progress | None) -> Plan:
        """Return the plan with the lambda that a search finds."""
        with scipy.fft.set_workers(self._workers):
            lam = search.best(self._loop, self._iteration, progress)
        return replace(self._following(search.case, lam), _search=None)

    def _coarse_states(self, driver: Driver) -> Generator[State, None, None]:
        """Do the iterations on the coarse grid, if there is one, and let the driver begin where they end."""
        if self._coarse is None or not (self._start is None or is_coarse(self._start)):
            return
        before = self._coarse.driver(self._case, driver, self._start)
        try:
            for state in self._states(before, to_the_end=True):
                yield self._coarse.shown(state)
        finally:  # a cancelled run, too, has a result
            self._coarse.hand_over(before, driver)

    def _states(self, driver: Driver, *, to_the_end: bool) -> Generator[State, None, None]:
        """Do the iterations of one run; unless `to_the_end`, give up once it clearly has to be repeated."""
        states = driver.states()
        while True:
            # Not around the whole loop: between two states, the number of threads is the caller's setting.
            with scipy.fft.set_workers(self._workers):
                state = next(states, None)
            if state is None:
                return
            yield state
            if not to_the_end and self._case and self._watch and self._watch.winds_up(state.history):
                return

    def _suggestion(self, driver: Driver, refuted: frozenset[Sign]) -> Suggestion | None:
        """Return the noise that a finished run suggests instead of the assumed one, if any."""
        if self._case is None or self._watch is None:
            return None
        with scipy.fft.set_workers(self._workers):
            return self._watch.suggests(driver.state, self._iteration.image(driver.state), refuted=refuted)

    def _share(self, first: _Doubted, second: Driver, refuted: frozenset[Sign]) -> float:
        """Return the weight of the second run, with the suggested noise, against the first: 1 if it is better."""
        if self._watch is None:
            return 1.0
        x = self._iteration.image(second.state)
        return self._watch.share(first.suggestion, first.driver.state, second.state, x, refuted=refuted)

    def _with_noise(self, noise: float, why: str = "", *, margin: bool = True) -> Plan:
        """Return the plan for another noise level and the parameters that follow from it.

        A level that the user gave is only ever raised.
        """
        assert self._case is not None and self._watch is not None  # noqa: PT018 - the caller makes sure
        given, gain = "noise" not in self.parameters.chosen, self._conversion.scale.noise_gain
        known, reason = corrected(self.parameters.noise, noise / gain, self._case.noise / gain, given=given)
        case = replace(self._case, noise=noise, noise_margin=self._case.noise_margin if margin else 0.0)
        plan = self._following(case)
        return replace(
            plan,
            parameters=replace(plan.parameters, noise=known),
            warnings=with_correction(self.warnings, reason) + ((why,) if why and why not in self.warnings else ()),
            _case=case,
            _watch=replace(self._watch, noise=noise),
            _start=None if isinstance(self._start, State) else self._start,
        )

    def _doubting(self, reason: str) -> Plan:
        """Return the plan whose result is doubtful for a reason that is known before the run."""
        assert self._watch is not None  # the caller makes sure
        return replace(self, _watch=replace(self._watch, doubted=(*self._watch.doubted, reason)))

    def _following(self, case: Case, lam: float | None = None) -> Plan:
        """Return the plan with the lambda (unless it is given) and the schedule that follow from another case."""
        choice = choose(case, lam=lam)
        free = [name for name in ("schedule", "tol") if name in self.parameters.chosen]
        more = {name: getattr(choice, name) for name in (*free, "min_iter")}
        shown = replace(self.parameters, lam=choice.lam / self._conversion.scale.gain**2, **more)
        return replace(self, parameters=shown, _loop=replace(self._loop, lam=choice.lam, **more))

    def _rehearsed(self, y: FloatArray, model: Model, denoiser: Denoiser, photons: PoissonGaussian | None) -> Plan:
        """Return the plan with the lambda that a rehearsal with this prepared denoiser finds."""
        assert self._case is not None  # the caller makes sure
        loop = replace(self._loop, prepared=denoiser)
        factor = Rehearsal(model, self._case, loop, self._iteration, photons).factor(y)
        case = replace(self._case, strength=factor * self._case.strength)
        return replace(self._following(case), _case=case)

    def resumed(self, state: State) -> Plan:
        """Return the plan that continues from a state of an earlier run.

        If that run is repeated with another noise level, the repetition starts from the beginning.
        """
        return replace(self, _start=state)

    def image(self, state: State) -> FloatArray:
        """Return the restored image of a state, in the units and with the axes of ``Result.image``."""
        return self._conversion.outside(state.image)

    def __getstate__(self) -> dict[str, Any]:
        check_picklable(self._loop.prepared, f"the plan cannot be pickled: its denoiser {self._loop.denoiser!r}")
        return dict(self.__dict__)

    def _driver(self, progress: Progress | None) -> Driver:
        reference, shown = self._reference, self._conversion.shown
        return Driver(
            self._data_term,
            self._loop.prepared,  # type: ignore[arg-type]  # Parameters holds it as an object
            self._iteration,
            self._loop,
            start=None if is_coarse(self._start) else self._start,
            quality=None if reference is None else lambda image: psnr(shown(image), reference),
            rtol=self._residual,
            progress=progress,
        )

    def _finished(self, driver: Driver, mixed: Mixed | None = None) -> Result:
        """Return the result in the user's units and axes, with what is wrong with it in ``warnings``."""
        result = driver.result() if mixed is None else mixed.result()
        x, found = self._iteration.image(driver.state), tuple[str, ...]()
        if self._watch is not None and result.status is not Status.STOPPED:
            with scipy.fft.set_workers(self._workers):
                found = doubts(self._watch, driver.state.image, x)
        doubtful = found and result.status in (Status.CONVERGED, Status.FINISHED, Status.MAX_ITERATIONS)
        whole = description.finished(self._data_term, description.levelled(self._data_term, x, result.image))
        image = self._conversion.outside(whole)
        status, told = Status.DOUBTFUL if doubtful else result.status, self.warnings + result.warnings + found
        return replace(result, image=image, status=status, parameters=self.parameters, warnings=told)


@dataclass(frozen=True, eq=False)
class _Doubted:
    """A finished run that suggests another noise, which the next run has to confirm."""

    plan: Plan
    driver: Driver
    suggestion: Suggestion
