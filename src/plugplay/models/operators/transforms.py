"""Real FFTs of images, whose rows are handed over strip by strip while they are in the cache.

Transforms along the last axis are done in strips, so that padding, cropping, masks and sums happen between two of them
and take no pass over the image of their own. The other axes are transformed as a whole, in place. The strips depend on
the shape alone, and each is done by one of as many threads as `scipy.fft.get_workers` says.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import scipy.fft

from plugplay.arrays.strips import Pieces, share_out, strips

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from plugplay.arrays.checks import FloatArray

__all__ = ["Take", "half_spectrum", "hand_over", "in_strips", "pieces_of", "whole_image"]

Take: TypeAlias = Callable[[int, int, "FloatArray"], Any]
"""What is done with a strip: ``take(first, stop, rows)``. The rows may be changed."""

# Pixels of a strip: few enough for the cache, and a multiple of the rows that are transformed at a time.
STRIP = 1 << 16
ROWS_AT_A_TIME = 8


def pieces_of(shape: tuple[int, ...]) -> Pieces:
    """Cut the first axis of an array of this shape into strips.

    Examples
    --------
    >>> pieces_of((100, 1000))
    [(0, 64), (64, 100)]
    """
    height = STRIP // max(math.prod(shape[1:]), 1)
    return strips(shape[0], max(height // ROWS_AT_A_TIME * ROWS_AT_A_TIME, 1))


def in_strips(task: Callable[[int, int], Any], shape: tuple[int, ...]) -> list[Any]:
    """Return ``task(first, stop)`` for the strips of an array of this shape, done by the threads of `scipy.fft`."""
    return share_out(task, pieces_of(shape), scipy.fft.get_workers())


def half_spectrum(image: FloatArray, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Return the half spectrum of an image of one channel that zeros continue to `shape`.

    Parameters
    ----------
    image : array
        The image, in any precision.
    shape : tuple of int
        Shape of what is transformed.
    dtype : dtype
        Its precision.
    """
    spectrum: NDArray[Any]
    if image.shape == shape and image.dtype == dtype:
        spectrum = scipy.fft.rfftn(image)
        return spectrum
    last = len(shape) - 1
    spectrum = np.empty((*shape[:last], shape[last] // 2 + 1), np.result_type(dtype, np.complex64))

    def transform(first: int, stop: int) -> None:
        strip, rows = spectrum[first:stop], image[first:stop].astype(dtype, copy=False)
        inside = strip[tuple(map(slice, rows.shape[:last]))]
        if inside.shape != strip.shape:
            strip[...] = 0
        if rows.size:  # it may lie beyond the image
            inside[...] = scipy.fft.rfft(rows, n=shape[last], axis=last, workers=1)

    in_strips(transform, shape)
    spectrum = scipy.fft.fftn(spectrum, axes=range(last), overwrite_x=True)
    return spectrum


def hand_over(spectrum: NDArray[Any], shape: tuple[int, ...], take: Take) -> list[Any]:
    """Call ``take(first, stop, rows)`` for the strips of the image of a half spectrum, whose memory is used up.

    Returns
    -------
    list
        What the calls returned, from the first strip to the last.
    """
    last = len(shape) - 1
    columns = scipy.fft.ifftn(spectrum, axes=range(last), overwrite_x=True)

    def transform(first: int, stop: int) -> Any:
        rows = scipy.fft.irfft(columns[first:stop], n=shape[last], axis=last, overwrite_x=True, workers=1)
        return take(first, stop, rows)

    return in_strips(transform, shape)


def whole_image(spectrum: NDArray[Any], shape: tuple[int, ...]) -> FloatArray:
    """Return the image of a half spectrum, whose memory is used up."""
    last = len(shape) - 1
    # One after the other: `irfftn` would make another array of what is between the two.
    columns = scipy.fft.ifftn(spectrum, axes=range(last), overwrite_x=True)
    image: FloatArray = scipy.fft.irfft(columns, n=shape[last], axis=last, overwrite_x=True)
    return image
