import math

import numpy as np
import pytest

from oracles.windows import apply, weight_matrix
from plugplay.denoisers.bilateral import Bilateral


@pytest.mark.parametrize("shape", [(9, 8), (8, 7, 3)], ids=["gray", "colour"])
@pytest.mark.parametrize("sigma", [0.05, 0.2])
def test_the_formula(shape, sigma):
    image = np.random.default_rng(0).random(shape)
    channels = 1 if len(shape) == 2 else shape[2]
    s, t = 1.15 + 2.8 * sigma, (2.1 + 9 * sigma) * sigma * channels**-0.4
    weights = weight_matrix(image, window=math.ceil(2.5 * s), radius=0, width=math.sqrt(2) * t, spatial=s)
    expected = apply(weights / weights.sum(axis=1, keepdims=True), image)
    np.testing.assert_allclose(Bilateral()(image, sigma), expected, atol=2e-6)
