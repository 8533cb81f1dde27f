"""Groups come out of their packing as they went in."""

import numpy as np
import pytest

from plugplay.denoisers.bm3d.canvas import stride_for
from plugplay.denoisers.bm3d.matching import Matches
from plugplay.denoisers.bm3d.packing import PackedGroups

REACH = 19


@pytest.mark.parametrize("width", [3, 8, 9, 57, 512, 8000])
def test_every_displacement_of_the_window_is_kept(width):
    pitch = 2 * stride_for(max(width, 8))
    dy, dx = np.mgrid[-REACH : REACH + 1, -REACH : REACH + 1]
    offsets = (dy * pitch + dx).ravel().astype(np.int32)
    groups = PackedGroups(width)
    groups[1, 7] = Matches(offsets, np.array([1, 16, 32], np.int32))
    there = groups[1, 7]
    np.testing.assert_array_equal(there.offsets, offsets)
    np.testing.assert_array_equal(there.counts, [1, 16, 32])
    assert there.offsets.dtype == there.counts.dtype == np.int32


def test_it_is_a_mapping():
    groups, one = PackedGroups(64), Matches(np.zeros(4, np.int32), np.ones(1, np.int32))
    assert groups == {}
    assert groups.get((0, 0)) is None
    groups[0, 0] = groups[0, 1] = one
    assert sorted(groups) == [(0, 0), (0, 1)]
    del groups[0, 0]
    assert len(groups) == 1
