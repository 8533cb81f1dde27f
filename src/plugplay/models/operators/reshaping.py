r"""Kernels that are a little wider or narrower than one that was given, or turned.

The weight that a kernel has at the place p is wanted at :math:`t R^\top p`, with a stretch t and a rotation R, so that
its spectrum becomes :math:`\hat h(t R f)`, as `plugplay.tuning.evidence` compares it with data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.ndimage import map_coordinates

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Reshaping"]

# Zeros around a kernel, within which its cubic splines die away.
MARGIN = 3


@dataclass(frozen=True)
class Reshaping:
    """How a kernel is changed.

    Attributes
    ----------
    stretch : float
        The factor by which it is wider.
    turn : float
        The degrees by which it is turned, clockwise.

    Examples
    --------
    >>> Reshaping(1.5).of(np.array([[0.25, 0.5, 0.25]])).round(2)
    array([[0.09, 0.24, 0.33, 0.24, 0.09]])
    >>> str(Reshaping(0.9, 5.0)), bool(Reshaping())
    ('10 % narrower and turned by 5 degrees', False)
    """

    stretch: float = 1.0
    turn: float = 0.0

    def __bool__(self) -> bool:
        return self != Reshaping()

    def __str__(self) -> str:
        width = f"{abs(100 * (self.stretch - 1)):.0f} % {'wider' if self.stretch > 1 else 'narrower'}"
        turned = f"turned by {abs(self.turn):.0f} degrees"
        return " and ".join([width] * (abs(self.stretch - 1) > 0.01) + [turned] * (abs(self.turn) >= 1))

    def of(self, kernel: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the changed kernel, from cubic splines: its sum and its centre stay, and no weight is negative."""
        cosine, sine = math.cos(math.radians(self.turn)), math.sin(math.radians(self.turn))
        high, wide = (n // 2 for n in kernel.shape)  # a row stays a row when it is stretched
        reach = high * abs(cosine) + wide * abs(sine), high * abs(sine) + wide * abs(cosine)
        half = [math.ceil(self.stretch * n) for n in reach]
        rows, columns = np.meshgrid(*(np.arange(-n, n + 1) for n in half), indexing="ij")
        places = (
            (cosine * rows - sine * columns) / self.stretch + kernel.shape[0] // 2 + MARGIN,
            (sine * rows + cosine * columns) / self.stretch + kernel.shape[1] // 2 + MARGIN,
        )
        taps = np.maximum(map_coordinates(np.pad(kernel, MARGIN), places, order=3), 0)
        return np.asarray(taps * (kernel.sum() / taps.sum()))
