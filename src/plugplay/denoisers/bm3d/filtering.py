"""Collaborative filtering: the groups of a strip, from the canvas through shrinkage into the sums."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from plugplay.denoisers.bm3d.aggregation import Sums, add_block, kaiser_window, weigh
from plugplay.denoisers.bm3d.blocks import load_block
from plugplay.denoisers.bm3d.canvas import MARGIN, Canvas, Positions
from plugplay.denoisers.bm3d.matching import Matches
from plugplay.denoisers.bm3d.profiles import Profile
from plugplay.denoisers.bm3d.shrinkage import (
    NORMS,
    PIXELS,
    load_filtered,
    log2,
    store_copies,
    threshold_group,
    threshold_tables,
    wiener_group,
)
from plugplay.denoisers.bm3d.transforms import (
    biorthogonal_block,
    dct_block,
    inverse_biorthogonal_block,
    inverse_dct_block,
)
from plugplay.denoisers.bm3d.vectors import Floats, Ints
from plugplay.denoisers.compiling import kernel

__all__ = ["hard_threshold", "wiener"]

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
    rows: Positions,
    columns: Positions,
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


@kernel
def threshold_rows(
    canvas: Floats, channels: int, plane: int, pitch: int, stride: int,
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
        for channel in range(channels):
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
    canvas: Floats, channels: int, plane: int, pitch: int, stride: int,
    rows: Positions, columns: Positions, offsets: Ints, counts: Ints,
    noise: Floats, window: Floats,
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
        for channel in range(channels):
            for i in range(count):
                source = at + channel * plane + offsets[first + i]
                r0, r1, r2, r3, r4, r5, r6, r7 = load_block(canvas, source, pitch)
                r0, r1, r2, r3, r4, r5, r6, r7 = dct_block(r0, r1, r2, r3, r4, r5, r6, r7)
                store_copies(group, i * copies, copies, r0, r1, r2, r3, r4, r5, r6, r7)
                r0, r1, r2, r3, r4, r5, r6, r7 = load_block(canvas, source + stride, pitch)
                r0, r1, r2, r3, r4, r5, r6, r7 = dct_block(r0, r1, r2, r3, r4, r5, r6, r7)
                store_copies(pilot, i * copies, copies, r0, r1, r2, r3, r4, r5, r6, r7)
            variance = noise[channel] * np.float32(copies)
            energy = wiener_group(group, pilot, octets, pilot_octets, copies * count, variance)
            # The noise left in the group grows with the energy of the gains.
            weight = 1 / max(energy, np.float32(1))
            weigh(window, weight, weighted)
            target = at - sums_origin + channel * sums_plane
            for i in range(count):
                r0, r1, r2, r3, r4, r5, r6, r7 = load_filtered(group, octets, i * copies)
                r0, r1, r2, r3, r4, r5, r6, r7 = inverse_dct_block(r0, r1, r2, r3, r4, r5, r6, r7)
                place = target + offsets[first + i]
                add_block(sums, place, pitch, stride, weight, weighted, r0, r1, r2, r3, r4, r5, r6, r7)
