"""Noise where a blur leaves least of an image, in dark and in bright places."""

import numpy as np
import pytest

import plugplay as pp
from plugplay.tuning.weakest import weak_noise

KERNEL = pp.kernels.gaussian(9, sigma=1.3)


@pytest.fixture
def ramp():
    return np.linspace(0.1, 1, 160) * np.ones((120, 1))


def white(shape, level=0.01, seed=0):
    return np.random.default_rng(seed).normal(0, level, shape)


@pytest.mark.parametrize("shape", [(120, 160), (121, 161), (120, 160, 3), (700, 530)])
def test_the_level_is_that_of_white_noise(shape):
    image = np.random.default_rng(1).random(shape)
    found = weak_noise(white(shape), image, KERNEL)
    assert found.level == pytest.approx(0.01, rel=0.03)
    assert found.quarters == pytest.approx([0.01] * 4, rel=0.06)
    assert len(found.parts) == 8
    assert not found.is_uneven


def test_detail_that_a_denoiser_took_does_not_count(ramp):
    detail = 0.05 * np.sin(2 * np.pi * np.arange(160) / 16) * np.ones((120, 1))
    assert weak_noise(white(ramp.shape) + detail, ramp, KERNEL).level == pytest.approx(0.01, rel=0.05)


def test_pixels_that_were_not_observed_do_not_count(ramp):
    observed = np.random.default_rng(2).random(ramp.shape) > 0.3
    found = weak_noise(np.where(observed, white(ramp.shape), 0), ramp, KERNEL, observed)
    assert found.level == pytest.approx(0.01, rel=0.05)


@pytest.mark.parametrize(("power", "falls"), [(-1.0, True), (1.0, False)])
def test_where_there_is_most_of_it(ramp, power, falls):
    found = weak_noise(white(ramp.shape) * ramp**power, ramp, KERNEL)
    assert found.is_uneven
    assert found.falls == falls
    assert found.worst == found.quarters[0 if falls else -1]


def test_noise_that_is_clipped_in_the_brightest_places_does_not_fall(ramp):
    found = weak_noise(white(ramp.shape) * np.where(ramp > 0.8, 0.5, 1 - 0.02 * ramp), ramp, KERNEL)
    assert found.is_uneven
    assert not found.falls


@pytest.mark.parametrize("taps", [None, pp.kernels.box(121)])
def test_nothing_is_known_without_a_kernel_that_fits(ramp, taps):
    found = weak_noise(white(ramp.shape), ramp, taps)
    assert np.isnan(found.level)
    assert found.worst == 0
    assert not found.is_uneven
    assert not found.falls


def test_an_image_of_few_values_has_no_eighths(ramp):
    found = weak_noise(white(ramp.shape), np.where(ramp > 0.5, 1.0, 0.0), KERNEL)
    assert found.level == pytest.approx(0.01, rel=0.05)
    assert found.parts == ()
