"""How strong demosaicked noise is at low frequencies, against the sums of its interpolation's weights."""

import io

import numpy as np
import pytest
from PIL import Image
from scipy.ndimage import convolve
from skimage import data

from plugplay.noise.estimation import estimate_noise

# What one pixel of the sensor adds to its plane, all told, and the share of pixels that see this colour: red, green and
# blue. The power at frequency 0 is the product of share and square; luminance is (R + G + B) / sqrt(3).
WEIGHTS, SHARES = np.array([4, 2, 4]), np.array([0.25, 0.5, 0.25])
LUMINANCE = np.sqrt(np.sum(SHARES * WEIGHTS**2) / 3)


def demosaicked(mosaic):
    """Interpolate the colours of an RGGB sensor bilinearly."""
    colour = np.add.outer(np.arange(mosaic.shape[0]) % 2, np.arange(mosaic.shape[1]) % 2)
    far = np.array([[1, 2, 1], [2, 4, 2], [1, 2, 1]]) / 4
    near = np.array([[0, 1, 0], [1, 4, 1], [0, 1, 0]]) / 4
    planes = [convolve(np.where(colour == c, mosaic, 0), near if c == 1 else far, mode="mirror") for c in range(3)]
    return np.stack(planes, axis=-1)


def written(image, subsampling):
    file = io.BytesIO()
    Image.fromarray(image).save(file, "jpeg", quality=95, subsampling=subsampling)
    return np.asarray(Image.open(file)) / 255


def in_8_bits(image):
    return np.rint(255 * image.clip(0, 1)).astype(np.uint8)


@pytest.fixture(scope="module")
def mosaic():
    return np.random.default_rng(0).normal(0.5, 0.05, (256, 256))


def test_the_weights_are_those_of_the_interpolation():
    for colour, (row, column) in enumerate([(8, 8), (8, 9), (9, 9)]):
        impulse = np.zeros((16, 16))
        impulse[row, column] = 1
        sums = demosaicked(impulse).sum(axis=(0, 1))
        np.testing.assert_allclose(sums, np.where(np.arange(3) == colour, WEIGHTS, 0))


def test_demosaicked_noise_is_strong_at_low_frequencies(mosaic):
    y = demosaicked(mosaic)
    for image in (y, in_8_bits(y) / 255):
        found = estimate_noise(image)
        assert LUMINANCE * 0.05 < found.strongest < 2 * LUMINANCE * 0.05
        assert found.strongest > 1.5 * found.sigma


@pytest.mark.parametrize("subsampling", [0, 2], ids=["4:4:4", "4:2:0"])
def test_so_it_is_in_jpeg_files(mosaic, subsampling):
    found = estimate_noise(written(in_8_bits(demosaicked(mosaic)), subsampling))
    assert 0.8 * LUMINANCE * 0.05 < found.strongest < 1.6 * LUMINANCE * 0.05


def test_units_do_not_matter(mosaic):
    y = demosaicked(mosaic)
    assert estimate_noise(1000 * y).strongest == pytest.approx(1000 * estimate_noise(y).strongest, rel=1e-6)


@pytest.mark.parametrize("noise", [2, 5, 20])
@pytest.mark.parametrize("name", ["astronaut", "rocket", "coffee"])
def test_white_noise_passes_for_white(name, noise):
    clean = getattr(data, name)()[60:252, 150:342] / 255
    y = clean + noise / 255 * np.random.default_rng(noise).normal(size=clean.shape)
    for image in (y, in_8_bits(y) / 255):
        assert estimate_noise(image).strongest == 0


@pytest.mark.parametrize("subsampling", [0, 2], ids=["4:4:4", "4:2:0"])
def test_white_noise_in_jpeg_files_is_not_raised_much(subsampling):
    clean = data.rocket()[60:252, 150:342] / 255
    for noise in (5, 10, 20):
        y = clean + noise / 255 * np.random.default_rng(noise).normal(size=clean.shape)
        assert estimate_noise(written(in_8_bits(y), subsampling)).strongest < 1.1 * noise / 255


def test_gray_images_tell_nothing(mosaic):
    assert estimate_noise(demosaicked(mosaic).mean(axis=-1)).strongest == 0
