"""The sorted lists of the search against numpy.sort."""

import numba
import numpy as np
import pytest

from plugplay.denoisers.bm3d.sorting import (
    HIGHEST,
    bound_16,
    bound_32,
    column_minima,
    gather,
    lane_orders,
    row_minima,
    select,
    select_from_rows,
)


@numba.njit
def selected(keys, group, limit, orders, best):
    minima, kept = np.empty(80, np.int32), np.empty(keys.size + 8, np.int32)
    return select(keys, 0, keys.size, group, limit, orders, minima, kept, best)


@numba.njit
def selected_from_rows(bits, lows, index, step, rows, codes, group, limit, orders, best):
    minima, kept = np.empty(80, np.int32), np.empty(40 * rows + 8, np.int32)
    return select_from_rows(
        bits, lows, index, step, rows, codes, 0, 0x7FF, group, limit, orders, minima, kept, best
    )  # fmt: skip


@numba.njit
def minima_of_rows(lows, step, rows, minima):
    row_minima(lows, 0, step, rows, minima)


@numba.njit
def gathered(keys, bound, orders, kept):
    return gather(keys, 0, keys.size, bound, orders, kept)


@numba.njit
def bounds(keys, minima):
    column_minima(keys, 0, keys.size, minima)
    return bound_16(minima), bound_32(minima)


def some_keys(seed, rows, highest=1 << 30):
    return np.random.default_rng(seed).integers(0, highest, 40 * rows).astype(np.int32)


@pytest.mark.parametrize("size", [16, 32])
@pytest.mark.parametrize("highest", [5, 1 << 30])
def test_lists_hold_the_smallest_keys_in_order(size, highest):
    for seed in range(20):
        keys = some_keys(seed, rows=5, highest=highest)
        best = np.empty(size, np.int32)
        selected(keys, size, HIGHEST, lane_orders(), best)
        np.testing.assert_array_equal(best, np.sort(keys)[:size])


@pytest.mark.parametrize("size", [16, 32])
def test_places_without_a_small_key_keep_the_fill(size):
    keys = some_keys(3, rows=5)
    limit = int(np.sort(keys)[6])
    best = np.empty(size, np.int32)
    fill = selected(keys, size, limit, lane_orders(), best)
    np.testing.assert_array_equal(best, np.append(np.sort(keys)[:6], np.full(size - 6, fill)))


@pytest.mark.parametrize("bound", [0, 1 << 27, 1 << 29, HIGHEST])
def test_keys_below_a_bound_are_gathered_in_order(bound):
    keys = some_keys(4, rows=3)
    kept = np.empty(keys.size + 8, np.int32)
    count = gathered(keys, bound, lane_orders(), kept)
    np.testing.assert_array_equal(kept[:count], keys[keys < bound])


def test_minima_are_sorted_lane_by_lane():
    keys = some_keys(5, rows=9)
    minima = np.empty(80, np.int32)
    bounds(keys, minima)
    table = keys[: 8 * 40].reshape(4, 2, 5, 8).min(axis=0)  # the last row has no partner
    np.testing.assert_array_equal(minima.reshape(10, 8), np.sort(table.reshape(10, 8), axis=0))


@pytest.mark.parametrize("rows", [1, 2, 7, 39])
def test_bounds_leave_enough_keys(rows):
    for seed in range(10):
        keys = some_keys(seed, rows)
        bound_for_16, bound_for_32 = bounds(keys, np.empty(80, np.int32))
        for size, bound in ((16, bound_for_16), (32, bound_for_32)):
            assert bound == HIGHEST or (keys <= bound).sum() >= size
            assert bound >= np.sort(keys)[size - 1]


def rows_of_two_blocks(seed, rows, highest=1 << 30):
    """Return distances (rows, 2, 40), and their minima in rows of 8, up to a multiple of ten rows and flat."""
    bits = np.random.default_rng(seed).integers(0, highest, (rows, 2, 40)).astype(np.int32)
    lows = np.full((-(-rows // 10) * 10, 2, 8), HIGHEST, np.int32)
    lows[:rows] = bits.reshape(rows, 2, 5, 8).min(axis=2)
    return bits, lows.ravel()


@pytest.mark.parametrize("size", [16, 32])
@pytest.mark.parametrize("rows", [1, 9, 20, 39])
@pytest.mark.parametrize("share", [0.01, 0.3, 1.0])
def test_lists_from_rows_hold_the_smallest_distances_below_the_limit(size, rows, share):
    codes = np.random.default_rng(0).permutation(40 * rows).astype(np.int32)
    for seed in range(10):
        bits, lows = rows_of_two_blocks(seed, rows)
        for block in range(2):
            best = np.empty(size, np.int32)
            limit = int(np.quantile(bits[:, block], share)) if share < 1 else HIGHEST
            fill = selected_from_rows(
                bits.ravel(), lows, 8 * block, 16, rows, codes, size, limit, lane_orders(), best
            )  # fmt: skip
            distances = bits[:, block].ravel()
            near = np.sort((distances & ~0x7FF | codes)[distances < limit])[:size]
            np.testing.assert_array_equal(best, np.append(near, np.full(size - near.size, fill)))
            assert near.max() < fill


def test_minima_of_rows_are_sorted_lane_by_lane():
    _, lows = rows_of_two_blocks(6, rows=27)
    minima = np.empty(80, np.int32)
    minima_of_rows(lows, 16, 27, minima)
    table = lows.reshape(3, 10, 2, 8)[:, :, 0].min(axis=0)
    np.testing.assert_array_equal(minima.reshape(10, 8), np.sort(table, axis=0))
