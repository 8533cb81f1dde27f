"""Images on which denoisers are tried: natural, random, extreme, and of a contrast that sigma can hide."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from plugplay.arrays.checks import FloatArray

__all__ = ["blocks", "natural", "tried"]


def natural(size: int) -> FloatArray:
    """Return a square piece of a photograph, with edges, texture and smooth parts, on [0, 1]."""
    from skimage import data

    photograph: FloatArray = np.asarray(data.camera(), np.float64) / 255
    step = 2 if size <= 128 else 1
    piece = photograph[50::step, 150::step][:size, :size]
    return np.pad(piece, [(0, size - side) for side in piece.shape], mode="reflect")


def colour(size: int) -> FloatArray:
    """Return a square piece of a colour photograph on [0, 1]."""
    from skimage import data

    photograph: FloatArray = np.asarray(data.astronaut(), np.float64) / 255
    return photograph[:256, 100:356][:: 256 // size, :: 256 // size][:size, :size]


def tried(size: int, sigma: float, rng: np.random.Generator) -> Iterator[tuple[str, FloatArray]]:
    """Yield named images; those with "sigma" in their name have a contrast of a few sigma about mid-gray."""
    photograph = natural(size)
    noise = rng.standard_normal((size, size))
    rows, columns = np.indices((size, size))
    checks = ((rows + columns) % 2).astype(np.float64)
    squares = ((rows // 4 + columns // 4) % 2).astype(np.float64)
    impulses = np.zeros((size, size))
    impulses[2::5, 2::5] = 1
    yield "a photograph", photograph
    yield "a photograph with noise", np.clip(photograph + sigma * noise, 0, 1)
    yield "uniform noise", rng.random((size, size))
    yield "black and white noise", (noise > 0).astype(np.float64)
    yield "a chessboard of pixels", checks
    yield "a chessboard of 4 x 4 squares", squares
    yield "stripes", (columns % 2).astype(np.float64)
    yield "single white pixels", impulses
    yield "black", np.zeros((size, size))
    yield "white", np.ones((size, size))
    yield "a ramp", columns / max(size - 1, 1)
    for contrast in (1, 4, 16):
        for name, pattern in (("noise", noise), ("chessboard", 2 * checks - 1), ("pixels", 2 * impulses)):
            yield f"{name} of {contrast} sigma", np.clip(0.5 + contrast * sigma * pattern, 0, 1)


def blocks(shape: tuple[int, int], rng: np.random.Generator) -> tuple[slice, slice]:
    """Return a random rectangle inside an image."""
    sides = [int(rng.integers(1, max(side // 2, 1) + 1)) for side in shape]
    starts = [int(rng.integers(0, side - length + 1)) for side, length in zip(shape, sides, strict=True)]
    rows, columns = (slice(start, start + length) for start, length in zip(starts, sides, strict=True))
    return rows, columns
