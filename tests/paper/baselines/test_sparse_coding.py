import numpy as np
import pytest

from plugplay import psnr
from plugplay.models import SuperResolution
from plugplay_paper.baselines.back_projection import back_project, bicubic, consistent_bicubic
from plugplay_paper.baselines.dictionaries import Training
from plugplay_paper.baselines.patches import average_patches, patches
from plugplay_paper.baselines.sparse_coding import sparse_coding

SMALL = Training(atoms=128, samples=8000, rounds=5, images=("stereo_motorcycle",))


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("dictionaries")


@pytest.mark.parametrize(("factor", "gain"), [(2, 1.0), (4, 0.5)])
def test_it_beats_interpolation_by_far(camera, cache, factor, gain):
    y = SuperResolution(factor).simulate(camera)
    result = sparse_coding(y, factor, training=SMALL, cache=cache)
    assert psnr(result, camera, border=4) > psnr(bicubic(y, factor), camera, border=4) + gain


def test_details_help_beyond_back_projection(camera, cache):
    y = SuperResolution(2).simulate(camera)
    result = sparse_coding(y, 2, training=SMALL, cache=cache)
    assert psnr(result, camera, border=4) > psnr(consistent_bicubic(y, 2), camera, border=4) + 0.1


@pytest.mark.parametrize("factor", [2, 3, 4])
def test_the_result_agrees_with_what_was_observed(camera, cache, factor):
    y = SuperResolution(factor).simulate(camera[:96, :96])
    result = sparse_coding(y, factor, training=Training(atoms=16, samples=400, rounds=1, images=("text",)), cache=cache)
    assert np.abs(SuperResolution(factor).forward(result) - y).max() < 0.01


@pytest.mark.parametrize("factor", [2, 3, 4, 5])
def test_back_projection_converges_to_agreement(factor):
    y = np.random.default_rng(0).random((12, 8))
    model = SuperResolution(factor)
    x = bicubic(y, factor)
    errors = [np.abs(model.forward(x) - y).max()]
    for _ in range(3):
        x = back_project(x, y, factor)
        errors.append(np.abs(model.forward(x) - y).max())
    assert errors[0] > errors[1] > errors[2] > errors[3]
    assert errors[3] < 1e-3 * errors[0]


def test_patches_lie_around_their_samples():
    image = np.arange(18 * 12.0).reshape(18, 12)
    rows = patches(image[None], 2)
    np.testing.assert_array_equal(rows[1 * 6 + 2].reshape(6, 6), image[0:6, 2:8])  # cells 0..2 and 1..3
    corner = np.roll(image, (2, 2), axis=(0, 1))[:6, :6]  # the domain is circular
    np.testing.assert_array_equal(rows[0].reshape(6, 6), corner)
    np.testing.assert_array_equal(patches(image[None], 2, np.array([8])), rows[[8]])


def test_patches_that_disagree_are_averaged():
    rows = np.zeros((36, 36))
    rows[14] = 9.0  # around sample (2, 2)
    expected = np.zeros((12, 12))
    expected[2:8, 2:8] = 1.0
    np.testing.assert_allclose(average_patches(rows, (6, 6), 2), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtype_shape_and_input_are_kept(cache, dtype):
    y = np.random.default_rng(0).random((9, 7)).astype(dtype)
    before = y.copy()
    result = sparse_coding(y, 2, training=SMALL, cache=cache)
    assert result.dtype == dtype
    assert result.shape == (18, 14)
    np.testing.assert_array_equal(y, before)
    np.testing.assert_array_equal(result, sparse_coding(y, 2, training=SMALL, cache=cache))


def test_brightness_is_added_and_contrast_multiplied(camera, cache):
    y = SuperResolution(2).simulate(camera[:64, :64])
    result = sparse_coding(y, 2, training=SMALL, cache=cache)
    other = sparse_coding(0.5 * y + 0.25, 2, training=SMALL, cache=cache)
    assert psnr(other, 0.5 * result + 0.25) > 50


def test_bad_input_is_named(cache):
    with pytest.raises(ValueError, match="gray"):
        sparse_coding(np.zeros((8, 8, 3)), 2, cache=cache)
    with pytest.raises(TypeError, match="floats on the scale"):
        sparse_coding(np.zeros((8, 8), np.uint8), 2, cache=cache)
