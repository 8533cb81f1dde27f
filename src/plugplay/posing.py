"""The problem that the loop solves: find the scale and the noise of an observation, and bind the model to it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from plugplay.arrays.checks import FloatArray, check_number, check_same_shape
from plugplay.arrays.masks import hardly_observed
from plugplay.arrays.outliers import far_from_all_others
from plugplay.arrays.scale import Scale
from plugplay.denoisers.base import name_of, prepare_denoiser
from plugplay.models.description import (
    entered,
    knows_photons,
    poisson_term_of,
    possible_range_of,
    stretched_term_of,
)
from plugplay.models.likelihoods.stabilised import StabilisedTerm
from plugplay.noise.clipped import ClippedNoise
from plugplay.noise.coloured import ColouredNoise
from plugplay.noise.finding import FoundNoise, find_coloured_noise, find_noise
from plugplay.noise.growing import PoissonGaussian, Stabiliser, estimate_poisson_gaussian
from plugplay.noise.impulses import impulses
from plugplay.pnp.state import State
from plugplay.tuning import counting, unclipping
from plugplay.tuning.decimation import noise_behind, noise_found, unaliased
from plugplay.tuning.smoothed import told_of
from plugplay.tuning.star_fields import star_field

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from plugplay.arrays.axes import Axes
    from plugplay.arrays.observation import Conversion
    from plugplay.denoisers.base import Denoiser
    from plugplay.models.base import DataTerm, Model
    from plugplay.pnp.results import Parameters
    from plugplay.traits import Traits

__all__ = [
    "Posed",
    "checked_reference",
    "described",
    "first_guess",
    "noticed",
    "numbers_of",
    "posed",
    "scale_of",
    "unclipped",
]

# Black may be moved if the model's response to a constant image is this close to that image.
_KEEPS_CONSTANTS = 1e-6


def scale_of(
    observed: NDArray[Any],
    traits: Traits,
    data_range: tuple[float, float] | None,
    noise: object,
    model: Model,
    transfer: str = "linear",
) -> Scale:
    """Return the nominal and the working range."""
    if transfer != "linear":
        if traits.observes != "intensities":
            raise ValueError(
                f"transfer={transfer!r} is for the values of photographs, but {type(model).__name__} observes "
                f"{traits.observes}"
            )
        return Scale.of_light(observed, transfer, data_range, traits.observed)
    if traits.observes == "counts":
        if data_range is not None:
            raise ValueError(f"data_range is for intensities, but {type(model).__name__} observes photons")
        return Scale(0.0, 1.0, integer=True)
    if traits.observes == "projections":
        scale = Scale.nominal_of(observed.dtype, data_range)
        if scale.low != 0:
            raise ValueError(
                f"data_range must begin at 0, because {type(model).__name__} does not map a constant image to a "
                f"constant; got ({scale.low:g}, {scale.high:g})"
            )
        return scale
    if isinstance(noise, PoissonGaussian) and traits.pointwise:
        # The transform that makes the noise uniform has a range of its own.
        return Scale.nominal_of(observed.dtype, data_range)
    gain = traits.constant_gain
    movable = gain is not None and abs(gain - 1) <= _KEEPS_CONSTANTS
    scale = Scale.of(observed, data_range, observed=traits.observed, movable=movable)
    # An 8-bit image may vary by few levels, all hidden by noise; then a large noise is not one on a wrong scale.
    few_levels = scale.integer and scale.high - scale.low <= counting.MAX_8_BIT
    hidden = few_levels and isinstance(noise, int | float) and noise * scale.gain >= 1
    return Scale.nominal_of(observed.dtype, data_range) if hidden else scale


@dataclass(frozen=True, eq=False)
class Posed:
    """A model bound to an observation, with its noise.

    Attributes
    ----------
    data_term : DataTerm
        The data term.
    level : float
        Standard deviation of the noise, on the working scale.
    noise : float, PoissonGaussian, ColouredNoise or None
        The noise on the nominal scale; None for photons, whose statistics the model knows.
    error : float, optional
        The standard error of the level, on the working scale, if it was estimated.
    margin : float
        By how much an estimated level is likely to be too low.
    notes : tuple of str
        What a user should know about the noise.
    clipped : ClippedNoise, optional
        At which ends of the range it was clipped, if it was.
    planes : (float, float, float), optional
        Its standard deviation in luminance and two colour differences, relative to `level`, if it is alike in all
        channels.
    zeroed : float
        The standard deviation of what compression may have made zero, if the level was estimated.
    beside_texture : bool
        Whether noise was told from texture, so that texture in the residual says nothing about the noise.
    """

    data_term: DataTerm
    level: float
    noise: float | PoissonGaussian | ColouredNoise | None
    error: float | None = None
    margin: float = 0.0
    notes: tuple[str, ...] = ()
    clipped: ClippedNoise | None = None
    planes: tuple[float, float, float] | None = None
    zeroed: float = 0.0
    beside_texture: bool = False

    @property
    def spectrum(self) -> NDArray[np.float64] | None:
        """The relative power of the noise at all frequencies; None for white noise."""
        return self.noise.spectrum if isinstance(self.noise, ColouredNoise) else None


def posed(
    y: NDArray[Any],
    model: Model,
    traits: Traits,
    noise: float | PoissonGaussian | ColouredNoise | str | None,
    scale: Scale,
    *,
    squares: bool = False,
    noise_floor: float = 0.0,
) -> Posed:
    """Bind the model to the observation, and estimate the noise if it was not given.

    Counts whose noise clearly grows with the signal get the likelihood of photons, unless `squares` asks for
    ``f = ½ ||G x - y||²``.
    """
    check_number(noise_floor, "noise_floor", minimum=0, below=1)
    if isinstance(noise, str) and noise != "auto":
        raise ValueError(f"noise must be a number, a PoissonGaussian, a ColouredNoise or 'auto'; got {noise!r}")
    if traits.observes == "counts":
        if noise is not None:
            raise ValueError(f"{type(model).__name__} knows the statistics of its photons: noise= must not be given")
        return Posed(model.data_term(y), traits.noise or 0.0, None)
    data_term = model.data_term(y)  # raises an error if pixels are not finite
    field = None if squares else star_field(y, model, traits, noise, scale)
    if field is not None:
        sky, tau = field
        stars = stretched_term_of(model, y, sky=sky, tau=tau)
        in_stars = PoissonGaussian(sky.noise / tau, sky.noise, offset=sky.level)
        in_stars = in_stars.moved(1 / scale.gain, -scale.offset / scale.gain)
        told = noise.offset if isinstance(noise, PoissonGaussian) else 0.0
        return Posed(stars, stars.noise, in_stars.with_offset(told) if told else in_stars)
    if (noise is None or noise == "auto") and not squares and counting.is_of_photons(y, model, traits, scale):
        noise = PoissonGaussian()
    if isinstance(noise, PoissonGaussian):
        if not traits.pointwise and not knows_photons(model):
            raise ValueError(
                f"noise=PoissonGaussian(...) needs a model that is pointwise or has a poisson_term; for "
                f"{type(model).__name__} give the standard deviation of the noise as a number"
            )
        # Photons are counted in light.
        counted = scale.to_nominal(y) if scale.transfer == "linear" else y
        known = estimate_poisson_gaussian(counted, noise, mask=traits.observed, spatial_ndim=traits.spatial_ndim)
        if not traits.pointwise:
            if noise.gain is None and noise.read is None:
                known = known.raised(unaliased(traits))
            photons = poisson_term_of(model, y, known.moved(scale.gain, scale.offset))
            return Posed(photons, photons.noise, known)
        values = y if traits.observed is None else np.where(traits.observed, y, y.dtype.type(0))
        stabiliser = Stabiliser.build(values, known, limits=scale.limits)
        term = StabilisedTerm(model.data_term(stabiliser.forward(values)), stabiliser)
        return Posed(term, stabiliser.noise, known)
    if noise is None or noise == "auto":
        if traits.observes == "projections":
            raise ValueError(
                f"the noise cannot be estimated from what {type(model).__name__} observes, which is not an image: give "
                "its standard deviation with noise="
            )
        found = _found(y, model, traits, scale)
        inverted = traits.spectrum is not None and traits.decimation == 1 and not traits.pointwise
        least = max(found.level, noise_floor * scale.gain, found.compression if inverted else 0.0)
        # A denoiser may leave what is left of strong frequencies; inverting a blur amplifies it.
        level = noise_behind(traits, max(least, found.strongest), found.uncertainty) * scale.slope
        nominal = level / scale.noise_gain
        return Posed(
            data_term,
            level,
            nominal if found.coloured is None else ColouredNoise(nominal, found.coloured.spectrum),
            found.uncertainty * scale.slope,
            found.margin * scale.slope,
            (*told_of(found.strongest, least), *counting.grows_untold(y, model, traits, scale)),
            planes=found.planes,
            zeroed=found.zeroed * scale.slope,
            beside_texture=found.beside_texture,
        )
    if isinstance(noise, ColouredNoise) and not counting.leaves_noise_alone(traits):
        raise ValueError(
            f"noise=ColouredNoise(...) is for denoising, but {type(model).__name__} changes the colour of the noise; "
            "give its standard deviation as a number"
        )
    given = check_number(noise.sigma if isinstance(noise, ColouredNoise) else noise, "noise", minimum=0)
    if given * scale.noise_gain >= 1 and traits.observes != "projections":
        (low, high), width = scale.working, scale.high - scale.low
        text = f"noise must be below the width of the image's range, {low:g} to {high:g}; got {given!r}"
        if width == 1:
            raise ValueError(f"{text}: it is a standard deviation in the same units; for 8-bit images write 5/255")
        raise ValueError(
            f"{text} on the scale from 0 (black, {scale.low:g}) to 1 (white, {scale.high:g}), which is "
            f"{given * width:g} in the units of the image; if {given:g} is meant in those, write {given:g}/{width:g}"
        )
    return Posed(data_term, given * scale.noise_gain, noise if isinstance(noise, ColouredNoise) else given)


def unclipped(
    y: FloatArray,
    model: Model,
    traits: Traits,
    problem: Posed,
    scale: Scale,
    denoiser: str | Denoiser | None,
    workers: int,
) -> tuple[FloatArray, Posed]:
    """Return the observation without the bias of clipped noise, and the model bound to it; else both as they are.

    Only BM3D is asked for means. Without a denoiser, nothing is changed.
    """
    if denoiser is None or name_of(denoiser) != unclipping.DENOISER:
        return y, problem
    plain = scale.is_nominal and scale.transfer == "linear" and possible_range_of(problem.data_term) is None
    image = traits.observes == "intensities" and traits.spatial_ndim == 2 and traits.observed is None
    if not (plain and image and isinstance(problem.noise, float)):
        return y, problem
    known = None if scale.limits is None else ClippedNoise(*(scale.clipped or (0.0, 0.0)))
    denoise = prepare_denoiser(denoiser, replace(traits, leaves="white", noise=problem.level), workers)
    moved, clipped = unclipping.unclipped(y, problem.level, denoise, known=known)
    if not clipped:
        return y, problem
    notes = (*problem.notes, *unclipping.told_of(clipped))
    return moved, replace(problem, data_term=model.data_term(moved), clipped=clipped, notes=notes)


def _found(y: FloatArray, model: Model, traits: Traits, scale: Scale) -> FoundNoise:
    """Estimate the noise."""
    numbers = numbers_of(y, scale)
    coloured = (
        find_coloured_noise(numbers) if counting.leaves_noise_alone(traits) and traits.spatial_ndim == 2 else None
    )
    found = coloured or find_noise(numbers, mask=traits.observed, spatial_ndim=traits.spatial_ndim)
    about = model if scale.transfer == "linear" else None
    return noise_found(numbers, traits, found, about)


def numbers_of(y: FloatArray, scale: Scale) -> FloatArray:
    """Return the values as stored, not decoded to light: noise estimates recognise their rounding and compression."""
    return y if scale.transfer == "linear" else scale.to_nominal(y)


def noticed(
    axes: Axes,
    scale: Scale,
    y: NDArray[Any],
    traits: Traits,
    data_term: DataTerm,
    problem: Posed,
    curve: str | None,
) -> tuple[str, ...]:
    """Return warnings about axes, range, noise, odd values, the mask, and a transfer `curve` that was found."""
    observed = traits.observed
    notes = [] if observed is None else list(hardly_observed(observed))
    if axes.guessed:
        notes.append(
            f"the last axis of y, whose shape is {axes.spread(y).shape}, was taken to be colour; pass channel_axis=-1 "
            "to confirm this, or spatial_ndim=3 if y is a volume"
        )
    if curve is not None:
        notes.append(
            f"the noise is that of photons behind the {curve} curve, stronger where it is dark, and was "
            f"removed from light, as transfer={curve!r} does; a number for noise switches that off"
        )
    if possible_range_of(data_term) is not None:
        notes.append(
            "a few bright points on a dark sky: the denoiser sees the image on a nonlinear stretch, as star fields are "
            "usually displayed"
        )
    elif not scale.is_nominal:
        low, high = scale.working
        fit = "do not fill their range" if scale.holds_data else f"are not between {scale.low:g} and {scale.high:g}"
        notes.append(f"the data {fit}, so the denoiser sees {low:.6g} to {high:.6g} as black to white")
    if traits.observes == "intensities" and possible_range_of(data_term) is None:
        notes.extend(far_from_all_others(y, observed))
        spread = problem.noise.sigma if isinstance(problem.noise, ColouredNoise) else problem.noise
        if traits.pointwise and observed is None and isinstance(spread, float):
            notes.extend(impulses(y, spread * (scale.high - scale.low), traits.spatial_ndim))
    return (*notes, *problem.notes)


def first_guess(
    start: ArrayLike | State | None, data_term: DataTerm, conversion: Conversion
) -> FloatArray | State | None:
    """Return the user's first guess as an x of the data term; a state is returned as it is."""
    if start is None or isinstance(start, State):
        return start
    first = entered(data_term, conversion.to_working(start, "start"))
    check_same_shape(first, tuple(data_term.shape), "start", "the unknown image")
    return first


def checked_reference(reference: ArrayLike, data_term: DataTerm, conversion: Conversion) -> FloatArray:
    """Return the true image on the nominal scale, or raise if it does not have the shape of the restored image."""
    truth = conversion.to_nominal(reference, "reference")
    restored = conversion.axes.spread(data_term.crop(data_term.start()))
    check_same_shape(truth, restored.shape, "reference", "the restored image")
    return truth


def described(
    loop: Parameters,
    problem: Posed,
    conversion: Conversion,
    *,
    squared: float,
    model: Model,
    given: Mapping[str, object],
    tune: Literal["sure"] | None,
    transfer: str,
) -> Parameters:
    """Return the parameters of the loop on the nominal scale; `given` are the user's values, by name."""
    scale = conversion.scale
    automatic = tuple(name for name, value in given.items() if value is None or value == "auto")
    return replace(
        loop,
        lam=loop.lam / squared,
        clip=None if loop.clip is None else scale.interval_to_nominal(loop.clip),
        last_sigma=loop.last_sigma / scale.gain,
        model=model,
        noise=problem.noise,
        noise_uncertainty=None if problem.error is None else problem.error / scale.noise_gain,
        data_range=scale.nominal,
        working_range=scale.working,
        transfer=transfer,
        clipped_noise=(problem.clipped.low, problem.clipped.high) if problem.clipped else None,
        equal_channels=conversion.axes.equal > 0,
        chosen=automatic[problem.noise is None :],
        tune=tune,
    )
