"""`restore`, and one function for each common task."""

from __future__ import annotations

import functools
import inspect
import os
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar, Unpack

import numpy as np

from plugplay import denoisers
from plugplay.arrays.axes import Axes, without_single_frame
from plugplay.arrays.checks import check_choice, numeric_array
from plugplay.arrays.masks import nothing_missing
from plugplay.io.photons import PhotonCounts, count_ones
from plugplay.models import Deblurring, Denoising, Inpainting, SinglePhoton, SuperResolution
from plugplay.models.exposure import exposed, overexposed, per_exposure
from plugplay.models.single_photon import CountedSinglePhoton
from plugplay.models.stabilised_photons import StabilisedPhotons, are_stable
from plugplay.plots.attending import attended
from plugplay.pnp.driver import check_callback
from plugplay.preparation import prepare
from plugplay.reading import RestoreOptions, kernel_of, mask_inside, observation_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from plugplay.denoisers.base import Denoiser
    from plugplay.models.base import Model
    from plugplay.noise.coloured import ColouredNoise
    from plugplay.noise.growing import PoissonGaussian
    from plugplay.pnp.iterations import Iteration
    from plugplay.pnp.results import Result
    from plugplay.pnp.schedules import Schedule
    from plugplay.pnp.state import State

__all__ = ["deblur", "denoise", "inpaint", "restore", "single_photon", "super_resolve"]

Arguments = ParamSpec("Arguments")
Returned = TypeVar("Returned")


def restore(
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
    callback: Callable[[State], object] | None = None,
    workers: int | None = None,
    rng: np.random.Generator | int | None = None,
) -> Result:
    """Restore an image by Plug-and-Play.

    Parameters
    ----------
    y : array
        The observation: integers, or floats on [0, 1] (else say so with `data_range`).
    model : Model
        The model of what happened to the image, such as those in `plugplay.models`.
    denoiser : str or callable
        A name from ``plugplay.denoisers.available()``, or any callable ``(image, sigma) -> image`` for float
        images on [0, 1], gray ``(H, W)`` or colour ``(H, W, C)``.
    noise : float, PoissonGaussian, ColouredNoise or "auto", optional
        Standard deviation of the noise, on the scale [0, 1] for integers and in the units of float input; or noise that
        grows with the signal; or, for denoising, noise with a given spectrum. Estimated from y by default and for
        ``"auto"``. If the noise clearly grows with the signal, denoising then treats y as photon counts, and deblurring
        does so for 16-bit integers; denoising also detects photon noise behind a transfer curve, and coloured noise,
        such as that of demosaicking.
    lam : float, optional
        Lambda, the weight of the prior. By default this, `schedule`, `tol` and `max_iter` are chosen from the noise,
        the model and the denoiser: see `plugplay.tuning.rules`.
    schedule : Schedule, optional
        How rho grows: `Constant`, `Monotone`, `TwoSpeed` or `Adaptive`.
    iteration : {"admm", "hqs", "pgd", "fista", "red"} or Iteration
        How an iteration combines the model's step and the denoiser. ``"admm"`` is the paper's Algorithm 1, to which
        its theorem applies; the others are half-quadratic splitting, proximal gradient descent, its accelerated form,
        and regularisation by denoising. An object with ``init``, ``step`` and ``image`` is an iteration of your own.
    tol, max_iter : optional
        When to stop: at a change per iteration of at most `tol`, or after `max_iter` iterations. If neither `tol` nor
        `schedule` is given, the number of iterations is planned; it is ``parameters.min_iter``.
    start : array or State, optional
        The first guess, in the units of `reference`, or the state of an earlier run to continue.
    clip : (float, float), "auto" or None
        The denoiser's input is clipped to this range, by default to that of the image. An end may be infinite.
    strength : float
        Multiplies the automatic lambda: above 1 for a smoother image, below for a sharper one.
    tune : "sure", optional
        Refine the automatic lambda by Stein's unbiased risk estimate (`plugplay.tuning.risk`), at the cost of ten more
        restorations. For models with Gaussian noise.
    reference : array, optional
        The true image, for the PSNR in the history: integers, or floats in the units of ``result.image``. The one-call
        functions also accept file names for it and for `start`.
    channel_axis : int, optional
        The axis of the colour channels. By default y has none, unless its last axis has length 3 or 4.
    spatial_ndim : {2, 3}, optional
        Whether y is an image or a volume; by default what the model works on.
    data_range : (float, float), optional
        The values of black and white. Default: the dtype's range for integers, (0, 1) for floats.
    transfer : str
        The transfer curve of y, which encodes light as values: ``"linear"``, ``"srgb"`` or ``"gamma:2.2"``. Unless it
        is linear, y is decoded to light, which is what a blur acts on, restored, and encoded again; `noise` still
        refers to the values of y.
    noise_floor : float
        Lower limit of the estimated noise, for example that of JPEG rounding.
    exact_noise : bool
        Whether to keep a given noise level even if the data contradict it.
    callback : callable, optional
        Called with the `State`, on the working scale, after every iteration; ``StopIteration`` ends the run.
    workers : int, optional
        Number of threads; by default all cores. The result does not depend on it.
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
    check_callback(callback)
    plan = prepare(
        y,
        model,
        denoiser=denoiser,
        noise=noise,
        lam=lam,
        schedule=schedule,
        iteration=iteration,
        tol=tol,
        max_iter=max_iter,
        start=start,
        clip=clip,
        strength=strength,
        tune=tune,
        reference=reference,
        channel_axis=channel_axis,
        spatial_ndim=spatial_ndim,
        data_range=data_range,
        transfer=transfer,
        noise_floor=noise_floor,
        exact_noise=exact_noise,
        workers=workers,
        rng=rng,
    )
    return attended(plan, y, callback, channel_axis=channel_axis, spatial_ndim=spatial_ndim)


def _with_options(function: Callable[Arguments, Returned]) -> Callable[Arguments, Returned]:
    """Add the options of `restore` to the signature of a function, and name the function in errors about them."""
    own = [p for p in inspect.signature(function).parameters.values() if p.kind is not p.VAR_KEYWORD]
    options = [p for name, p in inspect.signature(restore).parameters.items() if name in RestoreOptions.__annotations__]
    signature = inspect.signature(function).replace(parameters=[*own, *options])

    @functools.wraps(function)
    def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Returned:
        try:
            signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{function.__name__}: {error}") from None
        return function(*args, **kwargs)

    call.__signature__ = signature  # type: ignore[attr-defined]
    return call


@_with_options
def denoise(y: ArrayLike | os.PathLike[str], **options: Unpack[RestoreOptions]) -> Result:
    """Remove noise.

    Options are those of `restore`; y may also be the name of an image file.

    Examples
    --------
    >>> import numpy as np, plugplay as pp
    >>> noisy = np.eye(16) + np.random.default_rng(0).normal(0, 0.1, (16, 16))
    >>> pp.denoise(noisy, denoiser="tv").image.shape
    (16, 16)
    """
    observed, known = observation_of(y, {**options}, optical=False)
    return restore(observed, Denoising(spatial_ndim=options.get("spatial_ndim") or 2), **known)


@_with_options
def deblur(
    y: ArrayLike | os.PathLike[str],
    kernel: ArrayLike | os.PathLike[str],
    *,
    boundary: str = "unknown",
    mask: ArrayLike | os.PathLike[str] | None = None,
    exact_kernel: bool = False,
    **options: Unpack[RestoreOptions],
) -> Result:
    """Undo a known blur.

    Further options are those of `restore`.

    Parameters
    ----------
    y : array or path
        The blurred image or volume, or an image file. The transfer curve of a file is undone as on the command line,
        unless `transfer` is given, and its noise is never estimated below the JPEG rounding.
    kernel : array, str or path
        The blur: a 2-D array, a 3-D one for volumes, a description such as ``"motion:15,30"``
        (`plugplay.kernels.parse`), or a file. Unless it sums to 1 it is normalised, with a note in
        ``result.warnings``.
    boundary : {"unknown", "circular", "reflect"}
        What lies beyond the frame, as in `plugplay.models.Deblurring`.
    mask : array of bool or path, optional
        True (in a file: white) where a pixel was observed.
    exact_kernel : bool
        Whether to keep the kernel even if a slightly wider, narrower or turned one clearly fits the data better. The
        misfit of a wrong kernel then counts as noise, so that it does not spoil the image; only with a given `lam` it
        does not.

    Examples
    --------
    >>> import numpy as np, plugplay as pp
    >>> pp.deblur(np.eye(16), "gaussian:0.5", noise=0.01, denoiser="tv").image.shape
    (16, 16)
    """
    taps, notes = kernel_of(kernel)
    observed, known = observation_of(y, {**options}, optical=True)
    seen, doubts = mask_inside(observed, mask, taps.ndim, known)
    model = Deblurring(taps, boundary=boundary, mask=seen, exact=exact_kernel)
    return restore(observed, model, **known).noting(*notes, *doubts)


@_with_options
def inpaint(
    y: ArrayLike | os.PathLike[str], mask: ArrayLike | os.PathLike[str], **options: Unpack[RestoreOptions]
) -> Result:
    """Fill in the pixels where the mask is False.

    Options are those of `restore`; y and mask may also be names of image files.

    Examples
    --------
    >>> import numpy as np, plugplay as pp
    >>> mask = np.random.default_rng(0).random((16, 16)) < 0.7
    >>> pp.inpaint(np.where(mask, 0.5, np.nan), mask, noise=0.01, denoiser="tv").image.shape
    (16, 16)
    """
    ndim = options.get("spatial_ndim") or 2
    observed, known = observation_of(y, {**options}, optical=False)
    seen, doubts = mask_inside(observed, mask, ndim, known)
    return restore(observed, Inpainting(seen, spatial_ndim=ndim), **known).noting(*doubts, *nothing_missing(seen))


@_with_options
def super_resolve(
    y: ArrayLike | os.PathLike[str],
    factor: int,
    kernel: ArrayLike | os.PathLike[str] = "bicubic",
    *,
    offset: int | None = None,
    boundary: str = "reflect",
    mask: ArrayLike | os.PathLike[str] | None = None,
    **options: Unpack[RestoreOptions],
) -> Result:
    """Enlarge an image.

    Parameters are those of `plugplay.models.SuperResolution`, further options those of `restore`. As in `deblur`, y,
    kernel and mask may be names of files, and a kernel may be a description such as ``"gaussian:1.6"``.

    Examples
    --------
    >>> import numpy as np, plugplay as pp
    >>> pp.super_resolve(np.eye(16), 2, noise=0.01, denoiser="tv").image.shape
    (32, 32)
    """
    taps: Any = kernel
    notes: tuple[str, ...] = ()
    bicubic = isinstance(kernel, str) and kernel == "bicubic"  # an array is compared element by element
    if not bicubic:
        taps, notes = kernel_of(kernel)
    observed, known = observation_of(y, {**options}, optical=not bicubic)
    seen, doubts = mask_inside(observed, mask, 2 if bicubic else np.ndim(taps), known)
    model = SuperResolution(factor, taps, offset=offset, boundary=boundary, mask=seen)
    return restore(observed, model, **known).noting(*notes, *doubts)


@_with_options
def single_photon(
    bits: ArrayLike | PhotonCounts | str | os.PathLike[str],
    *,
    oversampling: int | None = None,
    gain: float | Literal["auto"] | None = None,
    threshold: int = 1,
    dark: float = 0.0,
    efficiency: float = 1.0,
    method: Literal["auto", "one-shot", "loop"] = "auto",
    **options: Unpack[RestoreOptions],
) -> Result:
    """Reconstruct an image from binary frames of a single-photon sensor.

    A jot is a binary pixel of such a sensor, which records whether at least `threshold` photons arrived. Parameters
    that are not described here are those of `plugplay.models.SinglePhoton`, further options those of `restore`.

    Parameters
    ----------
    bits : array, PhotonCounts or path
        Bits ``(K H, K W)`` or ``(T, K H, K W)``, the counts that `plugplay.io.photons.count_ones` returns, or a file
        that it can read without further options.
    oversampling : int, optional
        K, the number of jots along each side of a pixel: by default 1, or what the counts were made with.
    gain : float or "auto", optional
        The photons that reach a pixel in one frame at white, K² by default. ``"auto"`` estimates it so that the image
        fills [0, 1]; the estimate is ``result.parameters.model.gain``.
    method : {"auto", "one-shot", "loop"}
        ``"one-shot"`` makes the noise of the counts uniform and denoises once, ``"loop"`` is the paper's method.
        ``"auto"`` denoises once unless jots are missing or an option of the loop is given (lam, schedule, start,
        max_iter, tol, iteration, tune). ``result.parameters.model`` shows which was used.

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
        observed, frames = np.stack([bits.ones, bits.trials]), bits.frames * bits.exposures
        sensor: type[SinglePhoton] = CountedSinglePhoton
        k, exposures, doubts = bits.oversampling, bits.exposures, bits.doubts
    else:
        observed, frames, axis = without_single_frame(numeric_array(bits, "bits"), options.get("channel_axis"))
        if axis is not None:
            options["channel_axis"] = axis
        sensor, k, exposures, doubts = SinglePhoton, 1 if oversampling is None else oversampling, 1, ()
    photons = per_exposure(None if gain == "auto" else gain, k, exposures)
    dark = dark / exposures if exposures > 1 else dark
    model = sensor(k, frames=frames, gain=photons, threshold=threshold, dark=dark, efficiency=efficiency)
    axes = Axes.of(observed.shape, "bits", channel_axis=options.get("channel_axis"), leading=model.leading_axes)
    counts = model.counts(axes.to_inside(observed, "bits"))
    if gain == "auto":
        model = exposed(model, counts)
    doubts = doubts or overexposed(*counts)
    check_choice(method, "method", ("auto", "one-shot", "loop"))
    given = any(options.get(name) is not None for name in _LOOP_OPTIONS)
    wants_loop = given or options.get("iteration", "admm") != "admm"
    if method == "loop" or (method == "auto" and wants_loop):
        return restore(observed, model, **options).noting(*doubts)
    if method == "auto" and not are_stable(counts[1]):
        return restore(observed, model, **options).noting(*doubts)
    if axes.image_channel is not None:
        options["channel_axis"] = axes.image_channel + 1  # after the axis of ones and trials
        counts = np.moveaxis(counts, -1, axes.image_channel + 1)
    options.setdefault("denoiser", denoisers.get("bm3d", profile="high"))  # one call is cheap, and this 0.03 dB better
    return restore(counts, StabilisedPhotons.of(model), **options).noting(*doubts)


# Options that have a meaning only for the loop.
_LOOP_OPTIONS = ("lam", "schedule", "start", "max_iter", "tol", "tune")
