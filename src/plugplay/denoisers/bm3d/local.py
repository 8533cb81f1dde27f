r"""The fourth stage: small learned filters, one for each kind of neighbourhood.

The other stages only use the fact that blocks repeat. Their errors are partly the same in all images: edges are
slightly too soft, and weak detail along them is lost. Here every pixel of the estimate b of the image y is corrected by
a linear filter of its surroundings,

.. math:: b_i + \sigma c_i, \qquad
    c_i = \sum_{j} w^k_j \frac{b_{i + j} - b_i}{\sigma} + \sum_{l} m^k_l \frac{y_{i + l} - b_{i + l}}{\sigma},
    \qquad |c_i| \le 2,

over 7x7 pixels of the estimate and 5x5 of what was removed. The filter k is chosen by the structure tensor of the
estimate, the mean over 5x5 pixels of the products of its derivatives: by the root :math:`s_1` of its larger eigenvalue
in units of sigma, the coherence :math:`(s_1 - s_2) / (s_1 + s_2)`, and the direction of the gradient. Directions are
mirrored into an eighth of the circle, and the filters are mirrored back.

The filters are least-squares solutions, found by ``python -m training.filters`` on photographs with white noise; see
``docs/training.md``. Because everything is in units of sigma, they are the same for all levels of noise.
"""

from __future__ import annotations

import functools
import math
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from plugplay.compiling import inline, kernel
from plugplay.denoisers.bm3d.vectors import Floats, Ints, fma, load, splat, total

__all__ = ["FILTERS", "REACH", "REMOVED", "SURROUNDINGS", "classes", "correct_rows", "learned_filters", "mirrored"]

SURROUNDINGS, REMOVED = 7, 5
"""Pixels along an axis that a filter sees of the estimate, and of what was removed."""

REACH = 4
"""How far away pixels can change the correction of a pixel; the structure tensor sees further than the filters."""

STRENGTHS = (0.06, 0.12, 0.25, 0.5, 1.0, 2.0, 4.0)
COHERENCES = (0.25, 0.5, 0.75)
DIRECTIONS = 3
FILTERS = (len(STRENGTHS) + 1) * (len(COHERENCES) + 1) * DIRECTIONS
"""Filters, without their mirror images."""

MAX_CORRECTION = 2.0

_MIRRORS = 4
_LANES = 8
_ROWS = SURROUNDINGS + REMOVED
_SIDE, _MIDDLE = SURROUNDINGS // 2, SURROUNDINGS // 2 - REMOVED // 2
_TANGENTS = math.tan(math.pi / 6), math.tan(math.pi / 3)
_STRENGTHS = np.array(STRENGTHS, np.float32)
# s_1 - s_2 > c (s_1 + s_2) where s_1² is larger than s_2² by this factor.
_FIRST, _SECOND, _THIRD = (((1 + c) / (1 - c)) ** 2 for c in COHERENCES)


@functools.cache
def learned_filters() -> NDArray[np.float32]:
    """Return the filters that come with plugplay, in the layout of the kernel."""
    with (files("plugplay.denoisers.bm3d") / "filters.npy").open("rb") as file:
        return mirrored(np.load(file, allow_pickle=False).astype(np.float32))


def mirrored(filters: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return filters with their mirror images, in rows of eight numbers, with differences to the middle pixel applied.

    Parameters
    ----------
    filters : ndarray, shape (FILTERS, 49 + 25)
        One filter in each row: that of the estimate, and that of what was removed.
    """
    table = np.zeros((FILTERS, _MIRRORS, _ROWS, _LANES), np.float32)
    seen = filters[:, : SURROUNDINGS**2].reshape(-1, SURROUNDINGS, SURROUNDINGS).copy()
    seen[:, _SIDE, _SIDE] -= seen.sum(axis=(1, 2))
    taken = filters[:, SURROUNDINGS**2 :].reshape(-1, REMOVED, REMOVED)
    for mirror in range(_MIRRORS):
        for part, size, first in ((seen, SURROUNDINGS, 0), (taken, REMOVED, SURROUNDINGS)):
            turned = part.swapaxes(1, 2) if mirror & 2 else part
            turned = turned[:, ::-1] if mirror & 1 else turned
            table[:, mirror, first : first + size, :size] = turned
    return np.ascontiguousarray(table.reshape(-1))


def correct_rows(
    noisy: NDArray[np.float32], estimate: NDArray[np.float32], sigma: float, rows: slice, filters: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return the corrected estimate of some rows of one channel.

    Parameters
    ----------
    noisy, estimate : ndarray of float32, shape (H, W)
        The channel and its estimate, at least 8x8.
    sigma : float
        Standard deviation of the noise in it.
    rows : slice
        Which rows.
    filters : ndarray
        As `mirrored` returns them.
    """
    seen = _around(estimate, rows)
    removed = _around(noisy, rows) - seen
    kinds = classes(seen, sigma)
    corrected = np.empty(kinds.shape, np.float32)
    filter_pixels(
        seen.reshape(-1), removed.reshape(-1), seen.shape[1], kinds.reshape(-1), kinds.shape[1],
        filters, np.float32(sigma), corrected.reshape(-1),
    )  # fmt: skip
    return corrected


def classes(seen: NDArray[np.float32], sigma: float) -> NDArray[np.int32]:
    """Return the filter index of each pixel, times 4, plus its mirroring: 1 for upside down, 2 for transposed.

    Parameters
    ----------
    seen : ndarray of float32
        Pixels of the estimate with `REACH` more on each side.
    sigma : float
        Standard deviation of the noise.
    """
    height, width = seen.shape[0] - 2 * REACH, seen.shape[1] - 2 * REACH
    kinds = np.empty((height, width), np.int32)
    classify(seen, np.square(np.float32(sigma) * _STRENGTHS), kinds)
    return kinds


def _around(plane: NDArray[np.float32], rows: slice) -> NDArray[np.float32]:
    """Return some rows with `REACH` pixels more on each side, mirrored at the borders of the image."""
    first, stop = max(rows.start - REACH, 0), min(rows.stop + REACH, plane.shape[0])
    missing = (REACH - (rows.start - first), REACH - (stop - rows.stop))
    return np.pad(plane[first:stop], (missing, (REACH, REACH)), mode="reflect")


@kernel
def classify(seen: NDArray[np.float32], limits: Floats, kinds: NDArray[np.int32]) -> None:
    """Write the kinds of pixels, by the structure tensor of their surroundings; `limits` are those of s_1²."""
    height, width = kinds.shape
    across = width + 4
    xx, xy, yy = np.empty((3, 5, across), np.float32)
    sums = np.empty((3, across), np.float32)
    half = np.float32(0.5)
    # In registers, and without branches, so that eight pixels are classified at a time.
    s0, s1, s2, s3, s4, s5, s6 = limits[0], limits[1], limits[2], limits[3], limits[4], limits[5], limits[6]
    for row in range(height + 4):
        slot = row % 5
        for j in range(across):
            gx = half * (seen[row + 2, j + 3] - seen[row + 2, j + 1])
            gy = half * (seen[row + 3, j + 2] - seen[row + 1, j + 2])
            xx[slot, j], xy[slot, j], yy[slot, j] = gx * gx, gx * gy, gy * gy
        if row < 4:
            continue
        binomial_rows(xx, row, sums[0])
        binomial_rows(xy, row, sums[1])
        binomial_rows(yy, row, sums[2])
        for j in range(width):
            a, m, d = binomial(sums[0], j), binomial(sums[1], j), binomial(sums[2], j)
            larger, smaller = powers(a, m, d)
            strength = np.int32(larger >= s0) + np.int32(larger >= s1) + np.int32(larger >= s2)
            strength += np.int32(larger >= s3) + np.int32(larger >= s4) + np.int32(larger >= s5)
            strength += np.int32(larger >= s6)
            kinds[row - 4, j] = kind_of(strength, larger, smaller, a, m, d)


@inline
def binomial_rows(products: NDArray[np.float32], row: int, sums: Floats) -> None:
    """Write the weighted sums of five rows, of which `row` is the last; the weights are 1, 4, 6, 4, 1 over 16."""
    first, second, third, fourth, fifth = (row + 1) % 5, (row + 2) % 5, (row + 3) % 5, (row + 4) % 5, row % 5
    one, four, six = np.float32(1 / 16), np.float32(4 / 16), np.float32(6 / 16)
    for j in range(sums.size):
        outer, inner = products[first, j] + products[fifth, j], products[second, j] + products[fourth, j]
        sums[j] = one * outer + four * inner + six * products[third, j]


@inline
def binomial(sums: Floats, j: int) -> np.float32:
    """Return the weighted sum of five columns from `j` on."""
    outer, inner = sums[j] + sums[j + 4], sums[j + 1] + sums[j + 3]
    weighted: np.float32 = np.float32(1 / 16) * outer + np.float32(4 / 16) * inner + np.float32(6 / 16) * sums[j + 2]
    return weighted


@inline
def powers(a: np.float32, m: np.float32, d: np.float32) -> tuple[np.float32, np.float32]:
    """Return the eigenvalues of [[a, m], [m, d]], the larger one first."""
    half = np.float32(0.5)
    middle, apart = half * (a + d), np.sqrt(np.float32(0.25) * (a - d) * (a - d) + m * m)
    return middle + apart, max(middle - apart, np.float32(0))


@inline
def kind_of(
    strength: np.int32, larger: np.float32, smaller: np.float32, a: np.float32, m: np.float32, d: np.float32
) -> np.int32:
    """Return the filter index for the structure tensor [[a, m], [m, d]], and its mirroring."""
    coherence = np.int32(larger > np.float32(_FIRST) * smaller) + np.int32(larger > np.float32(_SECOND) * smaller)
    coherence += np.int32(larger > np.float32(_THIRD) * smaller)
    up, along = np.float32(2) * abs(m), abs(a - d)
    direction = np.int32(up > np.float32(_TANGENTS[0]) * along) + np.int32(up > np.float32(_TANGENTS[1]) * along)
    mirror = np.int32(m < np.float32(0)) + np.int32(2) * np.int32(a < d)
    return ((strength * np.int32(4) + coherence) * np.int32(3) + direction) * np.int32(4) + mirror


@kernel
def filter_pixels(
    seen: Floats, removed: Floats, pitch: int, kinds: Ints, width: int,
    filters: Floats, sigma: np.float32, corrected: Floats,
) -> None:  # fmt: skip
    """Write the corrected pixels."""
    limit = np.float32(MAX_CORRECTION) * sigma
    for i in range(kinds.size):
        at = (i // width + 1) * pitch + i % width + 1
        table = kinds[i] * (_ROWS * _LANES)
        total_of = splat(0.0)
        for k in range(SURROUNDINGS):
            total_of = fma(load(seen, at + k * pitch), load(filters, table + k * _LANES), total_of)
        table += SURROUNDINGS * _LANES
        start = at + _MIDDLE * pitch + _MIDDLE
        for k in range(REMOVED):
            total_of = fma(load(removed, start + k * pitch), load(filters, table + k * _LANES), total_of)
        change = min(max(total(total_of), -limit), limit)
        corrected[i] = seen[at + _SIDE * (pitch + 1)] + change
