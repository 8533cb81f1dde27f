"""Train the statistical prediction of Peleg and Elad: ``python -m training.spsr``.

Each level learns from what inference gives it: patches of the photographs, decimated, enlarged and predicted by the
levels before. Training is a pure function of the seed and takes minutes, so that it is not interrupted.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from plugplay import psnr
from plugplay.models import SuperResolution
from plugplay_paper.baselines import statistical
from plugplay_paper.baselines.back_projection import back_project, consistent_bicubic
from plugplay_paper.baselines.patches import patches
from plugplay_paper.baselines.prediction import Level, cluster_of, patterns
from plugplay_paper.baselines.pursuit import unit_rows
from training.decimated import held_out_crops, squares
from training.photographs import cache_folder

__all__ = ["Options", "fit", "fit_cluster", "main"]

Array = NDArray[np.float32]

# Squares are treated as circular images, which they are not: samples stay away from their edges by so many cells.
MARGIN = 8
SQUARES, SIZE = 600, 128


@dataclass(frozen=True)
class Options:
    """How large a level is, and how it is trained."""

    low: int = 32
    high: int = 28
    clusters: int = 16
    samples: int = 300_000
    levels: int = 2
    # The share of weights that are large: when dictionaries are learned, and in the patterns.
    sparse: float = 0.2
    active: float = 0.4
    rounds: int = 4


def fit(rows: Array, details: Array, options: Options, rng: np.random.Generator) -> Level:
    """Learn dictionaries, clusters and predictions from patches without their means and the details they lack."""
    low, high = (_dictionary(part, size, options) for part, size in ((rows, options.low), (details, options.high)))
    codes, targets = rows @ low.T, details @ high.T
    threshold = np.quantile(np.abs(codes), 1 - options.active, axis=0).astype(np.float32)
    large = np.quantile(np.abs(targets), 1 - options.active, axis=0)
    centres = _directions(codes, options.clusters, rng)
    clusters, signs = cluster_of(codes, centres), patterns(codes, threshold)
    support, weights = [], []
    for number in range(options.clusters):
        chosen = clusters == number
        found = fit_cluster(codes[chosen], signs[chosen], targets[chosen], large, rounds=options.rounds)
        support.append(found[0])
        weights.append(found[1])
    return Level(low, high, threshold, centres, np.stack(support), np.stack(weights))


def fit_cluster(codes: Array, signs: Array, targets: Array, large: Array, *, rounds: int) -> tuple[Array, Array]:
    """Return W with v, and C, of one cluster.

    The supports are first fitted by their likelihood, as the model has it. Then C by least squares and W by steps of
    Levenberg and Marquardt lower the squared error of the estimate in turn.
    """
    support = np.zeros((targets.shape[1], signs.shape[1]), np.float32)
    weights = np.zeros((targets.shape[1], codes.shape[1]), np.float32)
    for j, target in enumerate(targets.T):
        w = _logistic(signs, np.abs(target) > large[j])
        active = expit(signs @ w)
        c = _least_squares(codes * active[:, None], target)
        error = float(np.square(target - active * (codes @ c)).sum())
        damping = 0.1
        for _ in range(rounds):
            value = codes @ c
            slope = (active * (1 - active) * value)[:, None] * signs
            trial = w + _least_squares(slope, target - active * value, damping)
            moved = expit(signs @ trial)
            fitted = _least_squares(codes * moved[:, None], target)
            lowered = float(np.square(target - moved * (codes @ fitted)).sum())
            if lowered < error:
                w, c, active, error, damping = trial, fitted, moved, lowered, damping / 3
            else:
                damping *= 10
        support[j], weights[j] = w, c
    return support, weights


def _logistic(signs: Array, active: NDArray[np.bool_]) -> Array:
    """Return the likeliest weights of a logistic regression, slightly damped, by Newton's method."""
    w = np.zeros(signs.shape[1], np.float32)
    for _ in range(5):
        probability = expit(signs @ w)
        spread = np.sqrt(probability * (1 - probability))[:, None] * signs
        gradient = signs.T @ (active - probability)
        w = w + _solve(spread.T @ spread, gradient, 1e-2)
    return w


def _least_squares(inputs: Array, target: Array, damping: float = 1e-3) -> Array:
    return _solve(inputs.T @ inputs, inputs.T @ target, damping)


def _solve(gram: Array, right: Array, damping: float) -> Array:
    """Solve with a share of the mean diagonal added to it."""
    matrix = gram.astype(np.float64)
    matrix[np.diag_indices_from(matrix)] += damping * np.trace(matrix) / len(matrix) + 1e-12
    return np.linalg.solve(matrix, right.astype(np.float64)).astype(np.float32)


def _dictionary(rows: Array, size: int, options: Options) -> Array:
    """Learn an undercomplete orthonormal dictionary: keep the large weights, then turn the atoms towards them."""
    _, axes = np.linalg.eigh((rows.T @ rows).astype(np.float64))
    atoms = np.ascontiguousarray(axes[:, ::-1][:, :size].T.astype(np.float32))
    basis = atoms
    for _ in range(10):
        codes = rows @ atoms.T
        codes[np.abs(codes) < np.quantile(np.abs(codes[::37]), 1 - options.sparse)] = 0
        # The atoms stay in the space of the principal components.
        left, _, right = np.linalg.svd((codes.T @ rows) @ basis.T.astype(np.float64), full_matrices=False)
        atoms = (left @ right @ basis).astype(np.float32)
    return atoms


def _directions(codes: Array, count: int, rng: np.random.Generator) -> Array:
    """Divide codes by their directions, regardless of the sign, as k-means does."""
    units = unit_rows(codes)
    centres = units[rng.choice(len(units), count, replace=False)]
    for _ in range(15):
        clusters = cluster_of(units, centres)
        for number in range(count):
            members = units[clusters == number]
            if len(members):
                _, axes = np.linalg.eigh(members.T @ members)
                centres[number] = axes[:, -1]
    return centres


def _samples(examples: Examples, count: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Draw patches that are not flat, and the details they lack."""
    rows, details = [], []
    for image, truth in zip(examples.images, examples.truths, strict=True):
        cells = image.shape[0] // statistical.STEP
        inner = np.zeros((cells, cells), bool)
        inner[MARGIN:-MARGIN, MARGIN:-MARGIN] = True
        where = rng.choice(np.flatnonzero(inner), count // len(examples.images), replace=False)
        windows = patches(image[None], statistical.STEP, where, side=statistical.SIDE)
        rows.append(windows - windows.mean(axis=1, keepdims=True))
        details.append(patches((truth - image)[None], statistical.STEP, where))
    together = np.concatenate(rows), np.concatenate(details)
    kept = np.square(together[0]).mean(axis=1) > (1 / 255) ** 2
    return together[0][kept], together[1][kept]


def _half(level: Level) -> Level:
    """Return the level as it ships, in half precision."""
    arrays = (getattr(level, field.name) for field in fields(Level))
    return Level(*(array.astype(np.float16).astype(np.float32) for array in arrays))


@dataclass(frozen=True, eq=False)
class Examples:
    """Images, what was observed of them, and what inference has made of that so far."""

    truths: list[Array]
    observed: list[Array]
    images: list[Array]

    @classmethod
    def start(cls, truths: list[Array], reached: int, before: Sequence[Level]) -> Examples:
        """Decimate by `reached`, and enlarge up to where the step to `reached` begins to predict."""
        observed = [SuperResolution(reached).simulate(truth).astype(np.float32) for truth in truths]
        small = [statistical.stage(y, y, statistical.STEP, before) for y in observed] if reached > 2 else observed
        return cls(truths, observed, [consistent_bicubic(y, statistical.STEP) for y in small])

    def after(self, level: Level, reached: int) -> Examples:
        """Predict by one more level."""
        pairs = zip(self.images, self.observed, strict=True)
        images = [back_project(statistical.predicted(image, level), y, reached) for image, y in pairs]
        return Examples(self.truths, self.observed, images)

    def score(self) -> float:
        """Return the mean PSNR."""
        pairs = zip(self.images, self.truths, strict=True)
        return float(np.mean([psnr(image, truth, border=8) for image, truth in pairs]))


def main() -> None:
    """Train both steps, judge them on held-out photographs and export them."""
    parser = argparse.ArgumentParser(description="Train the statistical prediction for the factors 2 and 4.")
    parser.add_argument("--seed", type=int, default=0)
    seed, options = parser.parse_args().seed, Options()
    folder, rng, began = cache_folder(), np.random.default_rng(seed), time.process_time()
    crops = held_out_crops(folder)
    truths = list(squares(folder, 2, count=SQUARES, size=SIZE, seed=seed).truth)
    levels: list[Level] = []
    for reached in statistical.FACTORS:
        training, judging = (Examples.start(images, reached, levels) for images in (truths, crops))
        levels = []
        print(f"x{reached}, interpolated: {judging.score():.3f} dB on held-out photographs", flush=True)
        for number in range(options.levels):
            level = _half(fit(*_samples(training, options.samples, rng), options, rng))
            training, judging = training.after(level, reached), judging.after(level, reached)
            levels.append(level)
            seconds = time.process_time() - began
            print(f"x{reached}, level {number + 1}: {judging.score():.3f} dB, {seconds:.0f} s", flush=True)
        statistical.save(levels, reached)


if __name__ == "__main__":
    main()
