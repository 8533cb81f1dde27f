"""Sorted lists of 16 or 32 integer keys, held in two or four vectors.

Everything here is branch-free but for one test per eight keys, since wrongly predicted branches are what sorting
costs.
"""

from __future__ import annotations

from plugplay.denoisers.bm3d.vectors import (
    LANES,
    Int8,
    Ints,
    lane,
    load_ints,
    lower_of,
    lowest_bit,
    mask_below,
    shift_in,
    splat_int,
    store_ints,
    upper_of,
)
from plugplay.denoisers.compiling import inline

__all__ = ["HIGHEST", "bound_16", "bound_32", "collect_16", "collect_32", "column_minima", "select"]

HIGHEST = 0x7F800000
"""No key is above it: the bits of an infinite float."""


@inline
def insert_16(key: Int8, b0: Int8, b1: Int8) -> tuple[Int8, ...]:
    """Put `key` (in all lanes) where it belongs in an ascending list of 16; the largest drops out."""
    return (
        upper_of(shift_in(splat_int(0), b0), lower_of(b0, key)),
        upper_of(shift_in(b0, b1), lower_of(b1, key)),
    )


@inline
def insert_32(key: Int8, b0: Int8, b1: Int8, b2: Int8, b3: Int8) -> tuple[Int8, ...]:
    """Put `key` (in all lanes) where it belongs in an ascending list of 32; the largest drops out."""
    return (
        upper_of(shift_in(splat_int(0), b0), lower_of(b0, key)),
        upper_of(shift_in(b0, b1), lower_of(b1, key)),
        upper_of(shift_in(b1, b2), lower_of(b2, key)),
        upper_of(shift_in(b2, b3), lower_of(b3, key)),
    )


@inline
def collect_16(keys: Ints, start: int, stop: int, b0: Int8, b1: Int8) -> tuple[Int8, ...]:
    """Insert those of ``keys[start:stop]`` that are below the largest of the list."""
    largest = splat_int(lane(b1, 7))
    for i in range(start, stop, LANES):
        eight = load_ints(keys, i)
        smaller = mask_below(eight, largest)
        while smaller != 0:
            b0, b1 = insert_16(splat_int(keys[i + lowest_bit(smaller)]), b0, b1)
            largest = splat_int(lane(b1, 7))
            smaller = smaller & (smaller - 1) & mask_below(eight, largest)
    return b0, b1


@inline
def collect_32(keys: Ints, start: int, stop: int, b0: Int8, b1: Int8, b2: Int8, b3: Int8) -> tuple[Int8, ...]:
    """Insert those of ``keys[start:stop]`` that are below the largest of the list."""
    largest = splat_int(lane(b3, 7))
    for i in range(start, stop, LANES):
        eight = load_ints(keys, i)
        smaller = mask_below(eight, largest)
        while smaller != 0:
            b0, b1, b2, b3 = insert_32(splat_int(keys[i + lowest_bit(smaller)]), b0, b1, b2, b3)
            largest = splat_int(lane(b3, 7))
            smaller = smaller & (smaller - 1) & mask_below(eight, largest)
    return b0, b1, b2, b3


@inline
def column_minima(keys: Ints, start: int, stop: int, minima: Ints) -> None:
    """Write the minima of 80 disjoint parts of ``keys[start:stop]``, a table with rows of 40.

    The parts are the columns, even and odd rows apart. At least k keys are as small as the k-th smallest of these
    minima: a bound from which to start collecting.
    """
    e0 = e1 = e2 = e3 = e4 = splat_int(HIGHEST)
    o0 = o1 = o2 = o3 = o4 = splat_int(HIGHEST)
    pairs = (stop - start) // 80
    for i in range(start, start + 80 * pairs, 80):
        e0 = lower_of(e0, load_ints(keys, i))
        e1 = lower_of(e1, load_ints(keys, i + 8))
        e2 = lower_of(e2, load_ints(keys, i + 16))
        e3 = lower_of(e3, load_ints(keys, i + 24))
        e4 = lower_of(e4, load_ints(keys, i + 32))
        o0 = lower_of(o0, load_ints(keys, i + 40))
        o1 = lower_of(o1, load_ints(keys, i + 48))
        o2 = lower_of(o2, load_ints(keys, i + 56))
        o3 = lower_of(o3, load_ints(keys, i + 64))
        o4 = lower_of(o4, load_ints(keys, i + 72))
    store_ints(minima, 0, e0)
    store_ints(minima, 8, e1)
    store_ints(minima, 16, e2)
    store_ints(minima, 24, e3)
    store_ints(minima, 32, e4)
    store_ints(minima, 40, o0)
    store_ints(minima, 48, o1)
    store_ints(minima, 56, o2)
    store_ints(minima, 64, o3)
    store_ints(minima, 72, o4)


@inline
def bound_16(minima: Ints) -> int:
    """Return the 16th smallest of `minima`."""
    b0 = b1 = splat_int(HIGHEST)
    for i in range(minima.size):
        b0, b1 = insert_16(splat_int(minima[i]), b0, b1)
    bound: int = lane(b1, 7)
    return bound


@inline
def bound_32(minima: Ints) -> int:
    """Return the 32nd smallest of `minima`."""
    b0 = b1 = b2 = b3 = splat_int(HIGHEST)
    for i in range(minima.size):
        b0, b1, b2, b3 = insert_32(splat_int(minima[i]), b0, b1, b2, b3)
    bound: int = lane(b3, 7)
    return bound


@inline
def select(keys: Ints, start: int, middle: int, stop: int, group: int, limit: int, minima: Ints, best: Ints) -> int:
    """Write the smallest keys below `limit` into `best`, sorted; places that stay empty hold the returned value.

    The row of the reference block, at `middle`, comes first: similar blocks are near, and once the list holds
    small keys, most others are refused at a glance.
    """
    column_minima(keys, start, stop, minima)
    if group <= 16:
        fill = min(limit, bound_16(minima) + 1)
        b0 = b1 = splat_int(fill)
        b0, b1 = collect_16(keys, middle, stop, b0, b1)
        b0, b1 = collect_16(keys, start, middle, b0, b1)
        store_ints(best, 0, b0)
        store_ints(best, 8, b1)
    else:
        fill = min(limit, bound_32(minima) + 1)
        b0 = b1 = b2 = b3 = splat_int(fill)
        b0, b1, b2, b3 = collect_32(keys, middle, stop, b0, b1, b2, b3)
        b0, b1, b2, b3 = collect_32(keys, start, middle, b0, b1, b2, b3)
        store_ints(best, 0, b0)
        store_ints(best, 8, b1)
        store_ints(best, 16, b2)
        store_ints(best, 24, b3)
    return fill
