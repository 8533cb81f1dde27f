"""A small picture of what was observed, kept with a result so that it can show itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Preview", "small_plane"]

# Pixels of the longer side.
MAX_SIDE = 384


@dataclass(frozen=True, eq=False)
class Preview:
    """What was observed, made small, and how the restored image is to be shown beside it.

    Attributes
    ----------
    before : array of uint8
        The observation, ``(H, W)`` or ``(H, W, C)``; of a volume, its middle plane.
    window : (float, float)
        The values of the restored image that are shown as black and white.
    channel_axis : int, optional
        Where the restored image has its channels.
    spatial_ndim : int
        3 for volumes.
    """

    before: NDArray[np.uint8]
    window: tuple[float, float]
    channel_axis: int | None
    spatial_ndim: int

    @classmethod
    def of(
        cls,
        y: NDArray[Any],
        *,
        data_range: tuple[float, float] | None,
        working_range: tuple[float, float] | None,
        channel_axis: int | None,
        spatial_ndim: int,
    ) -> Preview | None:
        """Make the preview of an observation; None if it is no image.

        Parameters
        ----------
        y : array
            The observation, in the user's units.
        data_range, working_range : (float, float), optional
            The values of y that mean black and white, and those that the denoiser saw so.
        channel_axis : int, optional
            The axis of y with the channels.
        spatial_ndim : int
            Its number of spatial axes.

        Examples
        --------
        >>> import numpy as np
        >>> preview = Preview.of(np.eye(800), data_range=(0, 1), working_range=None, channel_axis=None, spatial_ndim=2)
        >>> preview.before.shape
        (267, 267)
        """
        if y.ndim != spatial_ndim + (channel_axis is not None) or y.dtype.kind not in "biuf" or y.size == 0:
            return None
        low, high = working_range or data_range or (0.0, 1.0)
        window = (low, high)
        if y.dtype.kind in "biu" and data_range is not None:
            # The restored image is on [0, 1] then.
            black, white = data_range
            window = ((low - black) / (white - black), (high - black) / (white - black))
        before = small_plane(y, (low, high), channel_axis=channel_axis, spatial_ndim=spatial_ndim)
        return cls(before, window, channel_axis, spatial_ndim)


def small_plane(
    image: NDArray[Any], window: tuple[float, float], *, channel_axis: int | None, spatial_ndim: int
) -> NDArray[np.uint8]:
    """Return an image, or the middle plane of a volume, with at most `MAX_SIDE` pixels a side, as 8 bits.

    Every n-th pixel is taken: what is shown is noise where there is noise, and not its average.
    """
    planes = image if channel_axis is None else np.moveaxis(image, channel_axis, -1)
    if spatial_ndim == 3:
        planes = planes[len(planes) // 2]
    step = -(-max(planes.shape[:2]) // MAX_SIDE)
    part = planes[::step, ::step].astype(np.float64)
    low, high = window
    shown = np.nan_to_num((part - low) / (high - low) if high > low else part * 0, nan=0.0, posinf=1.0, neginf=0.0)
    return np.rint(255 * np.clip(shown, 0, 1)).astype(np.uint8)
