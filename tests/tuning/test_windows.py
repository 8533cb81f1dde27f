"""Windows of an image that speak for all of it."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from plugplay.tuning.windows import SLOPES, Detail, curvature, windows_of


@pytest.mark.parametrize("shape", [(96, 500), (500, 96), (300, 301)])
def test_windows_lie_inside_and_hold_the_detail(shape):
    rng = np.random.default_rng(0)
    y = 0.01 * rng.standard_normal(shape)
    y[-96:, -96:] += np.kron(rng.random((12, 12)), np.ones((8, 8)))
    rows, columns = windows_of(y, 96)[0]
    part = y[rows, columns]
    assert part.shape == (96, 96)
    assert part.std() > 0.1


def test_a_small_image_is_asked_in_one_window():
    rng = np.random.default_rng(0)
    assert len(windows_of(rng.random((128, 128)), 96)) == 1
    assert len(windows_of(rng.random((128, 400)), 96)) > 1


def test_an_image_that_fits_is_taken_as_a_whole():
    assert windows_of(np.zeros((70, 90)), 128) == [(slice(0, 70), slice(0, 90))]


@pytest.mark.parametrize("detail", [Detail(8, 1, 0.1), Detail(4, 2, 0.1), Detail(2, 3, 0.1)])
def test_noise_is_no_detail(detail):
    """On average: the mean over many parts is what is left of detail."""
    rng = np.random.default_rng(0)
    parts = [detail.means(0.1 * rng.standard_normal((96, 96))) for _ in range(40)]
    plain = Detail(detail.block, detail.order)
    measured = np.mean([plain.of(part) for part in parts])
    slope = np.add.outer(np.arange(96.0), np.arange(96.0))
    assert np.mean([plain.of(part) - detail.of(part) for part in parts]) > 0.9 * measured
    assert curvature(0.0).of(curvature(0.0).means(slope)) == pytest.approx(0, abs=1e-18)
    assert SLOPES.of(SLOPES.means(slope)) == pytest.approx(2 * 8**2)


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_detail_is_compared_with_differences_done_by_hand(noise):
    means = np.random.default_rng(0).random((5, 6))
    down = np.mean((means[:-2] - 2 * means[1:-1] + means[2:]) ** 2)
    right = np.mean((means[:, :-2] - 2 * means[:, 1:-1] + means[:, 2:]) ** 2)
    assert curvature(noise).of(means) == pytest.approx(down + right - 12 * noise**2 / 16)


def test_what_is_out_of_focus_does_not_speak_for_what_is_sharp():
    """Large blurred discs have most of the slopes, a sharp corner most of the curvature."""
    rng = np.random.default_rng(0)
    y = 6 * gaussian_filter(rng.standard_normal((480, 480)), 16)
    y[-144:, -144:] = 0.1 * np.kron(rng.random((36, 36)), np.ones((4, 4)))
    y += 0.01 * rng.standard_normal(y.shape)
    by_slopes, by_curvature = windows_of(y, 96), windows_of(y, 96, curvature(0.01))
    assert all(min(window[0].start, window[1].start) > 200 for window in by_curvature)
    assert not any(min(window[0].start, window[1].start) > 200 for window in by_slopes)


def test_noise_told_too_high_leaves_the_order_of_windows():
    rng = np.random.default_rng(0)
    y = np.kron(rng.random((60, 60)), np.ones((4, 4)))
    y[:, :120] *= 0.5
    told_twice, told = (windows_of(y, 96, curvature(noise)) for noise in (2.0, 0.0))
    assert told_twice == told


def test_a_small_image_has_its_window_by_slopes():
    y = np.random.default_rng(0).random((128, 128))
    assert windows_of(y, 96, curvature(0.3)) == windows_of(y, 96)
