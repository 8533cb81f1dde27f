"""Small blocks of an image and their cosine transforms, from which all noise estimates are made."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dctn
from scipy.ndimage import convolve
from scipy.special import ndtr

from plugplay.arrays.checks import BoolArray, FloatArray

__all__ = ["FREQUENCY", "SIDE", "Blocks", "censored_share", "quantisation_step", "take_blocks"]

SIDE = 8
# The frequency of each coefficient of a block, relative to the highest along an axis.
FREQUENCY = np.hypot(*np.meshgrid(np.arange(SIDE), np.arange(SIDE), indexing="ij")).ravel() / (SIDE - 1)
_MAX_VALUES = 30_000  # blocks times channels: more do not change the estimate
_MAX_SAMPLES = 1 << 18
_MAX_CLIPPED = 0.45  # share of a block's pixels: with more of them the noise cannot be measured
_HIGH = np.add.outer(np.arange(SIDE), np.arange(SIDE)).ravel() >= SIDE
_FEW_CLIPPED, _ENOUGH_UNCLIPPED = 0.1, 0.3
_JPEG_MARGIN, _MIN_LEFT = 4.0, 0.9
_GRID_BLOCKS = 300
# A coefficient that is zero in the file is smaller than this many steps of the pixels' values.
_ZERO = 0.5
# By how much the share of such zeros at the phase of the grid must exceed the median of other phases, and the next one,
# relative to that: 0.06 and a sixth or more in 32 JPEG files of quality 92 and 95 (crops of 112 pixels of chelsea,
# coffee, motorcycle and nuthatch, blurred), 0.03 in files that were never compressed. And how many standard errors may
# be chance.
_MIN_GRID_EXCESS, _MIN_PEAK = 0.04, 0.12
_CHANCE = 6.0
# Where they do not show, because images as smooth as these are rounded to zero on every grid, edges between blocks may:
# by how much third differences across them must exceed those at quarters of blocks, along both axes, in shares of these
# and in standard errors. All of 214 files of quality 75 to 97, like those of ``benchmarks/random_files.py``, are found
# by zeros or by edges, and of 234 files of 8 bits none but one that had been a JPEG file before; 0.12 and 3.0 are the
# most that others have.
_MIN_EDGE, _MIN_EDGE_ERRORS = 0.16, 4.0
_LUMA = np.array([0.299, 0.587, 0.114])
# If fewer than this share of all blocks have no missing pixels, blocks with a few missing ones are used as well. Each
# missing pixel lowers the power of white noise at high frequencies by the third number.
_ENOUGH_WHOLE, _MIN_SEEN = 0.4, 0.55
_LOST_PER_MISSING = 1.32
_NEIGHBOURS = np.array([[1.0, 2.0, 1.0], [2.0, 0.0, 2.0], [1.0, 2.0, 1.0]])[None, :, :, None]
_MAX_ROUNDS = 3


@dataclass(frozen=True, eq=False)
class Blocks:
    """Blocks of 8x8 pixels, as coefficients of the discrete cosine transform.

    Attributes
    ----------
    coefficients : array of shape (N, C, 64)
        Orthonormal, so that white noise of standard deviation s has s in every coefficient.
    means : array of shape (N, C)
        The mean of each block.
    clipped : array of shape (N, C)
        The share of a block's pixels at the ends of the channel's range.
    low, high : arrays of shape (C,)
        The ends of each channel's range.
    distinct : float
        The number of blocks that would not overlap, as a share of N.
    gridded : bool
        Whether the blocks are those of a JPEG file.
    step : float
        The step of the pixels' values if they lie on a lattice, else 0.
    """

    coefficients: NDArray[np.float64]
    means: NDArray[np.float64]
    clipped: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    distinct: float
    gridded: bool
    step: float

    def unclipped(self, sigma: float | None, *, undone: bool = False) -> NDArray[np.float64]:
        """Return, for each block and channel, the share of the noise's variance that clipping left; 0 if too little.

        Without `sigma`, blocks with clipped pixels are left out, or only those with many of them if hardly any block
        has none, as in the night sky. `undone` says that `sigma` is the noise before a JPEG file was written.
        """
        if sigma is None:
            few, some = self.clipped <= _FEW_CLIPPED, self.clipped == 0
            return np.where(some if some.sum() > _ENOUGH_UNCLIPPED * few.sum() else few, 1.0, 0.0)
        left = censored_share(self.means - self.low, sigma) * censored_share(self.high - self.means, sigma)
        if self.gridded and undone:
            left = np.where(left > _MIN_LEFT, 1.0, 0.0)
        elif self.gridded:
            # The noise was clipped before the compression removed most of it: no block close to an end can be used.
            left = np.where(np.minimum(self.means - self.low, self.high - self.means) < _JPEG_MARGIN * sigma, 0.0, 1.0)
        return np.where(self.clipped > _MAX_CLIPPED, 0.0, left)


def take_blocks(stack: FloatArray, observed: BoolArray | None, *, step: float = 0.0) -> Blocks | None:
    """Take evenly spread blocks from images ``(K, H, W, C)``; None if there is none.

    If the grid of a JPEG file shows, blocks are aligned with it, so that the coefficients are those of the file. If few
    blocks are without missing pixels, single missing pixels are interpolated, and the noise that they lack is corrected
    for.
    """
    count, height, width, channels = stack.shape
    if min(height, width) < SIDE:
        return None
    grid = _jpeg_grid(stack, observed, step) if step > 0 else None
    limit = max(4000, _MAX_VALUES // channels)
    stride = math.sqrt(count * (height - SIDE + 1) * (width - SIDE + 1) / limit)
    if grid is None:
        first = (0, 0)
        pace = max(3, math.ceil(stride) | 1)  # odd, so that no phase of a hidden grid is preferred
    else:
        first = grid
        pace = SIDE * max(1, round(stride / SIDE))
    slices = np.arange(0, count, max(1, math.ceil(count / limit)))
    rows = np.arange(first[0], height - SIDE + 1, pace)
    columns = np.arange(first[1], width - SIDE + 1, pace)
    if not rows.size or not columns.size:
        return None
    places = (slices[:, None, None], rows[:, None], columns)
    view = np.lib.stride_tricks.sliding_window_view
    seen = None if observed is None else view(observed, (SIDE, SIDE), axis=(1, 2))[places].mean(axis=(3, 4, 5)).ravel()
    if observed is not None and seen is not None and np.mean(seen == 1) < _ENOUGH_WHOLE:
        kept, stack = seen >= _MIN_SEEN, _interpolated(stack, observed)
    else:
        kept = np.ones(rows.size * columns.size * slices.size, np.bool_) if seen is None else seen == 1
    pixels = view(stack, (SIDE, SIDE), axis=(1, 2))[places].reshape(-1, channels, SIDE**2)[kept]
    if not len(pixels):
        return None
    pixels = pixels.astype(np.float64, order="C")
    # If a channel was clipped, its least and greatest values are the levels of clipping. If it was not, no block's mean
    # is close enough to them for the correction to matter.
    low, high = pixels.min(axis=(0, 2)), pixels.max(axis=(0, 2))
    clipped = ((pixels <= low[:, None]) | (pixels >= high[:, None])).mean(axis=2)
    means = pixels.mean(axis=2)
    coefficients = _transform(pixels - means[..., None])
    if seen is not None:
        coefficients /= np.sqrt(1 - _LOST_PER_MISSING * (1 - seen[kept]))[:, None, None]
    return Blocks(coefficients, means, clipped, low, high, min(1.0, (pace / SIDE) ** 2), grid is not None, step)


def censored_share(distance: NDArray[np.float64], sigma: float) -> NDArray[np.float64]:
    r"""Return the share of the variance of Gaussian noise that clipping leaves, given the distance of the mean from it.

    For a pixel of true value :math:`t \sigma` above black, the clipped pixel has the mean :math:`\sigma m(t)`, :math:`m
    = t \Phi(t) + \varphi(t)`, and the variance :math:`\sigma^2 [(t^2 + 1) \Phi(t) + t \varphi(t) - m^2]`; only the mean
    is known. Below t = 0.3, where less than half of the variance is left, 0 is returned.
    """
    t = np.linspace(-1, 5, 601)
    density, below = np.exp(-np.square(t) / 2) / math.sqrt(2 * math.pi), ndtr(t)
    mean = t * below + density
    variance = (np.square(t) + 1) * below + t * density - np.square(mean)
    share = np.interp(distance / max(sigma, 1e-300), mean, variance)
    return np.asarray(np.where(share < 0.5, 0.0, share))


def _interpolated(stack: FloatArray, observed: BoolArray) -> FloatArray:
    """Return the images with means of observed neighbours where a pixel is missing; holes are filled from their rim."""
    observed = np.broadcast_to(observed, stack.shape)
    filled = np.where(observed, stack, stack.dtype.type(0))
    for _ in range(_MAX_ROUNDS):
        if observed.all():
            break
        weight = convolve(observed.astype(filled.dtype), _NEIGHBOURS, mode="constant")
        rim = ~observed & (weight > 0)
        filled[rim] = convolve(filled, _NEIGHBOURS, mode="constant")[rim] / weight[rim]
        observed = observed | rim
    return filled


def quantisation_step(stack: FloatArray, observed: BoolArray | None) -> float:
    """Return the step of the values if they lie on a lattice, as those of 8-bit files do, else 0."""
    values = stack.ravel() if observed is None else stack[observed]
    some = np.unique(values[:: max(1, values.size // _MAX_SAMPLES)].astype(np.float64))
    if some.size < 3 or some.size > 0.25 * min(values.size, _MAX_SAMPLES):
        return 0.0
    gaps = np.diff(some)
    step = float(gaps.min())
    if step <= 1e-7 * (some[-1] - some[0]):
        return 0.0
    steps = (some - some[0]) / float(np.median(gaps[gaps < 1.5 * step]))
    on_lattice = np.abs(steps - np.round(steps)) < 0.02 + 1e-6 * steps
    return step if on_lattice.all() else 0.0


def _jpeg_grid(stack: FloatArray, observed: BoolArray | None, step: float) -> tuple[int, int] | None:
    """Return where the blocks of a JPEG file begin, if the image was one.

    Only on that grid many coefficients of high frequency are zero, except for the rounding of the pixels. A few missing
    pixels, interpolated, change little.
    """
    image = _luma(_middle(stack) if observed is None else _interpolated(_middle(stack), _middle(observed)))
    if min(image.shape) < 4 * SIDE:
        return None
    windows = np.lib.stride_tricks.sliding_window_view(image, (SIDE, SIDE))
    rows, columns = (np.arange(0, n - 2 * SIDE + 1, SIDE) for n in image.shape)
    pace = max(1, math.ceil(math.sqrt(rows.size * columns.size / _GRID_BLOCKS)))
    rows, columns = rows[::pace], columns[::pace]
    zeros, counts = np.empty((SIDE, SIDE)), np.zeros((SIDE, SIDE))
    for i in range(SIDE):
        for j in range(SIDE):
            pixels = windows[rows[:, None] + i, columns + j].reshape(-1, SIDE**2)
            busy = pixels.max(axis=1) > pixels.min(axis=1)
            small = np.abs(_transform(pixels[busy])[:, _HIGH]) < _ZERO * step
            zeros[i, j], counts[i, j] = small.mean() if small.size else 0.0, small.size
    best: Any = np.unravel_index(int(zeros.argmax()), zeros.shape)
    others = np.delete(zeros.ravel(), int(zeros.argmax()))
    above, usual = float(zeros[best]), float(np.median(others))
    chance = _CHANCE * math.sqrt(usual * (1 - usual) / max(float(np.median(counts)), 1.0))
    # There must be a single peak.
    if above - usual < max(_MIN_GRID_EXCESS, chance) or above - float(others.max()) < _MIN_PEAK * (above - usual):
        return _between_blocks(image)
    return int(best[0]), int(best[1])


def _between_blocks(image: NDArray[np.float64]) -> tuple[int, int] | None:
    """Return where blocks begin if there are edges between them, along both axes."""
    first = _phase_of_edges(image.T), _phase_of_edges(image)
    return None if first[0] is None or first[1] is None else (first[0], first[1])


def _phase_of_edges(image: NDArray[np.float64]) -> int | None:
    """Return in which columns, modulo the side of a block, blocks begin; None if there is no edge there."""
    # Roots, because a few strong edges of the scene must not decide.
    jumps = np.sqrt(np.abs(np.diff(image, n=3, axis=1))).mean(axis=0)
    at = [jumps[(phase - 2) % SIDE :: SIDE] for phase in range(SIDE)]
    means = np.array([some.mean() for some in at])
    error = float(np.median([some.std() / math.sqrt(some.size) for some in at]))
    best = int(means.argmax())
    # The middle of a block may hold an edge as well: that of its only coefficient, rounded to whole pixel values.
    usual = float(means[[(best - SIDE // 4) % SIDE, (best + SIDE // 4) % SIDE]].mean())
    return best if means[best] - usual > max(_MIN_EDGE * usual, _MIN_EDGE_ERRORS * error) else None


def _middle(stack: NDArray[Any]) -> NDArray[Any]:
    """Return the middle of the middle image, of shape (1, H, W, C), at the phase of its first pixel."""
    begin = [max(0, (n - 512) // 2) // SIDE * SIDE for n in stack.shape[1:3]]
    middle = stack.shape[0] // 2
    return stack[middle : middle + 1, begin[0] : begin[0] + 512, begin[1] : begin[1] + 512]


def _luma(stack: NDArray[Any]) -> NDArray[np.float64]:
    """Return the luma of one image, as JPEG files store it."""
    weights = _LUMA if stack.shape[-1] == 3 else None
    return np.asarray(np.average(stack[0].astype(np.float64), axis=-1, weights=weights))


def _transform(pixels: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the cosine transform of blocks whose pixels are the last axis."""
    squares = pixels.reshape(*pixels.shape[:-1], SIDE, SIDE)
    return np.asarray(dctn(squares, axes=(-2, -1), norm="ortho")).reshape(pixels.shape)
