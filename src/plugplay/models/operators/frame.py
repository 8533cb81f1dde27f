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
    """How far a domain extends beyond the frame, in pixels, before and after it along each spatial axis.

    Without margins (the default) domain and frame are the same.

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

    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()

    def scaled(self, factor: int) -> Frame:
        """Return the frame on a grid that is `factor` times finer."""
        return Frame(tuple(factor * n for n in self.before), tuple(factor * n for n in self.after))

    def sampled(self, factor: int) -> Frame:
        """Return the frame on a grid that is `factor` times coarser."""
        return Frame(tuple(n // factor for n in self.before), tuple(n // factor for n in self.after))

    def crop(self, array: NDArray[ScalarT]) -> NDArray[ScalarT]:
        """Return the part of `array` that lies in the frame."""
        margins = zip(array.shape, self.before, self.after, strict=False)
        return array[tuple(slice(first, length - last) for length, first, last in margins)]

    def embed(self, array: NDArray[ScalarT]) -> NDArray[ScalarT]:
        """Return `array` with zeros (False) around it."""
        return np.pad(array, self._widths(array))

    def reflect(self, array: NDArray[ScalarT]) -> NDArray[ScalarT]:
        """Return `array` continued by reflection; the edge pixel is repeated."""
        return np.pad(array, self._widths(array), mode="symmetric")

    def reflect_adjoint(self, array: NDArray[ScalarT]) -> NDArray[ScalarT]:
        """Return the transpose of `reflect`: what lies outside is added to the pixels it was copied from."""
        for axis, margins in enumerate(zip(self.before, self.after, strict=True)):
            count = array.shape[axis] - sum(margins)
            source = np.pad(np.arange(count), margins, mode="symmetric")
            folded = np.zeros((count, *np.moveaxis(array, axis, 0).shape[1:]), array.dtype)
            np.add.at(folded, source, np.moveaxis(array, axis, 0))
            array = np.moveaxis(folded, 0, axis)
        return array

    def _widths(self, array: NDArray[Any]) -> list[tuple[int, int]]:
        margins = list(zip(self.before, self.after, strict=True))
        return margins + [(0, 0)] * (array.ndim - len(margins))
