"""Gaussian process regression against the textbook, written with dense inverses."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from plugplay_paper.baselines.regression import Process, likeliest_parameters, log_likelihood


def covariance(a, b, length):
    return np.array([[np.exp(-np.sum((p - q) ** 2) / (2 * length**2)) for q in b] for p in a])


@pytest.fixture
def seen():
    rng = np.random.default_rng(1)
    inputs = rng.normal(size=(30, 8))
    return inputs, np.sin(inputs.sum(axis=1)) + 0.1 * rng.normal(size=30)


def test_the_mean_is_that_of_the_conditioned_gaussian(seen):
    inputs, targets = seen
    new = np.random.default_rng(2).normal(size=(7, 8))
    matrix = covariance(inputs, inputs, 2.5) + 0.2 * np.eye(30)
    expected = covariance(new, inputs, 2.5) @ np.linalg.inv(matrix) @ targets
    process = Process.fit(inputs, targets, length=2.5, noise=0.2)
    np.testing.assert_allclose(process.mean(new), expected, rtol=1e-9)


def test_the_precision_is_that_of_the_new_inputs(seen):
    process = Process.fit(*seen, length=2.5, noise=0.2)
    single = process.mean(seen[0].astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, process.mean(seen[0]), atol=1e-5)


def test_likelihoods_differ_as_those_of_the_gaussian_density(seen):
    inputs, targets = seen
    squares = np.array([[np.sum((p - q) ** 2) for q in inputs] for p in inputs])

    def density(length, noise):
        matrix = covariance(inputs, inputs, length) + noise * np.eye(30)
        variance = targets @ np.linalg.solve(matrix, targets) / 30  # the best one
        return multivariate_normal(cov=variance * matrix).logpdf(targets)

    ours = [log_likelihood(squares, targets, length=a, noise=b) for a, b in ((1.0, 0.1), (3.0, 0.5))]
    assert ours[1] - ours[0] == pytest.approx(density(3.0, 0.5) - density(1.0, 0.1), rel=1e-9)


def test_the_variance_in_the_likelihood_is_the_best_one(seen):
    inputs, targets = seen
    matrix = covariance(inputs, inputs, 2.0) + 0.1 * np.eye(30)
    best = targets @ np.linalg.solve(matrix, targets) / 30
    at = [multivariate_normal(cov=v * matrix).logpdf(targets) for v in (0.9 * best, best, 1.1 * best)]
    assert at[1] > max(at[0], at[2])


def test_parameters_of_simulated_processes_are_found_again():
    rng = np.random.default_rng(3)
    inputs = rng.uniform(0, 10, size=(150, 1))
    for length, noise in ((0.5, 0.01), (3.0, 0.01), (3.0, 1.0)):
        root = np.linalg.cholesky(covariance(inputs, inputs, length) + noise * np.eye(150))
        targets = root @ rng.normal(size=150)
        assert likeliest_parameters(inputs, targets, lengths=(0.5, 3.0), noises=(0.01, 1.0)) == (length, noise)


def test_targets_that_are_all_zero_do_no_harm():
    inputs = np.linspace(0, 1, 10)[:, None]
    length, noise = likeliest_parameters(inputs, np.zeros(10), lengths=(1.0, 2.0), noises=(0.1,))
    assert Process.fit(inputs, np.zeros(10), length=length, noise=noise).mean(inputs).tolist() == [0] * 10
