"""Noise that was not given: white or coloured, and what is made of it."""

import numpy as np
import pytest
from scipy.ndimage import correlate1d
from skimage import data

import plugplay as pp
from plugplay.noise.finding import find_coloured_noise, find_noise


@pytest.fixture(scope="module")
def clean():
    return data.rocket()[60:252, 150:342] / 255


def demosaicked_noise(shape, seed=0):
    """Noise under [1 2 1] / 4 along both axes, with standard deviation 1."""
    noise = np.random.default_rng(seed).normal(size=shape)
    for axis in (0, 1):
        noise = correlate1d(noise, [0.25, 0.5, 0.25], axis=axis, mode="wrap")
    return noise / noise.std()


def test_coloured_noise_is_found_in_gray_and_in_colour(clean):
    for image in (clean, clean.mean(axis=-1)):
        found = find_coloured_noise(image + 0.05 * demosaicked_noise(image.shape))
        assert not found.coloured.is_white
        # Told too little, a denoiser leaves the strong frequencies.
        assert 0.95 * 0.05 < found.level < 1.5 * 0.05
        assert found.coloured.sigma == found.level


@pytest.mark.parametrize("sigma", [5, 25])
def test_white_noise_is_white(clean, sigma):
    for image in (clean, data.camera()[::2, ::2] / 255):
        y = image + sigma / 255 * np.random.default_rng(1).normal(size=image.shape)
        assert find_coloured_noise(y) is None
        assert find_noise(y).level == pytest.approx(sigma / 255, rel=0.1)


def test_denoising_finds_coloured_noise_and_removes_it(clean):
    y = clean + 0.05 * demosaicked_noise(clean.shape)
    found = pp.denoise(y, channel_axis=-1)
    white = pp.denoise(y, channel_axis=-1, noise=0.05)
    assert isinstance(found.parameters.noise, pp.ColouredNoise)
    assert found.parameters.prepared.noise_spectrum is not None
    assert found.parameters.noise_uncertainty > 0
    assert pp.psnr(found.image, clean) > pp.psnr(white.image, clean) + 1


def test_a_given_spectrum_is_used_as_it_is(clean):
    response = np.square(0.5 + 0.5 * np.cos(2 * np.pi * np.fft.fftfreq(32)))
    noise = pp.ColouredNoise(0.05, np.outer(response, response))
    y = clean[..., 1] + 0.05 * demosaicked_noise(clean.shape[:2])
    result = pp.denoise(y, noise=noise)
    assert result.parameters.noise is noise
    assert result.parameters.noise_uncertainty is None
    direct = pp.denoisers.BM3D(noise_spectrum=noise.spectrum)(y, 0.05)
    np.testing.assert_allclose(result.image, direct, atol=1e-6)


def test_models_that_change_the_colour_refuse_it(clean):
    noise = pp.ColouredNoise(0.05, np.ones((32, 32)))
    y = clean[:32, :32, 0]
    for model in (
        pp.models.Deblurring(pp.kernels.box(3)),
        pp.models.SuperResolution(2),
        pp.models.Inpainting(np.eye(32) == 0),
    ):
        with pytest.raises(ValueError, match="noise=ColouredNoise.* is for denoising.*give its standard deviation"):
            pp.restore(y, model, noise=noise)


def test_uncertainty_is_on_the_scale_of_the_noise():
    y = np.random.default_rng(2).normal(0.5, 0.05, (96, 96))
    unit, large = (pp.prepare(s * y, pp.models.Denoising(), data_range=(0, s)).parameters for s in (1, 1000))
    assert 0 < unit.noise_uncertainty < 0.01
    for parameters in (unit, large):
        assert parameters.noise == pytest.approx(0.05, rel=0.1)
        assert parameters.noise_uncertainty == pytest.approx(unit.noise_uncertainty, rel=1e-3)
    assert pp.prepare(y, pp.models.Denoising(), noise=0.05).parameters.noise_uncertainty is None


def test_folded_texture_is_not_taken_for_noise():
    """Sampled far apart, texture looks like noise; what a user says about it counts."""
    texture = data.gravel()[:256, :256] / 255
    model = pp.models.SuperResolution(4, pp.kernels.gaussian(9, sigma=1.0))
    y = model.simulate(texture, noise=5 / 255, rng=0)
    assert find_noise(y).level > 25 / 255
    assert pp.prepare(y, model).parameters.noise < 18 / 255
    told = pp.prepare(y, model, noise=5 / 255)
    assert told.parameters.noise == 5 / 255
    assert not told.warnings
