import numpy as np
import pytest
import scipy.ndimage

from plugplay.denoisers.median import Median, median_filter


@pytest.mark.parametrize("shape", [(1, 1), (3, 70), (40, 131)])
@pytest.mark.parametrize("radius", [1, 2, 3, 4])
@pytest.mark.parametrize("levels", [3, 10**6], ids=["ties", "no ties"])
def test_against_scipy(shape, radius, levels):
    x = np.random.default_rng(0).integers(levels, size=shape) / levels
    expected = scipy.ndimage.median_filter(x, 2 * radius + 1, mode="reflect")
    np.testing.assert_array_equal(median_filter(x, radius, workers=2), expected)


def test_channels_are_independent(astronaut):
    smooth = Median()(astronaut, 0.1)
    for c in range(3):
        np.testing.assert_array_equal(smooth[..., c], Median()(np.ascontiguousarray(astronaut[..., c]), 0.1))


@pytest.mark.parametrize(("sigma", "radius", "limit"), [(0.05, 1, 1.35), (0.1, 2, 1.7), (0.3, 3, 3.0), (2.0, 4, 3.0)])
def test_the_move_is_limited(sigma, radius, limit):
    x = np.random.default_rng(0).random((30, 30)).round()
    median = scipy.ndimage.median_filter(x, 2 * radius + 1, mode="reflect")
    expected = x + np.clip(median - x, -limit * sigma, limit * sigma)
    np.testing.assert_allclose(Median()(x, sigma), expected, atol=1e-15)
