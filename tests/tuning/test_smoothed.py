"""Deblurring photographs that a camera demosaicked: their noise is assumed as strong as it is at low frequencies."""

import io

import numpy as np
import pytest
from PIL import Image
from scipy.ndimage import convolve
from skimage import data

import plugplay as pp
from plugplay.noise.estimation import estimate_noise
from plugplay.noise.finding import FoundNoise
from plugplay.tuning.smoothed import EMPTIED, KEPT, MARGIN, MAX_OF_CAMERA, MAX_OF_FILE, smoothed_noise

SIGN = "as after demosaicking"
KERNELS = {"motion": pp.kernels.motion(15, 75), "gaussian": pp.kernels.gaussian(11, sigma=1.6)}


def demosaicked(light, photons, read):
    """Return what a camera with an RGGB sensor writes: photon and read-out noise, interpolated bilinearly."""
    rng = np.random.default_rng(0)
    colour = np.add.outer(np.arange(light.shape[0]) % 2, np.arange(light.shape[1]) % 2)
    seen = np.take_along_axis(light, colour[..., None], axis=-1)[..., 0]
    seen = rng.poisson(photons * seen) / photons + read * rng.normal(size=seen.shape)
    far = np.array([[1, 2, 1], [2, 4, 2], [1, 2, 1]]) / 4
    near = np.array([[0, 1, 0], [1, 4, 1], [0, 1, 0]]) / 4
    planes = [convolve(np.where(colour == c, seen, 0), near if c == 1 else far, mode="mirror") for c in range(3)]
    return np.rint(255 * np.stack(planes, axis=-1).clip(0, 1)).astype(np.uint8)


def written(pixels, subsampling):
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "jpeg", quality=95, subsampling=subsampling)
    return np.asarray(Image.open(file))


def photographed(scene, kernel):
    """Return the light behind a blur."""
    return pp.models.Deblurring(kernel).forward(scene).clip(0, 1)


@pytest.fixture(scope="module")
def rocket():
    return data.rocket()[60:220, 150:310] / 255


@pytest.fixture(scope="module")
def coffee():
    return data.coffee()[100:260, 200:360] / 255


@pytest.mark.parametrize("file", ["png", "4:4:4", "4:2:0"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_deblurring_ends_above_its_input(rocket, kernel, file):
    y = demosaicked(photographed(rocket, KERNELS[kernel]), photons=400, read=0.01)
    y = y if file == "png" else written(y, 0 if file == "4:4:4" else 2)
    result = pp.deblur(y, KERNELS[kernel], channel_axis=-1)
    assert pp.psnr(result.image.clip(0, 1), rocket) > pp.psnr(y / 255, rocket) + 2
    assert result.parameters.noise > estimate_noise(y / 255).sigma
    assert any(SIGN in text for text in result.warnings)


def test_the_level_of_high_frequencies_is_on_the_wrong_side_of_the_cliff(coffee):
    kernel = KERNELS["gaussian"]
    y = demosaicked(photographed(coffee, kernel), photons=400, read=0.01)
    found = pp.deblur(y, kernel, channel_axis=-1)
    told = pp.deblur(y, kernel, channel_axis=-1, noise=estimate_noise(y / 255).sigma, exact_noise=True)
    before, after, less = (pp.psnr(image.clip(0, 1), coffee) for image in (y / 255, found.image, told.image))
    assert less < before < after - 2


def test_nothing_is_said_where_the_noise_is_white(rocket):
    blurred = photographed(rocket, KERNELS["motion"])
    y = np.rint(255 * (blurred + 5 / 255 * np.random.default_rng(1).normal(size=blurred.shape)).clip(0, 1))
    plan = pp.prepare(y.astype(np.uint8), pp.models.Deblurring(KERNELS["motion"]), channel_axis=-1)
    assert plan.parameters.noise == pytest.approx(5 / 255, rel=0.1)
    assert not any(SIGN in text for text in plan.warnings)


def test_denoising_and_enlarging_do_not_amplify(coffee):
    y = demosaicked(coffee, photons=400, read=0.01)
    for model in (pp.models.Denoising(), pp.models.SuperResolution(2)):
        plan = pp.prepare(y, model, channel_axis=-1)
        assert not any(SIGN in text for text in plan.warnings)


def test_what_a_blur_holds_bounds_the_level():
    traits = pp.models.Deblurring(KERNELS["motion"]).traits(np.zeros((64, 64)))
    camera = FoundNoise(0.001, 0.0, strongest=0.05)
    file = FoundNoise(0.001, 0.0, strongest=0.05, compression=0.01)
    for most, expected in ((0.001, MAX_OF_CAMERA * 0.001), (0.02, 0.05), (0.06, MARGIN * 0.06), (np.inf, 0.05)):
        assert smoothed_noise(camera, most, traits) == pytest.approx(expected)
    for most, expected in ((0.001, MAX_OF_FILE * 0.001), (0.02, MAX_OF_FILE * 0.02), (0.06, 0.05), (np.inf, 0.05)):
        assert smoothed_noise(file, most, traits) == pytest.approx(expected)
    assert smoothed_noise(FoundNoise(0.001, 0.0), 0.02, traits) == 0
    assert smoothed_noise(FoundNoise(0.06, 0.0, strongest=0.05), 0.02, traits) == 0


def test_the_level_counts_as_far_as_the_blur_empties_frequencies():
    found, levels = FoundNoise(0.01, 0.0, strongest=0.05), []
    for width in (0.4, 0.55, 0.6, 0.65, 0.8):
        traits = pp.models.Deblurring(pp.kernels.gaussian(9, sigma=width)).traits(np.zeros((64, 64)))
        emptied = np.mean(np.abs(traits.spectrum) ** 2 < KEPT)
        levels.append(smoothed_noise(found, 0.02, traits))
        assert (levels[-1] > 0) == (emptied > EMPTIED[0])
        assert (levels[-1] > 0.0499) == (emptied >= EMPTIED[1])
    assert levels == sorted(levels)
