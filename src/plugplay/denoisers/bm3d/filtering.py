"""Collaborative filtering: the groups of a strip, from the canvas through shrinkage into the sums.

The first stage keeps the coefficients above a threshold and drops the others. The second multiplies each by the
Wiener gain ``p**2 / (p**2 + noise)``, where `p` is the same coefficient of the first stage's estimate.

The transforms leave out their normalisation. `threshold_tables` puts it into the thresholds and into the factors
with which kept coefficients go into the inverse transform; `wiener_tables` puts it into the noise's variance and into
such factors.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from plugplay.denoisers.bm3d.aggregation import Sums, add_block, kaiser_window, weigh
from plugplay.denoisers.bm3d.canvas import MARGIN, Canvas, Positions, depths, load_block, store_block
from plugplay.denoisers.bm3d.colouring import coefficient_variances
from plugplay.denoisers.bm3d.matching import Matches
from plugplay.denoisers.bm3d.profiles import BLOCK, Profile
from plugplay.denoisers.bm3d.transforms import (
    biorthogonal_block,
    biorthogonal_norms,
    biorthogonal_scales,
    dct_block,
    dct_scales,
    haar,
    haar_8,
    inverse_biorthogonal_block,
    inverse_dct_block,
    inverse_haar,
    inverse_haar_8,
)
from plugplay.denoisers.bm3d.vectors import (
    Float8,
    Floats,
    Ints,
    above,
    fma,
    keep_above,
    load,
    reciprocal,
    splat,
    store,
    total,
)
from plugplay.denoisers.compiling import inline, kernel

__all__ = ["hard_threshold", "wiener"]

PIXELS = BLOCK * BLOCK
LEVELS = 6
"""Levels of the Haar transform, from a single block to 32."""

NORMS = 7
"""Powers of two by which levels and copies multiply the noise's variance."""

_LARGEST_GROUP = 32
_SMALLEST_NOISE = 1e-30  # keeps 0 / (0 + noise) defined in float32


def hard_threshold(
    canvas: Canvas,
    profile: Profile,
    sigmas: NDArray[np.float64],
    rows: Positions,
    columns: Positions,
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
    variances = coefficient_variances(profile.spectrum, "biorthogonal")
    thresholds, scales = threshold_tables(profile.threshold * sigmas, variances)
    threshold_rows(
        canvas.flat, depths(canvas, rows, columns, profile.thinning), canvas.flat.size // canvas.channels,
        canvas.pitch, canvas.stride,
        rows * canvas.pitch + MARGIN, columns, matches.offsets, matches.counts,
        thresholds, scales, kaiser_window(profile.kaiser),
        sums.memory.reshape(-1), sums.plane, sums.top * canvas.pitch,
    )  # fmt: skip
    return sums


def wiener(
    canvas: Canvas,
    profile: Profile,
    sigmas: NDArray[np.float64],
    rows: Positions,
    columns: Positions,
    matches: Matches,
) -> Sums:
    """Return the second stage's sums; the parameters are those of `hard_threshold`."""
    sums = Sums.reachable(canvas, rows, profile.final.reach)
    variances = coefficient_variances(profile.spectrum, "dct")
    noise, scales = wiener_tables(profile.wiener_noise * sigmas**2, variances)
    wiener_rows(
        canvas.flat, depths(canvas, rows, columns, profile.thinning), canvas.flat.size // canvas.channels,
        canvas.pitch, canvas.stride,
        rows * canvas.pitch + MARGIN, columns, matches.offsets, matches.counts,
        noise, scales, kaiser_window(profile.kaiser),
        sums.memory.reshape(-1), sums.plane, sums.top * canvas.pitch,
    )  # fmt: skip
    return sums


@kernel
def threshold_rows(
    canvas: Floats, depths: Ints, plane: int, pitch: int, stride: int,
    rows: Positions, columns: Positions, offsets: Ints, counts: Ints,
    thresholds: Floats, scales: Floats, window: Floats,
    sums: Floats, sums_plane: int, sums_origin: int,
) -> None:  # fmt: skip
    """Filter the groups of some reference rows; `rows` holds where the rows start on the canvas."""
    group = np.empty(_LARGEST_GROUP * PIXELS, np.float32)
    octets = np.empty(_LARGEST_GROUP // 8 * PIXELS, np.float32)
    weighted = np.empty(PIXELS, np.float32)
    slots = offsets.size // counts.size
    for reference in range(counts.size):
        count = counts[reference]
        copies = max(8 // count, 1)
        doublings = log2(copies)
        first = reference * slots
        at = rows[reference // columns.size] + columns[reference % columns.size]
        for channel in range(depths[reference]):
            for i in range(count):
                source = at + channel * plane + offsets[first + i]
                r0, r1, r2, r3, r4, r5, r6, r7 = load_block(canvas, source, pitch)
                r0, r1, r2, r3, r4, r5, r6, r7 = biorthogonal_block(r0, r1, r2, r3, r4, r5, r6, r7)
                store_copies(group, i * copies, copies, r0, r1, r2, r3, r4, r5, r6, r7)
            table = (channel * NORMS + doublings) * PIXELS
            kept = threshold_group(group, octets, copies * count, thresholds, table, scales)
            # The noise left in the group grows with the number of coefficients kept.
            weight = 1 / max(kept, np.float32(1))
            weigh(window, weight, weighted)
            target = at - sums_origin + channel * sums_plane
            for i in range(count):
                r0, r1, r2, r3, r4, r5, r6, r7 = load_filtered(group, octets, i * copies)
                r0, r1, r2, r3, r4, r5, r6, r7 = inverse_biorthogonal_block(r0, r1, r2, r3, r4, r5, r6, r7)
                place = target + offsets[first + i]
                add_block(sums, place, pitch, stride, weight, weighted, r0, r1, r2, r3, r4, r5, r6, r7)


@kernel
def wiener_rows(
    canvas: Floats, depths: Ints, plane: int, pitch: int, stride: int,
    rows: Positions, columns: Positions, offsets: Ints, counts: Ints,
    noise: Floats, scales: Floats, window: Floats,
    sums: Floats, sums_plane: int, sums_origin: int,
) -> None:  # fmt: skip
    """Filter the groups of some reference rows; `rows` holds where the rows start on the canvas."""
    group = np.empty(_LARGEST_GROUP * PIXELS, np.float32)
    pilot = np.empty(_LARGEST_GROUP * PIXELS, np.float32)
    octets = np.empty(_LARGEST_GROUP // 8 * PIXELS, np.float32)
    pilot_octets = np.empty(_LARGEST_GROUP // 8 * PIXELS, np.float32)
    weighted = np.empty(PIXELS, np.float32)
    slots = offsets.size // counts.size
    for reference in range(counts.size):
        count = counts[reference]
        copies = max(8 // count, 1)
        first = reference * slots
        at = rows[reference // columns.size] + columns[reference % columns.size]
        for channel in range(depths[reference]):
            for i in range(count):
                source = at + channel * plane + offsets[first + i]
                r0, r1, r2, r3, r4, r5, r6, r7 = load_block(canvas, source, pitch)
                r0, r1, r2, r3, r4, r5, r6, r7 = dct_block(r0, r1, r2, r3, r4, r5, r6, r7)
                store_copies(group, i * copies, copies, r0, r1, r2, r3, r4, r5, r6, r7)
                r0, r1, r2, r3, r4, r5, r6, r7 = load_block(canvas, source + stride, pitch)
                r0, r1, r2, r3, r4, r5, r6, r7 = dct_block(r0, r1, r2, r3, r4, r5, r6, r7)
                store_copies(pilot, i * copies, copies, r0, r1, r2, r3, r4, r5, r6, r7)
            energy = wiener_group(
                group, pilot, octets, pilot_octets, copies * count, noise, channel * PIXELS, scales, copies
            )
            # The noise left in the group grows with the energy of the gains.
            weight = 1 / max(energy, np.float32(1))
            weigh(window, weight, weighted)
            target = at - sums_origin + channel * sums_plane
            for i in range(count):
                r0, r1, r2, r3, r4, r5, r6, r7 = load_filtered(group, octets, i * copies)
                r0, r1, r2, r3, r4, r5, r6, r7 = inverse_dct_block(r0, r1, r2, r3, r4, r5, r6, r7)
                place = target + offsets[first + i]
                add_block(sums, place, pitch, stride, weight, weighted, r0, r1, r2, r3, r4, r5, r6, r7)


def threshold_tables(
    thresholds: NDArray[np.float64], variances: NDArray[np.float64]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return thresholds (by channel, Haar level and coefficient) and scales (by level and coefficient), flat.

    A coefficient of the unnormalised transforms is ``norm`` times the normalised one, with ``norm`` the product of
    the norms of its three analysis vectors; at Haar level `l` that of the third is ``2**(l / 2)``. `variances` are
    those of the noise in the normalised coefficients of a block, 1 for white noise.
    """
    powers = 2.0 ** np.arange(NORMS)[:, None, None]
    # Transformed blocks are transposed.
    norms = np.sqrt(powers) * np.outer(biorthogonal_norms(), biorthogonal_norms()) * np.sqrt(variances).T
    scales = np.outer(biorthogonal_scales(), biorthogonal_scales()) / powers[:LEVELS]
    return np.multiply.outer(thresholds, norms).astype(np.float32).ravel(), scales.astype(np.float32).ravel()


def wiener_tables(
    noise: NDArray[np.float64], variances: NDArray[np.float64]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the variances of the noise (by channel and coefficient) and scales (by coefficient), flat.

    A coefficient of a block is what the normalised one is, divided by the product of two of `dct_scales`; the gain does
    not depend on that if the noise's variance is divided by its square. `variances` are as in `threshold_tables`.
    """
    squares = np.square(np.outer(dct_scales(), dct_scales()))
    # Transformed blocks are transposed.
    levels = np.maximum(np.multiply.outer(noise, variances.T / squares), _SMALLEST_NOISE)
    return levels.astype(np.float32).ravel(), squares.astype(np.float32).ravel()


@inline
def threshold_group(
    group: Floats, octets: Floats, blocks: int, thresholds: Floats, table: int, scales: Floats
) -> np.float32:
    """Transform `blocks` blocks across the group, threshold, transform back; return how many were kept.

    Three levels of the Haar transform are done in registers, eight blocks at a time. The sums of these octets go
    through the remaining levels apart, and come back as something to be added to all blocks of the octet.
    """
    kept = splat(0.0)
    for first in range(0, blocks * PIXELS, 8 * PIXELS):
        for j in range(0, PIXELS, BLOCK):
            a0, a1, a2, a3, a4, a5, a6, a7 = load_block(group, first + j, PIXELS)
            a0, a1, a2, a3, a4, a5, a6, a7 = haar_8(a0, a1, a2, a3, a4, a5, a6, a7)
            store(octets, first // 8 + j, a0)
            threshold = load(thresholds, table + 3 * PIXELS + j)
            kept = kept + above(a1, threshold)
            a1 = keep_above(a1, threshold) * load(scales, 3 * PIXELS + j)
            threshold = load(thresholds, table + 2 * PIXELS + j)
            scale = load(scales, 2 * PIXELS + j)
            kept = kept + (above(a2, threshold) + above(a3, threshold))
            a2 = keep_above(a2, threshold) * scale
            a3 = keep_above(a3, threshold) * scale
            threshold = load(thresholds, table + PIXELS + j)
            scale = load(scales, PIXELS + j)
            kept = kept + (above(a4, threshold) + above(a5, threshold))
            kept = kept + (above(a6, threshold) + above(a7, threshold))
            a4 = keep_above(a4, threshold) * scale
            a5 = keep_above(a5, threshold) * scale
            a6 = keep_above(a6, threshold) * scale
            a7 = keep_above(a7, threshold) * scale
            r0, r1, r2, r3, r4, r5, r6, r7 = inverse_haar_8(a1, a2, a3, a4, a5, a6, a7)
            store_block(group, first + j, PIXELS, r0, r1, r2, r3, r4, r5, r6, r7)
    haar(octets, blocks // 8)
    for i in range(blocks // 8):
        level = (3 + haar_level(i, blocks // 8)) * PIXELS
        for j in range(0, PIXELS, BLOCK):
            value = load(octets, i * PIXELS + j)
            threshold = load(thresholds, table + level + j)
            kept = kept + above(value, threshold)
            store(octets, i * PIXELS + j, keep_above(value, threshold) * load(scales, level + j))
    inverse_haar(octets, blocks // 8)
    number: np.float32 = total(kept)
    return number


@inline
def wiener_group(
    group: Floats, pilot: Floats, octets: Floats, pilot_octets: Floats, blocks: int,
    noise: Floats, table: int, scales: Floats, copies: int,
) -> np.float32:  # fmt: skip
    """Transform `blocks` blocks across the group, multiply by Wiener gains, transform back.

    Organised as `threshold_group` is; the variances of the noise in the coefficients of a block are in `noise`, from
    `table` on, and what these are multiplied by before they are transformed back in `scales`. Returns the sum of the
    squared gains.
    """
    half = splat(0.5)
    twice = splat(np.float32(2 * copies))
    energy = splat(0.0)
    for first in range(0, blocks * PIXELS, 8 * PIXELS):
        for j in range(0, PIXELS, BLOCK):
            noise_1 = twice * load(noise, table + j)
            noise_2 = noise_1 + noise_1
            noise_3 = noise_2 + noise_2
            a0, a1, a2, a3, a4, a5, a6, a7 = load_block(pilot, first + j, PIXELS)
            a0, a1, a2, a3, a4, a5, a6, a7 = haar_8(a0, a1, a2, a3, a4, a5, a6, a7)
            store(pilot_octets, first // 8 + j, a0)
            a1 = gain(a1, noise_3)
            a2, a3 = gain(a2, noise_2), gain(a3, noise_2)
            a4, a5, a6, a7 = gain(a4, noise_1), gain(a5, noise_1), gain(a6, noise_1), gain(a7, noise_1)
            energy = energy + (fma(a1, a1, fma(a2, a2, a3 * a3)) + fma(a4, a4, a5 * a5)) + fma(a6, a6, a7 * a7)
            b0, b1, b2, b3, b4, b5, b6, b7 = load_block(group, first + j, PIXELS)
            b0, b1, b2, b3, b4, b5, b6, b7 = haar_8(b0, b1, b2, b3, b4, b5, b6, b7)
            store(octets, first // 8 + j, b0)
            scale_1 = half * load(scales, j)
            scale_2 = half * scale_1
            r0, r1, r2, r3, r4, r5, r6, r7 = inverse_haar_8(
                half * scale_2 * a1 * b1, scale_2 * a2 * b2, scale_2 * a3 * b3,
                scale_1 * a4 * b4, scale_1 * a5 * b5, scale_1 * a6 * b6, scale_1 * a7 * b7,
            )  # fmt: skip
            store_block(group, first + j, PIXELS, r0, r1, r2, r3, r4, r5, r6, r7)
    haar(octets, blocks // 8)
    haar(pilot_octets, blocks // 8)
    for i in range(blocks // 8):
        norm = np.float32(8 << haar_level(i, blocks // 8))
        factor = splat(norm * np.float32(copies))
        scale = splat(1 / norm)
        for j in range(0, PIXELS, BLOCK):
            at = i * PIXELS + j
            a0 = gain(load(pilot_octets, at), factor * load(noise, table + j))
            energy = fma(a0, a0, energy)
            store(octets, at, load(octets, at) * (a0 * (scale * load(scales, j))))
    inverse_haar(octets, blocks // 8)
    squares: np.float32 = total(energy)
    return squares


@inline
def gain(pilot: Float8, noise: Float8) -> Float8:
    """Return the Wiener gains for coefficients of the pilot estimate."""
    power = pilot * pilot
    return power * reciprocal(power + noise)


@inline
def haar_level(index: int, count: int) -> int:
    """Return how many sums or differences led to entry `index` of a Haar-transformed group of `count`."""
    return log2(count) if index == 0 else log2(index & -index) + 1


@inline
def log2(power: int) -> int:
    """Return the exponent of a power of two."""
    exponent = 0
    while power > 1:
        power >>= 1
        exponent += 1
    return exponent


@inline
def store_copies(
    group: Floats, slot: int, copies: int,
    r0: Float8, r1: Float8, r2: Float8, r3: Float8, r4: Float8, r5: Float8, r6: Float8, r7: Float8,
) -> None:  # fmt: skip
    """Write a block `copies` times, from `slot` on.

    Groups below eight blocks are filled up to eight with copies. The transform of copies is that of the blocks, but
    for zeros and for the norm: the noise's variance is multiplied by the number of copies.
    """
    for i in range(slot, slot + copies):
        store_block(group, i * PIXELS, BLOCK, r0, r1, r2, r3, r4, r5, r6, r7)


@inline
def load_filtered(group: Floats, octets: Floats, slot: int) -> tuple[Float8, ...]:
    """Return the rows of block `slot`: its own part and that of its octet."""
    a0, a1, a2, a3, a4, a5, a6, a7 = load_block(group, slot * PIXELS, BLOCK)
    b0, b1, b2, b3, b4, b5, b6, b7 = load_block(octets, slot // 8 * PIXELS, BLOCK)
    return a0 + b0, a1 + b1, a2 + b2, a3 + b3, a4 + b4, a5 + b5, a6 + b6, a7 + b7
