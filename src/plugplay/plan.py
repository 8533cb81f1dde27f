"""`prepare` and `Plan`: everything that is decided before the first iteration, and the run that follows from it.

An array passes each room once: its axes are put in order, its scale is found, the model says what it is and is bound
to the data, the noise is known or estimated, the denoiser is fitted to the problem, and what was not given is chosen.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import scipy.fft

from plugplay import posing, watching
from plugplay.arrays.axes import Axes
from plugplay.arrays.checks import check_integer, check_number, check_spatial_ndim, check_workers, numeric_array
from plugplay.arrays.observation import Conversion
from plugplay.clipping import clip_of, goes_beyond
from plugplay.denoisers.base import Denoiser, check_picklable, min_sigma_of, name_of, prepare_denoiser
from plugplay.levels import Coarse, Pace, coarse_of, is_coarse, is_large, is_plain
from plugplay.metrics import psnr
from plugplay.models import description
from plugplay.noise.growing import PoissonGaussian, corrected, with_correction
from plugplay.pnp.denoise_first import DenoiseFirst
from plugplay.pnp.driver import Cancelled, Driver, check_callback
from plugplay.pnp.iterations import Iteration, get_iteration
from plugplay.pnp.mixed import Mixed
from plugplay.pnp.results import Parameters, Result, Status
from plugplay.pnp.state import State
from plugplay.tuning.accuracy import step_residual
from plugplay.tuning.counting import likely_noise
from plugplay.tuning.doubts import doubts
from plugplay.tuning.foreign import where_foreign
from plugplay.tuning.loop import loop_of
from plugplay.tuning.mild_blur import denoises_first, leaves_nearly_white_noise
from plugplay.tuning.rehearsal import REHEARSED, Rehearsal
from plugplay.tuning.rules import Case, choose, leaves_white_noise
from plugplay.tuning.search import LambdaSearch, search_for
from plugplay.tuning.watch import Sign, Suggestion, Watch

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from numpy.typing import ArrayLike

    from plugplay.arrays.checks import FloatArray
    from plugplay.arrays.scale import Scale
    from plugplay.denoisers.base import Progress
    from plugplay.models.base import DataTerm, Model
    from plugplay.models.operators.reshaping import Reshaping
    from plugplay.noise.coloured import ColouredNoise
    from plugplay.pnp.schedules import Schedule

__all__ = ["Plan", "prepare"]


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
        What was noticed so far, in plain sentences.
    reshaping : Reshaping
        How the kernel was changed because the data clearly fit another; ``parameters.model`` has the new one.

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
    # What the result is held against, and, if lambda may follow from what is found, what it follows from.
    _watch: Watch | None
    _case: Case | None
    _coarse: Coarse | None = None
    _reruns: int = 0

    def run(self, *, callback: Callable[[State], object] | None = None, progress: Progress | None = None) -> Result:
        """Do all iterations, and return the restored image with what is known about it.

        Parameters
        ----------
        callback : callable, optional
            Called with the `State`, on the working scale, after every iteration; ``StopIteration`` ends the run.
        progress : callable, optional
            Called often, within a denoiser that reports its progress and during a search for lambda, with the share of
            that work which is done. It may raise `plugplay.Cancelled` to end the run.
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
        """Yield the `State` after each iteration, which is done on demand; the generator returns the `Result`.

        Parameters
        ----------
        progress : callable, optional
            As in `run`. Throwing `plugplay.Cancelled` into the generator ends the run as well.
        """
        plan, driver = self, self._driver(progress)
        kept: tuple[Plan, Driver, Suggestion] | None = None
        mixed: Mixed | None = None
        proven, refuted = frozenset[Sign](), frozenset[Sign]()  # by a run with the noise that a sign asks for
        try:
            if self._search is not None:
                with scipy.fft.set_workers(self._workers):
                    lam = self._search.best(self._loop, self._iteration, progress)
                plan = replace(self._following(self._search.case, lam), _search=None)
                driver = plan._driver(progress)
            for rerun in range(self._reruns + 1):
                yield from plan._coarse_states(driver)
                yield from plan._states(driver, to_the_end=rerun == self._reruns)
                if driver.status is Status.STOPPED:  # inside the denoiser
                    break
                if kept is not None:
                    share = plan._share(kept[2], kept[1], driver, refuted)
                    if share < 1:
                        refuted, mixed = refuted | {kept[2].sign}, Mixed(kept[1], driver, share) if share > 0 else mixed
                        plan, driver = kept[:2]
                    else:
                        proven |= {kept[2].sign}
                more = None if rerun == self._reruns else plan._suggestion(driver, refuted)
                if more is None:
                    break
                kept = None if more.is_certain or more.sign in proven else (plan, driver, more)
                why = watching.reason(more, self._loop.prepared)
                plan = plan._assuming(more.noise, why, margin=more.sign != "excess")  # no estimate that may be low
                driver = plan._driver(progress)
        except Cancelled:
            pass  # the last complete iteration is the result
        return plan._finished(driver, mixed if mixed is not None and mixed.first is driver else None)

    def _coarse_states(self, driver: Driver) -> Generator[State, None, None]:
        """Do the iterations on the coarse grid, if there is one, and let the driver begin where they end."""
        if self._coarse is None or not (self._start is None or is_coarse(self._start)):
            return
        before = self._coarse.driver(self._case, driver, self._start)
        try:
            for state in self._states(before, to_the_end=True):
                yield self._coarse.shown(state)
        finally:  # also if the run is cancelled, which shows what there is
            self._coarse.hand_over(before, driver)

    def _states(self, driver: Driver, *, to_the_end: bool) -> Generator[State, None, None]:
        """Do the iterations of one run, which is given up if it goes wrong and may be repeated."""
        states = driver.states()
        while True:
            # Not around the whole loop: between two states, transforms are the caller's business.
            with scipy.fft.set_workers(self._workers):
                state = next(states, None)
            if state is None:
                return
            yield state
            if not to_the_end and self._case and self._watch and self._watch.winds_up(state.history):
                return

    def _suggestion(self, driver: Driver, refuted: frozenset[Sign]) -> Suggestion | None:
        if self._case is None or self._watch is None:
            return None
        with scipy.fft.set_workers(self._workers):
            return self._watch.suggests(driver.state, self._iteration.image(driver.state), refuted=refuted)

    def _share(self, suggested: Suggestion, before: Driver, after: Driver, refuted: frozenset[Sign]) -> float:
        x = self._iteration.image(after.state)
        return self._watch.share(suggested, before.state, after.state, x, refuted=refuted) if self._watch else 1.0

    def _assuming(self, noise: float, why: str = "", *, margin: bool = True) -> Plan:
        """Return the plan for another noise, with the parameters that follow from it; a given one is only raised."""
        assert self._case is not None and self._watch is not None  # noqa: PT018 - only then is it asked for
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

    def _following(self, case: Case, lam: float | None = None) -> Plan:
        """Return the plan with the lambda and the schedule that follow from another case, or from a lambda."""
        choice = choose(case, lam=lam)
        free = [name for name in ("schedule", "tol") if name in self.parameters.chosen]
        more = {name: getattr(choice, name) for name in (*free, "min_iter")}
        shown = replace(self.parameters, lam=choice.lam / self._conversion.scale.gain**2, **more)
        return replace(self, parameters=shown, _loop=replace(self._loop, lam=choice.lam, **more))

    def _rehearsed(self, y: FloatArray, model: Model, alone: Denoiser) -> Plan:
        """Return the plan with the lambda that a rehearsal speaks for, which is too small for more than one thread."""
        assert self._case is not None  # only then is it asked for
        factor = Rehearsal(model, self._case, replace(self._loop, prepared=alone), self._iteration).factor(y)
        case = replace(self._case, strength=factor * self._case.strength)
        return replace(self._following(case), _case=case)

    def resumed(self, state: State) -> Plan:
        """Return the plan that continues from a state of an earlier run; a repetition with other noise starts over."""
        return replace(self, _start=state)

    def image(self, state: State) -> FloatArray:
        """Return the restored image of a state, in the units and with the axes of ``Result.image``."""
        return self._conversion.outside(state.image)

    def __getstate__(self) -> dict[str, Any]:
        check_picklable(self._loop.prepared, f"the plan cannot be pickled: its denoiser {self._loop.denoiser!r}")
        return dict(self.__dict__)

    def _driver(self, progress: Progress | None) -> Driver:
        reference, nominal = self._reference, self._conversion.scale.to_nominal
        return Driver(
            self._data_term,
            self._loop.prepared,  # type: ignore[arg-type]  # Parameters holds it as an object
            self._iteration,
            self._loop,
            start=None if is_coarse(self._start) else self._start,
            quality=None if reference is None else lambda image: psnr(nominal(image), reference),
            rtol=self._residual,
            progress=progress,
        )

    def _finished(self, driver: Driver, mixed: Mixed | None = None) -> Result:
        """Return the loop's result as the user's, after a look at it."""
        result = driver.result() if mixed is None else mixed.result()
        x, found = self._iteration.image(driver.state), tuple[str, ...]()
        if self._watch is not None and result.status is not Status.STOPPED:
            with scipy.fft.set_workers(self._workers):
                found = doubts(self._watch, driver.state.image, x)
        doubtful = found and result.status in (Status.CONVERGED, Status.FINISHED, Status.MAX_ITERATIONS)
        image = self._conversion.outside(description.levelled(self._data_term, x, result.image))
        status, told = Status.DOUBTFUL if doubtful else result.status, self.warnings + result.warnings + found
        return replace(result, image=image, status=status, parameters=self.parameters, warnings=told)


def prepare(
    y: ArrayLike,
    model: Model,
    *,
    denoiser: str | Denoiser = "bm3d",
    noise: float | PoissonGaussian | ColouredNoise | Literal["auto"] | None = None,
    lam: float | None = None,
    schedule: Schedule | None = None,
    iteration: str | Iteration = "admm",
    tol: float | None = None,
    max_iter: int | None = None,
    start: ArrayLike | State | None = None,
    clip: tuple[float, float] | Literal["auto"] | None = "auto",
    strength: float = 1.0,
    tune: Literal["sure"] | None = None,
    reference: ArrayLike | None = None,
    channel_axis: int | None = None,
    spatial_ndim: int | None = None,
    data_range: tuple[float, float] | None = None,
    transfer: str = "linear",
    noise_floor: float = 0.0,
    exact_noise: bool = False,
    workers: int | None = None,
    rng: np.random.Generator | int | None = None,
    scale: Scale | None = None,
    pace: Pace | None = None,
    reshaping: Reshaping | None = None,
    whole: bool = True,
) -> Plan:
    """Decide everything that a restoration needs; `plugplay.restore` documents the parameters.

    `scale`, `reshaping` and `pace` are found unless they are given; stamps are looked for in what is `whole`.

    Returns
    -------
    Plan
        ``plan.parameters`` shows what was chosen, ``plan.run()`` restores, ``plan.iterate()`` does so step by step.

    Examples
    --------
    >>> import numpy as np, plugplay as pp
    >>> pp.prepare(np.eye(16), pp.models.Denoising(), denoiser="tv", noise=0.1).run().image.shape
    (16, 16)
    """
    description.check_model_protocol(model)
    model = (description.reshaped(model, reshaping) if reshaping else None) or model
    ndim = description.spatial_ndim_of(model, None if spatial_ndim is None else check_spatial_ndim(spatial_ndim))
    given = numeric_array(y, "y")
    leading = description.leading_axes_of(model)
    axes = Axes.of(given.shape, "y", channel_axis=channel_axis, spatial_ndim=ndim, leading=leading)
    observed = axes.to_inside(given, "y")
    traits = description.traits_of(model, observed, spatial_ndim=ndim)
    squares = lam is not None or tune is not None  # which a given lambda is meant for, and Stein's estimate
    likely, curve = likely_noise(observed, traits, noise, data_range, transfer, squares=squares)
    whole = whole and scale is None
    scale = scale or posing.scale_of(observed, traits, data_range, likely, model, curve)
    conversion = Conversion(axes, scale, observed.dtype, data_range)
    unit = observed if traits.observes == "counts" else scale.to_working(observed, frozen=True)
    strange = watching.foreign_to(unit, model, traits, likely, scale) if whole else None
    if strange is not None:
        model = description.part_of(model, ~strange, whole=True)
        traits = description.traits_of(model, observed, spatial_ndim=ndim)
        scale = posing.scale_of(observed, traits, data_range, likely, model, curve)
        unit = scale.to_working(observed, frozen=True)
        conversion = replace(conversion, scale=scale, left=(strange, unit))
    problem = posing.posed(unit, model, traits, likely, scale, squares=squares, noise_floor=noise_floor)
    level, described = problem.level, problem.noise
    threads, way = check_workers(workers), get_iteration(iteration)
    free = schedule is None and start is None and way.name == "admm"
    single = free and leaves_white_noise(traits)
    # The signs that a run is watched for are those of a convolution that is inverted with too little noise in mind.
    watched = lam is None and tune is None and start is None and not single and traits.spectrum is not None
    found = watching.suspicion(unit, model, traits, problem, noise, scale, reshape=reshaping is None, watched=watched)
    data_term = problem.data_term if found.model is model else found.model.data_term(unit)
    model, traits = found.model, found.traits
    stars = description.possible_range_of(data_term) is not None
    uniform = isinstance(described, float) and not stars
    first = free and not squares and max_iter is None and uniform and denoises_first(traits, level)
    way = DenoiseFirst(model) if first else way
    white = single or first or (uniform and leaves_nearly_white_noise(traits, level))
    leaves, natural = "white" if white else traits.leaves, traits.natural and not stars
    left = replace(traits, leaves=leaves, noise=level, noise_spectrum=problem.spectrum, natural=natural)
    method = prepare_denoiser(denoiser, left, threads)
    plain = not first and is_plain(traits, data_term, described)
    usual, large = watched and free and max_iter is None and plain, plain and is_large(unit)
    coarse = coarse_of(unit, model, traits, pace=pace) if (usual and large) or pace is not None else None
    case = Case(
        traits=description.rule_traits(data_term, traits),
        noise=level,
        noise_margin=problem.margin,
        iteration=way.name,
        strength=check_number(strength, "strength", above=0),
        max_iter=None if max_iter is None else check_integer(max_iter, "max_iter", minimum=0),
        one_step=single,
        min_sigma=min_sigma_of(method),
        grid="fine" if usual and large else "only",
        uniform=isinstance(described, float),
        planned=schedule is None and tol is None and not stars,
    )
    # Both halves of the objective are squares, so that lambda scales like them; a complete likelihood is not one.
    squared = scale.gain**2 if traits.weight is None else 1.0
    bounds = clip_of(clip, choose(case).clip, scale, unit, replace(problem, data_term=data_term), traits)
    case = replace(case, beyond=goes_beyond(bounds, unit, traits.observed) and name_of(method) == REHEARSED)
    choice = choose(case, lam=None if lam is None else check_number(lam, "lam", above=0) * squared)
    loop = loop_of(method, choice, bounds, way.name, schedule, tol)
    told = where_foreign(strange) + found.reasons
    wanted = {"noise": noise, "lam": lam, "schedule": schedule, "tol": tol, "max_iter": max_iter}
    plan = Plan(
        parameters=posing.described(loop, problem, scale, squared=squared, model=model, given=wanted, tune=tune),
        warnings=(*posing.noticed(axes, scale, observed, traits, data_term, problem, transfer), *told),
        reshaping=reshaping or found.reshaping,
        _loop=loop,
        _data_term=data_term,
        _iteration=way,
        _conversion=conversion,
        _start=posing.first_guess(start, data_term, conversion),
        _reference=None if reference is None else posing.checked_reference(reference, data_term, conversion),
        _workers=threads,
        _residual=step_residual(plain=large and not white, noise=level),
        _search=None if tune is None else search_for(tune, lam, model, unit, case, described, rng),
        _watch=watching.watch_for(data_term, traits, unit, problem, scale),
        _case=case if watched else None,
        _coarse=coarse,
        _reruns=watching.reruns(noise, exact=exact_noise),
    )
    plan = plan if found.noise is None or exact_noise else plan._assuming(found.noise)
    rehearsed = usual and pace is None and loop.denoiser == REHEARSED
    return plan._rehearsed(unit, model, prepare_denoiser(denoiser, left, 1)) if rehearsed else plan
