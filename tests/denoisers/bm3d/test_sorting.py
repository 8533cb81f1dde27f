"""The sorted lists of the search against numpy.sort."""

import numba
import numpy as np
import pytest

from plugplay.denoisers.bm3d.sorting import (
    HIGHEST,
    bound_16,
    bound_32,
    collect_16,
    collect_32,
    column_minima,
)
from plugplay.denoisers.bm3d.vectors import splat_int, store_ints


@numba.njit
def smallest_16(keys, fill, out):
    b0 = b1 = splat_int(fill)
    b0, b1 = collect_16(keys, 0, keys.size, b0, b1)
    store_ints(out, 0, b0)
    store_ints(out, 8, b1)


@numba.njit
def smallest_32(keys, fill, out):
    b0 = b1 = b2 = b3 = splat_int(fill)
    b0, b1, b2, b3 = collect_32(keys, 0, keys.size, b0, b1, b2, b3)
    store_ints(out, 0, b0)
    store_ints(out, 8, b1)
    store_ints(out, 16, b2)
    store_ints(out, 24, b3)


@numba.njit
def bounds(keys, minima):
    column_minima(keys, 0, keys.size, minima)
    return bound_16(minima), bound_32(minima)


def some_keys(seed, rows, highest=1 << 30):
    return np.random.default_rng(seed).integers(0, highest, 40 * rows).astype(np.int32)


@pytest.mark.parametrize(("collect", "size"), [(smallest_16, 16), (smallest_32, 32)])
@pytest.mark.parametrize("highest", [5, 1 << 30])
def test_lists_hold_the_smallest_keys_in_order(collect, size, highest):
    for seed in range(20):
        keys = some_keys(seed, rows=5, highest=highest)
        best = np.empty(size, np.int32)
        collect(keys, HIGHEST, best)
        np.testing.assert_array_equal(best, np.sort(keys)[:size])


@pytest.mark.parametrize(("collect", "size"), [(smallest_16, 16), (smallest_32, 32)])
def test_places_without_a_small_key_keep_the_fill(collect, size):
    keys = some_keys(3, rows=5)
    fill = int(np.sort(keys)[6])
    best = np.empty(size, np.int32)
    collect(keys, fill, best)
    np.testing.assert_array_equal(best, np.append(np.sort(keys)[:6], np.full(size - 6, fill)))


@pytest.mark.parametrize("rows", [1, 2, 7, 39])
def test_bounds_leave_enough_keys(rows):
    for seed in range(10):
        keys = some_keys(seed, rows)
        bound_for_16, bound_for_32 = bounds(keys, np.empty(80, np.int32))
        for size, bound in ((16, bound_for_16), (32, bound_for_32)):
            assert bound == HIGHEST or (keys <= bound).sum() >= size
            assert bound >= np.sort(keys)[size - 1]
