"""The photographs that training never sees, and the noise that results on them are scored with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["LEVELS", "crops", "gray", "with_noise"]

LEVELS = (15, 25, 50)
CROP = 256


def gray(image: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the luma of ``(H, W, 3)``."""
    return image @ np.array([0.299, 0.587, 0.114], np.float32)


def crops(held_out: dict[str, NDArray[np.uint16]]) -> list[NDArray[np.float32]]:
    """Return the middle of every held-out photograph, ``(256, 256, 3)`` on [0, 1]."""
    found = []
    for _, image in sorted(held_out.items()):
        top, left = ((side - CROP) // 2 for side in image.shape[:2])
        found.append(image[top : top + CROP, left : left + CROP].astype(np.float32) / np.float32(65535))
    return found


def with_noise(clean: NDArray[np.float32], sigma: float) -> NDArray[np.float32]:
    """Return the image with the same noise every time."""
    noise = np.random.default_rng(0).standard_normal(clean.shape, np.float32)
    return clean + np.float32(sigma) * noise
