"""Numbers with a curve of brightness, deblurred as if they were light."""

import numpy as np
import pytest
from scipy.ndimage import convolve
from skimage import data

import plugplay as pp
from plugplay.tuning.curve_misfit import CURVED, curve_misfit


def stored(x, kernel, noise):
    """Return light that was blurred, got noise and was stored with a curve in 8 bits."""
    light = convolve(x**2.2, kernel, mode="reflect") + np.random.default_rng(0).normal(0, noise, x.shape)
    return np.round(np.clip(light, 0, 1) ** (1 / 2.2) * 255).astype(np.uint8)


@pytest.fixture(scope="module")
def coins():
    return data.coins()[110:222, 80:192] / 255


@pytest.mark.parametrize("boundary", ["circular", "reflect", "unknown"])
def test_the_misfit_is_what_the_curve_did(coins, boundary):
    kernel = pp.kernels.box(5)
    observed = np.random.default_rng(1).random(coins.shape) > 0.2
    model = pp.models.Deblurring(kernel, boundary=boundary, mask=observed)
    term = model.data_term(coins)
    x = np.pad(coins, [((n - 112) // 2, -((112 - n) // 2)) for n in term.shape], mode="reflect")
    inner = (slice(2, -2),) * 2
    expected = convolve(coins**2.2, kernel) ** (1 / 2.2) - convolve(coins, kernel)
    found = curve_misfit(term, x, observed)
    assert found == pytest.approx(float(np.sqrt(np.mean(expected[inner] ** 2))), rel=0.1)


@pytest.mark.parametrize("side", [5, 9])
def test_missing_pixels_and_a_curve_do_not_end_below_the_input(coins, side):
    """The kernel's zeros cannot be looked at, and a wrong curve leaves little in the residual."""
    kernel = pp.kernels.box(side)
    observed = np.random.default_rng(0).random(coins.shape) > 0.05
    y = stored(coins, kernel, 0.5 / 255)
    result = pp.deblur(y, kernel, mask=observed)
    assert pp.psnr(result.image, coins) > pp.psnr(y / 255, coins)
    assert CURVED in result.warnings
    light = pp.deblur(y, kernel, mask=observed, transfer="srgb")
    assert CURVED not in light.warnings
    assert pp.psnr(light.image, coins) > pp.psnr(result.image, coins) + 2


def test_noise_that_is_strongest_in_the_dark_does_not_end_in_noise_there():
    """Of low contrast, so that the curve does no harm to the blur: more noise than that would cost detail."""
    x = data.retina()[260:372, 260:372].mean(axis=-1) / 255
    kernel = pp.kernels.gaussian(5, sigma=0.58)
    y = stored(x, kernel, 2 / 255)
    result = pp.deblur(y, kernel)
    assert pp.psnr(result.image, x) > pp.psnr(y / 255, x) + 1


def test_even_noise_speaks_for_no_curve(coins):
    kernel = pp.kernels.box(5)
    y = pp.models.Deblurring(kernel).simulate(coins, noise=2 / 255, rng=0)
    assert pp.deblur(y, kernel).warnings == ()
