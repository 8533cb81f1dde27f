"""The network of three layers, against its formula written as loops, and against the module that is trained."""

import numpy as np
import pytest

from plugplay import psnr
from plugplay.models import SuperResolution
from plugplay_paper.baselines.back_projection import bicubic
from plugplay_paper.baselines.convolutional import Weights, convolutional_network, enlarged, trained_weights


def random_weights(rng, sides=(5, 1, 3), counts=(4, 3, 1)):
    arrays, before = [], 1
    for side, count in zip(sides, counts, strict=True):
        arrays += [rng.standard_normal((count, before, side, side)), rng.standard_normal(count)]
        before = count
    return Weights(*(array.astype(np.float32) for array in arrays))


def layer_by_loops(maps, filters, bias):
    """Correlate on a circular domain, pixel by pixel."""
    count, _, side, _ = filters.shape
    _, height, width = maps.shape
    result = np.zeros((count, height, width))
    reach = side // 2
    for o in range(count):
        for i in range(height):
            for j in range(width):
                rows, columns = (
                    np.arange(i - reach, i + reach + 1) % height,
                    np.arange(j - reach, j + reach + 1) % width,
                )
                result[o, i, j] = bias[o] + (filters[o] * maps[:, rows[:, None], columns]).sum()
    return result


@pytest.mark.parametrize("sides", [(5, 1, 3), (3, 3, 5)])
@pytest.mark.parametrize("factor", [2, 3])
def test_it_is_its_formula(sides, factor):
    rng = np.random.default_rng(0)
    y, weights = rng.random((6, 5)), random_weights(rng, sides)
    smooth = bicubic(y, factor)
    maps = smooth[None] - 0.5
    maps = np.maximum(layer_by_loops(maps, weights.first, weights.first_bias), 0)
    maps = np.maximum(layer_by_loops(maps, weights.second, weights.second_bias), 0)
    expected = smooth + layer_by_loops(maps, weights.last, weights.last_bias)[0]
    np.testing.assert_allclose(enlarged(y, factor, weights), expected, atol=2e-4)


@pytest.mark.parametrize("factor", [2, 4])
def test_the_trained_network_has_three_layers_and_beats_interpolation_by_far(camera, factor):
    weights = trained_weights(factor)
    assert [weights.first.shape, weights.second.shape, weights.last.shape] == [
        (64, 1, 9, 9),
        (32, 64, 5, 5),
        (1, 32, 5, 5),
    ]
    y = SuperResolution(factor).simulate(camera)  # not trained on
    gain = psnr(convolutional_network(y, factor), camera, border=4) - psnr(bicubic(y, factor), camera, border=4)
    assert gain > {2: 1.5, 4: 0.8}[factor]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtype_shape_and_input_are_kept(dtype):
    y = np.random.default_rng(0).random((9, 70)).astype(dtype)
    before = y.copy()
    result = convolutional_network(y, 2)
    assert result.dtype == dtype
    assert result.shape == (18, 140)
    np.testing.assert_array_equal(y, before)
    np.testing.assert_array_equal(result, convolutional_network(y, 2))
    # The domain is circular: moving the samples moves the result.
    moved = convolutional_network(np.roll(y, (3, 11), axis=(0, 1)), 2)
    np.testing.assert_allclose(moved, np.roll(result, (6, 22), axis=(0, 1)), atol=1e-5)


def test_wrong_factors_and_images_are_refused():
    with pytest.raises(ValueError, match="factors \\(2, 4\\); got 3"):
        convolutional_network(np.zeros((8, 8)), 3)
    with pytest.raises(ValueError, match="gray"):
        convolutional_network(np.zeros((8, 8, 3)), 2)
    with pytest.raises(TypeError, match="integer"):
        convolutional_network(np.zeros((8, 8)), 2.0)
