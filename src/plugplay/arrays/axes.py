"""Where the colour channels are: users say it by ``channel_axis``, inside they come last."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from plugplay.arrays.checks import check_integer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay.models.base import Model

__all__ = ["channels_last", "image_axis", "moved"]


def image_axis(y: NDArray[Any], model: Model, channel_axis: int | None) -> int | None:
    """Return the axis of the channels in the restored image, from which the axis of the frames is gone."""
    if channel_axis is None:
        return None
    axis = channel_axis % y.ndim
    return axis - 1 if axis > 0 and getattr(model, "observation_rank", 2) == 3 else axis


def channels_last(y: NDArray[Any], model: Model, channel_axis: int | None) -> NDArray[Any]:
    """Return the observation with its channels where models expect them, in the end."""
    rank = getattr(model, "observation_rank", 2)
    if channel_axis is None:
        if y.ndim != rank:
            hint = "; for colour, say which axis holds the channels with channel_axis=" if y.ndim == rank + 1 else ""
            raise ValueError(f"y has the shape {y.shape}, but {rank} axes are expected{hint}")
        return y
    if y.ndim != rank + 1:
        raise ValueError(f"y has the shape {y.shape}, but with channel_axis {rank + 1} axes are expected")
    return moved(y, channel_axis, "y")


def moved(array: NDArray[Any], channel_axis: int, name: str) -> NDArray[Any]:
    """Return the array with this axis in the end; `name` is what an error calls it."""
    axis = check_integer(channel_axis, "channel_axis", minimum=-array.ndim)
    if axis >= array.ndim:
        raise ValueError(f"channel_axis is {axis}, but {name} has the shape {array.shape}")
    return np.moveaxis(array, axis, -1)
