"""Checks of what users hand in: every error says what was given, what is accepted and what to do."""

from __future__ import annotations

import math
import os
from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "BoolArray",
    "FloatArray",
    "check_choice",
    "check_integer",
    "check_interval",
    "check_mask",
    "check_number",
    "check_rank",
    "check_same_shape",
    "check_spatial_ndim",
    "check_workers",
    "float_image",
    "frozen",
    "generator",
    "numeric_array",
]

FloatArray: TypeAlias = NDArray[np.floating[Any]]
BoolArray: TypeAlias = NDArray[np.bool_]


def numeric_array(value: ArrayLike, name: str) -> NDArray[Any]:
    """Return `value` as a non-empty array of booleans, integers or floats."""
    if np.ma.is_masked(value):
        raise TypeError(f"{name} is a masked array: give {name}.data, and mask=~{name}.mask (True where observed)")
    try:
        array = np.asarray(value)
    except ValueError as error:  # ragged lists
        raise ValueError(f"{name} is not a regular array: {error}") from None
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} must be an array of real numbers; got {_described(value, array)}")
    if array.size == 0:
        raise ValueError(f"{name} is empty: its shape is {array.shape}")
    return array


def float_image(value: ArrayLike, name: str, *, finite: bool = True, spatial_ndim: int = 2) -> FloatArray:
    """Return `value` as a float32 or float64 image, without copying if possible.

    Images are ``(H, W)`` or ``(H, W, C)``; with three spatial axes ``(D, H, W)`` or ``(D, H, W, C)``. Integers are
    refused, not scaled: only `plugplay.restore` and the one-call functions know about the scale of files.
    """
    array = numeric_array(value, name)
    if array.dtype.kind != "f":
        raise TypeError(
            f"{name} has dtype {array.dtype}, but floats on the scale [0, 1] are needed here: convert it first "
            f"(for 8-bit images, {name} / 255) or call plugplay.restore, which scales integers by itself"
        )
    check_rank(array, name, spatial_ndim)
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float32 if array.dtype.itemsize < 4 else np.float64)
    if finite:
        check_finite(array, name)
    return array


def check_rank(array: NDArray[Any], name: str, spatial_ndim: int = 2) -> None:
    """Accept the spatial axes with or without channels only."""
    if array.ndim not in (spatial_ndim, spatial_ndim + 1):
        wanted = "(H, W) or (H, W, C)" if spatial_ndim == 2 else "(D, H, W) or (D, H, W, C)"
        raise ValueError(f"{name} must have the shape {wanted}; got the shape {array.shape}")


def check_finite(array: NDArray[Any], name: str) -> None:
    """Refuse NaN and infinite pixels."""
    bad = array.size - int(np.count_nonzero(np.isfinite(array)))
    if bad:
        hint = ""
        if name.startswith(("y", "image")):
            hint = (
                ". If they are missing or dead pixels, say so with mask= (True where observed): Inpainting, Deblurring "
                "and SuperResolution take one"
            )
        raise ValueError(f"{name} has {bad} NaN or infinite value(s) among {array.size}{hint}")


def check_same_shape(array: NDArray[Any], shape: tuple[int, ...], name: str, what: str) -> None:
    """Refuse an array whose shape differs from `shape`, the shape of `what`."""
    if array.shape != shape:
        raise ValueError(f"{name} has the shape {array.shape}, but {what} has {shape}")


def check_mask(value: ArrayLike, name: str = "mask", *, spatial_ndim: int = 2) -> BoolArray:
    """Return a boolean mask, True where a pixel was observed."""
    mask = numeric_array(value, name)
    if mask.dtype != np.bool_:
        raise TypeError(
            f"{name} must be boolean, True where a pixel was observed; got dtype {mask.dtype}. "
            f"Write {name} > 0 (or == 0, if it marks the missing pixels)"
        )
    check_rank(mask, name, spatial_ndim)
    if not mask.any():
        raise ValueError(f"{name} marks no pixel as observed: True means observed, False means missing")
    return mask


def check_number(
    value: object,
    name: str,
    *,
    minimum: float = -math.inf,
    maximum: float = math.inf,
    above: float | None = None,
    below: float | None = None,
) -> float:
    """Return `value` as a finite float within ``[minimum, maximum]`` and strictly within ``(above, below)``."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number; got {value!r} of type {type(value).__name__}")
    try:
        number = float(value)
    except OverflowError:
        raise ValueError(f"{name} must be a number that a float can hold; got an integer far beyond") from None
    low = f"> {above:g}" if above is not None else f">= {minimum:g}" if minimum > -math.inf else ""
    high = f"< {below:g}" if below is not None else f"<= {maximum:g}" if maximum < math.inf else ""
    inside = (
        math.isfinite(number)
        and minimum <= number <= maximum
        and (above is None or number > above)
        and (below is None or number < below)
    )
    if not inside:
        wanted = " and ".join(part for part in (low, high) if part) or "finite"
        wanted = wanted if math.isfinite(number) else f"finite and {wanted}".replace("finite and finite", "finite")
        raise ValueError(f"{name} must be {wanted}; got {value!r}")
    return number


def check_interval(value: object, name: str, *, endless: bool = False) -> tuple[float, float]:
    """Return `value` as a pair of floats ``(low, high)`` with ``low < high``; `endless` ones may be infinite."""
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise TypeError(f"{name} must be a pair (low, high); got {value!r}")
    low, high = (
        float(end) if endless and end in (-math.inf, math.inf) else check_number(end, f"{name}[{place}]")
        for place, end in enumerate(value)
    )
    if not low < high:
        raise ValueError(f"{name} must be a pair (low, high) with low < high; got {value!r}")
    return low, high


def check_integer(value: object, name: str, *, minimum: int) -> int:
    """Return `value` as an int that is at least `minimum`."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be an integer; got {value!r} of type {type(value).__name__}")
    if value < minimum:
        raise ValueError(f"{name} must be an integer >= {minimum}; got {value!r}")
    return int(value)


def check_spatial_ndim(value: object) -> int:
    """Return the number of spatial axes, 2 or 3."""
    number = check_integer(value, "spatial_ndim", minimum=2)
    if number > 3:
        raise ValueError(f"spatial_ndim must be 2 (images) or 3 (volumes); got {number}")
    return number


def check_choice(value: object, name: str, choices: tuple[str, ...]) -> str:
    """Return `value` if it is one of `choices`."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}")
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}")
    return value


def check_workers(value: int | None) -> int:
    """Return the number of threads to use; None means all cores this process may use."""
    if value is not None:
        return check_integer(value, "workers", minimum=1)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def generator(rng: np.random.Generator | int | None, why: str) -> np.random.Generator:
    """Return a random generator; randomness is never hidden, so None is refused."""
    if rng is None:
        raise ValueError(f"{why} needs rng=, a seed or a numpy.random.Generator, so that the result can be repeated")
    if isinstance(rng, bool) or not isinstance(rng, Integral | np.random.Generator):
        raise TypeError(f"rng must be an integer seed or a numpy.random.Generator; got {rng!r}")
    return np.random.default_rng(rng)


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only copy, so that a record's contents cannot change under it.

    An array of its own memory that is read-only already needs none.
    """
    if not array.flags.writeable and array.flags.owndata and array.flags.c_contiguous:
        return array
    copy = np.array(array, order="C")
    copy.setflags(write=False)
    return copy


def _described(value: object, array: NDArray[Any]) -> str:
    if isinstance(value, str | bytes):
        return repr(value)
    return f"{type(value).__name__} of dtype {array.dtype}"
