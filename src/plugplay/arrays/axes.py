"""Which axes of an array are spatial and which one holds channels: users say it once, inside channels come last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from plugplay.arrays.checks import check_integer

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Axes"]

# A last axis of this length, behind two longer ones, is taken for colour.
_COLOURS = (3, 4)


@dataclass(frozen=True)
class Axes:
    """The layout of a user's observation.

    Attributes
    ----------
    spatial_ndim : int
        Spatial axes, 2 or 3.
    leading : int
        Axes before the spatial ones, such as that of frames; -1 if an image becomes a vector of samples.
    channel : int or None
        The axis of the channels, counted from 0; None if there are none.
    guessed : bool
        Whether the channels were taken for such without having been named.
    equal : int
        The number of channels if they are all equal, as those of a gray photograph stored as RGB: inside there is then
        only one. Else 0.

    Examples
    --------
    >>> import numpy as np
    >>> axes = Axes.of((3, 20, 30), "y", channel_axis=0)
    >>> axes.to_inside(np.zeros((3, 20, 30)), "y").shape, axes.to_outside(np.zeros((40, 60, 3))).shape
    ((20, 30, 3), (3, 40, 60))
    """

    spatial_ndim: int
    leading: int
    channel: int | None
    guessed: bool = False
    equal: int = 0

    @classmethod
    def of(
        cls,
        shape: tuple[int, ...],
        name: str,
        *,
        channel_axis: int | None = None,
        spatial_ndim: int = 2,
        leading: int = 0,
    ) -> Axes:
        """Find the layout of an array of this shape, or raise."""
        rank = spatial_ndim + leading
        if channel_axis is not None:
            if len(shape) != rank + 1:
                raise ValueError(f"{name} has the shape {shape}, but with channel_axis {rank + 1} axes are expected")
            return cls(spatial_ndim, leading, _axis(channel_axis, shape, name))
        if len(shape) == rank:
            return cls(spatial_ndim, leading, None)
        if len(shape) == rank + 1 and shape[-1] in _COLOURS and min(shape[max(leading, 0) : -1]) > max(_COLOURS):
            return cls(spatial_ndim, leading, rank, guessed=True)
        hint = ""
        if len(shape) == rank + 1:
            hint = "; for colour, say which axis holds the channels with channel_axis="
            if spatial_ndim == 2 and leading == 0:
                hint += ", for a volume, spatial_ndim=3"
        raise ValueError(f"{name} has the shape {shape}, but {rank} axes are expected{hint}")

    def to_inside(self, array: NDArray[Any], name: str) -> NDArray[Any]:
        """Return an observation with its channels last, or one of them if they are equal."""
        inside = array if self.channel is None else _moved(array, self.channel, name)
        return np.ascontiguousarray(inside[..., 0]) if self.equal else inside

    def companion_to_inside(self, array: NDArray[Any], name: str) -> NDArray[Any]:
        """Return an array that goes with the image (a reference, a mask), with its channels last if it has any."""
        channel = self.image_channel
        return array if channel is None or array.ndim != self.spatial_ndim + 1 else _moved(array, channel, name)

    def to_outside(self, image: NDArray[Any]) -> NDArray[Any]:
        """Return a restored image with its channels where the user has them."""
        channel, image = self.image_channel, self.spread(image)
        return image if channel is None else np.moveaxis(image, -1, channel)

    def spread(self, image: NDArray[Any]) -> NDArray[Any]:
        """Return an image with its channels last, also if they are equal and there is only one inside."""
        return np.repeat(image[..., None], self.equal, axis=-1) if self.equal else image

    def joined(self, image: NDArray[Any]) -> NDArray[Any]:
        """Return an image as it is inside: the mean of its channels if those of the observation are equal."""
        if not self.equal or image.ndim == self.spatial_ndim:
            return image
        return np.asarray(image.mean(axis=-1), image.dtype)

    @property
    def image_channel(self) -> int | None:
        """The axis of the channels in the restored image, from which the leading axes are gone."""
        if not self.channel:  # none, or in front of everything
            return self.channel
        return max(self.channel - self.leading, 0)


def _axis(channel_axis: int, shape: tuple[int, ...], name: str) -> int:
    axis = check_integer(channel_axis, "channel_axis", minimum=-len(shape))
    if axis >= len(shape):
        raise ValueError(f"channel_axis is {axis}, but {name} has the shape {shape}")
    return axis % len(shape)


def _moved(array: NDArray[Any], axis: int, name: str) -> NDArray[Any]:
    if axis >= array.ndim:
        raise ValueError(f"channel_axis is {axis}, but {name} has the shape {array.shape}")
    return np.moveaxis(array, axis, -1)


def without_single_frame(bits: NDArray[Any], channel_axis: int | None) -> tuple[NDArray[Any], int, int | None]:
    """Return bits, their number of frames and their channel axis; a cube of one frame is that frame."""
    if bits.ndim - (channel_axis is not None) != 3:
        return bits, 1, channel_axis
    channel = None if channel_axis is None else channel_axis % bits.ndim
    time = 1 if channel == 0 else 0
    frames = bits.shape[time]
    if frames > 1:
        return bits, frames, channel_axis
    return bits.squeeze(time), 1, None if channel is None else channel - (channel > time)
