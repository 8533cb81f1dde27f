"""Sums over large images that need no copy of them, and whose order does not depend on the number of threads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from plugplay.arrays.checks import FloatArray

__all__ = ["dot", "sum_of_squared_differences", "sum_of_squares"]

# Pixels that are summed in the precision of the image before double precision takes over: few enough for the cache.
_PIECE = 1 << 16


def dot(a: FloatArray, b: FloatArray) -> float:
    """Return the sum of products of two arrays of one shape: seven digits of it in single precision.

    Not by BLAS, whose order of summation depends on the number of threads.

    Examples
    --------
    >>> import numpy as np
    >>> dot(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
    11.0
    """
    first, second = a.ravel(), b.ravel()
    return sum((float(np.einsum("i,i->", first[at], second[at])) for at in _pieces(first.size)), start=0.0)


def sum_of_squares(array: FloatArray) -> float:
    """Return the sum of squares.

    Examples
    --------
    >>> import numpy as np
    >>> sum_of_squares(np.array([[3.0, 4.0]]))
    25.0
    """
    return dot(array, array)


def sum_of_squared_differences(a: FloatArray, b: FloatArray) -> float:
    """Return the sum of squared differences of two arrays of one shape.

    Examples
    --------
    >>> import numpy as np
    >>> sum_of_squared_differences(np.array([[3.0, 4.0]]), np.array([[1.0, 5.0]]))
    5.0
    """
    first, second = a.ravel(), b.ravel()
    room = np.empty(min(_PIECE, first.size), np.result_type(a, b))
    total = 0.0
    for at in _pieces(first.size):
        difference = np.subtract(first[at], second[at], out=room[: at.stop - at.start])
        total += float(np.einsum("i,i->", difference, difference))
    return total


def _pieces(size: int) -> Iterator[slice]:
    return (slice(first, min(first + _PIECE, size)) for first in range(0, size, _PIECE))
