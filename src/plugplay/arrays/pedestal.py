"""The background of measured point-spread functions: what lies around a star or a bead that was cut out of an image."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

__all__ = ["without_pedestal"]

# Smaller kernels are drawn, not measured.
MIN_SIDE = 7
# A background is there if the corners are nearly as bright as the middles of the edges (the wings of a blur are not),
# it is dim beside the peak (else the kernel is a box), and adds up to something.
MIN_FLATNESS = 0.6
MAX_SHARE_OF_PEAK = 0.2
MIN_SHARE_OF_SUM = 0.02
# What is left of its noise, in standard deviations, counts as nothing.
CUT = 3.0


def without_pedestal(weights: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Return weights without their background, and its level; 0 if there is none.

    Parameters
    ----------
    weights : array
        A point-spread function as a file has it, with two or three axes.

    Examples
    --------
    >>> import numpy as np
    >>> spot = np.full((9, 9), 100.0)
    >>> spot[3:6, 3:6] += 900
    >>> cleaned, level = without_pedestal(spot)
    >>> level, float(cleaned.sum())
    (100.0, 8100.0)
    """
    if min(weights.shape) < MIN_SIDE:
        return weights, 0.0
    border = np.ones(weights.shape, np.bool_)
    border[(slice(1, -1),) * weights.ndim] = False
    values = weights[border]
    level, peak = float(np.median(values)), float(weights.max())
    if not 0 < level < MAX_SHARE_OF_PEAK * peak or level * weights.size < MIN_SHARE_OF_SUM * float(weights.sum()):
        return weights, 0.0
    ends = (slice(None, 2), slice(-2, None))
    corners = np.mean([weights[place].mean() for place in itertools.product(ends, repeat=weights.ndim)])
    middles = np.mean([_middle(weights, axis, end) for axis in range(weights.ndim) for end in ends])
    if corners < MIN_FLATNESS * middles:
        return weights, 0.0
    noise = 1.4826 * float(np.median(np.abs(values - level)))
    left = weights - level
    return np.where(left > CUT * noise, left, 0.0), level


def _middle(weights: NDArray[np.float64], axis: int, end: slice) -> float:
    """Return the mean in the middle of a face."""
    place = [slice(n // 2 - 1, n // 2 + 2) for n in weights.shape]
    place[axis] = end
    return float(weights[tuple(place)].mean())
