"""From an image to the planes that the stages work on, and back.

Whatever the image, the stages see single-precision channels of at least 8x8 pixels around zero:

* Small images are continued by reflection.
* The mean of each channel is taken out. The threshold then pulls what it cannot tell from noise towards the image's
  mean, not towards black; brightness shifted by a constant comes out shifted by that constant; and single precision
  suffices for any offset.
* Huge values are scaled down by a power of two.
* Colours become opponent colours: luminance carries most of the structure, so that groups are looked for there; the
  two chrominance channels carry most of the noise.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plugplay.arrays.checks import FloatArray
from plugplay.denoisers.bm3d.canvas import LARGEST_PIXEL, Canvas
from plugplay.denoisers.bm3d.pipeline import Groups, Progress, denoise_canvas
from plugplay.denoisers.bm3d.profiles import BLOCK, Profile

__all__ = ["denoise_image", "from_opponent", "opponent_noise", "to_opponent"]

_PIECE = 64  # rows
_FORWARD: NDArray[np.float64] = np.array([[1 / 3, 1 / 3, 1 / 3], [1 / 2, 0, -1 / 2], [1 / 4, -1 / 2, 1 / 4]])
_INVERSE: NDArray[np.float64] = np.linalg.inv(_FORWARD).astype(np.float64)


def denoise_image(
    image: FloatArray,
    sigma: float,
    profile: Profile,
    *,
    mean: tuple[float, ...] | None = None,
    shares: tuple[float, float, float] | None = None,
    workers: int,
    groups: Groups | None = None,
    progress: Progress | None = None,
) -> FloatArray:
    """Denoise a gray image ``(H, W)`` or a colour image ``(H, W, 3)``.

    Parameters
    ----------
    image : ndarray of float32 or float64
        A finite image.
    sigma : float
        Standard deviation of the noise, above 0.
    profile : Profile
        The settings.
    mean : tuple of float, optional
        What is taken out of each channel instead of its mean.
    shares : tuple of float, optional
        By how much the noise in luminance and colour differences differs from noise that is independent in all colours.
    workers : int
        Number of threads.
    groups : Groups, optional
        Groups of an image of the same shape, to be used instead of searching. What is not there yet is added.
    progress : callable, optional
        Called with the share of the work that is done.

    Returns
    -------
    ndarray
        The estimate, with the shape and dtype of `image`.
    """
    scale = image.dtype.type(_scale(float(max(image.max(), -image.min()))))
    channels = 1 if image.ndim == 2 else image.shape[2]
    known = mean is not None and len(mean) == channels
    middle = ((np.array(mean) if known else _means(image)) * scale).astype(image.dtype)
    sigma *= float(scale)
    sigmas = np.array([sigma]) if image.ndim == 2 else opponent_noise(sigma) * np.array(shares or (1.0, 1.0, 1.0))
    # Large images leave no room for copies: onto the canvas and back, some rows at a time.
    whole = _enlarged(image)
    canvas = Canvas.empty(sigmas.size, whole.shape[0], whole.shape[1])
    for rows in _pieces(whole.shape[0]):
        planes = _around_zero(whole[rows], scale, middle)
        canvas.noisy[:, rows] = planes if image.ndim == 2 else to_opponent(planes)
    estimate = denoise_canvas(canvas, sigmas, profile, workers=workers, groups=groups, progress=progress)
    restored = np.empty_like(image)
    for rows in _pieces(image.shape[0]):
        planes = estimate[:, rows, : image.shape[1]]
        colours = planes if image.ndim == 2 else from_opponent(planes)
        for channel, plane, level in zip(_channels(restored[rows]), colours, middle, strict=True):
            np.divide(plane + level, scale, out=channel)
    return restored


def _means(image: FloatArray) -> NDArray[np.float64]:
    """Return the mean of each channel."""
    # Over rows first: adding up three numbers at a time takes ten times as long.
    rows = image.reshape(image.shape[0], -1).sum(axis=0, dtype=np.float64)
    return np.asarray(rows.reshape(image.shape[1], -1).mean(axis=0) / image.shape[0])


def _around_zero(image: FloatArray, scale: np.floating[Any], middle: FloatArray) -> NDArray[np.float32]:
    """Return the channels of an image, each in one piece, times the scale and less its level."""
    planes = np.empty((middle.size, *image.shape[:2]), np.float32)
    for plane, channel, level in zip(planes, _channels(image), middle, strict=True):
        # The difference has the precision of the image: that of single precision would suffer from an offset.
        np.subtract(channel if scale == 1 else channel * scale, level, out=plane, casting="same_kind")
    return planes


def _channels(image: FloatArray) -> FloatArray:
    """Return a view with the channels first."""
    return image[None] if image.ndim == 2 else np.moveaxis(image, -1, 0)


def _pieces(height: int) -> list[slice]:
    """Return the rows of an image in pieces."""
    return [slice(first, min(first + _PIECE, height)) for first in range(0, height, _PIECE)]


def _scale(peak: float) -> float:
    """Return the power of two that brings `peak` to what the search can measure.

    Examples
    --------
    >>> _scale(1.0), _scale(2.0**22)
    (1.0, 0.25)
    """
    excess = math.frexp(peak / LARGEST_PIXEL)[1]
    return 2.0 ** -max(excess - 1, 0)


def _enlarged(image: FloatArray) -> FloatArray:
    """Continue images that are smaller than a block by reflection."""
    missing = [max(BLOCK - length, 0) for length in image.shape[:2]]
    if not any(missing):
        return image
    return np.pad(image, [*((0, more) for more in missing), *[(0, 0)] * (image.ndim - 2)], mode="symmetric")


def to_opponent(planes: NDArray[np.float32]) -> NDArray[np.float32]:
    """Turn red, green, blue ``(3, H, W)`` into luminance, red-blue and magenta-green."""
    return _mixed(planes, _FORWARD)


def from_opponent(planes: NDArray[np.float32]) -> NDArray[np.float32]:
    """Undo `to_opponent`."""
    return _mixed(planes, _INVERSE)


def opponent_noise(sigma: float) -> NDArray[np.float64]:
    """Return the standard deviations, after `to_opponent`, of white noise with `sigma` in each colour.

    Examples
    --------
    >>> opponent_noise(1.0).round(3)
    array([0.577, 0.707, 0.612])
    """
    norms: NDArray[np.float64] = np.linalg.norm(_FORWARD, axis=1)
    return sigma * norms


def _mixed(planes: NDArray[np.float32], matrix: NDArray[np.float64]) -> NDArray[np.float32]:
    # Written out rather than as a matrix product: the sum has the same order on every machine.
    mixed = np.empty(planes.shape, np.float32)
    for row, target in zip(matrix.astype(np.float32), mixed, strict=True):
        np.multiply(planes[0], row[0], out=target)
        for factor, plane in zip(row[1:], planes[1:], strict=True):
            if factor:
                target += factor * plane
    return mixed
