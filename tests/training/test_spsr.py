"""What the training of the statistical prediction finds where the answer is known."""

import numpy as np
from scipy.special import expit

from training.spsr import Options, fit, fit_cluster


def test_a_cluster_finds_the_model_that_made_its_samples():
    rng = np.random.default_rng(0)
    codes = rng.standard_normal((20_000, 4)).astype(np.float32)
    signs = np.hstack([np.sign(np.abs(codes) - 0.7), np.ones((len(codes), 1))]).astype(np.float32)
    support, weights = rng.standard_normal((3, 5)), rng.standard_normal((3, 4))
    targets = (expit(signs @ support.T) * (codes @ weights.T)).astype(np.float32)
    w, c = fit_cluster(codes, signs, targets, np.median(np.abs(targets), axis=0), rounds=30)
    np.testing.assert_allclose(expit(signs @ w.T) * (codes @ c.T), targets, atol=0.1)
    linear = codes @ np.linalg.lstsq(codes, targets, rcond=None)[0]
    left = np.square(expit(signs @ w.T) * (codes @ c.T) - targets).sum(axis=0)
    assert (left < 0.05 * np.square(linear - targets).sum(axis=0)).all()


def test_training_is_a_function_of_its_seed_and_explains_details():
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((4000, 12)).astype(np.float32) * np.linspace(2, 0.2, 12, dtype=np.float32)
    rows -= rows.mean(axis=1, keepdims=True)
    details = np.tanh(rows @ rng.standard_normal((12, 9)).astype(np.float32))
    options = Options(low=8, high=6, clusters=3)
    first, again = (fit(rows, details, options, np.random.default_rng(5)) for _ in range(2))
    for name in ("low", "high", "threshold", "centres", "support", "weights"):
        np.testing.assert_array_equal(getattr(first, name), getattr(again, name))
    np.testing.assert_allclose(first.low @ first.low.T, np.eye(8), atol=1e-5)
    assert np.square(details - first.details(rows)).mean() < 0.5 * np.square(details).mean()
