"""Noise told from texture after decimation."""

import io

import numpy as np
import pytest
from PIL import Image
from skimage import data

import plugplay as pp
from plugplay.noise.estimation import estimate_noise
from plugplay.tuning.texture import HARMLESS, is_noise, without_texture


def decimated(noise, factor=2):
    """A motorcycle, detail everywhere, decimated."""
    x = data.stereo_motorcycle()[0][100:292, 200:392].mean(axis=-1) / 255
    return pp.models.SuperResolution(factor).simulate(x, noise=noise, rng=0)


def test_texture_is_not_taken_for_noise():
    y = decimated(0.0, factor=4)
    estimate = estimate_noise(y).sigma
    assert estimate > 2.4 / 255
    assert without_texture(y, estimate) < 0.7 * estimate


@pytest.mark.parametrize("noise", [5 / 255, 10 / 255])
def test_noise_stays_noise(noise):
    flat = np.random.default_rng(0).normal(0.5, noise, (96, 96))
    assert without_texture(flat, noise) == noise
    assert without_texture(decimated(noise), noise) > 0.5 * noise


def test_channels_share_the_noise_of_one():
    noise = 8 / 255
    y = np.random.default_rng(0).normal(0.5, noise, (64, 64, 3)).astype(np.float32)
    assert without_texture(y, noise) == noise


def test_little_noise_is_believed():
    y = decimated(0.0)
    assert without_texture(y, HARMLESS) == HARMLESS
    assert without_texture(y, 0.5 * HARMLESS) == 0.5 * HARMLESS


def test_uncertain_noise_of_a_small_image_is_used():
    """Super-resolution by 4 sees few blocks; what it measures there is nevertheless about right."""
    y = decimated(10 / 255, factor=4)
    told = pp.prepare(y, pp.models.SuperResolution(4), denoiser="tv").parameters.noise
    assert 4.5 / 255 < told < 12 / 255


def test_texture_that_was_not_decimated_is_not_noise():
    grass = data.grass()[:128, :128] / 255
    assert not is_noise(grass, 5 / 255)
    noisy = grass + np.random.default_rng(0).normal(0, 15 / 255, grass.shape)
    assert is_noise(noisy, 15 / 255)


def test_noise_in_a_jpeg_file_that_may_be_texture_is_removed():
    clean = data.coffee()[:256, :256]
    noisy = np.clip(clean / 255 + np.random.default_rng(0).normal(0, 20 / 255, clean.shape), 0, 1)
    buffer = io.BytesIO()
    Image.fromarray(np.round(255 * noisy).astype(np.uint8)).save(buffer, "JPEG", quality=92)
    y = np.asarray(Image.open(buffer))
    result = pp.denoise(y, channel_axis=-1)
    assert 15 / 255 < result.parameters.noise < 25 / 255
    assert pp.psnr(result.image, clean / 255) > pp.psnr(y / 255, clean / 255) + 4
