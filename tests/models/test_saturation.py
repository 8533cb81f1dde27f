"""Saturated stars, against stars that have not saturated."""

import numpy as np
import pytest

import plugplay as pp
from plugplay.models.likelihoods.saturation import completed

PSF = pp.kernels.gaussian(21, sigma=2.0)


def sky_with(stars, *, noise=1.0, size=48):
    rows, columns = np.indices((size, size))
    image = np.zeros((size, size))
    for row, column, flux in stars:
        image += flux / (8 * np.pi) * np.exp(-((rows - row) ** 2 + (columns - column) ** 2) / 8)
    return image, image + noise * np.random.default_rng(0).normal(size=image.shape)


def saturated(y, well):
    return np.minimum(y, well), y >= well


def test_a_star_between_pixels_is_measured_by_its_surroundings():
    image, y = sky_with([(20.3, 24.6, 40_000)])
    cut, full = saturated(y, 500.0)
    found, where = completed(cut, np.ones(y.shape, bool), full, PSF, 10.0)
    np.testing.assert_array_equal(where, full)
    np.testing.assert_array_equal(found[~full], cut[~full])
    assert found[full].sum() == pytest.approx(image[full].sum(), rel=0.02)
    assert (found[full] >= 500).all()


def test_missing_pixels_beside_it_do_not_matter():
    image, y = sky_with([(20.3, 24.6, 40_000)])
    cut, full = saturated(y, 500.0)
    seen = np.ones(y.shape, bool)
    seen[:, 28] = False
    cut[:, 28] = 1e6
    found, where = completed(cut, seen, full & seen, PSF, 10.0)
    assert found[where].sum() == pytest.approx(image[where].sum(), rel=0.02)


def test_what_is_no_single_star_is_left_out():
    _, y = sky_with([(20, 20, 40_000), (20, 27, 40_000)])
    y[30:40, 30:40] += 800.0  # a square, as no lens makes it
    cut, full = saturated(y, 500.0)
    assert not completed(cut, np.ones(y.shape, bool), full, PSF, 10.0)[1].any()
