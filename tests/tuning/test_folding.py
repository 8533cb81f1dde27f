"""Bounds of the noise in decimated images, by their spectra."""

import numpy as np
import pytest
from skimage import data

import plugplay as pp
from plugplay.tuning.folding import NoiseBounds, noise_bounds

GAUSSIAN = pp.models.SuperResolution(2, pp.kernels.gaussian(9, sigma=1.0))
IMAGES = {
    "camera": data.camera()[100:292, 150:342] / 255,
    "moon": data.moon()[100:292, 200:392] / 255,
    "brick": data.brick()[100:292, 200:392] / 255,
    "grass": data.grass()[100:292, 200:392] / 255,
}


@pytest.mark.parametrize("name", IMAGES)
@pytest.mark.parametrize("factor", [2, 4])
@pytest.mark.parametrize("noise", [0.0, 2 / 255, 8 / 255])
def test_the_truth_lies_between_the_bounds(name, factor, noise):
    for model in (pp.models.SuperResolution(factor), pp.models.SuperResolution(factor, GAUSSIAN.kernel)):
        y = model.simulate(IMAGES[name], noise=noise, rng=0)
        bounds = noise_bounds(y, model.traits(y))
        assert bounds.low <= 1.03 * noise  # the power of some hundred frequencies is not exactly that of the noise
        assert bounds.high >= 0.95 * noise


@pytest.mark.parametrize("name", IMAGES)
def test_a_kernel_that_leaves_nothing_at_the_corners_tells_the_noise(name):
    y = GAUSSIAN.simulate(IMAGES[name], noise=10 / 255, rng=0)
    bounds = noise_bounds(y, GAUSSIAN.traits(y))
    assert bounds.is_noisy
    assert 8 / 255 < bounds.low <= bounds.high < 11.5 / 255


def test_bricks_are_not_noise():
    model = pp.models.SuperResolution(4)
    y = model.simulate(IMAGES["brick"], rng=0)
    assert noise_bounds(y, model.traits(y)).high < 2.5 / 255
    assert pp.prepare(y, model, denoiser="tv").parameters.noise < 2.5 / 255


@pytest.mark.parametrize("shape", [(40, 56), (97, 64), (600, 530)])
def test_white_noise_is_measured_whatever_the_shape(shape):
    y = np.random.default_rng(3).normal(0.5, 0.03, shape)
    bounds = noise_bounds(y, GAUSSIAN.traits(y))
    assert 0.85 * 0.03 < bounds.low <= bounds.high < 1.15 * 0.03


def test_channels_share_the_noise_of_one():
    y = np.random.default_rng(3).normal(0.5, 0.03, (96, 96, 3)).astype(np.float32)
    assert 0.9 * 0.03 < noise_bounds(y, GAUSSIAN.traits(y)).high < 1.1 * 0.03


def test_of_other_models_nothing_is_known():
    y = IMAGES["moon"]
    masked = pp.models.SuperResolution(2, mask=np.random.default_rng(0).random(y.shape) > 0.1)
    for model in (pp.models.Denoising(), pp.models.Deblurring(pp.kernels.box(3)), masked):
        assert noise_bounds(y, model.traits(y)) == NoiseBounds()
    small = y[:16, :16]
    assert noise_bounds(small, GAUSSIAN.traits(small)) == NoiseBounds()


def test_noise_that_was_told_too_low_is_raised_where_it_is_certain():
    x = IMAGES["camera"]
    y = GAUSSIAN.simulate(x, noise=8 / 255, rng=0)
    told = pp.restore(y, GAUSSIAN, noise=2 / 255, workers=1)
    right = pp.restore(y, GAUSSIAN, noise=8 / 255, workers=1)
    assert any("contradict the assumed noise" in warning for warning in told.warnings)
    assert pp.psnr(told.image, x) > pp.psnr(right.image, x) - 0.5
    assert not right.warnings


@pytest.mark.parametrize("noise", [0.0, 5 / 255])
def test_detail_that_is_everywhere_is_not_noise(noise):
    """Gravel has several times as much detail as noise; bricks repeat, and their spectrum shows the noise."""
    model = pp.models.SuperResolution(4)
    gravel = model.simulate(data.gravel()[128:384, 128:384] / 255, noise=noise, rng=0)
    assert pp.prepare(gravel, model, denoiser="tv").parameters.noise < 4 / 255
    brick = model.simulate(data.brick()[128:384, 128:384] / 255, noise=noise, rng=0)
    assert pp.prepare(brick, model, denoiser="tv").parameters.noise == pytest.approx(noise, abs=1.5 / 255)
