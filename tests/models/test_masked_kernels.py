"""Kernels between the FFTs of masked systems against NumPy, and conjugate gradients that begin somewhere."""

import numpy as np
import pytest

from plugplay.models.likelihoods import masked_kernels
from plugplay.models.solvers import Start, conjugate_gradients, measured

# Grids, and the domains inside of them.
SHAPES = [((1, 7, 9), (1, 5, 6)), ((1, 4, 8), (1, 4, 8)), ((3, 5, 6), (2, 4, 6)), ((1, 3, 5), (1, 0, 4))]


@pytest.fixture(params=[np.float32, np.float64], ids=["single", "double"])
def dtype(request):
    return request.param


def case(grid, domain, dtype, channels=3, varied=True):
    rng = np.random.default_rng(7)
    y = rng.normal(size=(channels, *domain)).astype(dtype)
    mask = rng.random((channels, *domain)) > 0.3
    variances = rng.random((channels, *domain)).astype(dtype) if varied else np.empty((channels, 0, 0, 0), dtype)
    inside = (slice(None), *map(slice, domain))

    def whole(array, beyond):
        made = np.full((channels, *grid), beyond, array.dtype)
        made[inside] = array
        return made

    vectors = [rng.normal(size=(channels, *grid)).astype(dtype) for _ in range(3)]
    ridge = whole(variances, 1) if varied else np.ones((channels, *grid), dtype)
    return y, mask, variances, whole(y, 0), whole(mask, False), ridge * dtype(0.2), vectors


@pytest.mark.parametrize(("grid", "domain"), SHAPES, ids=str)
@pytest.mark.parametrize("varied", [False, True], ids=["plain", "variances"])
def test_each_kernel_is_its_formula(grid, domain, varied, dtype):
    y, mask, variances, samples, observed, ridge, (a, b, c) = case(grid, domain, dtype, varied=varied)
    share, rho, close = dtype(0.7), dtype(0.2), {"rtol": 1e-5, "atol": 1e-6} if dtype == np.float32 else {"rtol": 1e-12}

    rhs = np.empty_like(a)
    size = masked_kernels.observe(a, y, mask, rhs, 0)
    np.testing.assert_allclose(rhs, np.where(observed, samples - a, 0), **close)
    assert size == pytest.approx(np.sum(rhs.astype(float) ** 2))

    w, seen = b * observed, c * observed
    guess, left = w.copy(), seen.copy()
    again = np.empty_like(rhs)
    same, norm, squares = masked_kernels.resume(a, y, mask, rho, variances, share, again, guess, left, 0)
    np.testing.assert_array_equal(again, rhs)
    assert same == pytest.approx(size)
    np.testing.assert_allclose(guess, share * w, **close)
    np.testing.assert_allclose(left, share * seen, **close)
    assert squares == pytest.approx(np.sum((rhs - left).astype(float) ** 2))
    masked_kernels.leave(rhs, rho, variances, guess, left, 0, grid[0])
    np.testing.assert_allclose(left, rhs - share * (seen + ridge * w), **close)
    assert norm == pytest.approx(np.sum(left.astype(float) ** 2))

    out = np.empty_like(a)
    product = masked_kernels.restrict(a, mask, rho, variances, w, out, 0)
    np.testing.assert_allclose(out, np.where(observed, a, 0) + ridge * w, **close)
    assert product == pytest.approx(np.sum(w.astype(float) * out), rel=1e-5, abs=1e-6)

    kept = rhs.copy()
    squares = masked_kernels.settle(left, w, rho, variances, kept, 0, grid[0])
    misfit = left + ridge * w
    np.testing.assert_allclose(kept, rhs - misfit, **close)
    assert squares == pytest.approx(np.sum(misfit.astype(float) ** 2))


@pytest.mark.parametrize("order", ["C", "F"])
def test_conjugate_gradients_begin_where_they_are_told(order):
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(12, 12))
    matrix = matrix @ matrix.T + np.eye(12)
    rhs = np.asarray(rng.normal(size=(3, 4)), order=order)
    exact = np.linalg.solve(matrix, rhs.ravel()).reshape(3, 4)

    def system(w):
        return (matrix @ w.ravel()).reshape(3, 4)

    near = np.asarray(exact + 1e-3, order=order)
    left = rhs - system(near)
    starts = [
        None,
        Start(np.zeros((3, 4))),
        Start(near),
        Start(near, left),
        Start(near, left, float(np.linalg.norm(rhs)), float(np.linalg.norm(left))),
        Start(exact + 1e6),  # worse than nothing
    ]
    for start in starts:
        solution = conjugate_gradients(measured(system), rhs, start=start, rtol=1e-10)
        assert solution.converged
        np.testing.assert_allclose(solution.w, exact, atol=1e-8)
        np.testing.assert_allclose(solution.left, rhs - system(solution.w), atol=1e-8)
    there = conjugate_gradients(measured(system), rhs, start=Start(exact), rtol=1e-6)
    assert there.iterations == 0
