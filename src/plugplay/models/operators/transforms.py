"""Real FFTs of images, whose rows are handed over strip by strip while they are in the cache.

Transforms along the last axis are done in strips, so that padding, cropping, masks and sums happen between two of them
and take no pass over the image of their own. The other axes are transformed as a whole, in place. The strips depend on
the shape alone, and each is done by one of as many threads as `scipy.fft.get_workers` says.

Channels are in front here, and there is always an axis for them: see `planes_of`. All are transformed in one call, as
three calls for a small image would have threads wait for each other three times as often.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
import scipy.fft

from plugplay.arrays.strips import Pieces, share_out, strips

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from plugplay.arrays.checks import FloatArray

__all__ = ["Take", "half_spectra", "hand_over", "in_strips", "pieces_of", "planes_of", "whole_planes"]

ScalarT = TypeVar("ScalarT", bound=np.generic)
Take: TypeAlias = Callable[[int, int, "FloatArray"], Any]
"""What is done with a strip of all planes: ``take(first, stop, rows)``. The rows may be changed."""

# Pixels of a strip: few enough for the cache, and a multiple of the rows that are transformed at a time.
STRIP = 1 << 17
ROWS_AT_A_TIME = 8
# Pixels up to which there is one strip: what is done with it takes less time than waking threads, and the transforms
# have faster ones of their own.
ONE_STRIP = 1 << 18


def planes_of(image: NDArray[ScalarT], ndim: int) -> NDArray[ScalarT]:
    """Return a view of an image of so many spatial axes, with all its channels in one axis in front.

    Examples
    --------
    >>> planes_of(np.zeros((4, 5, 3)), 2).shape, planes_of(np.zeros((4, 5)), 2).shape
    ((3, 4, 5), (1, 4, 5))
    """
    return np.moveaxis(image.reshape(*image.shape[:ndim], -1), -1, 0)


def pieces_of(shape: tuple[int, ...]) -> Pieces:
    """Cut the first spatial axis of planes of this shape, channels in front, into an even number of strips.

    Examples
    --------
    >>> pieces_of((3, 50, 2000))
    [(0, 32), (32, 50)]
    >>> pieces_of((1, 512, 512))
    [(0, 512)]
    """
    if math.prod(shape) <= ONE_STRIP:
        return [(0, shape[1])]
    count = 2 * max(round(math.prod(shape) / (2 * STRIP)), 1)
    return strips(shape[1], math.ceil(shape[1] / count / ROWS_AT_A_TIME) * ROWS_AT_A_TIME)


def in_strips(task: Callable[[int, int], Any], shape: tuple[int, ...]) -> list[Any]:
    """Return ``task(first, stop)`` for the strips of planes of this shape, done by the threads of `scipy.fft`.

    They are for the strips then: what is transformed in one of several strips is by one thread.
    """
    workers, pieces = scipy.fft.get_workers(), pieces_of(shape)
    if len(pieces) == 1:
        return [task(*pieces[0])]

    def alone(first: int, stop: int) -> Any:
        with scipy.fft.set_workers(1):
            return task(first, stop)

    return share_out(alone, pieces, workers)


def half_spectra(planes: FloatArray, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Return the half spectra of planes that zeros continue to `shape`.

    Parameters
    ----------
    planes : array
        The planes, in any precision.
    shape : tuple of int
        Spatial shape of what is transformed.
    dtype : dtype
        Its precision.
    """
    spectra: NDArray[Any]
    last = len(shape)
    if planes.shape[1:] == shape and planes.dtype == dtype:
        spectra = scipy.fft.rfftn(planes, axes=range(1, last + 1))
        return spectra
    half = (len(planes), *shape[:-1], shape[-1] // 2 + 1)
    spectra = np.empty(half, np.result_type(dtype, np.complex64))

    def transform(first: int, stop: int) -> None:
        strip, rows = spectra[:, first:stop], planes[:, first:stop].astype(dtype, copy=False)
        inside = strip[tuple(map(slice, rows.shape[:last]))]
        if inside.shape != strip.shape:
            strip[...] = 0
        if rows.size:  # it may lie beyond the image
            inside[...] = scipy.fft.rfft(rows, n=shape[-1], axis=last)

    in_strips(transform, (len(planes), *shape))
    spectra = scipy.fft.fftn(spectra, axes=range(1, last), overwrite_x=True)
    return spectra


def hand_over(spectra: NDArray[Any], shape: tuple[int, ...], take: Take) -> list[Any]:
    """Call ``take(first, stop, rows)`` for the strips of the planes of half spectra, whose memory is used up.

    Returns
    -------
    list
        What the calls returned, from the first strip to the last.
    """
    last = len(shape)
    columns = scipy.fft.ifftn(spectra, axes=range(1, last), overwrite_x=True)

    def transform(first: int, stop: int) -> Any:
        rows = scipy.fft.irfft(columns[:, first:stop], n=shape[-1], axis=last, overwrite_x=True)
        return take(first, stop, rows)

    return in_strips(transform, (len(spectra), *shape))


def whole_planes(spectra: NDArray[Any], shape: tuple[int, ...]) -> FloatArray:
    """Return the planes of half spectra, whose memory is used up."""
    last = len(shape)
    # One after the other: `irfftn` would make another array of what is between the two.
    columns = scipy.fft.ifftn(spectra, axes=range(1, last), overwrite_x=True)
    planes: FloatArray = scipy.fft.irfft(columns, n=shape[-1], axis=last, overwrite_x=True)
    return planes
