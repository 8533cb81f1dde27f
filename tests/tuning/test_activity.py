"""How much detail an image has, seen through blur and noise."""

import numpy as np
import pytest
from skimage import data

import plugplay as pp
from plugplay.tuning.activity import activity
from plugplay.tuning.rules import Case, choose
from plugplay.tuning.transmission import natural_spectrum, transmission

MOTION = pp.models.Deblurring(pp.kernels.motion(9, 20))


def natural_image(power, side=256):
    """A Gaussian process with the spectrum of natural images, times a power."""
    white = np.fft.fft2(np.random.default_rng(0).standard_normal((side, side)))
    return 0.5 + np.fft.ifft2(white * np.sqrt(power * natural_spectrum((side, side)))).real


@pytest.mark.parametrize("power", [0.003, 0.03, 0.3])
@pytest.mark.parametrize("noise", [2 / 255, 10 / 255])
def test_it_is_the_power_of_a_process_of_that_power(power, noise):
    y = MOTION.simulate(natural_image(power), noise=noise, rng=1)
    assert power / 2.5 < activity(y, MOTION.traits(y).spectrum, noise) < 2.5 * power  # noise makes blocks unequal


def test_more_than_natural_counts_as_natural_and_nothing_as_hardly_anything():
    spectrum = MOTION.traits(np.zeros((64, 64))).spectrum
    assert activity(natural_image(30.0), spectrum, 0.02) == pytest.approx(1, rel=1e-4)
    assert activity(np.full((64, 64), 0.5), spectrum, 0.02) < 1e-5
    assert activity(np.full((8, 64), 0.5), spectrum, 0.02) == 1.0  # too small to tell


def test_channels_have_the_noise_of_one():
    y = MOTION.simulate(natural_image(0.01), noise=0.02, rng=1)
    alike = np.stack([np.full_like(y, 0.5)] * 2 + [np.sqrt(3) * y - (np.sqrt(3) - 1) * 0.5], axis=-1)
    spectrum = MOTION.traits(y).spectrum
    assert activity(alike, spectrum, 0.02) == pytest.approx(activity(y, spectrum, 0.02), rel=1e-6)


def test_an_observation_decides_less_of_an_image_with_less_detail():
    spectrum = MOTION.traits(np.zeros((64, 64))).spectrum
    shares = [transmission(spectrum, 0.02, activity=power) for power in (1.0, 0.1, 0.01)]
    assert shares == sorted(shares, reverse=True)
    assert transmission(spectrum, 0.02, activity=0.25) == pytest.approx(transmission(spectrum, 0.04))


def test_lambda_is_larger_for_images_with_less_detail_but_bounded():
    traits = MOTION.traits(np.zeros((64, 64)))
    shares = [choose(Case(traits=traits, noise=0.04, activity=a)).lam / 0.04**2 for a in (1.0, 0.1, 0.01, 1e-6)]
    assert shares == sorted(shares)
    assert shares[2] > 2 * shares[0]
    assert shares[-1] == pytest.approx(2.0)


def test_smooth_images_are_not_left_noisy():
    """A moon with little detail: told nothing, within a quarter of a decibel of a lambda twice and half as large."""
    x = data.moon()[300:428, 100:228] / 255
    y = MOTION.simulate(x, noise=10 / 255, rng=0)
    found = pp.restore(y, MOTION)
    others = [pp.restore(y, MOTION, noise=10 / 255, lam=share * found.parameters.lam) for share in (0.5, 2.0)]
    assert pp.psnr(found.image, x) > max(pp.psnr(other.image, x) for other in others) - 0.25
