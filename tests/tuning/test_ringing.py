"""Ringing: true images do not, inverse filters with a kernel that is too wide do, and the loop hears it."""

import math

import numpy as np
import pytest
from skimage import data

import plugplay as pp
from plugplay.tuning.ringing import ringing

IMAGES = {
    "brick": data.brick()[150:278, 150:278] / 255,
    "coins": data.coins()[60:188, 60:188] / 255,
    "cat": data.chelsea()[60:188, 100:228] / 255,
}


@pytest.mark.parametrize("image", IMAGES.values(), ids=IMAGES)
@pytest.mark.parametrize("kernel", ["box:9", "motion:15,30", "disk:5"])
def test_true_images_do_not_ring_and_inverse_filters_with_a_wide_kernel_do(image, kernel):
    told = pp.kernels.parse(kernel)
    wide = {"box:9": "box:11", "motion:15,30": "motion:18,30", "disk:5": "disk:6"}[kernel]
    y = pp.models.Deblurring(told).forward(image)
    spoilt = pp.models.Deblurring(pp.kernels.parse(wide)).data_term(y).prox(np.full(image.shape, 0.5), 1e-6)
    assert ringing(image, told) < 0.1
    assert ringing(spoilt, pp.kernels.parse(wide)) > 0.3


def test_what_cannot_be_told_is_not():
    image = IMAGES["brick"]
    assert ringing(image, pp.kernels.gaussian(13, sigma=1.6)) == -math.inf  # no zeros
    assert ringing(image[:64, :64], pp.kernels.box(9)) == -math.inf  # too small
    assert ringing(image, np.ones((1, 1))) == -math.inf


def test_a_wrong_kernel_behind_a_mask_does_not_spoil_the_image():
    """So many pixels are missing that the observation has no spectrum; only the restored image tells."""
    x = IMAGES["coins"]
    mask = np.random.default_rng(0).random(x.shape) > 0.25
    y = pp.models.Deblurring(pp.kernels.box(9)).simulate(x, noise=0.5 / 255, rng=1)
    result = pp.deblur(y, "box:10", mask=mask, boundary="circular", noise=0.5 / 255)
    assert pp.psnr(result.image, x) > pp.psnr(y, x) - 0.1
    assert any("the data contradict the assumed noise" in warning for warning in result.warnings)
