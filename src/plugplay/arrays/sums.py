"""Sums over large images that need no copy of them in double precision."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from plugplay.arrays.checks import FloatArray

__all__ = ["sum_of_squares"]

_PIECE = 1 << 18


def sum_of_squares(array: FloatArray) -> float:
    """Return the sum of squares in double precision, a piece at a time and in a fixed order.

    Examples
    --------
    >>> import numpy as np
    >>> sum_of_squares(np.array([[3.0, 4.0]]))
    25.0
    """
    values = array.ravel()
    pieces = (values[first : first + _PIECE] for first in range(0, values.size, _PIECE))
    return sum((float(np.sum(np.square(piece, dtype=np.float64))) for piece in pieces), start=0.0)
