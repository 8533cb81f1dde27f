"""Small images for the files that commands are given."""

import numpy as np
import pytest


@pytest.fixture
def noisy():
    """A small noisy image, float64 on [0, 1], for the colours and depths of files."""
    ramp = np.add.outer(np.arange(24), np.arange(20)) / 50
    return np.clip(ramp + np.random.default_rng(0).normal(0, 0.05, ramp.shape), 0, 1)
