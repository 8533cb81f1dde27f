"""Sorted lists of 16 or 32 integer keys, held in two or four vectors.

Everything here is branch-free, since wrongly predicted branches are what sorting costs: a bound is found below which
there are enough keys, those below it are gathered, and what was gathered is sorted.
"""

from __future__ import annotations

import functools

import numpy as np

from plugplay.compiling import inline
from plugplay.denoisers.bm3d.instructions import permute
from plugplay.denoisers.bm3d.vectors import (
    LANES,
    Int8,
    Ints,
    bit_count,
    broadcast_int,
    lane,
    load_ints,
    lower_of,
    mask_below,
    shifts_in,
    splat_int,
    store_ints,
    upper_of,
)

__all__ = ["HIGHEST", "bound_16", "bound_32", "column_minima", "gather", "lane_orders", "select"]

HIGHEST = 0x7F800000
"""No key is above it: the bits of an infinite float."""


@functools.cache
def lane_orders() -> Ints:
    """Return, for every mask of eight bits, the lanes whose bits are set and then the others, flat.

    Examples
    --------
    >>> lane_orders()[8 * 0b10010 :][:8]
    array([1, 4, 0, 2, 3, 5, 6, 7], dtype=int32)
    """
    bits = np.arange(1 << LANES)[:, None] >> np.arange(LANES) & 1
    return np.argsort(1 - bits, axis=1, kind="stable").astype(np.int32).ravel()


@inline
def insert(key: Int8, previous: Int8, current: Int8) -> Int8:
    """Return a vector of an ascending list after `key` (in all lanes) was put where it belongs.

    `previous` and `current` are the vector before it and itself.
    """
    by_1, _, _, _ = shifts_in(previous, current)
    return upper_of(by_1, lower_of(current, key))


@inline
def insert_4(k1: Int8, k2: Int8, k3: Int8, k4: Int8, previous: Int8, current: Int8) -> Int8:
    """Do what `insert` does for four ascending keys; one after the other they would have to wait for each other."""
    by_1, by_2, by_3, by_4 = shifts_in(previous, current)
    early = upper_of(lower_of(current, k1), lower_of(by_1, k2))
    late = upper_of(lower_of(by_2, k3), lower_of(by_3, k4))
    return upper_of(upper_of(early, late), by_4)


@inline
def insert_16(key: Int8, b0: Int8, b1: Int8) -> tuple[Int8, ...]:
    """Put `key` (in all lanes) where it belongs in an ascending list of 16; the largest drops out."""
    return insert(key, splat_int(0), b0), insert(key, b0, b1)


@inline
def insert_32(key: Int8, b0: Int8, b1: Int8, b2: Int8, b3: Int8) -> tuple[Int8, ...]:
    """Put `key` (in all lanes) where it belongs in an ascending list of 32; the largest drops out."""
    return insert(key, splat_int(0), b0), insert(key, b0, b1), insert(key, b1, b2), insert(key, b2, b3)


@inline
def gather(keys: Ints, start: int, stop: int, bound: int, orders: Ints, kept: Ints) -> int:
    """Write those of ``keys[start:stop]`` that are below `bound` into `kept`; return how many there are."""
    limit = splat_int(bound)
    count = 0
    for i in range(start, stop, LANES):
        eight = load_ints(keys, i)
        smaller = mask_below(eight, limit)
        store_ints(kept, count, permute(eight, load_ints(orders, LANES * smaller)))
        count += bit_count(smaller)
    return count


@inline
def ordered(a: Int8, b: Int8) -> tuple[Int8, ...]:
    """Return the smaller and the larger one, lane by lane."""
    return lower_of(a, b), upper_of(a, b)


@inline
def column_minima(keys: Ints, start: int, stop: int, minima: Ints) -> None:
    """Write the minima of 80 disjoint parts of ``keys[start:stop]``, a table with rows of 40.

    The parts are the columns, even and odd rows apart. At least k keys are as small as the k-th smallest of any of
    these minima: a bound below which to gather. They are written as ten vectors, sorted lane by lane.
    """
    a = b = c = d = e = splat_int(HIGHEST)
    f = g = h = i = j = splat_int(HIGHEST)
    pairs = (stop - start) // 80
    for at in range(start, start + 80 * pairs, 80):
        a = lower_of(a, load_ints(keys, at))
        b = lower_of(b, load_ints(keys, at + 8))
        c = lower_of(c, load_ints(keys, at + 16))
        d = lower_of(d, load_ints(keys, at + 24))
        e = lower_of(e, load_ints(keys, at + 32))
        f = lower_of(f, load_ints(keys, at + 40))
        g = lower_of(g, load_ints(keys, at + 48))
        h = lower_of(h, load_ints(keys, at + 56))
        i = lower_of(i, load_ints(keys, at + 64))
        j = lower_of(j, load_ints(keys, at + 72))
    # A sorting network for ten, with the least number of exchanges.
    (e, j), (d, i), (c, h), (b, g), (a, f) = ordered(e, j), ordered(d, i), ordered(c, h), ordered(b, g), ordered(a, f)
    (b, e), (g, j), (a, d), (f, i) = ordered(b, e), ordered(g, j), ordered(a, d), ordered(f, i)
    (a, c), (d, g), (h, j) = ordered(a, c), ordered(d, g), ordered(h, j)
    (a, b), (c, e), (f, h), (i, j) = ordered(a, b), ordered(c, e), ordered(f, h), ordered(i, j)
    (b, c), (e, g), (h, i), (d, f) = ordered(b, c), ordered(e, g), ordered(h, i), ordered(d, f)
    (c, f), (g, i), (b, d), (e, h) = ordered(c, f), ordered(g, i), ordered(b, d), ordered(e, h)
    (c, d), (g, h) = ordered(c, d), ordered(g, h)
    (d, e), (f, g) = ordered(d, e), ordered(f, g)
    e, f = ordered(e, f)
    store_ints(minima, 0, a)
    store_ints(minima, 8, b)
    store_ints(minima, 16, c)
    store_ints(minima, 24, d)
    store_ints(minima, 32, e)
    store_ints(minima, 40, f)
    store_ints(minima, 48, g)
    store_ints(minima, 56, h)
    store_ints(minima, 64, i)
    store_ints(minima, 72, j)


@inline
def lane_of_minima(minima: Ints, first: int) -> tuple[Int8, ...]:
    """Return four minima of one lane that follow each other in order, each in a vector of its own."""
    return (
        broadcast_int(minima, first),
        broadcast_int(minima, first + LANES),
        broadcast_int(minima, first + 2 * LANES),
        broadcast_int(minima, first + 3 * LANES),
    )


@inline
def bound_16(minima: Ints) -> int:
    """Return a bound on the 16th smallest key: the 16th smallest of the four smallest minima of every lane."""
    b0 = b1 = splat_int(HIGHEST)
    for i in range(LANES):
        k1, k2, k3, k4 = lane_of_minima(minima, i)
        b0, b1 = insert_4(k1, k2, k3, k4, splat_int(0), b0), insert_4(k1, k2, k3, k4, b0, b1)
    bound: int = lane(b1, 7)
    return bound


@inline
def bound_32(minima: Ints) -> int:
    """Return a bound on the 32nd smallest key: the 32nd smallest of the eight smallest minima of every lane."""
    b0 = b1 = b2 = b3 = splat_int(HIGHEST)
    for four in range(0, 8 * LANES, 4 * LANES):
        for i in range(four, four + LANES):
            k1, k2, k3, k4 = lane_of_minima(minima, i)
            b0, b1, b2, b3 = (
                insert_4(k1, k2, k3, k4, splat_int(0), b0),
                insert_4(k1, k2, k3, k4, b0, b1),
                insert_4(k1, k2, k3, k4, b1, b2),
                insert_4(k1, k2, k3, k4, b2, b3),
            )
    bound: int = lane(b3, 7)
    return bound


@inline
def select(
    keys: Ints, start: int, stop: int, group: int, limit: int, orders: Ints, minima: Ints, kept: Ints, best: Ints
) -> int:
    """Write the smallest keys below `limit` into `best`, sorted; places that stay empty hold the returned value."""
    column_minima(keys, start, stop, minima)
    if group <= 16:
        fill = min(limit, bound_16(minima) + 1)
        count = gather(keys, start, stop, fill, orders, kept)
        b0 = b1 = splat_int(fill)
        for i in range(count):
            b0, b1 = insert_16(broadcast_int(kept, i), b0, b1)
        store_ints(best, 0, b0)
        store_ints(best, 8, b1)
    else:
        fill = min(limit, bound_32(minima) + 1)
        count = gather(keys, start, stop, fill, orders, kept)
        b0 = b1 = b2 = b3 = splat_int(fill)
        for i in range(count):
            b0, b1, b2, b3 = insert_32(broadcast_int(kept, i), b0, b1, b2, b3)
        store_ints(best, 0, b0)
        store_ints(best, 8, b1)
        store_ints(best, 16, b2)
        store_ints(best, 24, b3)
    return fill
