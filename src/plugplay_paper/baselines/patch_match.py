r"""Generalised PatchMatch: for every pixel, where in another image its patch is found again, and how transformed.

A match of the patch around pixel p is a place t of the other image, a matrix A and a vector q, such that

.. math:: I(p + \delta) - \bar I \approx J(t + \frac{A \delta}{1 + q^T \delta}) - \bar J, \qquad
   \delta \in \{-2, \dots, 2\}^2,

without the means of both patches: a homography, which is affine where q = 0. Matches are found as Barnes et al. (ECCV
2010) do: those of the neighbours, moved by a pixel, are tried, and then random ones, ever closer to the best so far, in
place, scale, rotation and shear. Where planes are known that recede from the camera, places on the plane of the pixel
are tried as well, with the perspective that they have there (see `plugplay_paper.baselines.planes`).

Both images are circular. J is given oversampled, so that the nearest of its samples will do in place of interpolation.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["OVERSAMPLING", "RADIUS", "match", "on_plane", "vote"]

#: Samples of J between two of its pixels.
OVERSAMPLING = 4
#: Patches have 2 r + 1 pixels a side.
RADIUS = 2

# Fields of a match: row and column in J, the four entries of A, and the two of q.
_FIELDS = 8
# Bounds of the singular values of A, by their sum of squares and their product.
_MIN_SCALE, _MAX_SCALE = 0.7, 1.5
# On a plane every place may be tried at its own size, also the pixel's own, which is found again and adds nothing: what
# is there must be nearly as large in J, and so larger in I, than around the pixel.
_MIN_SCALE_ON_PLANE = 0.9


@njit(cache=True, nogil=True)
def _cost(
    image: NDArray[np.float32], fine: NDArray[np.float32], row: int, column: int, candidate: NDArray[np.float32]
) -> float:
    """Return the squared distance of two patches without their means, per pixel."""
    height, width = image.shape
    rows, columns = fine.shape
    total = 0.0
    squares = 0.0
    for i in range(-RADIUS, RADIUS + 1):
        r = (row + i) % height
        for j in range(-RADIUS, RADIUS + 1):
            # Sample k of the oversampled J lies at (k + 1/2) / OVERSAMPLING - 1/2.
            depth = 1.0 + candidate[6] * i + candidate[7] * j
            y = candidate[0] + (candidate[2] * i + candidate[3] * j) / depth
            x = candidate[1] + (candidate[4] * i + candidate[5] * j) / depth
            a = math.floor((y + 0.5) * OVERSAMPLING) % rows
            b = math.floor((x + 0.5) * OVERSAMPLING) % columns
            difference = image[r, (column + j) % width] - fine[a, b]
            total += difference
            squares += difference * difference
    count = (2 * RADIUS + 1) ** 2
    return (squares - total * total / count) / count


@njit(cache=True, nogil=True)
def _keep_better(
    image: NDArray[np.float32],
    fine: NDArray[np.float32],
    row: int,
    column: int,
    trial: NDArray[np.float32],
    best: NDArray[np.float32],
    costs: NDArray[np.float32],
) -> None:
    """Replace the best match of a pixel if the trial costs less."""
    cost = _cost(image, fine, row, column, trial)
    if cost < costs[row, column]:
        costs[row, column] = cost
        best[:] = trial


@njit(cache=True, nogil=True)
def _allowed(candidate: NDArray[np.float32], smallest: float) -> bool:
    squares = candidate[2] ** 2 + candidate[3] ** 2 + candidate[4] ** 2 + candidate[5] ** 2
    product = candidate[2] * candidate[5] - candidate[3] * candidate[4]
    return bool(smallest**2 < product < _MAX_SCALE**2 and squares < 2 * _MAX_SCALE**2)


@njit(cache=True, nogil=True)
def _moved(match: NDArray[np.float32], axis: int, step: int, moved: NDArray[np.float32]) -> None:
    """Write the same homography as seen from the next pixel e along an axis.

    With s = 1 + qᵀe it has t + A e / s, (A - A e qᵀ / s) / s and q / s.
    """
    depth = 1.0 + step * match[6 + axis]
    down, right = step * match[2 + axis] / depth, step * match[4 + axis] / depth
    moved[0], moved[1] = match[0] + down, match[1] + right
    for k in range(2):
        moved[2 + k] = (match[2 + k] - down * match[6 + k]) / depth
        moved[4 + k] = (match[4 + k] - right * match[6 + k]) / depth
        moved[6 + k] = match[6 + k] / depth


@njit(cache=True, nogil=True)
def on_plane(
    line: NDArray[np.float64],
    pixel: tuple[int, int],
    shape: tuple[int, int],
    other: tuple[float, float],
    size: float,
    candidate: NDArray[np.float32],
) -> bool:
    """Complete a candidate, of which the place is given, by the perspective of a plane.

    Parameters
    ----------
    line : array, ``(3,)``
        The vanishing line of the plane.
    pixel, shape : tuple of int
        The pixel of I, and the shape of I.
    other : tuple of float
        The shape of J.
    size : float
        Of what is at the candidate's place, on the plane, relative to what is around the pixel.
    candidate : array, ``(8,)``
        Place, A and q; the last two are written.

    Returns
    -------
    bool
        Whether pixel and place are on the same side of the vanishing line.
    """
    p0, p1 = (pixel[0] + 0.5) / shape[0] - 0.5, (pixel[1] + 0.5) / shape[1] - 0.5
    t0, t1 = (candidate[0] + 0.5) / other[0] - 0.5, (candidate[1] + 0.5) / other[1] - 0.5
    here = line[0] * p0 + line[1] * p1 + line[2]
    there = line[0] * t0 + line[1] * t1 + line[2]
    if here * there <= 0:
        return False
    m0, m1 = line[0] / here, line[1] / here
    h = size * there / here
    # From pixels of I to the unit square, and from there to pixels of J.
    candidate[2] = other[0] / shape[0] * h * (1 + (t0 - p0) * m0)
    candidate[3] = other[0] / shape[1] * h * (t0 - p0) * m1
    candidate[4] = other[1] / shape[0] * h * (t1 - p1) * m0
    candidate[5] = other[1] / shape[1] * h * (1 + (t1 - p1) * m1)
    candidate[6] = (1 - h) * m0 / shape[0]
    candidate[7] = (1 - h) * m1 / shape[1]
    return True


@njit(cache=True, nogil=True)
def _plane_at(support: NDArray[np.float64], row: int, column: int, shape: tuple[int, int], chance: float) -> int:
    """Return the plane of a pixel that a random number from 0 to 1 picks, or -1."""
    r, c = row * support.shape[1] // shape[0], column * support.shape[2] // shape[1]
    for number in range(support.shape[0]):
        chance -= support[number, r, c]
        if chance < 0:
            return number
    return -1


@njit(cache=True, nogil=True)
def _random(seed: int) -> tuple[int, float]:
    """Return the next state of a linear congruential generator, and a number in (-1, 1)."""
    state = (seed * 1664525 + 1013904223) & 0xFFFFFFFF
    return state, state / 2147483648.0 - 1.0


@njit(cache=True, nogil=True)
def match(
    image: NDArray[np.float32],
    fine: NDArray[np.float32],
    lines: NDArray[np.float64],
    support: NDArray[np.float64],
    passes: int,
    trials: int,
    seed: int,
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Find matches of all patches.

    Parameters
    ----------
    image : array, ``(H, W)``
        I.
    fine : array
        J, oversampled along both axes.
    lines, support : arrays, ``(N, 3)`` and ``(N, h, w)``
        Planes, as `plugplay_paper.baselines.planes` has them, at any resolution.
    passes : int
        How often all pixels are visited, every other time backwards.
    trials : int
        Random candidates a visit; as many more where there is a plane.
    seed : int
        Where chance begins.

    Returns
    -------
    array, ``(H, W, 8)``
        Row, column, A row by row, and q.
    array, ``(H, W)``
        The mean squared distance.
    """
    height, width = image.shape
    rows, columns = fine.shape[0] / OVERSAMPLING, fine.shape[1] / OVERSAMPLING
    matches = np.empty((height, width, _FIELDS), np.float32)
    costs = np.empty((height, width), np.float32)
    trial = np.empty(_FIELDS, np.float32)
    for row in range(height):
        for column in range(width):
            best = matches[row, column]
            # The same place in the other image, as it is.
            best[0] = (row + 0.5) * rows / height - 0.5
            best[1] = (column + 0.5) * columns / width - 0.5
            best[2:] = 0
            best[2] = best[5] = 1
            costs[row, column] = _cost(image, fine, row, column, best)
    state = seed
    for visit in range(passes):
        step = 1 if visit % 2 == 0 else -1
        for index in range(height * width):
            place = index if step == 1 else height * width - 1 - index
            row, column = place // width, place % width
            best = matches[row, column]
            for axis in range(2):
                near = matches[(row - step) % height, column] if axis == 0 else matches[row, (column - step) % width]
                _moved(near, axis, step, trial)
                _keep_better(image, fine, row, column, trial, best, costs)
            plane = -1
            if len(lines) > 0:
                state, u = _random(state)
                plane = _plane_at(support, row, column, (height, width), (1 + u) / 2)
            spread = 1.0
            for _ in range(trials):
                if plane >= 0:
                    state, u = _random(state)
                    state, v = _random(state)
                    trial[0] = best[0] + u * spread * rows / 2
                    trial[1] = best[1] + v * spread * columns / 2
                    state, u = _random(state)
                    size = math.exp(0.2 * spread * u)
                    inside = -0.5 < trial[0] < rows - 0.5 and -0.5 < trial[1] < columns - 0.5
                    shapes = (height, width), (rows, columns)
                    seen = inside and on_plane(lines[plane], (row, column), *shapes, size, trial)
                    if seen and _allowed(trial, _MIN_SCALE_ON_PLANE):
                        _keep_better(image, fine, row, column, trial, best, costs)
                state, u = _random(state)
                state, v = _random(state)
                trial[0] = best[0] + u * spread * rows / 2
                trial[1] = best[1] + v * spread * columns / 2
                # Rotation and unequal scales, as a product with the matrix so far.
                state, angle = _random(state)
                state, u = _random(state)
                state, v = _random(state)
                size = min(1.0, 3 * spread)
                cosine, sine = math.cos(0.8 * size * angle), math.sin(0.8 * size * angle)
                tall, wide = math.exp(0.2 * size * u), math.exp(0.2 * size * v)
                trial[2] = cosine * tall * best[2] - sine * wide * best[4]
                trial[3] = cosine * tall * best[3] - sine * wide * best[5]
                trial[4] = sine * tall * best[2] + cosine * wide * best[4]
                trial[5] = sine * tall * best[3] + cosine * wide * best[5]
                trial[6], trial[7] = best[6], best[7]
                spread *= 0.5
                if _allowed(trial, _MIN_SCALE):
                    _keep_better(image, fine, row, column, trial, best, costs)
    return matches, costs


@njit(cache=True, nogil=True)
def vote(
    matches: NDArray[np.float32],
    weights: NDArray[np.float32],
    details: NDArray[np.float32],
    shape: tuple[int, int],
    other: tuple[int, int],
    doubt: float,
) -> NDArray[np.float32]:
    """Average, at every pixel of an enlarged image, what the patches around it bring from their matches.

    Parameters
    ----------
    matches : array, ``(H, W, 8)``
        Of all patches of I, in pixels of J.
    weights : array, ``(H, W)``
        How much each counts.
    details : array
        What is brought, on the domain of J, with `OVERSAMPLING` samples for a pixel of I along each axis.
    shape : tuple of int
        Of the result.
    other : tuple of int
        The shape of J.
    doubt : float
        The weight, per patch, of bringing nothing.
    """
    height, width = weights.shape
    rows, columns = details.shape
    tall, wide = rows / other[0], columns / other[1]
    result = np.empty(shape, np.float32)
    for i in range(shape[0]):
        y = (i + 0.5) * height / shape[0] - 0.5
        for j in range(shape[1]):
            x = (j + 0.5) * width / shape[1] - 0.5
            row, column = round(y), round(x)
            total = 0.0
            summed = doubt * (2 * RADIUS + 1) ** 2
            for k in range(-RADIUS, RADIUS + 1):
                for m in range(-RADIUS, RADIUS + 1):
                    found = matches[(row + k) % height, (column + m) % width]
                    down, right = y - (row + k), x - (column + m)
                    depth = 1.0 + found[6] * down + found[7] * right
                    a = (found[0] + (found[2] * down + found[3] * right) / depth + 0.5) * tall
                    b = (found[1] + (found[4] * down + found[5] * right) / depth + 0.5) * wide
                    weight = weights[(row + k) % height, (column + m) % width]
                    value = details[math.floor(a) % rows, math.floor(b) % columns]
                    total += weight * value
                    summed += weight
            result[i, j] = total / summed
    return result
