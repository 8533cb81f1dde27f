"""Photon cubes that are unpacked the wrong way: how often that is noticed.

    python benchmarks/photon_layouts.py

Counts are simulated for crops of 64 to 256 pixels of nine photographs, four levels of light, and 160 or 1000 frames, of
which eight share a byte, though they are unpacked along an axis of the frame. Frames that are packed along their rows
are unpacked rightly, in the wrong order of bits and along their columns; 0.5 % of their jots are hot. The last kind are
strips four to eight times as long as wide, along which they are packed, and strips of 16 and 32 rows that are 16 and
more times as long.

Cubes of 16 and 160 frames of 64 x 64, 96 x 120 and 24 x 120 jots, whose light stays the same, flickers or moves, have
their frames along the axis that is read and along the two others.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from photographs import available, crop

from plugplay.io.photon_layout import questions
from plugplay.io.photons import count_ones

NAMES = ("camera", "coins", "moon", "gravel", "brick", "grass", "page", "bridge", "seeding")
GAINS = (0.02, 0.1, 0.5, 2.0)
HOT = 0.005


def scene(name: str, size: int) -> NDArray[np.float64]:
    """Return light on [0, 1], or nothing if a photograph is not as large."""
    try:
        image = crop(name, size)
    except ValueError:
        return np.zeros((0, 0))
    return image if image.ndim == 2 else image.mean(axis=-1)


def frames_of(whole: NDArray[np.float64], size: tuple[int, int], frames: int, kind: str) -> NDArray[np.float64]:
    """Return the light of each frame, which stays the same, flickers or moves across all of a scene."""
    light = whole[-size[0] :, : size[1]]
    if kind == "moving":
        starts = np.arange(frames) * (whole.shape[1] - size[1]) // frames
        return np.stack([whole[-size[0] :, start : start + size[1]] for start in starts])
    flicker = 1 + 0.3 * np.sin(np.arange(frames)) if kind == "flickering" else np.ones(frames)
    return np.asarray(flicker[:, None, None] * light)


def cubes(rng: np.random.Generator) -> None:
    """Print how often frames along another axis are noticed."""
    tallies = {(kind, axis): [0, 0] for kind in ("static", "flickering", "moving") for axis in range(3)}
    for name in [name for name in NAMES if name in available()]:
        whole = scene(name, 192) if scene(name, 192).size else scene(name, 128)
        for size in ((64, 64), (96, 120), (24, 120)):
            for gain in GAINS:
                for frames in (16, 160):
                    for (kind, axis), tally in tallies.items():
                        chance = 1 - np.exp(-gain * (0.02 + frames_of(whole, size, frames, kind)))
                        cube = (rng.random(chance.shape, np.float32) < chance).astype(np.uint8)
                        doubts = count_ones(np.moveaxis(cube, 0, axis)).doubts
                        tally[:] = tally[0] + any("time_axis" in doubt for doubt in doubts), tally[1] + 1
    for (kind, axis), (found, count) in tallies.items():
        print(f"{kind} light, frames along axis {axis}, read along axis 0: doubted in {found} of {count} cubes")


def main() -> None:
    """Print the counts."""
    rng = np.random.default_rng(0)
    noticed = {gain: [0, 0] for gain in GAINS}
    alarms, strips, orders, axes = [0, 0], [0, 0], [0, 0], [0, 0]
    other, long = np.random.default_rng(2), [0, 0]
    for name in [name for name in NAMES if name in available()]:
        for light in [light for size in (64, 128, 256) if (light := scene(name, size)).size]:
            for gain in GAINS:
                chance = 1 - np.exp(-gain * (0.02 + light))
                for frames in (160, 1000):
                    shares = rng.binomial(frames // 8, chance, (8, *chance.shape))
                    for axis in (0, 1):
                        bytes_last = np.moveaxis(shares, 0, axis + 1)
                        shape = [n * (8 if place == axis else 1) for place, n in enumerate(light.shape)]
                        found = questions(bytes_last.reshape(shape), frames // 8, axis, "big")
                        noticed[gain] = [noticed[gain][0] + bool(found), noticed[gain][1] + 1]
                    for used in (1, 20, frames):
                        hot = rng.random(light.shape) < HOT
                        counts = rng.binomial(used, np.where(hot, 0.9, chance))
                        alarms[0] += sum(bool(questions(counts, used, axis, "big")) for axis in (0, 1))
                        alarms[1] += 2
                        rows, columns = counts.shape
                        split = counts.reshape(rows, columns // 8, 8)
                        turned = questions(split[..., ::-1].reshape(rows, columns), used, 1, "big")
                        crossed = split.transpose(0, 2, 1).reshape(8 * rows, columns // 8)
                        for tally, found in ((orders, turned), (axes, questions(crossed, used, 0, "big"))):
                            tally[:] = tally[0] + (bool(found) and used > 1), tally[1] + (used > 1)
                strip = chance[: len(chance) // (4 if len(chance) > 64 else 8)]
                for used in (20, 125, 1000):
                    strips[0] += bool(questions(rng.binomial(used, strip), used, 1, "big"))
                    strips[1] += 1
                for rows in (16, 32):
                    narrow = np.hstack([chance[:rows], chance[-rows:], chance[rows : 2 * rows]])
                    narrow = np.hstack([narrow] * -(-17 * rows // narrow.shape[1]))
                    for used in (20, 125, 1000):
                        long[0] += bool(questions(other.binomial(used, narrow), used, 1, "big"))
                        long[1] += 1
    for gain, (found_in, count) in noticed.items():
        print(f"{gain:4} photons at white: noticed in {found_in} of {count}")
    print(f"wrong order of bits noticed in {orders[0]} of {orders[1]}, wrong axis in {axes[0]} of {axes[1]}")
    print(f"false alarms in {alarms[0]} of {alarms[1]} frames, and in {strips[0]} of {strips[1]} strips")
    print(f"and in {long[0]} of {long[1]} strips at least 17 times as long as wide")
    cubes(np.random.default_rng(1))


if __name__ == "__main__":
    main()
