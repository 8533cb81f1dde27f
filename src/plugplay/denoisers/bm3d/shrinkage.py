"""Shrinkage: transform the blocks of a group together, remove what looks like noise, transform back.

The first stage keeps the coefficients above a threshold and drops the others. The second multiplies each by the
Wiener gain ``p**2 / (p**2 + noise)``, where `p` is the same coefficient of the first stage's estimate.

The transforms leave out their normalisation. `threshold_tables` puts it into the thresholds and into the factors
with which kept coefficients go into the inverse transform; the Wiener kernel does so with the noise's variance.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from plugplay.denoisers.bm3d.aggregation import Sums, add_block, kaiser_window
from plugplay.denoisers.bm3d.canvas import MARGIN, Canvas
from plugplay.denoisers.bm3d.compiling import inline, kernel
from plugplay.denoisers.bm3d.matching import Matches
from plugplay.denoisers.bm3d.profiles import BLOCK, Profile
from plugplay.denoisers.bm3d.transforms import (
    biorthogonal_block,
    biorthogonal_norms,
    biorthogonal_scales,
    dct_block,
    haar,
    inverse_biorthogonal_block,
    inverse_dct_block,
    inverse_haar,
)
from plugplay.denoisers.bm3d.vectors import (
    Float8,
    Floats,
    Ints,
    above,
    fma,
    keep_above,
    load,
    splat,
    store,
    total,
)

__all__ = ["hard_threshold", "wiener"]

_PIXELS = BLOCK * BLOCK
_LARGEST_GROUP = 32
_LEVELS = 6  # of the Haar transform, from a single block to 32
_SMALLEST_NOISE = 1e-30  # keeps 0 / (0 + noise) defined in float32


def hard_threshold(
    canvas: Canvas,
    profile: Profile,
    sigmas: NDArray[np.float64],
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    matches: Matches,
) -> Sums:
    """Return the first stage's sums for some reference rows.

    Parameters
    ----------
    canvas : Canvas
        The noisy image.
    profile : Profile
        Threshold and window.
    sigmas : ndarray
        Standard deviation of the noise in each channel.
    rows, columns, matches
        The reference blocks and their groups.
    """
    sums = Sums.reachable(canvas, rows, profile.pilot.reach)
    thresholds, scales = threshold_tables(profile.threshold * sigmas)
    threshold_rows(
        canvas.flat, canvas.channels, canvas.flat.size // canvas.channels, canvas.pitch, canvas.stride,
        rows * canvas.pitch + MARGIN, columns, matches.offsets, matches.counts,
        thresholds, scales, kaiser_window(profile.kaiser),
        sums.memory.reshape(-1), sums.plane, sums.top * canvas.pitch,
    )  # fmt: skip
    return sums


def wiener(
    canvas: Canvas,
    profile: Profile,
    sigmas: NDArray[np.float64],
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    matches: Matches,
) -> Sums:
    """Return the second stage's sums; the parameters are those of `hard_threshold`."""
    sums = Sums.reachable(canvas, rows, profile.final.reach)
    noise = np.maximum(profile.wiener_noise * sigmas**2, _SMALLEST_NOISE).astype(np.float32)
    wiener_rows(
        canvas.flat, canvas.channels, canvas.flat.size // canvas.channels, canvas.pitch, canvas.stride,
        rows * canvas.pitch + MARGIN, columns, matches.offsets, matches.counts,
        noise, kaiser_window(profile.kaiser),
        sums.memory.reshape(-1), sums.plane, sums.top * canvas.pitch,
    )  # fmt: skip
    return sums


def threshold_tables(thresholds: NDArray[np.float64]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return thresholds (by channel, Haar level and coefficient) and scales (by level and coefficient), flat.

    A coefficient of the unnormalised transforms is ``norm`` times the normalised one, with ``norm`` the product of
    the norms of its three analysis vectors; at Haar level `l` that of the third is ``2**(l / 2)``.
    """
    levels = 2.0 ** np.arange(_LEVELS)[:, None, None]
    norms = np.sqrt(levels) * np.outer(biorthogonal_norms(), biorthogonal_norms())
    scales = np.outer(biorthogonal_scales(), biorthogonal_scales()) / levels
    return np.multiply.outer(thresholds, norms).astype(np.float32).ravel(), scales.astype(np.float32).ravel()


@kernel
def threshold_rows(
    canvas: Floats, channels: int, plane: int, pitch: int, stride: int,
    rows: NDArray[np.int64], columns: NDArray[np.int64], offsets: Ints, counts: Ints,
    thresholds: Floats, scales: Floats, window: Floats,
    sums: Floats, sums_plane: int, sums_origin: int,
) -> None:  # fmt: skip
    """Filter the groups of some reference rows; `rows` holds where the rows start on the canvas."""
    group = np.empty(_LARGEST_GROUP * _PIXELS, np.float32)
    slots = offsets.size // counts.size
    for reference in range(counts.size):
        count = counts[reference]
        first = reference * slots
        at = rows[reference // columns.size] + columns[reference % columns.size]
        for channel in range(channels):
            source = at + channel * plane
            for i in range(count):
                r0, r1, r2, r3, r4, r5, r6, r7 = load_block(canvas, source + offsets[first + i], pitch)
                r0, r1, r2, r3, r4, r5, r6, r7 = biorthogonal_block(r0, r1, r2, r3, r4, r5, r6, r7)
                store_block(group, i * _PIXELS, r0, r1, r2, r3, r4, r5, r6, r7)
            haar(group, count)
            kept = threshold_group(group, count, thresholds, channel * _LEVELS * _PIXELS, scales)
            inverse_haar(group, count)
            # The noise left in the group grows with the number of coefficients kept.
            weight = 1 / max(kept, np.float32(1))
            target = at - sums_origin + channel * sums_plane
            for i in range(count):
                r0, r1, r2, r3, r4, r5, r6, r7 = load_block(group, i * _PIXELS, BLOCK)
                r0, r1, r2, r3, r4, r5, r6, r7 = inverse_biorthogonal_block(r0, r1, r2, r3, r4, r5, r6, r7)
                place = target + offsets[first + i]
                add_block(sums, place, pitch, stride, weight, window, r0, r1, r2, r3, r4, r5, r6, r7)


@kernel
def wiener_rows(
    canvas: Floats, channels: int, plane: int, pitch: int, stride: int,
    rows: NDArray[np.int64], columns: NDArray[np.int64], offsets: Ints, counts: Ints,
    noise: Floats, window: Floats,
    sums: Floats, sums_plane: int, sums_origin: int,
) -> None:  # fmt: skip
    """Filter the groups of some reference rows; `rows` holds where the rows start on the canvas."""
    group = np.empty(_LARGEST_GROUP * _PIXELS, np.float32)
    pilot = np.empty(_LARGEST_GROUP * _PIXELS, np.float32)
    slots = offsets.size // counts.size
    for reference in range(counts.size):
        count = counts[reference]
        first = reference * slots
        at = rows[reference // columns.size] + columns[reference % columns.size]
        for channel in range(channels):
            for i in range(count):
                source = at + channel * plane + offsets[first + i]
                r0, r1, r2, r3, r4, r5, r6, r7 = load_block(canvas, source, pitch)
                r0, r1, r2, r3, r4, r5, r6, r7 = dct_block(r0, r1, r2, r3, r4, r5, r6, r7)
                store_block(group, i * _PIXELS, r0, r1, r2, r3, r4, r5, r6, r7)
                r0, r1, r2, r3, r4, r5, r6, r7 = load_block(canvas, source + stride, pitch)
                r0, r1, r2, r3, r4, r5, r6, r7 = dct_block(r0, r1, r2, r3, r4, r5, r6, r7)
                store_block(pilot, i * _PIXELS, r0, r1, r2, r3, r4, r5, r6, r7)
            haar(group, count)
            haar(pilot, count)
            energy = wiener_group(group, pilot, count, noise[channel])
            inverse_haar(group, count)
            # The noise left in the group grows with the energy of the gains.
            weight = 1 / max(energy, np.float32(1))
            target = at - sums_origin + channel * sums_plane
            for i in range(count):
                r0, r1, r2, r3, r4, r5, r6, r7 = load_block(group, i * _PIXELS, BLOCK)
                r0, r1, r2, r3, r4, r5, r6, r7 = inverse_dct_block(r0, r1, r2, r3, r4, r5, r6, r7)
                place = target + offsets[first + i]
                add_block(sums, place, pitch, stride, weight, window, r0, r1, r2, r3, r4, r5, r6, r7)


@inline
def threshold_group(group: Floats, count: int, thresholds: Floats, table: int, scales: Floats) -> np.float32:
    """Threshold and scale the coefficients of a group; return how many were kept."""
    kept = splat(0.0)
    for i in range(count):
        level = haar_level(i, count) * _PIXELS
        for j in range(0, _PIXELS, BLOCK):
            value = load(group, i * _PIXELS + j)
            threshold = load(thresholds, table + level + j)
            store(group, i * _PIXELS + j, keep_above(value, threshold) * load(scales, level + j))
            kept = kept + above(value, threshold)
    return total(kept)


@inline
def wiener_group(group: Floats, pilot: Floats, count: int, noise: np.float32) -> np.float32:
    """Multiply the coefficients of a group by their Wiener gains; return the sum of the squared gains."""
    energy = splat(0.0)
    for i in range(count):
        norm = np.float32(1 << haar_level(i, count))
        variance = splat(noise * norm)
        scale = splat(1 / norm)
        for j in range(i * _PIXELS, (i + 1) * _PIXELS, BLOCK):
            value = load(pilot, j)
            power = value * value
            gain = power / (power + variance)
            energy = fma(gain, gain, energy)
            store(group, j, load(group, j) * (gain * scale))
    return total(energy)


@inline
def haar_level(index: int, count: int) -> int:
    """Return how many sums or differences led to entry `index` of a Haar-transformed group of `count`."""
    level = 0
    bits = index | count
    while bits & 1 == 0:
        bits >>= 1
        level += 1
    return level if index == 0 else level + 1


@inline
def load_block(array: Floats, at: int, pitch: int) -> tuple[Float8, ...]:
    """Return the rows of the 8x8 block that starts at `at`."""
    return (
        load(array, at),
        load(array, at + pitch),
        load(array, at + 2 * pitch),
        load(array, at + 3 * pitch),
        load(array, at + 4 * pitch),
        load(array, at + 5 * pitch),
        load(array, at + 6 * pitch),
        load(array, at + 7 * pitch),
    )


@inline
def store_block(
    array: Floats,
    at: int,
    r0: Float8,
    r1: Float8,
    r2: Float8,
    r3: Float8,
    r4: Float8,
    r5: Float8,
    r6: Float8,
    r7: Float8,
) -> None:
    """Write the rows of a block one after the other."""
    store(array, at, r0)
    store(array, at + 8, r1)
    store(array, at + 16, r2)
    store(array, at + 24, r3)
    store(array, at + 32, r4)
    store(array, at + 40, r5)
    store(array, at + 48, r6)
    store(array, at + 56, r7)
