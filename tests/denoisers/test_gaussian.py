import numpy as np
import pytest

from oracles.windows import patch
from plugplay.denoisers.gaussian import Gaussian, blur_width


@pytest.mark.parametrize("shape", [(9, 12), (5, 4, 3)], ids=["gray", "colour"])
@pytest.mark.parametrize("sigma", [0.02, 0.1, 0.5])
def test_against_the_sum(shape, sigma):
    x = np.random.default_rng(0).random(shape)
    width = np.sqrt(7.4 * sigma + 12 * sigma**2)
    assert blur_width(sigma) == pytest.approx(width)
    radius = int(4 * width + 0.5)
    one = np.exp(-(np.arange(-radius, radius + 1) ** 2) / (2 * width**2))
    kernel = np.outer(one, one) / one.sum() ** 2
    smooth = Gaussian()(x, sigma)
    for i in range(shape[0]):
        for j in range(shape[1]):
            window = patch(x, i, j, radius)
            np.testing.assert_allclose(smooth[i, j], np.tensordot(kernel, window, 2), atol=1e-12)
