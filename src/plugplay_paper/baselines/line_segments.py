"""Straight line segments of a gray image.

After Burns, Hanson and Riseman (1986): pixels with a strong gradient are grouped where they touch and their gradients
point in about the same direction. Each group gives a segment along its longer principal axis. Directions are sorted
into sectors twice, the second time half a sector further, so that an edge at the limit of a sector is whole in one of
them; of the two groups of a pixel the larger one counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from plugplay_paper.arrays import FloatArray

__all__ = ["Segments", "segments"]

SECTORS = 16
SMOOTHING = 1.0
# On the scale [0, 1] and a pixel: five times what noise of 5/255 leaves after smoothing.
MIN_GRADIENT = 0.02
# In pixels; and how wide the group of an edge may be (standard deviations across and along).
MIN_LENGTH, MAX_WIDTH, MAX_RATIO = 7.0, 1.2, 0.25
# Pixels at the edge of the image, where smoothing sees what is not there.
EDGE = 2


@dataclass(frozen=True, eq=False)
class Segments:
    """Segments, the longest first.

    Attributes
    ----------
    middle, direction : arrays, ``(N, 2)``
        Of each, as row and column in pixels; the direction is a unit vector with either sign.
    length : array, ``(N,)``
        In pixels.
    """

    middle: NDArray[np.float64]
    direction: NDArray[np.float64]
    length: NDArray[np.float64]

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.length)

    def where(self, chosen: NDArray[np.bool_]) -> Segments:
        """Return some of them."""
        return Segments(self.middle[chosen], self.direction[chosen], self.length[chosen])


def segments(image: FloatArray) -> Segments:
    """Find the segments of an image on [0, 1].

    Examples
    --------
    >>> image = np.zeros((32, 32))
    >>> image[:, 16:] = 1
    >>> found = segments(image)
    >>> len(found), found.direction[0].round(3).tolist() in ([1, 0], [-1, 0])
    (1, True)
    """
    down, right = (ndimage.gaussian_filter(image, SMOOTHING, order=order, mode="nearest") for order in ((1, 0), (0, 1)))
    strength = np.hypot(down, right)
    strong = strength > MIN_GRADIENT
    strong[:EDGE] = strong[-EDGE:] = False
    strong[:, :EDGE] = strong[:, -EDGE:] = False
    turn = np.arctan2(down, right) / (2 * np.pi) * SECTORS
    groups = [_groups(np.floor(turn + shift).astype(int) % SECTORS, strong) for shift in (0.0, 0.5)]
    sizes = [np.bincount(group.ravel())[group] for group in groups]
    first = sizes[0] >= sizes[1]
    found = [
        *_fitted(np.where(first, groups[0], 0), strength),
        *_fitted(np.where(first, 0, groups[1]), strength),
    ]
    rows = np.array(sorted(found, key=lambda row: -row[4]), dtype=float).reshape(-1, 5)
    return Segments(rows[:, :2], rows[:, 2:4], rows[:, 4])


def _groups(sector: NDArray[np.int_], strong: NDArray[np.bool_]) -> NDArray[np.int_]:
    """Return the number of each pixel's group, of touching pixels of one sector, from 1; 0 is no group."""
    numbers = np.zeros(sector.shape, int)
    for value in range(SECTORS):
        labels = ndimage.label(strong & (sector == value), structure=np.ones((3, 3), int))[0]
        numbers = np.where(labels > 0, labels + numbers.max(), numbers)
    return numbers


def _fitted(groups: NDArray[np.int_], strength: FloatArray) -> list[tuple[float, float, float, float, float]]:
    """Return middle, direction and length of the groups that are long and thin."""
    found = []
    for number, place in enumerate(ndimage.find_objects(groups), start=1):
        if place is None:
            continue
        rows, columns = np.nonzero(groups[place] == number)
        points = np.stack([rows + place[0].start, columns + place[1].start], axis=1).astype(float)
        if len(points) < MIN_LENGTH:
            continue
        weights = strength[place][rows, columns]
        middle = np.average(points, axis=0, weights=weights)
        away = points - middle
        values, axes = np.linalg.eigh((weights[:, None] * away).T @ away / weights.sum())
        across, along = np.sqrt(np.maximum(values, 0))
        # A uniform segment of length L has the standard deviation L / sqrt(12).
        length = np.sqrt(12) * along
        if length >= MIN_LENGTH and across <= min(MAX_WIDTH, MAX_RATIO * along):
            found.append((*middle, *axes[:, 1], length))
    return found
