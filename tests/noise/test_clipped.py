"""Noise that was clipped at black and white: its means, and what is behind them."""

import math

import numpy as np
import pytest
from scipy import integrate

from plugplay.noise.clipped import ClippedNoise, end_evidence


def mean_of_clipped(x, sigma, low, high):
    """Return E[clip(x + n)] by quadrature."""

    def density(n):
        return math.exp(-((n / sigma) ** 2) / 2) / (sigma * math.sqrt(2 * math.pi))

    def clipped(n):
        value = x + n
        value = max(value, 0.0) if low else value
        return min(value, 1.0) if high else value

    kinks = [k for k in (-x, 1 - x) if abs(k) < 9 * sigma]
    return integrate.quad(lambda n: clipped(n) * density(n), -9 * sigma, 9 * sigma, points=kinks, limit=200)[0]


@pytest.mark.parametrize("ends", [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize("sigma", [0.02, 0.2, 0.6])
def test_the_means_are_those_of_a_clipped_gaussian(sigma, ends):
    x = np.array([0.0, 0.01, 0.1, 0.5, 0.97, 1.0])
    expected = [mean_of_clipped(value, sigma, *ends) for value in x]
    clipped = ClippedNoise(*(sigma * end for end in ends))
    np.testing.assert_allclose(clipped.mean(x), expected, atol=1e-7)


@pytest.mark.parametrize("clipped", [ClippedNoise(0.2, 0.2), ClippedNoise(0.1, 0.0), ClippedNoise(0.0, 0.3)])
def test_what_is_behind_means_is_found(clipped):
    x = np.linspace(0, 1, 57)
    np.testing.assert_allclose(clipped.behind(clipped.mean(x)), x, atol=1e-5)


def test_means_that_no_value_has_become_black_and_white_but_only_where_something_was_clipped():
    means = np.array([-0.1, 0.01, 0.99, 1.1])
    assert ClippedNoise(0.1, 0.1).behind(means).tolist() == [0, 0, 1, 1]
    np.testing.assert_allclose(ClippedNoise(0.0, 0.1).behind(means)[:2], means[:2], atol=1e-9)
    np.testing.assert_allclose(ClippedNoise(0.1, 0.0).behind(means)[2:], means[2:], atol=1e-9)


def test_a_white_end_shows_what_a_black_one_does():
    rng = np.random.default_rng(0)
    truth = np.broadcast_to(np.linspace(0, 1, 256), (256, 256))
    y = np.clip(truth + rng.normal(0, 0.1, truth.shape), 0, 1)
    means = ClippedNoise(0.1, 0.1).mean(truth)
    for white in (False, True):
        found = end_evidence(y, means, 0.1, white=white)
        assert found.share == pytest.approx(0.15, abs=0.01)  # from black, whose mean is 0.4 sigma, to 1.5 sigma
        assert found.at_end == pytest.approx(1, abs=0.05)
        assert found.variance == pytest.approx(1, abs=0.05)


def test_an_end_without_noise_shows_nothing():
    truth = np.broadcast_to(np.linspace(0, 1, 256), (256, 256))
    found = end_evidence(truth, truth, 0.1)
    assert found.at_end < 0.3
    assert found.variance == 0
    assert end_evidence(truth[:, 60:], truth[:, 60:], 0.1).share == 0
