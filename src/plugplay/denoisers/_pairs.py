r"""Averages over a window with weights that depend on how similar two places are.

Non-local means, its doubly stochastic variant and the bilateral filter are the same computation,

.. math::

    w_{ij} = g_{i-j} \exp\bigl(-\max(d_{ij} - s,\, 0) / h^2\bigr), \qquad
    v_i = x_i + \frac{\sum_j w_{ij} (x_j - x_i)}{\sum_j w_{ij}},

with :math:`d_{ij}` the mean squared difference of the patches around pixels i and j (a patch of one pixel for
the bilateral filter). Weights are symmetric, so each pair is looked at once: offsets are those with
``dy > 0``, or ``dy == 0`` and ``dx > 0``. Everything is in single precision; since only *differences* are
averaged, the result for a double precision image is still exact where nothing has to change.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from plugplay.arrays.checks import FloatArray
from plugplay.arrays.strips import share_out, strips
from plugplay.compiling import kernel
from plugplay.denoisers._scalars import Scalar, decay

__all__ = ["half_window", "offset_weights", "planes", "radius_for", "window_average"]

Float32 = NDArray[np.float32]


def half_window(radius: int) -> NDArray[np.int64]:
    """Return one offset ``(dy, dx)`` of each pair of opposite offsets in a square window.

    Examples
    --------
    >>> half_window(1).tolist()
    [[0, 1], [1, -1], [1, 0], [1, 1]]
    """
    steps = range(-radius, radius + 1)
    offsets = [(dy, dx) for dy in range(radius + 1) for dx in steps if dy > 0 or dx > 0]
    return np.array(offsets, dtype=np.int64).reshape(-1, 2)


def radius_for(values: int, channels: int) -> int:
    """Return the smallest radius, from 1 on, of a patch that holds at least `values` numbers.

    Examples
    --------
    >>> radius_for(25, 1), radius_for(25, 3), radius_for(9, 100)
    (2, 1, 1)
    """
    radius = 1
    while (2 * radius + 1) ** 2 * channels < values:
        radius += 1
    return radius


def planes(image: FloatArray, pad: int) -> Float32:
    """Return the image as ``(C, H + 2 pad, W + 2 pad)`` in single precision, mirrored at its edges."""
    channels = np.moveaxis(np.atleast_3d(image), 2, 0).astype(np.float32)
    return np.pad(channels, ((0, 0), (pad, pad), (pad, pad)), mode="symmetric")


def window_average(
    image: FloatArray,
    *,
    window: int,
    patch: int,
    width: float,
    slack: float = 0.0,
    spatial: Float32 | None = None,
    workers: int,
) -> FloatArray:
    """Average every pixel with the pixels of its window; see the formula at the top of this module.

    Parameters
    ----------
    image : array
        ``(H, W)`` or ``(H, W, C)``.
    window, patch : int
        Radii of the search window and of the patches.
    width, slack : float
        h and s in the formula.
    spatial : array, optional
        g for every offset of `half_window`; ones by default.
    workers : int
        Number of threads.

    Returns
    -------
    array
        Shape and dtype of `image`.
    """
    height = image.shape[0]
    offsets = half_window(window)
    factors = np.ones(len(offsets), np.float32) if spatial is None else spatial
    padded = planes(image, patch)
    # 1 / h² may overflow single precision for an absurdly small h; distances are divided by h before squaring.
    padded /= np.float32(width)
    cut = np.float32(slack / width**2)

    pieces = strips(height)
    parts = share_out(partial(_average_strip, padded, offsets, factors, patch, cut), pieces, workers)
    sums = np.zeros((padded.shape[0] + 1, height, image.shape[1]), np.float32)
    for (first, _), part in zip(pieces, parts, strict=True):
        # A strip also adds to the rows below it that its window reaches.
        sums[:, first : first + part.shape[1]] += part
    move = sums[:-1] / (sums[-1] + 1) * np.float32(width)
    change: FloatArray = np.moveaxis(move, 0, 2).reshape(image.shape).astype(image.dtype)
    return image + change


@kernel
def offset_weights(
    padded: FloatArray,
    patch: int,
    cut: Scalar,
    first: int,
    stop: int,
    dy: int,
    dx: int,
    ring: FloatArray,
    column: FloatArray,
    total: FloatArray,
    out: FloatArray,
) -> None:
    """Fill ``out[y - first, x]`` with the weight of the pair (y, x) and (y + dy, x + dx), zero outside the image.

    `ring` ``(2 patch + 1, W + 2 patch)``, `column` and `total` ``(W + 2 patch,)`` are scratch memory.
    """
    channels, padded_height, padded_width = padded.shape
    size = 2 * patch + 1
    height, width = padded_height - 2 * patch, padded_width - 2 * patch
    left, right = max(0, -dx), min(width, width - dx)
    out[:] = 0
    rows = min(stop, height - dy) - first
    if rows <= 0 or right <= left:
        return
    scale = np.float32(1.0 / (size * size * channels))
    # A difference this large makes the weight zero by itself. Without the limit, what is left of it after it has
    # been added to and subtracted from the running sum would drown the small differences.
    enough = (np.float32(32.0) + cut) / scale
    span = right - left + 2 * patch
    for r in range(rows + 2 * patch):
        squares = ring[r % size]
        if r >= size:
            for x in range(span):
                column[x] -= squares[x]
        elif r == 0:
            for x in range(span):
                column[x] = 0
        for c in range(channels):
            here = padded[c, first + r, left:]
            there = padded[c, first + r + dy, left + dx :]
            if c == 0:
                for x in range(span):
                    difference = here[x] - there[x]
                    squares[x] = min(difference * difference, enough)
            else:
                for x in range(span):
                    difference = here[x] - there[x]
                    squares[x] = min(squares[x] + difference * difference, enough)
        for x in range(span):
            column[x] += squares[x]
        if r < 2 * patch:
            continue
        for x in range(right - left):
            total[x] = column[x]
        for shift in range(1, size):
            moved = column[shift:]
            for x in range(right - left):
                total[x] += moved[x]
        weights = out[r - 2 * patch, left:]
        for x in range(right - left):
            weights[x] = decay(max(total[x] * scale - cut, np.float32(0.0)))


@kernel
def _average_strip(
    padded: FloatArray, offsets: NDArray[np.int64], factors: FloatArray, patch: int, cut: Scalar, first: int, stop: int
) -> Float32:
    """Return the sums of w (x_j - x_i), channel by channel, and of w, over all pairs whose upper pixel is here."""
    channels, padded_height, padded_width = padded.shape
    height, width = padded_height - 2 * patch, padded_width - 2 * patch
    below = min(height, stop + np.max(offsets[:, 0])) if len(offsets) else stop
    sums = np.zeros((channels + 1, below - first, width), np.float32)
    weights = np.empty((stop - first, width), np.float32)
    ring = np.empty((2 * patch + 1, padded_width), np.float32)
    column = np.empty(padded_width, np.float32)
    total = np.empty(padded_width, np.float32)
    for index in range(len(offsets)):
        dy, dx = offsets[index]
        offset_weights(padded, patch, cut, first, stop, dy, dx, ring, column, total, weights)
        left, right = max(0, -dx), min(width, width - dx)
        span = right - left
        factor = factors[index]
        for r in range(min(stop, height - dy) - first):
            w = weights[r, left:]
            if factor != 1:
                for x in range(span):
                    w[x] *= factor
            for c in range(channels):
                here = padded[c, first + r + patch, left + patch :]
                there = padded[c, first + r + dy + patch, left + dx + patch :]
                upper = sums[c, r, left:]
                for x in range(span):
                    upper[x] += w[x] * (there[x] - here[x])
                lower = sums[c, r + dy, left + dx :]
                for x in range(span):
                    lower[x] += w[x] * (here[x] - there[x])
            upper = sums[channels, r, left:]
            for x in range(span):
                upper[x] += w[x]
            lower = sums[channels, r + dy, left + dx :]
            for x in range(span):
                lower[x] += w[x]
    return sums
