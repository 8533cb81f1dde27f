"""What every classical built-in does, whatever its mathematics."""

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import plugplay as pp

NAMES = ("tv", "nlm", "dsg-nlm", "wavelet", "recursive", "bilateral", "median", "gaussian")
family = pytest.mark.parametrize("name", NAMES)


@st.composite
def images(draw):
    shape = [draw(st.integers(1, 40)), draw(st.integers(1, 12))]
    shape = draw(st.permutations(shape))
    if draw(st.booleans()):
        shape.append(draw(st.integers(1, 4)))
    values = np.random.default_rng(draw(st.integers(0, 2**32))).random(shape)
    if draw(st.booleans()):
        values = values.round()
    return values.astype(draw(st.sampled_from([np.float32, np.float64])))


@family
@settings(max_examples=25, deadline=None)
@given(image=images(), sigma=st.one_of(st.sampled_from([0.0, 1e-300, 1e-6, 1e-4, 3.0]), st.floats(0, 3)))
def test_any_size_any_channels_any_sigma(name, image, sigma):
    given = image.copy()
    image.setflags(write=False)
    smooth = pp.denoisers.get(name)(image, sigma)
    np.testing.assert_array_equal(image, given)
    assert smooth.shape == image.shape
    assert smooth.dtype == image.dtype
    assert smooth.flags.writeable
    assert not np.shares_memory(smooth, image)
    assert np.isfinite(smooth).all()
    # Thresholding may overshoot a little; nothing may run away.
    assert smooth.min() > -0.5
    assert smooth.max() < 1.5
    if sigma < 1e-12:
        np.testing.assert_array_equal(smooth, image)


@family
@pytest.mark.parametrize("sigma", [1e-3, 0.1, 3.0])
def test_brightness_does_not_matter(name, sigma, camera):
    denoise, image = pp.denoisers.get(name), camera[:40, :50]
    np.testing.assert_allclose(denoise(np.full((9, 7, 3), 0.3), sigma), 0.3, atol=1e-12 if name != "dsg-nlm" else 1e-6)
    np.testing.assert_allclose(denoise(image + 0.25, sigma), denoise(image, sigma) + 0.25, atol=2e-5)
    np.testing.assert_allclose(denoise(1 - image, sigma), 1 - denoise(image, sigma), atol=2e-5)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "recursive"])  # which begins with the rows
def test_rows_and_columns_are_alike(name, astronaut):
    denoise, image = pp.denoisers.get(name), astronaut[:40, :30]
    turned = denoise(image.transpose(1, 0, 2), 0.1)
    np.testing.assert_allclose(turned.transpose(1, 0, 2), denoise(image, 0.1), atol=2e-5)


@family
def test_channels_may_be_swapped(name, astronaut):
    denoise = pp.denoisers.get(name)
    np.testing.assert_allclose(denoise(astronaut[..., ::-1], 0.1), denoise(astronaut, 0.1)[..., ::-1], atol=2e-5)


@family
@pytest.mark.parametrize("colour", [False, True], ids=["gray", "colour"])
def test_the_number_of_threads_does_not_change_a_bit(name, colour):
    image = np.random.default_rng(0).random((600, 12, 2) if colour else (530, 20))
    one = pp.denoisers.get(name, workers=1)(image, 0.1)
    for workers in (2, 5):
        np.testing.assert_array_equal(pp.denoisers.get(name, workers=workers)(image, 0.1), one)


@family
def test_one_denoiser_may_be_called_from_many_threads(name):
    images = [np.random.default_rng(seed).random((70, 50)).astype(np.float32) for seed in range(6)]
    denoise = pp.denoisers.get(name)
    expected = [denoise(image, 0.1) for image in images]
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda image: denoise(image, 0.1), images))
    np.testing.assert_array_equal(found, expected)


@family
def test_single_and_double_precision_agree(name, astronaut):
    denoise = pp.denoisers.get(name)
    double = denoise(astronaut, 0.1)
    np.testing.assert_allclose(denoise(astronaut.astype(np.float32), 0.1), double, atol=2e-4)


@family
@pytest.mark.parametrize("sigma", [1e-4, 1e-3, 1e-2])
def test_the_identity_is_approached_in_proportion(name, sigma, camera):
    """Definition 1 on a photograph, on noise and on thin lines: the RMS move is at most 5 sigma."""
    lines = np.zeros((64, 64))
    lines[::4] = 1
    denoise = pp.denoisers.get(name)
    for image in (camera, np.random.default_rng(0).random((64, 64)), lines):
        assert math.sqrt(np.mean((denoise(image, sigma) - image) ** 2)) <= 5 * sigma


@family
def test_a_huge_sigma_means_strong_smoothing(name):
    image = np.random.default_rng(0).random((64, 64))
    assert pp.denoisers.get(name)(image, 3.0).std() < 0.25 * image.std()
