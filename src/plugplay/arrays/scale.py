"""The scale of images: whatever the user's numbers mean, everything inside works on [0, 1]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from plugplay.arrays.checks import FloatArray, check_interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Scale"]


@dataclass(frozen=True)
class Scale:
    """The values that become 0 and 1.

    Attributes
    ----------
    low, high : float
        They become 0 and 1.
    integer : bool
        Whether the input had integers; the restored image then stays on [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> Scale.of(np.array([[0, 51, 255]], np.uint8)).to_unit(np.array([[0, 51, 255]], np.uint8))
    array([[0. , 0.2, 1. ]], dtype=float32)
    """

    low: float
    high: float
    integer: bool

    @classmethod
    def of(cls, array: NDArray[Any], data_range: tuple[float, float] | None = None, *, name: str = "y") -> Scale:
        """Find the scale: the one given, the dtype's range for integers, (0, 1) for floats."""
        integer = array.dtype.kind in "biu"
        if data_range is not None:
            low, high = check_interval(data_range, "data_range")
        elif array.dtype == np.bool_:
            low, high = 0.0, 1.0
        elif integer:
            limits = np.iinfo(array.dtype)
            low, high = float(limits.min), float(limits.max)
        else:
            low, high = 0.0, 1.0
        finite = array[np.isfinite(array)]
        if finite.size and not integer:
            lowest, highest, width = float(finite.min()), float(finite.max()), high - low
            if lowest < low - width or highest > high + width:
                raise ValueError(
                    f"{name} has values from {lowest:g} to {highest:g}, far outside the range ({low:g}, {high:g}); "
                    "say which values mean black and white with data_range=(low, high)"
                )
        return cls(low, high, integer)

    def to_unit(self, array: NDArray[Any]) -> FloatArray:
        """Return the array as floats on [0, 1]; small integers become float32, wider ones float64."""
        if array.dtype.kind in "biu":
            dtype = np.dtype(np.float32 if array.dtype.itemsize <= 2 else np.float64)
        else:
            dtype = np.dtype(np.float32 if array.dtype.itemsize <= 4 else np.float64)
        if (self.low, self.high) == (0.0, 1.0):
            return array.astype(dtype)
        # In double precision, so that the ends of the range become exactly 0 and 1.
        unit: FloatArray = ((array.astype(np.float64) - self.low) / (self.high - self.low)).astype(dtype)
        return unit

    def from_unit(self, image: FloatArray) -> FloatArray:
        """Return an image on [0, 1] in the units of float input; for integer input it stays as it is."""
        if self.integer or (self.low, self.high) == (0.0, 1.0):
            return image
        return (image * (self.high - self.low) + self.low).astype(image.dtype)
