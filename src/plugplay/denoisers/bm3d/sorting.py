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

__all__ = ["HIGHEST", "bound_16", "bound_32", "column_minima", "gather", "lane_orders", "select", "select_from_rows"]

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
    store_sorted(minima, a, b, c, d, e, f, g, h, i, j)


@inline
def row_minima(lows: Ints, index: int, step: int, rows: int, minima: Ints) -> None:
    """Do what `column_minima` does for keys of which the minima of rows are known, lane by lane.

    Those of row r are at ``index + r * step``; the rows after the last, up to a multiple of ten, have the highest key.
    """
    a = b = c = d = e = splat_int(HIGHEST)
    f = g = h = i = j = splat_int(HIGHEST)
    for at in range(index, index + rows * step, 10 * step):
        a = lower_of(a, load_ints(lows, at))
        b = lower_of(b, load_ints(lows, at + step))
        c = lower_of(c, load_ints(lows, at + 2 * step))
        d = lower_of(d, load_ints(lows, at + 3 * step))
        e = lower_of(e, load_ints(lows, at + 4 * step))
        f = lower_of(f, load_ints(lows, at + 5 * step))
        g = lower_of(g, load_ints(lows, at + 6 * step))
        h = lower_of(h, load_ints(lows, at + 7 * step))
        i = lower_of(i, load_ints(lows, at + 8 * step))
        j = lower_of(j, load_ints(lows, at + 9 * step))
    store_sorted(minima, a, b, c, d, e, f, g, h, i, j)


@inline
def store_sorted(
    minima: Ints, a: Int8, b: Int8, c: Int8, d: Int8, e: Int8, f: Int8, g: Int8, h: Int8, i: Int8, j: Int8
) -> None:
    """Write ten vectors, sorted lane by lane."""
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
def bound_on(group: int, limit: int, minima: Ints) -> int:
    """Return a bound below which there are the smallest keys that are also below `limit`."""
    return min(limit, (bound_16(minima) if group <= 16 else bound_32(minima)) + 1)


@inline
def select(
    keys: Ints, start: int, stop: int, group: int, limit: int, orders: Ints, minima: Ints, kept: Ints, best: Ints
) -> int:
    """Write the smallest keys below `limit` into `best`, sorted; places that stay empty hold the returned value."""
    column_minima(keys, start, stop, minima)
    fill = bound_on(group, limit, minima)
    sort_kept(kept, gather(keys, start, stop, fill, orders, kept), group, fill, best)
    return fill


@inline
def select_from_rows(
    bits: Ints, lows: Ints, index: int, step: int, rows: int, codes: Ints, code: int, code_bits: int, group: int,
    limit: int, orders: Ints, minima: Ints, kept: Ints, best: Ints,
) -> int:  # fmt: skip
    """Do what `select` does for keys that are not made yet: their upper bits are in `bits`, the lowest in `codes`.

    A row of 40 begins at ``5 * (index + r * step)`` of `bits` and ``code + 40 * r`` of `codes`; the minima of rows are
    as for `row_minima`. Rows without a small key are passed over.
    """
    row_minima(lows, index, step, rows, minima)
    bound = bound_on(group, limit, minima)
    bounds, mask = splat_int(bound), splat_int(~code_bits)
    near = 0
    for row in range(rows):
        # The list of rows is kept where the minima were.
        minima[np.uintp(near)] = row
        near += mask_below(load_ints(lows, index + row * step), bounds) != 0
    count = 0
    for i in range(near):
        row = minima[np.uintp(i)]
        for j in range(0, 5 * LANES, LANES):
            eight = load_ints(bits, 5 * (index + row * step) + j)
            smaller = mask_below(eight, bounds)
            keys = eight & mask | load_ints(codes, code + 40 * row + j)
            store_ints(kept, count, permute(keys, load_ints(orders, LANES * smaller)))
            count += bit_count(smaller)
    fill = (bound | code_bits) + 1
    sort_kept(kept, count, group, fill, best)
    return fill


@inline
def sort_kept(kept: Ints, count: int, group: int, fill: int, best: Ints) -> None:
    """Write the smallest of `count` keys into `best`, sorted, and `fill` where there is none."""
    if group <= 16:
        b0 = b1 = splat_int(fill)
        for i in range(count):
            b0, b1 = insert_16(broadcast_int(kept, i), b0, b1)
        store_ints(best, 0, b0)
        store_ints(best, 8, b1)
    else:
        b0 = b1 = b2 = b3 = splat_int(fill)
        for i in range(count):
            b0, b1, b2, b3 = insert_32(broadcast_int(kept, i), b0, b1, b2, b3)
        store_ints(best, 0, b0)
        store_ints(best, 8, b1)
        store_ints(best, 16, b2)
        store_ints(best, 24, b3)
