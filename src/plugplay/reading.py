"""File names in place of arrays, as the one-call functions accept them."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeGuard

import numpy as np

from plugplay import io, kernels
from plugplay.arrays.axes import Axes
from plugplay.arrays.checks import check_finite, check_mask, numeric_array

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from plugplay.denoisers.base import Denoiser
    from plugplay.noise.coloured import ColouredNoise
    from plugplay.noise.growing import PoissonGaussian
    from plugplay.pnp.iterations import Iteration
    from plugplay.pnp.schedules import Schedule
    from plugplay.pnp.state import State

__all__ = ["RestoreOptions", "is_path", "kernel_of", "mask_inside", "observation_of", "pixels_of"]

# The sum of a kernel may differ from one by this much without a warning.
_SUM_TOLERANCE = 1e-3


class RestoreOptions(TypedDict, total=False):
    """The options of `restore`, which every one-call function takes as well."""

    denoiser: str | Denoiser
    noise: float | PoissonGaussian | ColouredNoise | Literal["auto"] | None
    lam: float | None
    schedule: Schedule | None
    iteration: str | Iteration
    tol: float | None
    max_iter: int | None
    start: ArrayLike | State | None
    clip: tuple[float, float] | Literal["auto"] | None
    strength: float
    tune: Literal["sure"] | None
    reference: ArrayLike | None
    channel_axis: int | None
    spatial_ndim: int | None
    data_range: tuple[float, float] | None
    transfer: str
    noise_floor: float
    exact_noise: bool
    callback: Callable[[State], object] | None
    workers: int | None
    rng: np.random.Generator | int | None


def is_path(value: object) -> TypeGuard[str | os.PathLike[str]]:
    """Tell whether a value is a file name."""
    return isinstance(value, str | os.PathLike)


def observation_of(y: Any, options: dict[str, Any], *, optical: bool) -> tuple[Any, dict[str, Any]]:
    """Return the array that a file holds, and the options that follow from it; arrays are returned as they are.

    Parameters
    ----------
    y : array or path
        The observation.
    options : dict
        Options of `plugplay.restore`; those that were not given are taken from the file.
    optical : bool
        Whether the degradation, such as a blur, acted on light: see `plugplay.io.light_transfer`.
    """
    options = dict(options)
    for name in ("reference", "start"):
        if is_path(options.get(name)):
            options[name] = pixels_of(options[name])
    if not is_path(y):
        return y, options
    image = _single(y)
    if options.get("channel_axis") is None:
        options["channel_axis"] = image.channel_axis
    options.setdefault("noise_floor", image.metadata.noise_floor)
    if "transfer" not in options:
        options["transfer"], notes = io.light_transfer(image, "auto", optical=optical)
        for note in notes:
            warnings.warn(f"{Path(y).name}: {note}", stacklevel=5)
    return image.pages[0], options


def pixels_of(value: Any) -> Any:
    """Return the pixels of a file; arrays are returned as they are."""
    return _single(value).pages[0] if is_path(value) else value


def _mask_of(value: Any, y: ArrayLike, channel_axis: object) -> tuple[Any, tuple[str, ...]]:
    """Return the mask of a file, True where it is white, and warnings about it; arrays are returned as they are."""
    if not is_path(value):
        return value, ()
    image = numeric_array(y, "y")
    colour = channel_axis in (-1, 2) and image.ndim == 3
    photograph = io.ImageFile.of(image, colour=colour) if image.ndim == 2 + colour else None
    masks, doubts = io.mask_from(_single(value), Path(value).name, photograph=photograph)
    return masks[0], doubts


def mask_inside(y: ArrayLike, mask: object, spatial_ndim: int, options: dict[str, Any]) -> tuple[Any, tuple[str, ...]]:
    """Return a mask with the axes of y and its channels last, and warnings about it."""
    if mask is None:
        return None, ()
    white, doubts = _mask_of(mask, y, options.get("channel_axis"))
    observed = check_mask(white, spatial_ndim=spatial_ndim)
    if observed.ndim == spatial_ndim:
        return observed, doubts
    axes = Axes.of(np.shape(y), "y", channel_axis=options.get("channel_axis"), spatial_ndim=spatial_ndim)
    return axes.companion_to_inside(observed, "mask"), doubts


def kernel_of(kernel: ArrayLike | str | os.PathLike[str]) -> tuple[NDArray[Any], tuple[str, ...]]:
    """Return the kernel given by an array, a description or a file, with the sum one, and notes on changes.

    Examples
    --------
    >>> kernel_of(np.full((2, 2), 5.0))
    (array([[0.25, 0.25],
           [0.25, 0.25]]), ('the kernel was divided by its sum, 20',))
    """
    if isinstance(kernel, str):
        return kernels.parse(kernel), ()
    if isinstance(kernel, os.PathLike):
        return kernels.from_file(kernel), ()
    taps = numeric_array(kernel, "kernel")
    check_finite(taps, "kernel")
    total = float(taps.sum(dtype=np.float64))
    if abs(total - 1) <= _SUM_TOLERANCE:
        return taps, ()
    if not total > 0:
        raise ValueError(f"kernel must have a positive sum, by which it is divided; got {total:g}")
    return taps / total, (f"the kernel was divided by its sum, {total:.6g}",)


def _single(path: str | os.PathLike[str]) -> io.ImageFile:
    """Read a file, which must hold a single image."""
    image = io.read(path)
    count = image.pages.shape[0]
    if count > 1:
        raise ValueError(
            f"{path} holds {count} images: restore each of plugplay.io.read(path).pages, or all by the command line"
        )
    return image
