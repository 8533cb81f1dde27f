"""Pairs that the network learns from: noisy images, what BM3D makes of them, and the truth.

``python -m training.pilots`` draws squares from the prepared photographs, adds noise, runs BM3D once on each and keeps
the results in the user's cache. The squares are larger than what a training step sees, since BM3D looks far around.
Every file of pairs is a pure function of the seed and its number, so that a run that was killed goes on.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import plugplay as pp
from plugplay.denoisers.net.opponent import to_opponent
from training.photographs import cache_folder, load

__all__ = ["CHUNKS", "Pairs", "drawn", "load_pairs", "main", "pair"]

SIDE, CHUNK, CHUNKS = 256, 48, 20
GRAY_SHARE, RESTORATION_SHARE = 0.5, 0.15
# Noise levels in units of 1/255: most of them uniform, the others logarithmic for the end of a restoration.
MIN_LEVEL, MAX_LEVEL, LOW_SHARE, LOW_LIMIT = 1.5, 60.0, 0.35, 15.0


@dataclass(frozen=True, eq=False)
class Pairs:
    """Squares in luminance and chrominance, float16; gray ones have chrominance zero.

    Attributes
    ----------
    pilot : (N, 3, H, W)
        What BM3D makes of the noisy image, around zero.
    rest : (N, 3, H, W)
        The noisy image minus the pilot, in units of sigma.
    error : (N, 3, H, W)
        The clean image minus the pilot, in units of sigma.
    sigma : (N,)
        The noise level.
    colour, restoration : (N,)
        Whether the square is coloured, and whether BM3D worked as it does within a restoration.
    """

    pilot: NDArray[np.float16]
    rest: NDArray[np.float16]
    error: NDArray[np.float16]
    sigma: NDArray[np.float32]
    colour: NDArray[np.bool_]
    restoration: NDArray[np.bool_]


def pair(
    clean: NDArray[np.float32], noisy: NDArray[np.float32], sigma: float, *, restoration: bool, workers: int
) -> dict[str, NDArray[np.float16]]:
    """Return pilot, rest and error of one image, ``(H, W)`` or ``(H, W, 3)``."""
    options = {"purpose": "restoration"} if restoration else {"stages": 3}
    pilot = pp.denoisers.get("bm3d", workers=workers, **options)(noisy, sigma)
    found = {"pilot": pilot - np.float32(0.5), "rest": (noisy - pilot) / sigma, "error": (clean - pilot) / sigma}
    return {name: _planes(image).astype(np.float16) for name, image in found.items()}


def _planes(image: NDArray[np.float32]) -> NDArray[np.float32]:
    if image.ndim == 3:
        return to_opponent(np.moveaxis(image, -1, 0))
    return np.stack([image, np.zeros_like(image), np.zeros_like(image)])


def drawn(images: list[NDArray[np.uint16]], number: int, *, seed: int, count: int = CHUNK, workers: int = 2) -> Pairs:
    """Return the pairs with this number."""
    rng = np.random.default_rng([seed, number])
    images = [image for image in images if min(image.shape[:2]) >= SIDE]
    weights = np.sqrt([image.shape[0] * image.shape[1] for image in images])
    columns: dict[str, list[NDArray[np.float16]]] = {"pilot": [], "rest": [], "error": []}
    flags: dict[str, list[float]] = {"sigma": [], "colour": [], "restoration": []}
    for _ in range(count):
        clean = _toned(_square(images[rng.choice(len(images), p=weights / weights.sum())], rng), rng)
        colour, restoration = bool(rng.random() >= GRAY_SHARE), bool(rng.random() < RESTORATION_SHARE)
        if not colour:
            clean = clean @ rng.dirichlet((1.5, 1.5, 1.5)).astype(np.float32)
        sigma = _level(rng) / 255
        noisy = clean + np.float32(sigma) * rng.standard_normal(clean.shape, np.float32)
        for name, planes in pair(clean, noisy, sigma, restoration=restoration, workers=workers).items():
            columns[name].append(planes)
        for name, value in (("sigma", sigma), ("colour", colour), ("restoration", restoration)):
            flags[name].append(value)
    return Pairs(
        **{name: np.stack(planes) for name, planes in columns.items()},
        sigma=np.array(flags["sigma"], np.float32),
        colour=np.array(flags["colour"], bool),
        restoration=np.array(flags["restoration"], bool),
    )


def _square(image: NDArray[np.uint16], rng: np.random.Generator) -> NDArray[np.float32]:
    """Return the livelier of two places in one photograph: flat ones are soon learned."""
    places = []
    for _ in range(2):
        top, left = (int(rng.integers(0, side - SIDE + 1)) for side in image.shape[:2])
        places.append(image[top : top + SIDE, left : left + SIDE].astype(np.float32) / np.float32(65535))
    return max(places, key=lambda place: float(np.abs(np.diff(place[..., 1], axis=1)).mean()))


def _toned(square: NDArray[np.float32], rng: np.random.Generator) -> NDArray[np.float32]:
    """Permute the colours, invert, change contrast, brightness and saturation."""
    square = square[..., rng.permutation(3)]
    if rng.random() < 0.2:
        square = 1 - square
    if rng.random() < 0.3:
        mean = square.mean(axis=-1, keepdims=True)
        square = mean + np.float32(rng.uniform(0.5, 1.2)) * (square - mean)
        square = 0.5 + np.float32(rng.uniform(0.6, 1.2)) * (square - 0.5) + np.float32(rng.uniform(-0.1, 0.1))
    return np.ascontiguousarray(np.clip(square, 0, 1), np.float32)


def _level(rng: np.random.Generator) -> float:
    if rng.random() < LOW_SHARE:
        return float(np.exp(rng.uniform(np.log(MIN_LEVEL), np.log(LOW_LIMIT))))
    return float(rng.uniform(10, MAX_LEVEL))


def load_pairs(folder: Path, *, seed: int, chunks: int = CHUNKS) -> list[Pairs]:
    """Read the pairs with the numbers below `chunks`."""
    files = [_file(folder, seed, number) for number in range(chunks)]
    missing = [file.name for file in files if not file.exists()]
    if missing:
        raise FileNotFoundError(f"{', '.join(missing)} not in {folder}: run python -m training.pilots first")
    found = []
    for file in files:
        with np.load(file) as content:
            found.append(Pairs(**content))
    return found


def _file(folder: Path, seed: int, number: int) -> Path:
    return folder / f"pairs-{seed}-{number:02}.npz"


def main() -> None:
    """Make the pairs that are not there yet."""
    parser = argparse.ArgumentParser(description="Run BM3D on noisy squares of the prepared photographs, once.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--chunks", type=int, default=CHUNKS)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    images: list[NDArray[np.uint16]] = []
    for number in range(options.chunks):
        file = _file(cache_folder(), options.seed, number)
        if not file.exists():
            images = images or list(load(cache_folder()).training.values())
            pairs = drawn(images, number, seed=options.seed, workers=options.workers)
            partial = file.with_suffix(".part.npz")
            np.savez(partial, allow_pickle=False, **vars(pairs))
            partial.replace(file)
            print(f"{file.name}: {CHUNK} squares of {SIDE} x {SIDE} pixels", flush=True)


if __name__ == "__main__":
    main()
