"""Collaborative filtering: the groups of a strip are read from the canvas, shrunk, and added to the sums.

The first stage keeps the coefficients above a threshold and drops the others. The second multiplies each by the
Wiener gain ``p**2 / (p**2 + noise)``, where `p` is the same coefficient of the first stage's estimate.

Groups are read as transformed columns, and their blocks are added up as such (`plugplay.denoisers.bm3d.spectra`). What
remains here is the transform along the rows of blocks, the shrinkage, and the inverse transform along the rows.

The transforms are not normalised. `threshold_tables` puts the normalisation into the thresholds and into factors for
the inverse transform; `wiener_tables` puts it into the variance of the noise and into such factors.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from plugplay.compiling import inline, kernel
from plugplay.denoisers.bm3d.aggregation import Sums, kaiser_profile
from plugplay.denoisers.bm3d.canvas import MARGIN, Canvas, Positions, depths, load_block, store_block
from plugplay.denoisers.bm3d.colouring import coefficient_variances
from plugplay.denoisers.bm3d.matching import Matches
from plugplay.denoisers.bm3d.profiles import BLOCK, Profile, Stage
from plugplay.denoisers.bm3d.spectra import (
    PIXELS,
    Scratch,
    analyse_columns,
    clear_columns,
    place_blocks,
    put_back,
    read_octet,
    synthesise_columns,
)
from plugplay.denoisers.bm3d.transforms import (
    biorthogonal,
    biorthogonal_norms,
    biorthogonal_scales,
    dct,
    dct_scales,
    haar,
    inverse_biorthogonal,
    inverse_dct,
    inverse_haar,
)
from plugplay.denoisers.bm3d.vectors import (
    Float8,
    Floats,
    Ints,
    above,
    fma,
    keep_above,
    splat,
    total,
)

__all__ = ["hard_threshold", "wiener"]

LEVELS = 6
"""Levels of the Haar transform, from a single block to 32."""

NORMS = 7
"""Powers of two by which levels and copies multiply the noise's variance."""

OCTET_LEVELS = (3, 3, 2, 2, 1, 1, 1, 1)
"""Levels of the entries of a Haar-transformed octet."""

_LARGEST_GROUP = 32
_TILE = 16  # reference blocks of a row
_SMALLEST_NOISE = 1e-30  # keeps 0 / (0 + noise) defined in float32


def hard_threshold(
    canvas: Canvas,
    profile: Profile,
    sigmas: NDArray[np.float64],
    rows: Positions,
    columns: Positions,
    matches: Matches,
    *,
    scratch: Scratch,
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
    scratch : Scratch
        Memory to work in.
    """
    tables = _tables(threshold_tables, "biorthogonal", tuple(profile.threshold * sigmas), profile.spectrum)
    return _filtered(threshold_rows, tables, profile.pilot, canvas, profile, rows, columns, matches, scratch)


def wiener(
    canvas: Canvas,
    profile: Profile,
    sigmas: NDArray[np.float64],
    rows: Positions,
    columns: Positions,
    matches: Matches,
    *,
    scratch: Scratch,
) -> Sums:
    """Return the second stage's sums; the parameters are those of `hard_threshold`."""
    tables = _tables(wiener_tables, "dct", tuple(profile.wiener_noise * sigmas**2), profile.spectrum)
    return _filtered(wiener_rows, tables, profile.final, canvas, profile, rows, columns, matches, scratch)


@functools.lru_cache(maxsize=8)
def _tables(
    tables: Callable[[NDArray[np.float64], NDArray[np.float64]], tuple[Floats, Floats]],
    transform: Literal["biorthogonal", "dct"],
    levels: tuple[float, ...],
    spectrum: tuple[tuple[float, ...], ...] | None,
) -> tuple[Floats, Floats]:
    """Return the tables of a stage, which all of its strips share."""
    return tables(np.array(levels), coefficient_variances(spectrum, transform))


def _filtered(
    filter_rows: Callable[..., None],
    tables: tuple[NDArray[np.float32], NDArray[np.float32]],
    stage: Stage,
    canvas: Canvas,
    profile: Profile,
    rows: Positions,
    columns: Positions,
    matches: Matches,
    scratch: Scratch,
) -> Sums:
    """Return the sums computed by a kernel."""
    sums = Sums.reachable(canvas, rows, stage.reach)
    memory = scratch.take(BLOCK * sums.plane)
    filter_rows(
        canvas.flat, depths(canvas, rows, columns, profile.thinning), tile_order(rows.size, columns.size),
        canvas.flat.size // canvas.channels, canvas.pitch, canvas.stride, canvas.width,
        rows * canvas.pitch + MARGIN, columns, matches.offsets, matches.counts,
        *tables, kaiser_profile(profile.kaiser), memory[0], memory[1],
        sums.memory.reshape(-1), sums.plane, sums.top * canvas.pitch,
    )  # fmt: skip
    scratch.give_back(memory)
    return sums


@functools.lru_cache(maxsize=16)
def tile_order(rows: int, columns: int) -> NDArray[np.int32]:
    """Return the reference blocks of a strip in the order in which they are filtered: in tiles, row by row.

    The columns that the groups of a tile are read from and added to stay in the CPU's second-level cache meanwhile.

    Examples
    --------
    >>> tile_order(2, 20)[12:20]
    array([12, 13, 14, 15, 20, 21, 22, 23], dtype=int32)
    """
    index = np.arange(rows * columns, dtype=np.int32).reshape(rows, columns)
    return np.concatenate([index[:, first : first + _TILE].ravel() for first in range(0, columns, _TILE)])


@kernel
def threshold_rows(
    canvas: Floats, depths: Ints, order: Ints, plane: int, pitch: int, stride: int, width: int,
    rows: Positions, columns: Positions, offsets: Ints, counts: Ints,
    thresholds: Floats, scales: Floats, window: Floats, spectra: Floats, results: Floats,
    sums: Floats, sums_plane: int, origin: int,
) -> None:  # fmt: skip
    """Filter the groups of some reference rows; `rows` holds where the rows start on the canvas, the sums `origin`."""
    group = np.empty(_LARGEST_GROUP * PIXELS, np.float32)
    places = np.empty(_LARGEST_GROUP, np.int32)
    slots = offsets.size // counts.size
    height = sums_plane // pitch - BLOCK + 1
    for channel in range(depths.max()):
        analyse_columns(canvas, channel * plane + origin + MARGIN, pitch, height, width, True, spectra, MARGIN)
        clear_columns(results, pitch, height, width)
        for i in range(order.size):
            reference = order[i]
            if depths[reference] <= channel:
                continue
            count = counts[reference]
            at = rows[reference // columns.size] + columns[reference % columns.size] - origin
            blocks = place_blocks(offsets, reference * slots, count, at, places)
            copies = blocks // count
            table = (channel * NORMS + log2(copies)) * PIXELS
            kept = splat(0.0)
            for first in range(0, blocks, 8):
                read_octet(spectra, places, first, 0, group, first * PIXELS)
                for i in range(1, min(count, 8)):
                    level = OCTET_LEVELS[i] * PIXELS
                    kept = threshold_block(group, (first + i) * PIXELS, thresholds, table + level, scales, level, kept)
            haar(group, blocks // 8, 8 * PIXELS)
            for first in range(0, blocks, 8):
                level = (3 + haar_level(first // 8, blocks // 8)) * PIXELS
                kept = threshold_block(group, first * PIXELS, thresholds, table + level, scales, level, kept)
            inverse_haar(group, blocks // 8, 8 * PIXELS)
            # The noise left in the group grows with the number of coefficients kept.
            weight = np.float32(1) / max(total(kept), np.float32(1))
            put_back(group, places, blocks, copies, weight, window, results, sums, channel * sums_plane + stride)
        synthesise_columns(results, pitch, height, width, True, window, sums, channel * sums_plane + MARGIN)


@kernel
def wiener_rows(
    canvas: Floats, depths: Ints, order: Ints, plane: int, pitch: int, stride: int, width: int,
    rows: Positions, columns: Positions, offsets: Ints, counts: Ints,
    noise: Floats, scales: Floats, window: Floats, spectra: Floats, results: Floats,
    sums: Floats, sums_plane: int, origin: int,
) -> None:  # fmt: skip
    """Filter the groups of some reference rows; `rows` holds where the rows start on the canvas, the sums `origin`."""
    group = np.empty(_LARGEST_GROUP * PIXELS, np.float32)
    # Of the pilot estimate's octets only the sums are kept: octet i starts at i * PIXELS, overwriting the blocks.
    pilot = np.empty((_LARGEST_GROUP // 8 + 7) * PIXELS, np.float32)
    places = np.empty(_LARGEST_GROUP, np.int32)
    slots = offsets.size // counts.size
    height = sums_plane // pitch - BLOCK + 1
    for channel in range(depths.max()):
        source = channel * plane + origin + MARGIN
        analyse_columns(canvas, source, pitch, height, width, False, spectra, MARGIN)
        analyse_columns(canvas, source + stride, pitch, height, width, False, spectra, MARGIN + stride)
        clear_columns(results, pitch, height, width)
        for i in range(order.size):
            reference = order[i]
            if depths[reference] <= channel:
                continue
            count = counts[reference]
            at = rows[reference // columns.size] + columns[reference % columns.size] - origin
            blocks = place_blocks(offsets, reference * slots, count, at, places)
            copies = blocks // count
            table = (channel * NORMS + log2(copies)) * PIXELS
            energy = splat(0.0)
            for first in range(0, blocks, 8):
                read_octet(spectra, places, first, 0, group, first * PIXELS)
                read_octet(spectra, places, first, BLOCK * stride, pilot, first * BLOCK)
                for i in range(1, min(count, 8)):
                    level = OCTET_LEVELS[i] * PIXELS
                    energy = wiener_block(
                        group, (first + i) * PIXELS, pilot, first * BLOCK + i * PIXELS,
                        noise, table + level, scales, level, energy,
                    )  # fmt: skip
            haar(group, blocks // 8, 8 * PIXELS)
            haar(pilot, blocks // 8, PIXELS)
            for first in range(0, blocks, 8):
                level = (3 + haar_level(first // 8, blocks // 8)) * PIXELS
                energy = wiener_block(
                    group, first * PIXELS, pilot, first * BLOCK, noise, table + level, scales, level, energy
                )
            inverse_haar(group, blocks // 8, 8 * PIXELS)
            # The noise left in the group grows with the energy of the gains.
            weight = np.float32(1) / max(total(energy), np.float32(1))
            put_back(group, places, blocks, copies, weight, window, results, sums, channel * sums_plane + stride)
        synthesise_columns(results, pitch, height, width, False, window, sums, channel * sums_plane + MARGIN)


@inline
def threshold_block(
    group: Floats, at: int, thresholds: Floats, table: int, scales: Floats, scale: int, kept: Float8
) -> Float8:
    """Transform columns along the rows, drop small coefficients, transform back; add to the number of those kept."""
    r0, r1, r2, r3, r4, r5, r6, r7 = load_block(group, at, BLOCK)
    r0, r1, r2, r3, r4, r5, r6, r7 = biorthogonal(r0, r1, r2, r3, r4, r5, r6, r7)
    t0, t1, t2, t3, t4, t5, t6, t7 = load_block(thresholds, table, BLOCK)
    s0, s1, s2, s3, s4, s5, s6, s7 = load_block(scales, scale, BLOCK)
    kept = kept + (above(r0, t0) + above(r1, t1))
    kept = kept + (above(r2, t2) + above(r3, t3))
    kept = kept + (above(r4, t4) + above(r5, t5))
    kept = kept + (above(r6, t6) + above(r7, t7))
    r0, r1, r2, r3, r4, r5, r6, r7 = inverse_biorthogonal(
        keep_above(r0, t0) * s0, keep_above(r1, t1) * s1, keep_above(r2, t2) * s2, keep_above(r3, t3) * s3,
        keep_above(r4, t4) * s4, keep_above(r5, t5) * s5, keep_above(r6, t6) * s6, keep_above(r7, t7) * s7,
    )  # fmt: skip
    store_block(group, at, BLOCK, r0, r1, r2, r3, r4, r5, r6, r7)
    return kept


@inline
def wiener_block(
    group: Floats, at: int, pilot: Floats, pilot_at: int,
    noise: Floats, table: int, scales: Floats, scale: int, energy: Float8,
) -> Float8:  # fmt: skip
    """Transform columns along the rows, multiply by Wiener gains, transform back; add to the gains' energy."""
    a0, a1, a2, a3, a4, a5, a6, a7 = load_block(pilot, pilot_at, BLOCK)
    a0, a1, a2, a3, a4, a5, a6, a7 = dct(a0, a1, a2, a3, a4, a5, a6, a7)
    n0, n1, n2, n3, n4, n5, n6, n7 = load_block(noise, table, BLOCK)
    a0, a1, a2, a3 = gain(a0, n0), gain(a1, n1), gain(a2, n2), gain(a3, n3)
    a4, a5, a6, a7 = gain(a4, n4), gain(a5, n5), gain(a6, n6), gain(a7, n7)
    energy = energy + (fma(a0, a0, fma(a1, a1, fma(a2, a2, a3 * a3))) + fma(a4, a4, fma(a5, a5, fma(a6, a6, a7 * a7))))
    b0, b1, b2, b3, b4, b5, b6, b7 = load_block(group, at, BLOCK)
    b0, b1, b2, b3, b4, b5, b6, b7 = dct(b0, b1, b2, b3, b4, b5, b6, b7)
    s0, s1, s2, s3, s4, s5, s6, s7 = load_block(scales, scale, BLOCK)
    r0, r1, r2, r3, r4, r5, r6, r7 = inverse_dct(
        b0 * (a0 * s0), b1 * (a1 * s1), b2 * (a2 * s2), b3 * (a3 * s3),
        b4 * (a4 * s4), b5 * (a5 * s5), b6 * (a6 * s6), b7 * (a7 * s7),
    )  # fmt: skip
    store_block(group, at, BLOCK, r0, r1, r2, r3, r4, r5, r6, r7)
    return energy


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
    """Return the variances of the noise and scales, both laid out as by `threshold_tables`.

    A coefficient of a block is what the normalised one is, divided by the product of two of `dct_scales`; the gain does
    not depend on that if the noise's variance is divided by its square. `variances` are as in `threshold_tables`.
    """
    powers = 2.0 ** np.arange(NORMS)[:, None, None]
    squares = np.square(np.outer(dct_scales(), dct_scales()))
    # Transformed blocks are transposed.
    levels = np.maximum(np.multiply.outer(noise, powers * variances.T / squares), _SMALLEST_NOISE)
    return levels.astype(np.float32).ravel(), (squares / powers[:LEVELS]).astype(np.float32).ravel()


@inline
def gain(pilot: Float8, noise: Float8) -> Float8:
    """Return the Wiener gains for coefficients of the pilot estimate."""
    power = pilot * pilot
    return power / (power + noise)


@inline
def haar_level(index: int, count: int) -> int:
    """Return the level of entry `index` of a Haar-transformed group of `count`: the number of sums or differences."""
    return log2(count) if index == 0 else log2(index & -index) + 1


@inline
def log2(power: int) -> int:
    """Return the exponent of a power of two."""
    exponent = 0
    while power > 1:
        power >>= 1
        exponent += 1
    return exponent
