"""Dead leaves: images made of overlapping discs, with the scale invariance of photographs and any texture.

The photographs with free licences show few scenes, and no woven fabric, print or fingerprint. Discs whose radii are
distributed as r⁻³ give edges at every scale and contrast (Lee, Mumford and Huang, 2001); waves inside some of them
give the oriented textures that the photographs lack.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["dead_leaves"]

MIN_RADIUS, MAX_RADIUS = 6.0, 160.0
TEXTURED = 0.5  # the share of discs with a wave


def dead_leaves(
    size: int, palette: NDArray[np.floating], rng: np.random.Generator, *, leaves: int = 4000
) -> NDArray[np.float32]:
    """Return a colour image ``(size, size, 3)`` on [0, 1], drawn at twice the size so that edges are smooth.

    Parameters
    ----------
    size : int
        Height and width.
    palette : array, (N, 3)
        Colours to choose from, such as the pixels of a photograph.
    rng : Generator
        Where chance comes from.
    leaves : int
        How many discs.

    Examples
    --------
    >>> dead_leaves(16, np.eye(3), np.random.default_rng(0), leaves=20).shape
    (16, 16, 3)
    """
    side = 2 * size
    image = np.empty((side, side, 3), np.float32)
    image[:] = palette[rng.integers(len(palette))]
    # Radii with the density r⁻³ between the limits, by inverting the distribution.
    low, high = MIN_RADIUS**-2, MAX_RADIUS**-2
    for radius in 2 * (low + rng.random(leaves) * (high - low)) ** -0.5:
        _draw(image, float(radius), palette, rng)
    small: NDArray[np.float32] = image.reshape(size, 2, size, 2, 3).mean(axis=(1, 3), dtype=np.float32)
    return np.clip(small, 0, 1)


def _draw(image: NDArray[np.float32], radius: float, palette: NDArray[np.floating], rng: np.random.Generator) -> None:
    """Put one leaf, an ellipse, on the image."""
    side = len(image)
    row, column = rng.uniform(0, side, 2)
    top, bottom = max(int(row - radius), 0), min(int(row + radius) + 1, side)
    left, right = max(int(column - radius), 0), min(int(column + radius) + 1, side)
    y, x = np.mgrid[top:bottom, left:right].astype(np.float32)
    y, x = y - np.float32(row), x - np.float32(column)
    angle, flat = rng.uniform(0, np.pi), rng.uniform(0.4, 1)
    along, across = np.cos(angle) * x + np.sin(angle) * y, np.cos(angle) * y - np.sin(angle) * x
    inside = along**2 + (across / flat) ** 2 < radius**2
    colour = palette[rng.integers(len(palette))].astype(np.float32)
    leaf = np.broadcast_to(colour, (*inside.shape, 3))
    if rng.random() < TEXTURED:
        other = palette[rng.integers(len(palette))].astype(np.float32)
        leaf = leaf + _wave(y, x, rng)[..., None] * rng.uniform(0.1, 1) * (other - colour)
    image[top:bottom, left:right][inside] = leaf[inside]


def _wave(y: NDArray[np.float32], x: NDArray[np.float32], rng: np.random.Generator) -> NDArray[np.float32]:
    """Return a wave on [0, 1], bent and sometimes crossed by another; the image is halved, so 6 pixels become 3."""
    wave = np.ones_like(y)
    bend = rng.uniform(0, 6) * np.sin(y / rng.uniform(20, 100)) + rng.uniform(0, 6) * np.sin(x / rng.uniform(20, 100))
    for _ in range(rng.integers(1, 3)):
        period, angle, phase = np.exp(rng.uniform(np.log(5), np.log(40))), rng.uniform(0, np.pi), rng.uniform(0, 6.3)
        argument = 2 * np.pi * (np.cos(angle) * x + np.sin(angle) * y + bend) / period + phase
        sharp = rng.uniform(1, 5)
        wave = wave * (0.5 + 0.5 * np.tanh(sharp * np.sin(argument)) / np.tanh(sharp)).astype(np.float32)
    return wave
