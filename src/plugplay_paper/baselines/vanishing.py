r"""Vanishing points: where the images of parallel lines meet.

Points are homogeneous, in coordinates in which the image is the square from -1/2 to 1/2, rows first: a vanishing point
at infinity is as good as any other. They are found one after the other, as the common point of as many segments as
possible, and must have more of them than chance would bring: of n segments with random directions, a given point has
each with probability p, and with m points tried the expected number of points with k segments or more is
:math:`m \, P(B(n - 2, p) \ge k - 2)` (two of them made the point). It must be below `MAX_CHANCE`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from plugplay_paper.baselines.line_segments import Segments

__all__ = ["VanishingPoint", "vanishing_points"]

MAX_POINTS = 3
# The angle between a segment and the line from its middle to the point.
TOLERANCE = np.deg2rad(2.0)
MIN_SEGMENTS, MAX_CHANCE = 6, 1e-3
# The longest segments, whose pairs are tried.
CANDIDATES = 120
REFINEMENTS = 4


@dataclass(frozen=True, eq=False)
class VanishingPoint:
    """A point, ``(3,)`` with unit norm, and the segments that meet there."""

    place: NDArray[np.float64]
    segments: Segments


def vanishing_points(found: Segments, shape: tuple[int, int]) -> list[VanishingPoint]:
    """Return up to three points, the one with the longest segments first."""
    points = []
    for _ in range(MAX_POINTS):
        point = _best(found, shape)
        if point is None:
            break
        meets = _meets(point[None], found, shape)[0]
        points.append(VanishingPoint(point, found.where(meets)))
        found = found.where(~meets)
    return points


def _best(found: Segments, shape: tuple[int, int]) -> NDArray[np.float64] | None:
    """Return the point where the greatest length of segments meets, or None if chance could have made it."""
    if len(found) < MIN_SEGMENTS:
        return None
    lines = _lines(found, shape)
    first, second = np.triu_indices(min(len(found), CANDIDATES), 1)
    tried = np.cross(lines[first], lines[second])
    sizes = np.linalg.norm(tried, axis=1, keepdims=True)
    tried = tried[sizes[:, 0] > 1e-9] / sizes[sizes[:, 0] > 1e-9]
    if not len(tried):
        return None
    point = tried[np.argmax(_meets(tried, found, shape) @ found.length)]
    for _ in range(REFINEMENTS):
        meets = _meets(point[None], found, shape)[0]
        # Least squares: the unit vector that is most nearly orthogonal to all lines.
        weighted = lines[meets] * np.sqrt(found.length[meets, None])
        point = np.linalg.eigh(weighted.T @ weighted)[1][:, 0]
    count = int(_meets(point[None], found, shape).sum())
    chance = len(tried) * stats.binom.sf(count - 3, len(found) - 2, 2 * TOLERANCE / np.pi)
    return point if count >= MIN_SEGMENTS and chance < MAX_CHANCE else None


def _lines(found: Segments, shape: tuple[int, int]) -> NDArray[np.float64]:
    """Return the homogeneous lines through the segments: the cross product of two of their points."""
    middle, direction = _unit(found, shape)
    zeros = np.zeros((len(found), 1))
    lines = np.cross(np.hstack([middle, zeros + 1]), np.hstack([direction, zeros]))
    return np.asarray(lines / np.linalg.norm(lines, axis=1, keepdims=True))


def _meets(points: NDArray[np.float64], found: Segments, shape: tuple[int, int]) -> NDArray[np.bool_]:
    """Return which segments, ``(points, segments)``, point to which point."""
    middle, _ = _unit(found, shape)
    # The direction from the middle of a segment to the point, also to one at infinity, in pixels.
    towards = points[:, None, :2] - points[:, None, 2:] * middle[None]
    towards = towards * np.array(shape)
    direction = found.direction[None]
    sine = np.abs(towards[..., 0] * direction[..., 1] - towards[..., 1] * direction[..., 0])
    return np.asarray(sine <= np.sin(TOLERANCE) * np.linalg.norm(towards, axis=-1))


def _unit(found: Segments, shape: tuple[int, int]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return middles and directions in the coordinates of the unit square."""
    return (found.middle + 0.5) / shape - 0.5, found.direction / shape
