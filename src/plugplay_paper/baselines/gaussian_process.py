"""Super-resolution by Gaussian process regression, learned from nothing but the small image itself.

After He and Siu, "Single image super-resolution using Gaussian process regression" (CVPR 2011). Images are taken
patch by patch, and in every patch a process learns to predict a pixel from its neighbourhood. It happens twice:

* **Upsampling.** In the small image, the process learns a pixel from its eight neighbours; in its bicubic
  interpolation, it then replaces each pixel by what the eight around it predict. Pixels side by side in
  structures like those seen reinforce each other, which straightens edges.
* **Deblurring.** The small image is made smaller still and upsampled again like that, and the process learns its
  pixels from the blurred neighbourhoods, 3 x 3, that this leaves; then it is applied to the result of the first stage.

Inputs are measured from the mean of their neighbourhood: what a structure looks like, however bright it is. A process
that has learned nothing returns, in the first stage, that mean, and in the second the pixel itself.

What holds between pixels of the small image need not hold between those of the large one, which are closer: fine
stripes make opposites of neighbours in the one and not in the other. But the large image must shrink to the small
one. So of what the two stages change in the interpolated image, that share is kept, place by place, which makes it
agree best with what was observed. (This guard is ours; without it some textures come out worse than interpolated.)
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from scipy.ndimage import uniform_filter

from plugplay.models import SuperResolution
from plugplay_paper.arrays import FloatArray
from plugplay_paper.baselines.back_projection import bicubic, check_gray
from plugplay_paper.baselines.regression import Process, likeliest_parameters

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

__all__ = ["gaussian_process_regression"]

# Side of a patch and the distance between patches, in pixels of the small image. A process is asked about the middle
# of its patch only, so much away from the sides, where patches still overlap.
_PATCH, _STRIDE, _RIM = 20, 10, 3
# What the likelihood chooses from, for inputs that have been divided by their standard deviation. Shorter lengths,
# and less noise, would fit the small image to the last digit and fail on the large one, which is smoother.
_LENGTHS = (8.0, 16.0, 32.0)
_NOISES = (0.1, 1.0)
# The likelihood looks at one pixel in four: a hundred say enough of two numbers.
_EVERY = 4
# Patches whose neighbourhoods vary less than this (half a level of 8 bits) are flat: there is nothing to learn.
_FLAT = 0.002


def gaussian_process_regression(y: ArrayLike, factor: int) -> FloatArray:
    """Enlarge a gray image, taken for the bicubic decimation of a larger one.

    A factor that is a multiple of 2 is taken in steps of 2, since the method learns from smaller versions of the
    image.

    Parameters
    ----------
    y : array, ``(h, w)``
        The small image, floats on [0, 1]; sample i is centred at pixel ``K i + (K-1)/2`` of the large one. The domain
        is circular.
    factor : int
        K, at least 2.

    Returns
    -------
    array, ``(K h, K w)``
        The large image, in the dtype of y; not clipped.

    Examples
    --------
    >>> import numpy as np
    >>> gaussian_process_regression(np.eye(16), 2).shape
    (32, 32)
    """
    image, factor = check_gray(y, factor)
    while factor > 1:
        step = 2 if factor % 2 == 0 else factor
        image = _enlarged(image, step)
        factor //= step
    return image


def _enlarged(y: FloatArray, factor: int) -> FloatArray:
    blurred = _upsampled(_shrunk(y, factor), factor)[: y.shape[0], : y.shape[1]]
    sharp = predicted(_upsampled(y, factor), factor, seen=blurred, target=y, with_centre=True)
    plain = bicubic(y, factor)
    model = SuperResolution(factor)
    share = best_share(model.forward(plain), model.forward(sharp), y)
    return plain + np.repeat(np.repeat(share, factor, axis=0), factor, axis=1) * (sharp - plain)


def _upsampled(y: FloatArray, factor: int) -> FloatArray:
    """Return the result of the first stage."""
    return predicted(bicubic(y, factor), factor, seen=y, target=y, with_centre=False)


def best_share(plain: FloatArray, changed: FloatArray, truth: FloatArray) -> FloatArray:
    """Return which share, from 0 to 1, of the change from `plain` to `changed` brings it closest to the truth locally.

    It is the least-squares solution over windows of the size of a patch.

    Examples
    --------
    >>> zeros, ones = np.zeros((4, 4)), np.ones((4, 4))
    >>> [float(best_share(zeros, ones, share * ones)[0, 0].round(3)) for share in (-1.0, 0.3, 2.0)]
    [0.0, 0.3, 1.0]
    """
    change = changed - plain
    agreement, energy = (uniform_filter(image, _PATCH, mode="wrap") for image in (change * (truth - plain), change**2))
    share: FloatArray = np.clip(agreement / (energy + _FLAT**2 / 4), 0, 1)
    return share


def _shrunk(y: FloatArray, factor: int) -> FloatArray:
    """Return the decimation of y, whose sides are first extended to multiples of the factor."""
    extra = [(0, max(-side % factor, 4 * factor - side)) for side in y.shape]  # it needs four samples a side
    return SuperResolution(factor).forward(np.pad(y, extra, mode="wrap"))


def predicted(image: FloatArray, factor: int, *, seen: FloatArray, target: FloatArray, with_centre: bool) -> FloatArray:
    """Return `image` with each pixel predicted from its neighbourhood, as learned from a smaller pair of images.

    Parameters
    ----------
    image : array, ``(K h, K w)``
        What to apply the processes to.
    factor : int
        K.
    seen, target : arrays, ``(h, w)``
        The processes learn to predict pixels of `target` from neighbourhoods in `seen`.
    with_centre : bool
        Whether a neighbourhood has the pixel in its middle as well. If so, that pixel is what is predicted where
        nothing was learned, else the mean of the others.
    """
    small_means, small = _neighbourhoods(seen, with_centre)
    large_means, exact = _neighbourhoods(image, with_centre)
    small_prior, large_prior = (seen, image) if with_centre else (small_means, large_means)
    large = exact.astype(np.float32)  # twice as fast, and no worse than a hundredth of a gray level in 8 bits
    differences = target.astype(np.float64) - small_prior
    total, weight = np.zeros(image.shape), np.zeros(image.shape)
    for patch, middle in _patches(target.shape):
        where = tuple(slice(factor * part.start, factor * part.stop) for part in middle)
        inputs = small[patch].reshape(-1, small.shape[-1])
        scale = float(inputs.std())
        new = large[where]
        window = _window(new.shape[:2])
        if scale < _FLAT:
            prediction: FloatArray = image[where] - large_prior[where]
        else:
            process = _learned(inputs / scale, differences[patch].ravel() / scale)
            prediction = scale * process.mean(new.reshape(-1, new.shape[-1]) / np.float32(scale)).reshape(window.shape)
        total[where] += window * prediction
        weight[where] += window
    return (large_prior + total / weight).astype(image.dtype)


def _learned(inputs: NDArray[np.float64], targets: NDArray[np.float64]) -> Process:
    length, noise = likeliest_parameters(inputs[::_EVERY], targets[::_EVERY], lengths=_LENGTHS, noises=_NOISES)
    return Process.fit(inputs, targets, length=length, noise=noise)


def _neighbourhoods(image: FloatArray, with_centre: bool) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the means of the neighbourhoods, ``(H, W)``, and the neighbourhoods without them, ``(H, W, 8 or 9)``."""
    exact = image.astype(np.float64)
    moves = [move for move in product((1, 0, -1), repeat=2) if with_centre or move != (0, 0)]
    around = np.stack([np.roll(exact, move, axis=(0, 1)) for move in moves], axis=-1)
    means: NDArray[np.float64] = around.mean(axis=-1)
    around -= means[..., None]
    return means, around


def _patches(shape: tuple[int, ...]) -> Iterator[tuple[tuple[slice, slice], tuple[slice, slice]]]:
    """Yield overlapping patches, each with its middle; the middles cover the image."""
    rows, columns = map(_intervals, shape)
    for (row, inner_row), (column, inner_column) in product(rows, columns):
        yield (row, column), (inner_row, inner_column)


def _intervals(side: int) -> list[tuple[slice, slice]]:
    """Return what the patches and their middles are along one axis; at the ends the middle reaches the end.

    Examples
    --------
    >>> _intervals(30)
    [(slice(0, 20, None), slice(0, 17, None)), (slice(10, 30, None), slice(13, 30, None))]
    """
    last = max(side - _PATCH, 0)
    intervals = []
    for start in sorted({*range(0, last, _STRIDE), last}):
        stop = min(start + _PATCH, side)
        inner = slice(start + _RIM if start > 0 else 0, stop - _RIM if stop < side else side)
        intervals.append((slice(start, stop), inner))
    return intervals


def _window(shape: tuple[int, int]) -> NDArray[np.float64]:
    """Return the weights of predictions: a pyramid, so that patches blend into each other."""
    slopes = [np.minimum(np.arange(1, side + 1), np.arange(side, 0, -1)).astype(np.float64) for side in shape]
    return np.outer(slopes[0], slopes[1])
