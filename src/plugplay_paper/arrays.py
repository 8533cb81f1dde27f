"""Arrays and numbers that callers hand in: one type, and the checks that the baselines share."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["LUMINANCE", "FloatArray", "check_integer", "check_number", "finite_array", "frozen"]

FloatArray: TypeAlias = "NDArray[np.floating[Any]]"

# Rec. 601, the weights of the classical gray test images.
LUMINANCE = np.array([0.299, 0.587, 0.114])


def finite_array(value: ArrayLike, name: str) -> NDArray[Any]:
    """Return a non-empty array of finite real numbers.

    Examples
    --------
    >>> finite_array([1, float("nan")], "y")
    Traceback (most recent call last):
    ValueError: y has NaN or infinite values
    """
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} must be an array of real numbers; got dtype {array.dtype}")
    if array.size == 0:
        raise ValueError(f"{name} is empty: its shape is {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} has NaN or infinite values")
    return array


def check_integer(value: object, name: str, *, minimum: int) -> int:
    """Return an int that is at least `minimum`."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be an integer; got {value!r} of type {type(value).__name__}")
    if value < minimum:
        raise ValueError(f"{name} must be an integer >= {minimum}; got {value!r}")
    return int(value)


def check_number(value: object, name: str, *, minimum: float) -> float:
    """Return a finite float that is at least `minimum`."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number; got {value!r} of type {type(value).__name__}")
    number = float(value)
    if not (math.isfinite(number) and number >= minimum):
        raise ValueError(f"{name} must be >= {minimum:g} and finite; got {value!r}")
    return number


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only copy, so that a record's contents cannot change under it."""
    copy = np.array(array, order="C")
    copy.setflags(write=False)
    return copy
