r"""Planes that are seen in perspective, and how a patch looks elsewhere on its plane.

Two vanishing points of directions that lie in a plane give the plane's vanishing line l, and l gives the perspective.
With :math:`w(u) = l_1 u_1 + l_2 u_2 + l_3`, which is proportional to the inverse of the depth, the plane without
perspective, up to an affine map, is :math:`R(u) = (u - p) \, w(p) / w(u)`. A patch around p that recurs around t, a
times as large on the plane, is carried there by :math:`R^{-1}(a R(u) + R(t))`, which is

.. math:: p + \delta \mapsto t + \frac{A \delta}{1 + q^T \delta}, \qquad
   A = h (I + (t - p) m^T), \quad q = (1 - h) \, m, \quad m = \frac{(l_1, l_2)}{w(p)}, \quad h = a \frac{w(t)}{w(p)}.

`plugplay_paper.baselines.patch_match` uses it in this form. Coordinates are those of `vanishing`: the image is the
square from -1/2 to 1/2, rows first.

The planes, and where they are, are found as Huang, Singh and Ahuja do: up to three vanishing points give up to three
planes, and a plane is likely where segments of both its directions are near.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from plugplay_paper.arrays import FloatArray
from plugplay_paper.baselines.line_segments import Segments, segments
from plugplay_paper.baselines.vanishing import vanishing_points

__all__ = ["Planes", "planes"]

# A plane whose depth changes by less than this share from the middle of the image to its edge is taken for one that
# faces the camera, for which no perspective is needed.
MIN_TILT = 0.1
# Width of what a segment supports, as a share of the shorter side; and the support of no plane at all, where 1 is that
# of the place with most segments of both directions.
REACH, FACING = 0.08, 0.1


@dataclass(frozen=True, eq=False)
class Planes:
    """Planes of an image.

    Attributes
    ----------
    lines : array, ``(N, 3)``
        Their vanishing lines, with unit norm.
    support : array, ``(N, H, W)``
        How likely a pixel belongs to each; what is missing to 1 is that it belongs to none.
    """

    lines: NDArray[np.float64]
    support: NDArray[np.float64]

    @classmethod
    def none(cls) -> Planes:
        """Return no planes."""
        return cls(np.empty((0, 3)), np.empty((0, 1, 1)))


def planes(image: FloatArray) -> Planes:
    """Find the planes of an image on [0, 1] that recede from the camera.

    Examples
    --------
    >>> len(planes(np.random.default_rng(0).random((32, 32))).lines)
    0
    """
    points = vanishing_points(segments(image), (image.shape[0], image.shape[1]))
    densities = [_density(point.segments, image.shape) for point in points]
    lines, supports = [], []
    for i, j in combinations(range(len(points)), 2):
        line = np.cross(points[i].place, points[j].place)
        if np.abs(line[:2]).sum() / 2 > MIN_TILT * np.abs(line[2]):
            lines.append(line / np.linalg.norm(line))
            supports.append(densities[i] * densities[j])
    if not lines:
        return Planes.none()
    support = np.stack(supports)
    return Planes(np.stack(lines), support / (support.sum(axis=0) + FACING))


def _density(found: Segments, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return how much of the segments is near each pixel, at most 1."""
    density = np.zeros(shape)
    for middle, direction, length in zip(found.middle, found.direction, found.length, strict=True):
        steps = np.arange(-length / 2, length / 2 + 0.5)[:, None]
        rows, columns = np.clip(np.rint(middle + steps * direction).astype(int), 0, np.array(shape) - 1).T
        np.add.at(density, (rows, columns), 1.0)
    density = ndimage.gaussian_filter(density, REACH * min(shape), mode="nearest")
    return np.asarray(density / density.max())
