r"""Generalised PatchMatch: for every pixel, where in another image its patch is found again, and how transformed.

A match of the patch around pixel p is a place t of the other image and a matrix A, such that

.. math:: I(p + \delta) - \bar I \approx J(t + A \delta) - \bar J, \qquad \delta \in \{-2, \dots, 2\}^2,

without the means of both patches. Matches are found as Barnes et al. (ECCV 2010) do: those of the neighbours, moved by
a pixel, are tried, and then random ones, ever closer to the best so far, in place, scale, rotation and shear.

Both images are circular. J is given oversampled, so that the nearest of its samples will do in place of interpolation.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["OVERSAMPLING", "RADIUS", "match", "vote"]

#: Samples of J between two of its pixels.
OVERSAMPLING = 4
#: Patches have 2 r + 1 pixels a side.
RADIUS = 2

# Fields of a match: row and column in J, and the four entries of A.
_FIELDS = 6
# Bounds of the singular values of A, by their sum of squares and their product.
_MIN_SCALE, _MAX_SCALE = 0.7, 1.5


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
            y = candidate[0] + candidate[2] * i + candidate[3] * j
            x = candidate[1] + candidate[4] * i + candidate[5] * j
            a = math.floor((y + 0.5) * OVERSAMPLING) % rows
            b = math.floor((x + 0.5) * OVERSAMPLING) % columns
            difference = image[r, (column + j) % width] - fine[a, b]
            total += difference
            squares += difference * difference
    count = (2 * RADIUS + 1) ** 2
    return (squares - total * total / count) / count


@njit(cache=True, nogil=True)
def _allowed(candidate: NDArray[np.float32]) -> bool:
    squares = candidate[2] ** 2 + candidate[3] ** 2 + candidate[4] ** 2 + candidate[5] ** 2
    product = candidate[2] * candidate[5] - candidate[3] * candidate[4]
    return bool(_MIN_SCALE**2 < product < _MAX_SCALE**2 and squares < 2 * _MAX_SCALE**2)


@njit(cache=True, nogil=True)
def _random(seed: int) -> tuple[int, float]:
    """Return the next state of a linear congruential generator, and a number in (-1, 1)."""
    state = (seed * 1664525 + 1013904223) & 0xFFFFFFFF
    return state, state / 2147483648.0 - 1.0


@njit(cache=True, nogil=True)
def match(
    image: NDArray[np.float32], fine: NDArray[np.float32], passes: int, trials: int, seed: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Find matches of all patches.

    Parameters
    ----------
    image : array, ``(H, W)``
        I.
    fine : array
        J, oversampled along both axes.
    passes : int
        How often all pixels are visited, every other time backwards.
    trials : int
        Random candidates a visit.
    seed : int
        Where chance begins.

    Returns
    -------
    array, ``(H, W, 6)``
        Row, column, and A row by row.
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
            best[2], best[3], best[4], best[5] = 1, 0, 0, 1
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
                trial[:] = near
                trial[0] += step * near[2 + axis]
                trial[1] += step * near[4 + axis]
                cost = _cost(image, fine, row, column, trial)
                if cost < costs[row, column]:
                    costs[row, column] = cost
                    best[:] = trial
            spread = 1.0
            for _ in range(trials):
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
                spread *= 0.5
                if _allowed(trial):
                    cost = _cost(image, fine, row, column, trial)
                    if cost < costs[row, column]:
                        costs[row, column] = cost
                        best[:] = trial
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
    matches : array, ``(H, W, 6)``
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
                    a = (found[0] + found[2] * down + found[3] * right + 0.5) * tall
                    b = (found[1] + found[4] * down + found[5] * right + 0.5) * wide
                    weight = weights[(row + k) % height, (column + m) % width]
                    value = details[math.floor(a) % rows, math.floor(b) % columns]
                    total += weight * value
                    summed += weight
            result[i, j] = total / summed
    return result
