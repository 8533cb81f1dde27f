"""Batches of patches, each a pure function of the seed and the step, so that training resumes exactly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plugplay.denoisers.net.facts import level_of
from training.pilots import Pairs

__all__ = ["Batch", "Patches"]

# BM3D's mean squared error in units of sigma², below which a square does not count more.
MIN_ERROR = 0.012


@dataclass(frozen=True, eq=False)
class Batch:
    """What the network takes, what it should find, and how much each patch counts.

    Attributes
    ----------
    rest, detail, error : float32, (N, 3, H, W)
        Noisy image minus pilot, pilot minus its local mean, clean image minus pilot, in units of sigma.
    facts : float32, (N, 3, 1, 1)
        Coloured or not, within a restoration or not, noise level.
    weight : float32, (N, 1, 1, 1)
        One over the squared error of BM3D over the square that the patch is from, so that every square counts alike.
    """

    rest: NDArray[np.float32]
    detail: NDArray[np.float32]
    error: NDArray[np.float32]
    facts: NDArray[np.float32]
    weight: NDArray[np.float32]


class Patches:
    """Draw batches from pairs, turned and mirrored.

    Parameters
    ----------
    pairs : list of Pairs
        What `training.pilots` prepared.
    seed : int
        Where chance begins.
    size, count : int
        Side of a patch, number of patches in a batch.
    """

    def __init__(self, pairs: list[Pairs], *, seed: int, size: int, count: int) -> None:
        self.pairs, self.seed, self.size, self.count = pairs, seed, size, count
        self.weights = [_weights(chunk) for chunk in pairs]

    def batch(self, step: int) -> Batch:
        """Return the batch of one step."""
        rng = np.random.default_rng([self.seed, step])
        rows = [self._patch(rng) for _ in range(self.count)]
        return Batch(*(np.stack(column) for column in zip(*rows, strict=True)))

    def _patch(self, rng: np.random.Generator) -> tuple[NDArray[np.float32], ...]:
        number = int(rng.integers(len(self.pairs)))
        chunk = self.pairs[number]
        index = int(rng.integers(len(chunk.sigma)))
        sigma = float(chunk.sigma[index])
        # Two pixels more on each side, for the local mean.
        top, left = (int(rng.integers(0, side - self.size - 4 + 1)) for side in chunk.pilot.shape[2:])
        turns, mirrored = int(rng.integers(4)), rng.random() < 0.5

        def cut(planes: NDArray[np.float16]) -> NDArray[np.float32]:
            patch = planes[:, top : top + self.size + 4, left : left + self.size + 4].astype(np.float32)
            patch = np.rot90(patch, turns, axes=(1, 2))
            return patch[:, ::-1] if mirrored else patch

        inner = (slice(None), slice(2, -2), slice(2, -2))
        pilot = cut(chunk.pilot[index])
        detail = (pilot[inner] - _means(pilot)) / np.float32(sigma)
        facts = np.array([chunk.colour[index], chunk.restoration[index], level_of(sigma)], np.float32)
        return (
            np.ascontiguousarray(cut(chunk.rest[index])[inner]),
            np.ascontiguousarray(detail),
            np.ascontiguousarray(cut(chunk.error[index])[inner]),
            facts[:, None, None],
            self.weights[number][index].reshape(1, 1, 1),
        )


def _means(planes: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the mean over 5 x 5 pixels, where they all are there."""
    rows: NDArray[np.float32] = np.sum([planes[:, k : planes.shape[1] - 4 + k] for k in range(5)], axis=0)
    both: NDArray[np.float32] = np.sum([rows[:, :, k : planes.shape[2] - 4 + k] for k in range(5)], axis=0)
    return both / np.float32(25)


def _weights(pairs: Pairs) -> NDArray[np.float32]:
    """Return one over the squared error of each square, per channel."""
    errors = np.array([np.square(square, dtype=np.float32).sum() / square[0].size for square in pairs.error])
    channels = np.where(pairs.colour, 3, 1)
    return (1 / np.maximum(errors, MIN_ERROR * channels)).astype(np.float32)
