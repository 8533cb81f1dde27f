"""Aligned bicubic interpolation: the start of super-resolution, and of deblurring, which enlarges by 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from plugplay.arrays.checks import FloatArray
from plugplay.arrays.records import Fingerprinted
from plugplay.kernels import cubic
from plugplay.models.operators.frame import Frame

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Enlarged", "bicubic_upsample"]


@dataclass(frozen=True, eq=False)
class Enlarged(Fingerprinted):
    """Samples, continued beyond their frame by reflection and enlarged, whenever they are asked for.

    A restoration begins with that image and does not need it again; a large one has no room for it.

    Attributes
    ----------
    samples : array
        What is enlarged.
    margin : Frame
        How far the domain extends beyond the frame, in samples.
    factor, position
        As `bicubic_upsample` takes them.
    """

    samples: FloatArray
    margin: Frame
    factor: int
    position: tuple[float, ...]

    @classmethod
    def exactly(cls, image: FloatArray, *, spatial_ndim: int) -> Enlarged:
        """Return an image that needs no enlarging."""
        return cls(image, Frame(), 1, (0.0,) * spatial_ndim)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the image."""
        ndim, small = len(self.position), self.samples.shape
        margins = zip(self.margin.before, self.margin.after, strict=True) if self.margin.before else [(0, 0)] * ndim
        spatial = (self.factor * (low + n + high) for n, (low, high) in zip(small, margins, strict=False))
        return (*spatial, *small[ndim:])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the image."""
        return self.samples.dtype

    def image(self) -> FloatArray:
        """Return the image, a new array."""
        image = self.margin.reflect(self.samples)  # a copy, also without margins
        as_it_is = self.factor == 1 and not any(self.position)
        return image if as_it_is else bicubic_upsample(image, self.factor, self.position)


def bicubic_upsample(image: FloatArray, factor: int, position: tuple[float, ...]) -> FloatArray:
    """Enlarge `image` by `factor`, with sample i sitting at pixel ``factor * i + position`` of the result.

    There is a position for each spatial axis. The domain is circular, as that of the closed forms.

    Examples
    --------
    >>> import numpy as np
    >>> bicubic_upsample(np.eye(3), 2, (0.0, 0.0))[::2, ::2]
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    """
    for axis, where in enumerate(position):
        image = _along_axis(image, factor, where, axis)
    return image


def _along_axis(image: FloatArray, factor: int, position: float, axis: int) -> FloatArray:
    count = image.shape[axis]
    where = (np.arange(count * factor) - position) / factor
    nearest = np.floor(where).astype(np.intp)
    shape = [1] * image.ndim
    shape[axis] = -1
    result: FloatArray = np.zeros((*image.shape[:axis], count * factor, *image.shape[axis + 1 :]), image.dtype)
    for tap in range(-1, 3):
        weights: NDArray[np.float64] = cubic(where - (nearest + tap))
        taken = np.take(image, (nearest + tap) % count, axis=axis)
        result += taken * weights.reshape(shape).astype(image.dtype)
    return result
