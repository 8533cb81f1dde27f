import numpy as np
import pytest

from oracles.windows import apply, weight_matrix
from plugplay.denoisers.dsg_nlm import DoublyStochasticNonLocalMeans


def doubly_stochastic(weights):
    """Sinkhorn and Knopp's own alternation, on a dense matrix, to machine precision."""
    rows, columns = np.ones(len(weights)), np.ones(len(weights))
    for _ in range(5000):
        rows = 1 / (weights @ columns)
        columns = 1 / (weights.T @ rows)
    return rows[:, None] * weights * columns


@pytest.mark.parametrize("shape", [(8, 9), (7, 8, 3)], ids=["gray", "colour"])
@pytest.mark.parametrize(("sigma", "gray_radius", "h"), [(0.06, 1, 1.0), (0.2, 2, 0.85)])
def test_against_dense_matrices(shape, sigma, gray_radius, h):
    image = np.random.default_rng(0).random(shape)
    radius = gray_radius if len(shape) == 2 else 1
    if h == 1.0 and len(shape) == 3:
        h = shape[2] ** -0.1
    dense = doubly_stochastic(weight_matrix(image, window=2, radius=radius, width=np.sqrt(2) * h * sigma))
    denoiser = DoublyStochasticNonLocalMeans(window=2, tolerance=1e-10, max_iterations=1000)
    np.testing.assert_allclose(denoiser.matrix(image, sigma).toarray(), dense, atol=2e-6)
    np.testing.assert_allclose(denoiser(image, sigma), apply(dense, image), atol=2e-6)


@pytest.mark.parametrize("sigma", [0.02, 0.1, 3.0])
def test_rows_and_columns_sum_to_one(camera, sigma):
    image = camera[:40, :48]
    matrix = DoublyStochasticNonLocalMeans(tolerance=1e-8).matrix(image, sigma)
    np.testing.assert_allclose(np.asarray(matrix.sum(axis=0)).ravel(), 1, atol=1e-7)
    np.testing.assert_allclose(np.asarray(matrix.sum(axis=1)).ravel(), 1, atol=1e-7)
    assert abs(matrix - matrix.T).max() == 0
    assert matrix.min() >= 0


def test_the_mean_is_kept(astronaut):
    """Columns that sum to one move brightness about, but neither add nor remove any."""
    smooth = DoublyStochasticNonLocalMeans()(astronaut, 0.1)
    np.testing.assert_allclose(smooth.mean(axis=(0, 1)), astronaut.mean(axis=(0, 1)), atol=1e-6)


def test_options():
    with pytest.raises(ValueError, match="the weights need a sigma above 0; got 0.0"):
        DoublyStochasticNonLocalMeans().matrix(np.ones((3, 3)), 0.0)
    with pytest.raises(ValueError, match="tolerance must be > 0"):
        DoublyStochasticNonLocalMeans(tolerance=0)
