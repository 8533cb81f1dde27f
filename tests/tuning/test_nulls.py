"""Noise at the kernel's zeros: white noise and the right kernel are believed, a wrong kernel is not."""

import numpy as np
import pytest
from skimage import data

import plugplay as pp
from plugplay.tuning.nulls import noise_at_nulls


@pytest.fixture(scope="module")
def moon():
    return data.moon()[200:360, 200:360] / 255


@pytest.mark.parametrize("kernel", ["motion:9,20", "disk:4", "box:9", "gaussian:1.6"])
@pytest.mark.parametrize("noise", [1 / 255, 8 / 255])
def test_the_right_kernel_is_believed(moon, kernel, noise):
    model = pp.models.Deblurring(pp.kernels.parse(kernel))
    y = model.simulate(moon, noise=noise, rng=0)
    assert noise_at_nulls(y, model.traits(y), noise) is None


@pytest.mark.parametrize("channels", [(), (3,)])
def test_more_noise_than_was_told_is_found(moon, channels):
    model = pp.models.Deblurring(pp.kernels.box(9))
    x = np.broadcast_to(moon.reshape(160, 160, *[1] * len(channels)), (160, 160, *channels))
    y = model.simulate(x, noise=8 / 255, rng=0)
    found = noise_at_nulls(y, model.traits(y), 3 / 255)
    assert 1.3 * 8 / 255 < found < 1.8 * 8 / 255


@pytest.mark.parametrize(("told", "believed"), [(8, True), (4, False)])
def test_windows_of_large_images_tell_the_same(told, believed):
    large = np.pad(data.moon() / 255, ((0, 700), (0, 30)), mode="symmetric")
    model = pp.models.Deblurring(pp.kernels.box(9))
    y = model.simulate(large, noise=8 / 255, rng=0)
    y[:100] = 0.5  # nothing to be seen in some of them
    found = noise_at_nulls(y, model.traits(y), told / 255)
    assert found is None if believed else 1.3 * 8 / 255 < found < 1.8 * 8 / 255


def test_another_kernel_leaves_too_much_where_the_told_one_leaves_nothing():
    page = data.page()[20:180, 100:260] / 255
    y = pp.models.Deblurring(pp.kernels.box(9)).simulate(page, noise=0.5 / 255, rng=0)
    told = pp.models.Deblurring(pp.kernels.box(11))
    assert noise_at_nulls(y, told.traits(y), 0.5 / 255) > 2 / 255


def test_what_cannot_be_judged_is_not(moon):
    for model in (
        pp.models.Denoising(),
        pp.models.SuperResolution(2),
        pp.models.Deblurring(np.ones((3, 3)) / 9, mask=np.ones((160, 160), bool)),
    ):
        assert noise_at_nulls(moon, model.traits(moon), 0.01) is None
    small = moon[:32, :32]
    blur = pp.models.Deblurring(np.ones((3, 3)) / 9)
    assert noise_at_nulls(small, blur.traits(small), 1e-4) is None


def test_a_narrow_kernel_that_is_shifted_by_half_a_pixel_is_not_believed():
    """All of its zeros are at the highest frequencies, where the data hold something."""
    camera = data.camera()[160:320, 200:360] / 255
    noise = 2 / 255
    pair = pp.models.Deblurring(np.array([[0.0, 0.5, 0.5]]))
    narrow = pp.models.Deblurring(pp.kernels.gaussian(5, sigma=0.5))
    y = narrow.simulate(camera, noise=noise, rng=0)
    assert noise_at_nulls(y, narrow.traits(y), noise) is None
    assert noise_at_nulls(y, pair.traits(y), noise) > 1.5 * noise
    y = pair.simulate(camera, noise=noise, rng=0)
    assert noise_at_nulls(y, pair.traits(y), noise) is None
