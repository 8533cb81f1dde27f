"""`restore`: from a user's array and a model to a restored array."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

import numpy as np
import scipy.fft

from plugplay import denoisers
from plugplay.arrays.axes import channels_last, image_axis, moved
from plugplay.arrays.checks import (
    BoolArray,
    FloatArray,
    check_choice,
    check_number,
    check_workers,
    generator,
    numeric_array,
)
from plugplay.arrays.masks import mask_for
from plugplay.arrays.scale import Scale
from plugplay.denoisers.base import Denoiser, accepts_option
from plugplay.io.photons import PhotonCounts, count_ones
from plugplay.models import Deblurring, Denoising, Inpainting, SinglePhoton, SuperResolution
from plugplay.models.base import LinearGaussianModel
from plugplay.models.operators.frame import Frame
from plugplay.models.single_photon import CountedSinglePhoton
from plugplay.noise.estimation import estimate_noise
from plugplay.noise.growing import PoissonGaussian, StabilisedTerm, Stabiliser, estimate_poisson_gaussian
from plugplay.pnp.admm import pnp_admm
from plugplay.pnp.results import Result, State
from plugplay.tuning.rules import IMAGE_VARIANCE, MIN_NOISE, choose, denoising_purpose, least_risk, noise_behind

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from plugplay.models.base import DataTerm, Model
    from plugplay.pnp.schedules import Schedule

__all__ = ["deblur", "denoise", "inpaint", "restore", "single_photon", "super_resolve"]


def restore(
    y: ArrayLike,
    model: Model,
    *,
    denoiser: str | Denoiser = "bm3d",
    noise: float | PoissonGaussian | None = None,
    lam: float | None = None,
    schedule: Schedule | None = None,
    tol: float | None = None,
    max_iter: int | None = None,
    start: ArrayLike | State | None = None,
    reference: ArrayLike | None = None,
    channel_axis: int | None = None,
    data_range: tuple[float, float] | None = None,
    callback: Callable[[State], object] | None = None,
    workers: int | None = None,
    tune: Literal["sure"] | None = None,
    rng: np.random.Generator | int | None = None,
) -> Result:
    """Restore an image by Plug-and-Play ADMM.

    Parameters
    ----------
    y : array
        The observation: integers, or floats on [0, 1] (else say so with `data_range`).
    model : Model
        What happened to the image, from `plugplay.models`.
    denoiser : str or callable
        A name from ``plugplay.denoisers.available()``, or any callable ``(image, sigma) -> image`` for float
        images on [0, 1], gray ``(H, W)`` or colour ``(H, W, C)``.
    noise : float or PoissonGaussian, optional
        Standard deviation of the noise, on the scale [0, 1], or noise that grows with the signal (for `Denoising` and
        `Inpainting`). Estimated from y if it is not given.
    lam : float, optional
        Lambda, the weight of the prior. This and the next three are chosen from the noise, the model and the denoiser
        if they are not given: see `plugplay.tuning.rules`.
    schedule : Schedule, optional
        How rho grows: `Constant`, `Monotone` or `Adaptive`.
    tol, max_iter : optional
        When to stop: at a change per iteration of at most `tol`, or after `max_iter` iterations.
    start : array or State, optional
        The first guess, like `reference`, or the state of an earlier run to continue.
    reference : array, optional
        The true image, for the PSNR in the history: integers, or floats in the units of ``result.image``.
    channel_axis : int, optional
        The axis of the colour channels. Without it, y has no channels.
    data_range : (float, float), optional
        The values that mean black and white. Default: the dtype's range for integers, (0, 1) for floats.
    callback : callable, optional
        Called with the `State`, on the scale [0, 1], after every iteration; ``StopIteration`` ends the run.
    workers : int, optional
        Number of threads; by default all cores. The result does not depend on it.
    tune : "sure", optional
        Refine the automatic lambda by Stein's unbiased risk estimate (`plugplay.tuning.rules.least_risk`), at the cost
        of ten more restorations. For models with Gaussian noise.
    rng : numpy.random.Generator or int, optional
        Source of the random direction that ``tune="sure"`` needs.

    Returns
    -------
    Result
        ``result.image`` is float and unclipped: in the units of y if y was float, on [0, 1] if it was integer.

    Examples
    --------
    >>> import numpy as np, plugplay as pp
    >>> camera = pp.models.Deblurring(pp.kernels.gaussian(5, sigma=1.0))
    >>> y = camera.simulate(np.eye(16), noise=0.01, rng=0)
    >>> result = pp.restore(y, camera, denoiser="tv", lam=1e-3, schedule=pp.Monotone(rho0=0.1, gamma=1.5))
    >>> result.image.shape, result.status.name
    ((16, 16), 'CONVERGED')
    """
    _check_model(model)
    observed = channels_last(numeric_array(y, "y"), model, channel_axis)
    intensity = getattr(model, "observes_intensity", True)
    if data_range is not None and not intensity:
        raise ValueError(f"data_range is about intensities, but {type(model).__name__} observes photons")
    mask: BoolArray | None = getattr(model, "mask", None)
    seen = observed if mask is None else observed[mask_for(observed, mask)]
    scale = Scale.of(seen, data_range) if intensity else Scale(0.0, 1.0, integer=True)
    axis = image_axis(observed, model, channel_axis)
    companions = _Companions(scale, data_range, observed.dtype, axis)
    parallel = check_workers(workers)
    unit = scale.to_unit(observed) if intensity else observed
    problem = _pose(unit, model, noise)
    method = make_denoiser(denoiser, model, parallel)
    weight = None if lam is None else check_number(lam, "lam", above=0)
    if tune is not None:
        check_choice(tune, "tune", ("sure",))
        if lam is not None:
            raise ValueError(f"tune={tune!r} looks for lambda, but lam={lam!r} was given: give one of them")
        with scipy.fft.set_workers(parallel):
            weight = _lambda_of_least_risk(unit, model, problem, method, rng)
    one_step = schedule is None and tol is None and max_iter is None and start is None
    choice = choose(model, problem.noise, lam=weight, one_step=one_step)
    if start is not None and not isinstance(start, State):
        start = problem.enter(companions.on_unit_scale(start, "start"))

    with scipy.fft.set_workers(parallel):
        result = pnp_admm(
            problem.data_term,
            method,
            schedule=choice.schedule if schedule is None else schedule,
            lam=choice.lam,
            tol=choice.tol if tol is None else tol,
            max_iter=choice.max_iter if max_iter is None else max_iter,
            start=start,
            clip=choice.clip,
            reference=None if reference is None else companions.on_unit_scale(reference, "reference"),
            callback=callback,
        )
    image = scale.from_unit(result.image)
    if axis is not None:
        image = np.moveaxis(image, -1, axis)
    given = {"noise": noise, "lam": lam, "schedule": schedule, "tol": tol, "max_iter": max_iter}
    if not intensity:
        del given["noise"]
    parameters = replace(
        result.parameters,
        model=model,
        noise=problem.described if intensity else None,
        data_range=(scale.low, scale.high),
        chosen=tuple(name for name, value in given.items() if value is None),
        tune=tune,
    )
    return replace(result, image=image, parameters=parameters)


class RestoreOptions(TypedDict, total=False):
    """The options of `restore`, which every one-call function takes too."""

    denoiser: str | Denoiser
    noise: float | PoissonGaussian | None
    lam: float | None
    schedule: Schedule | None
    tol: float | None
    max_iter: int | None
    start: ArrayLike | State | None
    reference: ArrayLike | None
    channel_axis: int | None
    data_range: tuple[float, float] | None
    callback: Callable[[State], object] | None
    workers: int | None
    tune: Literal["sure"] | None
    rng: np.random.Generator | int | None


def denoise(y: ArrayLike, **options: Unpack[RestoreOptions]) -> Result:
    """Remove noise; options as in `restore`."""
    return restore(y, Denoising(), **options)


def deblur(
    y: ArrayLike,
    kernel: ArrayLike,
    *,
    boundary: str = "unknown",
    mask: ArrayLike | None = None,
    **options: Unpack[RestoreOptions],
) -> Result:
    """Undo a known blur; options as in `restore`, `boundary` and `mask` as in `plugplay.models.Deblurring`."""
    model = Deblurring(kernel, boundary=boundary, mask=_mask_channels_last(mask, options))
    return restore(y, model, **options)


def inpaint(y: ArrayLike, mask: ArrayLike, **options: Unpack[RestoreOptions]) -> Result:
    """Fill in the pixels where the mask is False; options as in `restore`."""
    return restore(y, Inpainting(_mask_channels_last(mask, options)), **options)


def super_resolve(
    y: ArrayLike,
    factor: int,
    kernel: ArrayLike | Literal["bicubic"] = "bicubic",
    *,
    offset: int | None = None,
    boundary: str = "reflect",
    mask: ArrayLike | None = None,
    **options: Unpack[RestoreOptions],
) -> Result:
    """Enlarge an image; options as in `restore`, the others as in `plugplay.models.SuperResolution`."""
    observed = _mask_channels_last(mask, options)
    model = SuperResolution(factor, kernel, offset=offset, boundary=boundary, mask=observed)
    return restore(y, model, **options)


def single_photon(
    bits: ArrayLike | PhotonCounts | str | os.PathLike[str],
    *,
    oversampling: int | None = None,
    gain: float | None = None,
    threshold: int = 1,
    dark: float = 0.0,
    efficiency: float = 1.0,
    **options: Unpack[RestoreOptions],
) -> Result:
    """Reconstruct an image from binary frames; options as in `restore`, the rest as in `models.SinglePhoton`.

    Parameters
    ----------
    bits : array, PhotonCounts or path
        Bits ``(K H, K W)`` or ``(T, K H, K W)``, what `plugplay.io.photons.count_ones` returns, or a file that it
        can read without further options.
    oversampling : int, optional
        K, the jots along each side of a pixel: by default 1, or what the counts were made with.

    Examples
    --------
    >>> import numpy as np, plugplay as pp
    >>> bits = np.random.default_rng(0).random((30, 16, 16)) < 0.5
    >>> pp.single_photon(bits, denoiser="tv", max_iter=3).image.shape
    (16, 16)
    """
    if isinstance(bits, str | os.PathLike):
        bits = count_ones(bits, oversampling=1 if oversampling is None else oversampling)
    if isinstance(bits, PhotonCounts):
        if oversampling not in (None, bits.oversampling):
            raise ValueError(f"oversampling is {oversampling}, but the counts were made with {bits.oversampling}")
        observed, frames = np.stack([bits.ones, bits.trials]), bits.frames
        sensor: type[SinglePhoton] = CountedSinglePhoton
        k = bits.oversampling
    else:
        observed, frames = numeric_array(bits, "bits"), 1
        axis = options.get("channel_axis")
        if observed.ndim - (axis is not None) == 3:
            time = 1 if axis is not None and axis % observed.ndim == 0 else 0
            frames = observed.shape[time]
            if frames == 1:  # a cube of one frame is that frame
                if axis is not None and axis > time:
                    options["channel_axis"] = axis - 1
                observed = observed.squeeze(time)
        sensor, k = SinglePhoton, 1 if oversampling is None else oversampling
    model = sensor(k, frames=frames, gain=gain, threshold=threshold, dark=dark, efficiency=efficiency)
    return restore(observed, model, **options)


def _mask_channels_last(mask: ArrayLike | None, options: RestoreOptions) -> Any:
    """Return a mask that has the axes of y with its channels where models expect them."""
    axis = options.get("channel_axis")
    return mask if mask is None or axis is None or np.ndim(mask) != 3 else moved(np.asarray(mask), axis, "mask")


@dataclass(frozen=True)
class _Problem:
    """What the loop works on: the data term, the level of its noise, and how a first guess enters its domain."""

    data_term: DataTerm
    noise: float
    described: float | PoissonGaussian
    enter: Callable[[FloatArray], FloatArray] = lambda guess: guess


def _pose(y: NDArray[Any], model: Model, noise: float | PoissonGaussian | None) -> _Problem:
    """Bind the model to the observation; noise that grows with the signal is made uniform first."""
    if not getattr(model, "observes_intensity", True):
        if noise is not None:
            raise ValueError(f"{type(model).__name__} knows the statistics of its photons: noise= must not be given")
        return _Problem(model.data_term(y), 0.0, 0.0)
    mask = getattr(model, "mask", None)
    if isinstance(noise, PoissonGaussian):
        if not isinstance(model, Denoising | Inpainting):
            raise ValueError(
                f"noise=PoissonGaussian(...) works pixel by pixel, so only denoise and inpaint can use it; for "
                f"{type(model).__name__} give the standard deviation of the noise as a number"
            )
        model.data_term(y)  # complains about pixels that are not finite
        known = estimate_poisson_gaussian(y, noise, mask=mask)
        observed = y if mask is None else np.where(mask_for(y, mask), y, y.dtype.type(0))
        stabiliser = Stabiliser.build(observed, known)
        term = StabilisedTerm(model.data_term(stabiliser.forward(observed)), stabiliser)
        return _Problem(term, stabiliser.noise, known, stabiliser.forward)
    data_term = model.data_term(y)
    frame: Frame = getattr(data_term, "frame", Frame())

    def enter(guess: FloatArray) -> FloatArray:
        return guess if guess.shape == tuple(data_term.shape) else frame.reflect(guess)

    if noise is None:
        level = noise_behind(model, estimate_noise(y, mask=mask).sigma)
    else:
        level = check_number(noise, "noise", minimum=0)
    return _Problem(data_term, level, level, enter)


def _lambda_of_least_risk(
    y: FloatArray, model: Model, problem: _Problem, denoiser: Denoiser, rng: np.random.Generator | int | None
) -> float:
    if not isinstance(model, LinearGaussianModel) or isinstance(problem.described, PoissonGaussian):
        raise ValueError(f"tune='sure' needs Gaussian noise on a linear model; got {type(model).__name__}")
    mask: BoolArray | None = getattr(model, "mask", None)
    observed = y if mask is None else np.where(mask_for(y, mask), y, y.dtype.type(0))
    whole_domain = getattr(model, "boundary", None) == "unknown"  # there, forward looks beyond the frame

    def predict(observation: FloatArray, lam: float) -> FloatArray:
        term = model.data_term(observation)
        choice = choose(model, problem.noise, lam=lam)
        v = pnp_admm(
            term,
            denoiser,
            schedule=choice.schedule,
            lam=lam,
            tol=choice.tol,
            max_iter=choice.max_iter,
            clip=choice.clip,
        ).state.v
        return model.forward(v if whole_domain else term.crop(v))

    def deconvolve(observation: FloatArray) -> FloatArray:
        term = model.data_term(observation)
        return term.prox(np.zeros(term.shape, observation.dtype), max(problem.noise, MIN_NOISE) ** 2 / IMAGE_VARIANCE)

    start = choose(model, problem.noise).lam
    source = generator(rng, "tune='sure'")
    return least_risk(predict, deconvolve, observed, noise=problem.noise, lam=start, rng=source)


def _check_model(model: object) -> None:
    if isinstance(model, type) or not hasattr(model, "data_term"):
        raise TypeError(f"model must be a model such as plugplay.models.Deblurring(kernel); got {model!r}")


@dataclass(frozen=True)
class _Companions:
    """How arrays that belong to the restored image, a start or a reference, come to the scale [0, 1]."""

    scale: Scale
    data_range: tuple[float, float] | None
    dtype: np.dtype[Any]
    channel_axis: int | None

    def on_unit_scale(self, value: ArrayLike, name: str) -> FloatArray:
        array = numeric_array(value, name)
        # Integers of y's own kind share its range; others mean what their dtype says. Floats are in the units of the
        # restored image, which are those of y if it is float.
        shares = array.dtype == self.dtype or (array.dtype.kind == "f" and not self.scale.integer)
        unit = Scale.of(array, self.data_range if shares else None, name=name).to_unit(array)
        return unit if self.channel_axis is None else moved(unit, self.channel_axis, name)


def make_denoiser(denoiser: str | Denoiser, model: Model, workers: int) -> Denoiser:
    """Return the denoiser of this name, made for what the model leaves it to remove; a callable stays as it is."""
    if not isinstance(denoiser, str):
        return denoiser
    options: dict[str, Any] = {"workers": workers, "purpose": denoising_purpose(model)}
    return denoisers.get(denoiser, **{name: value for name, value in options.items() if accepts_option(denoiser, name)})
