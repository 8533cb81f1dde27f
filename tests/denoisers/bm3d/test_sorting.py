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
    select,
)


@numba.njit
def selected(keys, group, limit, orders, best):
    minima, kept = np.empty(80, np.int32), np.empty(keys.size + 8, np.int32)
    return select(keys, 0, keys.size, group, limit, orders, minima, kept, best)


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
