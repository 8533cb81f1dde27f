"""Weighted sums of blocks against sums that are written out."""

import numba
import numpy as np

from plugplay.denoisers.bm3d.aggregation import Band, Sums, add_block, kaiser_window, weigh
from plugplay.denoisers.bm3d.canvas import MARGIN, Canvas, load_block


@numba.njit
def add(sums, at, pitch, weight, window, block):
    weighted = np.empty(64, np.float32)
    weigh(window, weight, weighted)
    r0, r1, r2, r3, r4, r5, r6, r7 = load_block(block, 0, 8)
    add_block(sums, at, pitch, pitch // 2, weight, weighted, r0, r1, r2, r3, r4, r5, r6, r7)


def whole_sums(canvas):
    """Return empty sums for all rows of a canvas."""
    return Sums(np.zeros_like(canvas.memory), 0)


def covering_blocks(rng, height, width):
    """Return (channel, y, x, weight, block), such that every pixel is covered."""
    places = [(y, x) for y in [*range(0, height - 8, 5), height - 8] for x in [*range(0, width - 8, 5), width - 8]]
    extra = [(rng.integers(height - 7), rng.integers(width - 7)) for _ in range(20)]
    for channel in range(2):
        for y, x in places + extra:
            yield channel, int(y), int(x), rng.uniform(0.1, 2), rng.standard_normal((8, 8))


def test_means_are_weighted_by_group_and_window():
    rng = np.random.default_rng(0)
    height, width, kaiser = 21, 30, 2.0
    canvas = Canvas.of(np.zeros((2, height, width), np.float32))
    sums = whole_sums(canvas)
    window = np.outer(np.kaiser(8, kaiser), np.kaiser(8, kaiser))
    numerator, denominator = np.zeros((2, 2, height, width))
    for channel, y, x, weight, block in covering_blocks(rng, height, width):
        at = channel * sums.plane + y * canvas.pitch + MARGIN + x
        flat = block.astype(np.float32).ravel()
        add(sums.memory.reshape(-1), at, canvas.pitch, np.float32(weight), kaiser_window(kaiser), flat)
        numerator[channel, y : y + 8, x : x + 8] += weight * window * block
        denominator[channel, y : y + 8, x : x + 8] += weight * window
    band = Band(canvas, kaiser)
    band.add(sums)
    for end in (0, 3, 13, height):
        band.write_means(end)
    np.testing.assert_allclose(canvas.estimate, numerator / denominator, atol=2e-5)


def test_margins_of_the_estimate_stay_zero():
    canvas = Canvas.of(np.ones((1, 9, 11), np.float32))
    sums = whole_sums(canvas)
    sums.memory[...] = 1
    band = Band(canvas, 2.0)
    band.add(sums)
    band.write_means(9)
    assert not canvas.memory[:, :, 1, :MARGIN].any()
    assert not canvas.memory[:, :, 1, MARGIN + 11 :].any()


def test_strips_cover_what_their_groups_can_reach():
    canvas = Canvas.of(np.zeros((1, 100, 20), np.float32))
    for rows, top, bottom in (([0, 3], 0, 30), ([30, 33, 36], 11, 63), ([90, 92], 71, 100)):
        part = Sums.reachable(canvas, np.array(rows), 19)
        assert part.top == top
        assert part.top + part.memory.shape[1] == bottom


def test_strips_on_their_way_down_add_up_as_over_the_whole_image():
    rng = np.random.default_rng(1)
    whole, banded = (Canvas.of(np.zeros((2, 100, 20), np.float32)) for _ in range(2))
    sums, together, band = whole_sums(whole), Band(whole, 2.0), Band(banded, 2.0)
    strips = [np.arange(first, min(first + 24, 93), 3) for first in range(0, 93, 24)]
    for strip, following in zip(strips, [*strips[1:], None], strict=True):
        part = Sums.reachable(banded, strip, 19)
        part.memory[...] = rng.uniform(0.5, 1, part.memory.shape)
        sums.memory[:, part.top : part.top + part.memory.shape[1]] += part.memory
        band.add(part)
        band.write_means(100 if following is None else max(0, int(following[0]) - 19))
    together.add(sums)
    together.write_means(100)
    np.testing.assert_array_equal(banded.estimate, whole.estimate)
