"""Squares of photographs, decimated and interpolated again: what the super-resolution baselines are trained on.

The decimation is that of `plugplay.models.SuperResolution` with its bicubic filter, the interpolation the one that the
baselines begin with. Whole photographs are decimated and squares are cut from their inside, so that no square sees the
edge at which the circular domain closes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from plugplay.models import SuperResolution
from plugplay_paper.baselines.back_projection import bicubic
from training.held_out import crops, gray
from training.photographs import load

__all__ = ["Squares", "held_out_crops", "squares"]

# Multiples of all factors; also the distance that squares keep from the edges of a photograph.
MARGIN = 16
# Squares are drawn in this number of times as many places as are kept: those that interpolation gets most wrong.
CANDIDATES = 3


@dataclass(frozen=True, eq=False)
class Squares:
    """Squares of interpolated images and of the images themselves, float32 ``(N, S, S)`` on [0, 1]."""

    interpolated: NDArray[np.float32]
    truth: NDArray[np.float32]


def squares(folder: Path, factor: int, *, count: int, size: int, seed: int) -> Squares:
    """Draw about `count` squares of all training photographs.

    Every photograph gives squares by the root of its number of pixels. Half of them or more of a photograph are sky and
    blur, where interpolation is right already; of three places, the one with the largest error is kept.

    Parameters
    ----------
    folder : path
        Where `training.photographs` put what it prepared.
    factor : int
        K, of the decimation.
    count, size, seed : int
        How many squares, their side (a multiple of K), and where chance begins.
    """
    images = [_trimmed(gray(_unit(image))) for _, image in sorted(load(folder).training.items())]
    shares = np.sqrt([image.size for image in images])
    shares = np.maximum(1, np.rint(count * shares / shares.sum())).astype(int)
    found = [
        _drawn(image, factor, int(share), size, np.random.default_rng([seed, number]))
        for number, (image, share) in enumerate(zip(images, shares, strict=True))
    ]
    return Squares(np.concatenate([pair[0] for pair in found]), np.concatenate([pair[1] for pair in found]))


def held_out_crops(folder: Path) -> list[NDArray[np.float32]]:
    """Return the gray middles of the photographs that are for judging only, ``(256, 256)``."""
    return [gray(crop) for crop in crops(load(folder).held_out)]


def _drawn(
    image: NDArray[np.float32], factor: int, count: int, size: int, rng: np.random.Generator
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    smooth = bicubic(SuperResolution(factor).simulate(image), factor).astype(np.float32)
    # Squares begin at multiples of K: they all see the grid of samples in the same place.
    cells = [(side - 2 * MARGIN - size) // factor + 1 for side in image.shape]
    places = np.stack([rng.integers(0, n, (count, CANDIDATES)) for n in cells], axis=-1) * factor + MARGIN
    interpolated = np.empty((count, size, size), np.float32)
    truth = np.empty_like(interpolated)
    for index, candidates in enumerate(places):
        parts = [(slice(top, top + size), slice(left, left + size)) for top, left in candidates]
        worst = max(parts, key=lambda part: float(np.square(image[part] - smooth[part]).sum()))
        interpolated[index], truth[index] = smooth[worst], image[worst]
    return interpolated, truth


def _unit(image: NDArray[np.uint16]) -> NDArray[np.float32]:
    return image.astype(np.float32) / np.float32(65535)


def _trimmed(image: NDArray[np.float32]) -> NDArray[np.float32]:
    height, width = (side // MARGIN * MARGIN for side in image.shape)
    return np.ascontiguousarray(image[:height, :width])
