"""Orientation and alpha, which are handled after decoding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["split_alpha", "upright"]


def upright(array: NDArray[Any], orientation: int) -> NDArray[Any]:
    """Return ``(H, W, ...)`` turned as EXIF's and TIFF's orientation (1 to 8) asks for.

    Examples
    --------
    >>> import numpy as np
    >>> upright(np.array([[1, 2], [3, 4]]), 6).tolist()
    [[3, 1], [4, 2]]
    """
    if orientation in (5, 6, 7, 8):
        array = np.swapaxes(array, 0, 1)
    if orientation in (2, 3, 6, 7):
        array = array[:, ::-1]
    if orientation in (3, 4, 7, 8):
        array = array[::-1]
    return array


def split_alpha(array: NDArray[Any]) -> tuple[NDArray[Any], bool, NDArray[Any] | None]:
    """Return pixels, whether they are in colour, and alpha, from gray, gray + alpha, RGB or RGBA."""
    if array.ndim == 2:
        return array, False, None
    channels = array.shape[-1]
    alpha = array[..., -1] if channels in (2, 4) else None
    pixels = array[..., : channels - (alpha is not None)]
    return (pixels[..., 0], False, alpha) if pixels.shape[-1] == 1 else (pixels, True, alpha)
