"""`prepare`: decide everything that can be decided before the first iteration, and put it into a `Plan`.

The steps are those of `prepare`, from top to bottom: put the axes in order and find the scale, bind the model to the
data and find the noise, check what was given against the data, choose how to run, fit the denoiser, choose the
parameters that were not given.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from plugplay import posing, watching
from plugplay.arrays.axes import Axes
from plugplay.arrays.checks import check_integer, check_number, check_spatial_ndim, check_workers, numeric_array
from plugplay.arrays.observation import Conversion
from plugplay.clipping import clip_of, goes_beyond
from plugplay.denoisers.base import min_sigma_of, name_of, prepare_denoiser
from plugplay.denoisers.registry import comes_with_plugplay
from plugplay.levels import coarse_of, is_large, is_plain
from plugplay.models import description
from plugplay.noise.given import check_noise
from plugplay.noise.growing import PoissonGaussian
from plugplay.plan import Plan
from plugplay.pnp.denoise_first import DenoiseFirst
from plugplay.pnp.iterations import get_iteration
from plugplay.tuning.accuracy import step_residual
from plugplay.tuning.alike import with_planes
from plugplay.tuning.blurred_values import BLURRED_VALUES, values_were_blurred
from plugplay.tuning.case import Case
from plugplay.tuning.counting import likely_noise
from plugplay.tuning.foreign import where_foreign
from plugplay.tuning.hot_pixels import where_hot
from plugplay.tuning.loop import loop_of
from plugplay.tuning.mild_blur import denoises_first, is_mild_throughout, leaves_nearly_white_noise
from plugplay.tuning.rehearsal import REHEARSED
from plugplay.tuning.rules import choose, leaves_white_noise
from plugplay.tuning.search import search_for

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from plugplay.arrays.scale import Scale
    from plugplay.denoisers.base import Denoiser
    from plugplay.levels import Pace
    from plugplay.models.base import Model
    from plugplay.models.operators.reshaping import Reshaping
    from plugplay.noise.coloured import ColouredNoise
    from plugplay.pnp.iterations import Iteration
    from plugplay.pnp.schedules import Schedule
    from plugplay.pnp.state import State
    from plugplay.posing import Posed
    from plugplay.traits import Traits

__all__ = ["prepare"]


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
    joins_equal: bool = True,
) -> Plan:
    """Decide everything that a restoration needs, without restoring.

    `plugplay.restore` documents all parameters but the last five. Those make the tiles of a large image agree.

    Parameters
    ----------
    scale : Scale, optional
        Nominal and working range, found from y by default.
    pace : Pace, optional
        Parameters of the run on the coarse grid, chosen by default.
    reshaping : Reshaping, optional
        A change of the kernel; by default the kernel is changed if the data clearly fit another one better.
    whole : bool
        Whether y is a whole image, in which bars, frames and stamps are looked for.
    joins_equal : bool
        Whether channels that are all equal are restored as one.

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
    squares = lam is not None or tune is not None  # a given lambda and Stein's estimate both assume f = ½ ||Gx - y||²
    view = _viewed(
        y,
        model,
        noise,
        channel_axis=channel_axis,
        spatial_ndim=spatial_ndim,
        data_range=data_range,
        transfer=transfer,
        scale=scale,
        squares=squares,
        exact_noise=exact_noise,
        whole=whole,
        joins_equal=joins_equal and comes_with_plugplay(denoiser),
    )
    shared, threads, way = scale is not None, check_workers(workers), get_iteration(iteration)
    plain, (view, problem) = view.model, _posed(view, transfer, squares=squares, noise_floor=noise_floor)
    scale, unit = view.conversion.scale, view.unit
    problem = with_planes(problem, unit, view.traits, scale, denoiser, whole=not shared)
    means_by = None if squares else denoiser
    unit, problem = posing.unclipped(unit, view.model, view.traits, problem, scale, means_by, threads)
    free = schedule is None and start is None and way.name == "admm"
    single = free and leaves_white_noise(view.traits)
    # What a run is watched for are signs of a convolution that is inverted with too low a noise level.
    watched = lam is None and tune is None and start is None and not single and view.traits.spectrum is not None
    found = watching.suspicion(
        unit, view.model, view.traits, problem, noise, scale, reshape=reshaping is None, watched=watched,
        encoding=view.encoding,
    )  # fmt: skip
    if found.model is not view.model:
        problem = replace(problem, data_term=found.model.data_term(unit))
    model, traits, data_term = found.model, found.traits, problem.data_term

    kind = _kind_of(
        problem, traits, unit, scale, single=single, may_denoise_first=free and not squares and max_iter is None
    )
    usual = (kind.plain or kind.photons is not None) and watched and free and max_iter is None
    if kind.denoises_first:
        way = DenoiseFirst(model)
    left = _left_to_denoise(problem, traits, kind)
    method = prepare_denoiser(denoiser, left, threads)
    coarse = coarse_of(unit, model, traits, pace=pace) if (usual and kind.large) or pace is not None else None
    case = Case(
        traits=description.rule_traits(data_term, traits),
        noise=problem.level,
        noise_margin=problem.margin,
        iteration=way.name,
        strength=check_number(strength, "strength", above=0),
        max_iter=None if max_iter is None else check_integer(max_iter, "max_iter", minimum=0),
        one_step=single,
        min_sigma=min_sigma_of(method),
        grid="fine" if usual and kind.large else "only",
        uniform=isinstance(problem.noise, float),
        planned=schedule is None and tol is None and not kind.stars,
    )
    bounds = clip_of(clip, choose(case).clip, scale, unit, problem, traits)
    case = replace(case, beyond=goes_beyond(bounds, unit, traits.observed) and name_of(method) == REHEARSED)
    # If both terms of the objective are squares, lambda scales like them; a complete likelihood is not a square.
    squared = scale.gain**2 if traits.weight is None else 1.0
    choice = choose(case, lam=None if lam is None else check_number(lam, "lam", above=0) * squared)
    loop = loop_of(method, choice, bounds, way.name, schedule, tol)
    given = {"noise": noise, "lam": lam, "schedule": schedule, "tol": tol, "max_iter": max_iter}
    curve = view.encoding or scale.transfer
    notes = posing.noticed(
        view.conversion.axes, scale, view.observed, traits, data_term, problem, curve if curve != transfer else None
    )
    plan = Plan(
        parameters=posing.described(
            loop, problem, view.conversion, squared=squared, model=model, given=given, tune=tune, transfer=curve
        ),
        warnings=(*notes, *view.notes, *found.reasons),
        reshaping=reshaping or found.reshaping,
        _loop=loop,
        _data_term=data_term,
        _iteration=way,
        _conversion=view.conversion,
        _start=posing.first_guess(start, data_term, view.conversion),
        _reference=None if reference is None else posing.checked_reference(reference, data_term, view.conversion),
        _workers=threads,
        _residual=step_residual(plain=kind.large and kind.sparse == kind.white, mild=kind.sparse, noise=problem.level),
        _search=None if tune is None else search_for(tune, lam, model, unit, case, problem.noise, rng),
        _watch=watching.watch_for(data_term, traits, unit, problem, scale, in_light=view.encoding is not None),
        _case=case if watched else None,
        _coarse=coarse,
        _reruns=watching.reruns(noise, exact=exact_noise),
    )
    if usual and view.encoding and traits.observed is None and not shared and loop.denoiser == REHEARSED:
        one = prepare_denoiser(denoiser, left, 1)
        if values_were_blurred(model, plain, unit, loop, one, way, problem.level):
            plan = plan._doubting(BLURRED_VALUES)
    if found.noise is not None and not exact_noise:
        plan = plan._with_noise(found.noise)
    if usual and pace is None and loop.denoiser == REHEARSED:
        one = prepare_denoiser(denoiser, left, 1)  # too small for more threads
        plan = plan._rehearsed(unit, model, one, kind.photons)
    return plan


@dataclass(frozen=True, eq=False)
class _View:
    """An observation on the working scale, and the model that it follows.

    Attributes
    ----------
    model, traits : Model, Traits
        The model, with a mask if some pixels do not follow it, and its traits.
    conversion : Conversion
        Axes and scale.
    observed : array
        The observation with channels last.
    unit : array
        The same on the working scale; counts as they are.
    noise : float, PoissonGaussian, ColouredNoise, "auto" or None
        The noise that was given, or that of photons if the data clearly show it.
    notes : tuple of str
        Which pixels do not follow the model, such as bars, stamps and hot pixels, and whether the given noise is far
        below that of the data, in words.
    encoding : str, optional
        The transfer curve of the values, if they are restored as they are by a model that knows it.
    """

    model: Model
    traits: Traits
    conversion: Conversion
    observed: NDArray[Any]
    unit: NDArray[Any]
    noise: float | PoissonGaussian | ColouredNoise | str | None
    notes: tuple[str, ...] = ()
    encoding: str | None = None

    def encoded(self, curve: str) -> _View | None:
        """Return the view of encoded values instead of light; None if the model has no such form."""
        uniform = self.noise is None or isinstance(self.noise, str | int | float)
        if curve == "linear" or not uniform or self.traits.observes != "intensities":
            return None
        model, scale = description.encoded(self.model, curve), self.conversion.scale
        if model is None:
            return None
        left, unit = self.conversion.left, posing.numbers_of(self.unit, scale)
        conversion = replace(self.conversion, scale=scale.of_values(), left=None if left is None else (left[0], unit))
        return replace(self, model=model, conversion=conversion, unit=unit, encoding=curve)


def _posed(view: _View, transfer: str, *, squares: bool, noise_floor: float) -> tuple[_View, Posed]:
    """Bind the model to the data, and find the noise; blur that acts on light gets the noise of the stored values.

    A blur so mild that a single denoising nearly suffices is inverted in light.
    """
    curve = view.conversion.scale.transfer
    # Parts of a large image share a scale, which is that of its values if they are restored as they are.
    is_part = curve == "linear" != transfer
    encoded = None if squares and not is_part else view.encoded(transfer if is_part else curve)

    def bound(one: _View) -> Posed:
        scale = one.conversion.scale
        return posing.posed(one.unit, one.model, one.traits, one.noise, scale, squares=squares, noise_floor=noise_floor)

    if encoded is not None:
        problem = bound(encoded)
        if not denoises_first(encoded.traits, problem.level):
            return encoded, problem
    return view, bound(view)


def _viewed(
    y: ArrayLike,
    model: Model,
    noise: float | PoissonGaussian | ColouredNoise | Literal["auto"] | None,
    *,
    channel_axis: int | None,
    spatial_ndim: int | None,
    data_range: tuple[float, float] | None,
    transfer: str,
    scale: Scale | None,
    squares: bool,
    exact_noise: bool,
    whole: bool,
    joins_equal: bool,
) -> _View:
    """Put the axes in order, find the scale, and leave out pixels that do not follow the model."""
    ndim = description.spatial_ndim_of(model, None if spatial_ndim is None else check_spatial_ndim(spatial_ndim))
    check_noise(noise)
    given = numeric_array(y, "y")
    leading = description.leading_axes_of(model)
    axes = Axes.of(given.shape, "y", channel_axis=channel_axis, spatial_ndim=ndim, leading=leading)
    observed = axes.to_inside(given, "y")
    traits = description.traits_of(model, observed, spatial_ndim=ndim)
    one = description.of_one_channel(model, traits, observed) if joins_equal else None
    if one is not None:
        model, axes = one, replace(axes, equal=observed.shape[-1])
        observed = axes.to_inside(given, "y")
        traits = description.traits_of(model, observed, spatial_ndim=ndim)
    likely, curve = likely_noise(observed, traits, noise, data_range, transfer, squares=squares)
    looks_for_foreign = whole and scale is None
    scale = scale or posing.scale_of(observed, traits, data_range, likely, model, curve)
    conversion = Conversion(axes, scale, observed.dtype, data_range)
    unit = observed if traits.observes == "counts" else scale.to_working(observed, frozen=True)
    foreign, hot = watching.foreign_to(unit, model, traits, likely, scale) if looks_for_foreign else (None, None)
    missing = [found for found in (foreign, hot) if found is not None]
    if missing:
        model = description.part_of(model, ~np.logical_or.reduce(missing), whole=True)
        traits = description.traits_of(model, observed, spatial_ndim=ndim)
        scale = posing.scale_of(observed, traits, data_range, likely, model, curve)
        unit = scale.to_working(observed, frozen=True)
        conversion = replace(conversion, scale=scale, left=None if foreign is None else (foreign, unit))
    notes = (*where_foreign(foreign), *where_hot(hot, observed))
    if looks_for_foreign and not exact_noise:
        notes = (*notes, *watching.understated(unit, traits, noise, scale))
    return _View(model, traits, conversion, observed, unit, likely, notes)


@dataclass(frozen=True, kw_only=True)
class _Kind:
    """Which of the cases with rules of their own a problem is.

    Attributes
    ----------
    sparse : bool
        A blur so mild that blocks of BM3D may be far apart.
    stars : bool
        Stars on a dark sky, restored on a nonlinear stretch.
    denoises_first : bool
        A blur so mild that it is inverted once, after a denoising.
    white : bool
        The denoiser gets noise that is white, or nearly so.
    plain : bool
        Deblurring an image with uniform noise in several iterations.
    large : bool
        The same, and the image is of some size.
    photons : PoissonGaussian, optional
        The noise, on the working scale, of deblurring an image whose noise grows with the signal.
    """

    sparse: bool
    stars: bool
    denoises_first: bool
    white: bool
    plain: bool
    large: bool
    photons: PoissonGaussian | None


def _kind_of(
    problem: Posed, traits: Traits, unit: NDArray[Any], scale: Scale, *, single: bool, may_denoise_first: bool
) -> _Kind:
    stars = description.possible_range_of(problem.data_term) is not None
    uniform = isinstance(problem.noise, float) and not stars
    first = may_denoise_first and uniform and denoises_first(traits, problem.level)
    plain = not first and is_plain(traits, problem.data_term, problem.noise)
    photons = None
    if isinstance(problem.noise, PoissonGaussian) and is_plain(traits, problem.data_term, problem.level):
        photons = None if traits.pointwise else problem.noise.moved(scale.gain, scale.offset)
    return _Kind(
        sparse=uniform and not single and not first and is_mild_throughout(traits, problem.level),
        stars=stars,
        denoises_first=first,
        white=single or first or (uniform and leaves_nearly_white_noise(traits, problem.level)),
        plain=plain,
        large=plain and is_large(unit),
        photons=photons,
    )


def _left_to_denoise(problem: Posed, traits: Traits, kind: _Kind) -> Traits:
    """Return what the denoiser needs to know about the noise that the model's step leaves."""
    return replace(
        traits,
        leaves="nearly white" if kind.sparse else "white" if kind.white else traits.leaves,
        noise=problem.level,
        noise_spectrum=problem.spectrum,
        noise_planes=problem.planes,
        natural=traits.natural and not kind.stars,
    )
