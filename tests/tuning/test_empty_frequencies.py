"""The most that noise behind a blur can be: never below the noise, and far below the grain of a photograph."""

import math

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter
from skimage import data

import plugplay as pp
from plugplay.noise.estimation import estimate_noise
from plugplay.tuning.empty_frequencies import most_noise

KERNELS = ("gaussian:1", "gaussian:1.6", "motion:9,20", "disk:3", "box:5")


@pytest.fixture(scope="module")
def images():
    return {
        "moon": data.moon()[200:328, 200:328] / 255,
        "camera": data.camera()[100:228, 180:308] / 255,
        "colour": data.astronaut()[20:148, 150:278] / 255,
    }


def blur(kernel, **options):
    return pp.models.Deblurring(pp.kernels.parse(kernel), boundary="circular", **options)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", ["moon", "camera", "colour"])
@pytest.mark.parametrize("noise", [1 / 255, 8 / 255])
def test_the_noise_is_below_the_bound_and_close_to_it(images, name, kernel, noise):
    model = blur(kernel)
    y = model.simulate(images[name], noise=noise, rng=0)
    assert 0.99 * noise < most_noise(y, model.traits(y)) < 1.25 * noise


def test_grain_that_was_blurred_is_no_noise(images):
    """Blocks cannot tell the grain of a photograph from noise; what they say is lowered before anything is restored."""
    grain = 4 / 255 * np.random.default_rng(1).standard_normal((128, 128))
    model, noise = blur("gaussian:0.8"), 1 / 255
    y = model.simulate(np.clip(images["moon"] + gaussian_filter(grain, 0.5), 0, 1), noise=noise, rng=0)
    assert estimate_noise(y).sigma > 1.5 * noise
    assert noise < pp.prepare(y, model).parameters.noise < 1.25 * noise


def test_noise_that_a_camera_has_smoothed_is_not_taken_for_less(images):
    """It is least at the highest frequencies; where a blur leaves nothing at lower ones, it is what it is there."""
    smooth = gaussian_filter(np.random.default_rng(2).standard_normal((128, 128)), 0.6)
    noise = 5 / 255 * smooth / smooth.std()
    model = blur("gaussian:2")
    y = model.forward(images["camera"]) + noise
    assert most_noise(y, model.traits(y)) > 5 / 255


@pytest.mark.parametrize("share", [0.25, 0.5])
def test_clipped_places_have_no_noise(images, share):
    model, noise = blur("disk:3"), 4 / 255
    y = model.simulate(images["camera"], noise=noise, rng=0)
    y[: round(share * len(y))] = y.max()
    assert most_noise(y, model.traits(y)) > noise


@pytest.mark.parametrize("missing", [0.05, 0.15])
def test_missing_pixels_do_not_hide_noise(images, missing):
    mask = np.random.default_rng(3).random((128, 128)) > missing
    for kernel in ("gaussian:1.6", "motion:9,20"):
        model, noise = blur(kernel, mask=mask), 4 / 255
        y = np.where(mask, blur(kernel).simulate(images["camera"], noise=noise, rng=0), np.nan)
        assert noise < most_noise(y, model.traits(y)) < 1.6 * noise


def test_large_images_are_looked_at_in_windows():
    large, model = np.pad(data.moon() / 255, ((0, 700), (0, 30)), mode="symmetric"), blur("box:9")
    y = model.simulate(large, noise=6 / 255, rng=0)
    assert 6 / 255 < most_noise(y, model.traits(y)) < 6.6 / 255


def test_nothing_is_known_of_other_models_and_tiny_images(images):
    y = images["camera"]
    every_other = np.arange(y.size).reshape(y.shape) % 2 > 0
    for model in (pp.models.Denoising(), pp.models.SuperResolution(2), blur("box:5", mask=every_other)):
        assert most_noise(y, model.traits(y)) == math.inf
    model = blur("box:5")
    for tiny in (y[:16, :16], np.full((128, 128), 0.5)):
        assert most_noise(tiny, model.traits(tiny)) == math.inf
