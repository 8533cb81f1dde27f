import numpy as np
import pytest

import plugplay as pp
from oracles.windows import apply, weight_matrix
from plugplay.denoisers.nlm import NonLocalMeans


@pytest.mark.parametrize("shape", [(9, 7), (7, 8, 3)], ids=["gray", "colour"])
@pytest.mark.parametrize(("sigma", "gray_radius", "h"), [(0.05, 1, 1.0), (0.1, 2, 0.75), (0.3, 3, 0.6)])
def test_the_formula(shape, sigma, gray_radius, h):
    image = np.random.default_rng(0).random(shape)
    radius = gray_radius if len(shape) == 2 else {1: 1, 2: 1, 3: 2}[gray_radius]
    h *= 1 if len(shape) == 2 else shape[2] ** -0.1
    weights = weight_matrix(image, window=3, radius=radius, width=h * sigma, slack=2 * sigma**2)
    expected = apply(weights / weights.sum(axis=1, keepdims=True), image)
    np.testing.assert_allclose(NonLocalMeans(window=3)(image, sigma), expected, atol=2e-6)


def test_a_window_larger_than_the_image():
    image = np.random.default_rng(1).random((3, 4))
    weights = weight_matrix(image, window=7, radius=1, width=0.06, slack=2 * 0.06**2)
    expected = apply(weights / weights.sum(axis=1, keepdims=True), image)
    np.testing.assert_allclose(NonLocalMeans()(image, 0.06), expected, atol=2e-6)


def test_a_strong_edge_does_not_disturb_small_differences_near_it():
    """Rounding errors of the large squared differences must not stay behind in the running sums."""
    sigma = 1e-3
    image = np.full((24, 24), 0.25)
    image[5:8, :] = 1.0
    image[12:] += sigma * np.random.default_rng(0).standard_normal((12, 24))
    weights = weight_matrix(image, window=2, radius=1, width=sigma, slack=2 * sigma**2)
    expected = apply(weights / weights.sum(axis=1, keepdims=True), image)
    np.testing.assert_allclose(NonLocalMeans(window=2)(image, sigma), expected, atol=1e-3 * sigma)


def test_options():
    with pytest.raises(ValueError, match="window must be an integer >= 1; got 0"):
        pp.denoisers.get("nlm", window=0)
    with pytest.raises(ValueError, match="workers must be an integer >= 1; got 0"):
        pp.denoisers.get("nlm", workers=0)
