"""The observed frame inside a larger domain: continuing an image beyond it, and cropping back to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Frame"]

ScalarT = TypeVar("ScalarT", bound=np.generic)


@dataclass(frozen=True)
class Frame:
    """How far a domain extends beyond the frame, in pixels, before and after it along each axis.

    Examples
    --------
    >>> import numpy as np
    >>> frame = Frame((1, 0), (0, 2))
    >>> frame.embed(np.ones((1, 1)))
    array([[0., 0., 0.],
           [1., 0., 0.]])
    >>> frame.crop(np.arange(6).reshape(2, 3))
    array([[3]])
    """

    before: tuple[int, int] = (0, 0)
    after: tuple[int, int] = (0, 0)

    def scaled(self, factor: int) -> Frame:
        """Return the frame on a grid that is `factor` times finer."""
        down, right = (factor * n for n in self.before)
        up, left = (factor * n for n in self.after)
        return Frame((down, right), (up, left))

    def crop(self, array: NDArray[ScalarT]) -> NDArray[ScalarT]:
        """Return the part of `array` that lies in the frame."""
        height, width = array.shape[:2]
        (top, left), (bottom, right) = self.before, self.after
        return array[top : height - bottom, left : width - right]

    def embed(self, array: NDArray[ScalarT]) -> NDArray[ScalarT]:
        """Return `array` with zeros (False) around it."""
        return np.pad(array, self._widths(array))

    def reflect(self, array: NDArray[ScalarT]) -> NDArray[ScalarT]:
        """Return `array` continued by reflection; the edge pixel is repeated."""
        return np.pad(array, self._widths(array), mode="symmetric")

    def reflect_adjoint(self, array: NDArray[ScalarT]) -> NDArray[ScalarT]:
        """Return the transpose of `reflect`: what lies outside is added to the pixels it was copied from."""
        for axis in (0, 1):
            count = array.shape[axis] - self.before[axis] - self.after[axis]
            source = np.pad(np.arange(count), (self.before[axis], self.after[axis]), mode="symmetric")
            folded = np.zeros((count, *np.moveaxis(array, axis, 0).shape[1:]), array.dtype)
            np.add.at(folded, source, np.moveaxis(array, axis, 0))
            array = np.moveaxis(folded, 0, axis)
        return array

    def _widths(self, array: NDArray[Any]) -> list[tuple[int, int]]:
        both = [(self.before[axis], self.after[axis]) for axis in (0, 1)]
        return both + [(0, 0)] * (array.ndim - 2)
