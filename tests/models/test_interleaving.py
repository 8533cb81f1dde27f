"""Planes that become colour images against NumPy's transposition."""

import numpy as np
import pytest

from plugplay.models.operators.interleaving import interleave
from plugplay.models.operators.polyphase import SampledBlur


@pytest.mark.parametrize("kinds", [(np.float32, np.float32), (np.float32, np.float64), (np.float64, np.float32)])
@pytest.mark.parametrize("size", [1, 5, 700])
def test_channels_lie_side_by_side(size, kinds):
    planes = np.random.default_rng(0).normal(size=(3, size)).astype(kinds[0])
    pixels = np.full((size, 3), np.nan, kinds[1])
    interleave(planes, pixels)
    np.testing.assert_array_equal(pixels, planes.T.astype(kinds[1]))


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("shape", [(6, 8), (402, 330), (4, 6, 10)], ids=str)
def test_channels_are_blurred_as_images_of_their_own(shape, channels):
    blur = SampledBlur.build(np.ones((2,) * len(shape)), shape, factor=2)
    x = np.random.default_rng(0).normal(size=(*shape, channels))
    samples = blur.forward(x)
    for k in range(channels):
        np.testing.assert_allclose(samples[..., k], blur.forward(x[..., k]), atol=1e-12)
        np.testing.assert_allclose(blur.adjoint(samples)[..., k], blur.adjoint(samples[..., k]), atol=1e-11)
