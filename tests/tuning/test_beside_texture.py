"""Noise behind a mild blur: found between texture, and given up where it cannot be told."""

import math

import numpy as np
import pytest
from skimage import data

import plugplay as pp
from plugplay.noise.estimation import estimate_noise
from plugplay.tuning.beside_texture import SIDE, _behind, _powers, _windows, noise_beside_texture
from plugplay.tuning.transmission import natural_spectrum


@pytest.fixture(scope="module")
def images():
    return {
        "gravel": data.gravel()[100:228, 100:228] / 255,
        "page": data.page()[20:148, 100:228] / 255,
        "cat": data.chelsea()[80:208, 140:268] / 255,
    }


def blur(kernel, **options):
    return pp.models.Deblurring(pp.kernels.parse(kernel), boundary="circular", **options)


@pytest.mark.parametrize("name", ["gravel", "page", "cat"])
@pytest.mark.parametrize("kernel", ["gaussian:0.5", "gaussian:1", "disk:2.5", "motion:9,20"])
@pytest.mark.parametrize("noise", [1 / 255, 4 / 255])
def test_white_noise_is_found(images, name, kernel, noise):
    model = blur(kernel)
    y = model.simulate(images[name], noise=noise, rng=0)
    found = noise_beside_texture(y, model.traits(y))
    assert found.level == pytest.approx(noise, rel=0.2)
    assert found.error < 0.12 * noise


def test_the_power_of_natural_images_in_a_window_is_what_windows_hold_on_average():
    """The law is compared with windows of Gaussian fields that have the spectrum of natural images."""
    shape, rng = (64, 64), np.random.default_rng(0)
    transfer = blur("gaussian:0.7").traits(np.zeros(shape)).spectrum
    amplitude = np.sqrt(natural_spectrum(shape)) * np.abs(transfer)
    total = np.zeros(SIDE * SIDE)
    for _ in range(60):
        field = np.fft.ifft2(amplitude * np.fft.fft2(rng.standard_normal(shape))).real
        total += _powers(_windows(field)).mean(axis=0)
    law = _behind(transfer)
    high = np.hypot(*np.meshgrid(*[np.fft.fftfreq(SIDE)] * 2)).ravel() > 0.15  # the mean of a window is taken from it
    np.testing.assert_allclose((total / 60)[high], law[high], rtol=0.12)


def test_missing_pixels_do_not_hide_noise(images):
    mask = np.random.default_rng(3).random((128, 128)) > 0.08
    model = blur("gaussian:0.6", mask=mask)
    y = np.where(mask, blur("gaussian:0.6").simulate(images["gravel"], noise=3 / 255, rng=0), np.nan)
    assert noise_beside_texture(y, model.traits(y)).level == pytest.approx(3 / 255, rel=0.15)


def test_noise_that_depends_on_the_brightness_is_not_told(images):
    model = blur("gaussian:0.5")
    clean = np.linspace(0.1, 0.9, 128) * np.ones((128, 1)) + 0.1 * (images["gravel"] - 0.5)
    growing = np.sqrt(clean / 0.5) * np.random.default_rng(1).normal(0, 4 / 255, clean.shape)
    y = model.forward(clean) + growing
    assert noise_beside_texture(y, model.traits(y)) is None
    even = model.simulate(clean, noise=4 / 255, rng=1)
    assert noise_beside_texture(even, model.traits(even)) is not None


def test_large_images_are_looked_at_in_some_windows():
    large, model = np.pad(data.gravel() / 255, ((0, 500), (0, 300)), mode="symmetric"), blur("gaussian:0.5")
    y = model.simulate(large, noise=3 / 255, rng=0)
    assert noise_beside_texture(y, model.traits(y)).level == pytest.approx(3 / 255, rel=0.12)


def test_nothing_is_known_of_other_models_and_of_images_without_texture(images):
    y = images["gravel"]
    every_other = np.arange(y.size).reshape(y.shape) % 2 > 0
    for model in (pp.models.Denoising(), pp.models.SuperResolution(2), blur("box:5", mask=every_other)):
        assert noise_beside_texture(y, model.traits(y)) is None
    model = blur("box:5")
    for other in (y[:16, :16], y[:40, :40], np.full((128, 128), 0.5)):
        assert noise_beside_texture(other, model.traits(other)) is None


def test_a_restoration_assumes_it_and_keeps_it(images):
    """A small residual is a sign of texture there, not of less noise."""
    model, noise = blur("gaussian:0.5"), 1 / 255
    y = model.simulate(images["page"], noise=noise, rng=0)
    blocks = estimate_noise(y)
    assert blocks.sigma > 1.3 * noise
    result = pp.restore(y, model)
    assert result.parameters.noise == pytest.approx(noise, rel=0.15)
    assert not any("mean of two" in warning for warning in result.warnings)
    assert math.isfinite(result.parameters.noise_uncertainty)
