"""Arrays on their way in and images on their way out: axes and scale, decided once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from plugplay.arrays.checks import BoolArray, FloatArray, numeric_array
from plugplay.arrays.scale import Scale

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from plugplay.arrays.axes import Axes

__all__ = ["Conversion"]


@dataclass(frozen=True, eq=False)
class Conversion:
    """How arrays of the user's become arrays of the loop, and back.

    Attributes
    ----------
    axes : Axes
        Where the channels are.
    scale : Scale
        What the numbers mean.
    dtype : dtype
        That of the observation.
    data_range : (float, float), optional
        The range that the user gave.
    left : (array, array), optional
        Pixels of a restored image that stay as they were, and how they were on the working scale.
    """

    axes: Axes
    scale: Scale
    dtype: np.dtype[Any]
    data_range: tuple[float, float] | None
    left: tuple[BoolArray, FloatArray] | None = None

    def to_nominal(self, value: ArrayLike, name: str) -> FloatArray:
        """Return an array that belongs to the restored image, a start or a reference, on the nominal scale [0, 1].

        Integers of the observation's own type share its range; others mean what their type says. Floats are in the
        units of the restored image, which are those of the observation if it is float.
        """
        array = numeric_array(value, name)
        shares = array.dtype == self.dtype or (array.dtype.kind == "f" and not self.scale.integer)
        scale = Scale.nominal_of(array.dtype, self.data_range if shares else None)
        return self.axes.companion_to_inside(scale.to_working(array), name)

    def to_working(self, value: ArrayLike, name: str) -> FloatArray:
        """Return such an array on the working scale, as the loop sees it."""
        return self.scale.nominal_to_working(self.axes.joined(self.to_nominal(value, name)))

    def shown(self, image: FloatArray) -> FloatArray:
        """Return an image of the loop on the nominal scale, with all its channels."""
        return self.axes.spread(self.scale.to_nominal(image))

    def outside(self, image: FloatArray) -> FloatArray:
        """Return a restored image in the user's units, with the channels where the user has them."""
        if self.left is not None and image.shape == self.left[1].shape:
            where, values = self.left
            image = np.where(where.reshape(*where.shape, *(1,) * (image.ndim - where.ndim)), values, image)
        return self.axes.to_outside(self.scale.from_working(image))
