"""The scenarios degrade images as the literature says."""

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.ndimage import convolve

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def scenarios(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    import scenarios

    return scenarios


def test_the_blur_is_circular_and_centred_and_the_noise_is_as_stated(scenarios):
    x = np.random.default_rng(0).random((96, 96))
    for number, (kernel, variance) in scenarios.SCENARIOS.items():
        assert kernel.sum() == pytest.approx(1)
        y, level = scenarios.observe(x, number, seed=1)
        blurred = convolve(x, kernel, mode="wrap")
        assert np.std(y - blurred) == pytest.approx(level, rel=0.05)
        if variance is None:
            assert 20 * math.log10(blurred.std() / level) == pytest.approx(40)
        else:
            assert (255 * level) ** 2 == pytest.approx(variance)


def test_the_gain_of_the_observation_is_nothing_and_halving_the_error_is_six_decibels(scenarios):
    x, y = np.zeros((8, 8)), np.ones((8, 8))
    assert scenarios.gain(y, y, x) == 0
    assert scenarios.gain(y / 2, y, x) == pytest.approx(6.02, abs=0.01)
