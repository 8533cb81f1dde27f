"""Batches of noisy patches, each a pure function of the seed and the step, so that training resumes exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plugplay.denoisers.net.opponent import to_opponent

__all__ = ["Batch", "Patches"]

GRAY_SHARE = 0.5
# Noise levels in units of 1/255: most of them uniform, some low ones, logarithmic, for the end of a restoration, and
# some high ones for its beginning.
MIN_LEVEL, MAX_LEVEL = 1.0, 60.0
LOW_SHARE, LOW_LIMIT = 0.3, 15.0
HIGH_SHARE, HIGH_LIMIT = 0.08, 150.0


@dataclass(frozen=True, eq=False)
class Batch:
    """Clean patches, unit noise and levels, as the network takes them.

    Attributes
    ----------
    clean, noise : float32, (N, 3, H, W)
        Luminance and chrominance; for gray patches, both chrominances are zero.
    switches : float32, (N, 2, 1, 1)
        1 if luminance and chrominance have noise; the second is 0 for gray patches.
    sigma : float32, (N, 1, 1, 1)
        The noise level of the image.
    """

    clean: NDArray[np.float32]
    noise: NDArray[np.float32]
    switches: NDArray[np.float32]
    sigma: NDArray[np.float32]


class Patches:
    """Draw batches from prepared images.

    Parameters
    ----------
    images : list of uint16 arrays, (H, W, 3)
        What `training.photographs` prepared. Each is drawn with a probability in proportion to the root of its area.
    seed : int
        Where chance begins.
    size, count : int
        Side of a patch, number of patches in a batch.
    """

    def __init__(self, images: list[NDArray[np.uint16]], *, seed: int, size: int, count: int) -> None:
        self.images, self.seed, self.size, self.count = images, seed, size, count
        weights = np.sqrt([image.shape[0] * image.shape[1] for image in images])
        self.shares = weights / weights.sum()

    def batch(self, step: int) -> Batch:
        """Return the batch of one step."""
        rng = np.random.default_rng([self.seed, step])
        patches = np.stack([_toned(self._patch(rng), rng) for _ in range(self.count)])
        gray = rng.random(self.count) < GRAY_SHARE
        clean = to_opponent(patches - np.float32(0.5))
        clean[gray] = 0
        for index in np.flatnonzero(gray):
            clean[index, 0] = np.tensordot(_gray_weights(rng), patches[index], 1) - 0.5
        noise = rng.standard_normal(clean.shape, np.float32)
        noise[gray, 1:] = 0
        switches = np.stack([np.ones(self.count), ~gray], axis=1).astype(np.float32)
        return Batch(clean, noise, switches[..., None, None], _sigmas(rng, self.count)[:, None, None, None])

    def _patch(self, rng: np.random.Generator) -> NDArray[np.float32]:
        """Return the livelier of two places in one photograph: flat ones are soon learned."""
        image = self.images[rng.choice(len(self.images), p=self.shares)]
        places = [self._place(image, rng) for _ in range(2)]
        return max(places, key=lambda place: float(np.abs(np.diff(place[1], axis=1)).mean()))

    def _place(self, image: NDArray[Any], rng: np.random.Generator) -> NDArray[np.float32]:
        top, left = (int(rng.integers(0, side - self.size + 1)) for side in image.shape[:2])
        patch = image[top : top + self.size, left : left + self.size].astype(np.float32) / np.float32(65535)
        return patch.transpose(2, 0, 1)


def _toned(patch: NDArray[np.float32], rng: np.random.Generator) -> NDArray[np.float32]:
    """Turn, mirror, permute the colours, invert, change contrast, brightness and saturation."""
    patch = np.rot90(patch, int(rng.integers(4)), axes=(1, 2))
    if rng.random() < 0.5:
        patch = patch[:, ::-1]
    patch = patch[rng.permutation(3)]
    if rng.random() < 0.25:
        patch = 1 - patch
    if rng.random() < 0.5:
        mean = patch.mean(axis=0, keepdims=True)
        patch = mean + np.float32(rng.uniform(0.3, 1.3)) * (patch - mean)
        patch = 0.5 + np.float32(rng.uniform(0.5, 1.3)) * (patch - 0.5) + np.float32(rng.uniform(-0.15, 0.15))
        patch = np.clip(patch, 0, 1)
    return np.ascontiguousarray(patch, np.float32)


def _gray_weights(rng: np.random.Generator) -> NDArray[np.float32]:
    return rng.dirichlet((1.5, 1.5, 1.5)).astype(np.float32)


def _sigmas(rng: np.random.Generator, count: int) -> NDArray[np.float32]:
    uniform = rng.uniform(MIN_LEVEL, MAX_LEVEL, count)
    low = np.exp(rng.uniform(np.log(MIN_LEVEL), np.log(LOW_LIMIT), count))
    high = rng.uniform(MAX_LEVEL, HIGH_LIMIT, count)
    share = rng.random(count)
    levels = np.where(share < LOW_SHARE, low, np.where(share > 1 - HIGH_SHARE, high, uniform))
    return (levels / 255).astype(np.float32)
