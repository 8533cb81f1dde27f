"""Backgrounds: flat, dark, and wider than what a blur makes of something darker."""

import numpy as np
import pytest
from skimage import data

import plugplay as pp
from plugplay.tuning.background import background_share, has_background

NOISE = 0.01
SIZE = 128
KERNELS = [pp.kernels.gaussian(13, sigma=1.6), pp.kernels.disk(4), pp.kernels.motion(15, 30)]


def spots():
    """Points and discs on nothing."""
    x = np.zeros((SIZE, SIZE))
    rng = np.random.default_rng(1)
    x[tuple(rng.integers(0, SIZE, (2, 30)))] = 3.0
    rows, columns = np.mgrid[:SIZE, :SIZE]
    for row, column in rng.uniform(0, SIZE, (4, 2)):
        x[np.hypot(rows - row, columns - column) < 10] = 1.0
    return x


def lines():
    """Dark lines on something bright."""
    x = np.full((SIZE, SIZE), 1.0)
    x[:, ::20] = x[:, 1::20] = 0.0
    return x


def grating():
    """Fine stripes: a seventh of all pixels is as dark as any other."""
    return 0.5 + 0.5 * np.cos(np.arange(SIZE) * 2 * np.pi / 7) * np.ones((SIZE, 1))


def photograph():
    """Grain and pebbles."""
    return data.gravel()[:SIZE, :SIZE] / 255


def observed(x, kernel, seed=0):
    return pp.models.Deblurring(kernel).simulate(x, noise=NOISE, rng=seed)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("scene", "expected"), [(spots, True), (lines, False), (grating, False), (photograph, False)])
def test_what_lies_on_a_background_is_told_from_what_is_dark_itself(scene, expected, kernel):
    y = observed(scene(), kernel)
    assert has_background(y, NOISE, taps=kernel) is expected


def test_the_unit_does_not_matter():
    y = observed(spots(), KERNELS[0])
    share = background_share(y, NOISE, taps=KERNELS[0])
    assert background_share(1000 * y - 300, 1000 * NOISE, taps=KERNELS[0]) == pytest.approx(share, abs=0.01)


def test_missing_pixels_are_no_background():
    y, kernel = observed(lines(), KERNELS[0]), KERNELS[0]
    seen = np.ones(y.shape, bool)
    seen[40:80, 40:80] = False
    hidden = np.where(seen, y, np.nan)
    assert not has_background(hidden, NOISE, taps=kernel, observed=seen)
    assert has_background(observed(spots(), kernel), NOISE, taps=kernel, observed=seen)
    assert background_share(hidden, NOISE, taps=kernel, observed=np.zeros_like(seen)) == 0


def test_channels_volumes_and_large_images():
    kernel = pp.kernels.box(3)
    y = observed(spots(), kernel)
    assert has_background(np.stack([y, y, y], axis=-1), NOISE, taps=kernel)
    stack = np.random.default_rng(0).normal(0.1, NOISE, (16, 32, 32))
    stack[4:8, 10:20, 10:20] += 0.5
    assert has_background(stack, NOISE, taps=np.full((3, 3, 3), 1 / 27))
    assert has_background(np.tile(y, (10, 10)), NOISE, taps=kernel)  # looked at in windows
    assert not has_background(np.tile(observed(lines(), kernel), (10, 10)), NOISE, taps=kernel)
