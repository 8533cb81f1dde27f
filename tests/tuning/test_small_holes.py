"""Small holes do not hide what the data hold against a kernel or a noise level."""

import numpy as np
import pytest
from scipy.ndimage import convolve
from skimage import data

import plugplay as pp
from plugplay.tuning.small_holes import without_holes


@pytest.fixture(scope="module")
def cup():
    return data.coffee()[100:228, 200:328].mean(axis=-1) / 255


@pytest.fixture(scope="module")
def observed():
    """Scattered pixels and some columns are missing."""
    seen = np.random.default_rng(0).random((128, 128)) > 0.05
    seen[:, [9, 40, 77, 78, 120]] = False
    return seen


def blurred(x, kernel, noise):
    return convolve(x, kernel, mode="reflect") + np.random.default_rng(1).normal(0, noise, x.shape)


def test_what_is_missing_is_filled(cup, observed):
    y = blurred(cup, pp.kernels.box(5), 1 / 255)
    model = pp.models.Deblurring(pp.kernels.box(5), mask=observed)
    whole, traits = without_holes(np.where(observed, y, np.nan), model.traits(y))
    np.testing.assert_array_equal(whole[observed], y[observed])
    assert np.sqrt(np.mean((whole - y)[~observed] ** 2)) < 3 / 255
    assert traits.observed is None


@pytest.mark.parametrize("hole", [np.s_[20:30, 20:30], np.s_[:, ::4]], ids=["wide", "many"])
def test_large_holes_stay(cup, hole):
    seen = np.ones(cup.shape, bool)
    seen[hole] = False
    traits = pp.models.Deblurring(pp.kernels.box(5), mask=seen).traits(cup)
    assert without_holes(cup, traits) == (cup, traits)


def test_a_wrong_kernel_is_found_out(cup, observed):
    y = blurred(cup, pp.kernels.box(9), 0.5 / 255)
    result = pp.deblur(y, pp.kernels.box(10), mask=observed)
    assert any("narrower" in warning for warning in result.warnings)
    assert pp.psnr(result.image, cup) > pp.psnr(y, cup) + 2


def test_a_right_kernel_is_kept(cup, observed):
    y = blurred(cup, pp.kernels.box(9), 2 / 255)
    plan = pp.prepare(y, pp.models.Deblurring(pp.kernels.box(9), boundary="unknown", mask=observed), noise=2 / 255)
    assert plan.warnings == ()
    assert plan.parameters.noise == 2 / 255
