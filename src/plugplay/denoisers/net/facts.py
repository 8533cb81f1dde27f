"""What the network, its training and its two ways of running it have in common."""

from __future__ import annotations

import math
from pathlib import Path

__all__ = ["BLOCKS", "BOUND", "FOLDER", "GRAPH", "REACH", "SMOOTHING", "WEIGHTS", "WIDTH", "level_of", "strength"]

WIDTH, BLOCKS = 40, 4
# No pixel of luminance or chrominance is moved away from BM3D's estimate by more than this many standard deviations.
BOUND = 2.0
# The estimate is shown to the network without its mean over so many pixels in each direction.
SMOOTHING = 5
# How far a pixel may influence others: the convolutions at half the resolution, of one pixel each, and a square.
REACH = 2 * (2 * BLOCKS + 2) + 2
# The correction begins at the first level, and is whole from the second on.
MIN_LEVEL, TRUSTED_LEVEL = 1 / 255, 2 / 255
MEDIUM_LEVEL = 25 / 255

FOLDER = Path(__file__).parent
# The graph points into the weights, which PyTorch reads as well.
GRAPH, WEIGHTS = FOLDER / "graph.onnx", FOLDER / "weights.safetensors"


def strength(sigma: float) -> float:
    """Return the factor of the correction: 0 up to 1/255, 1 from 2/255 on.

    Examples
    --------
    >>> strength(0.5 / 255), strength(1.5 / 255), strength(25 / 255)
    (0.0, 0.5, 1.0)
    """
    return min(max((sigma - MIN_LEVEL) / (TRUSTED_LEVEL - MIN_LEVEL), 0.0), 1.0)


def level_of(sigma: float) -> float:
    """Return the noise level as the network is told it: 0 at 25/255, on a logarithmic scale, within [-2, 2].

    Examples
    --------
    >>> level_of(25 / 255), level_of(50 / 255)
    (0.0, 0.5)
    """
    return min(max(0.5 * math.log2(sigma / MEDIUM_LEVEL), -2.0), 2.0)
