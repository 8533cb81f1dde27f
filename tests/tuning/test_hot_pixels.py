"""Single pixels that cannot have passed the blur count as missing; stars and noise stay what they are."""

import numpy as np
import pytest
from scipy import ndimage
from skimage import data

import plugplay as pp
from plugplay.tuning.hot_pixels import hot_pixels

SIGMA = 1.8
PSF = pp.kernels.gaussian(15, sigma=SIGMA)


def found(y, kernel=PSF):
    model = pp.models.Deblurring(kernel, boundary="unknown")
    return hot_pixels(y, model, model.traits(y))


def cells(rng, peak=400.0, pedestal=100.0):
    """Counts of smooth cells behind the microscope's blur, and the truth."""
    rows, columns = np.indices((128, 128))
    scene = np.zeros((128, 128))
    for _ in range(9):
        at, size = rng.uniform(15, 113, 2), rng.uniform(5, 9)
        scene += rng.uniform(0.4, 1) / (1 + np.exp(np.hypot(rows - at[0], columns - at[1]) - size))
    scene *= 1 + 0.5 * ndimage.gaussian_filter(rng.standard_normal(scene.shape), 1.5)
    scene = np.clip(scene, 0, None)
    blurred = pp.models.Deblurring(PSF, boundary="reflect").forward(scene)
    counts = rng.poisson(peak / 2 * np.clip(blurred, 0, None)) * 2 + pedestal + rng.normal(0, 3, scene.shape)
    return np.rint(counts), peak * scene + pedestal


def quality(image, truth):
    return -10 * np.log10(np.mean(np.square((image - truth) / np.ptp(truth))))


@pytest.mark.parametrize(("share", "height"), [(0.001, 3000.0), (0.0002, 800.0)])
def test_hot_pixels_of_a_microscope_count_as_missing(share, height):
    counts, truth = cells(np.random.default_rng(3))
    hot = np.random.default_rng(4).random(counts.shape) < share
    spoilt = np.where(hot, counts + height, counts).astype(np.uint16)
    plain = quality(pp.deblur(counts.astype(np.uint16), PSF).image * 65535, truth)
    result = pp.deblur(spoilt, PSF)
    assert any(f"{hot.sum()} pixel" in text and "brighter than the blur allows" in text for text in result.warnings)
    assert quality(result.image * 65535, truth) > plain - 1.5
    assert quality(result.image * 65535, truth) > quality(spoilt, truth) + 1
    # A mask that is white everywhere says that all was observed.
    white = pp.deblur(spoilt, PSF, mask=np.ones(spoilt.shape, bool), max_iter=2)
    assert not any("the blur allows" in text for text in white.warnings)


def test_pairs_in_one_channel_of_a_photograph():
    blur = pp.models.Deblurring(pp.kernels.disk(2.5), boundary="unknown")
    scene = data.astronaut()[:144, 130:274] / 255
    y = blur.simulate(scene, noise=1 / 255, rng=0)
    assert found(y, blur.kernel) is None
    y[60, 60:62, 1] += 1.5
    here = found(y, blur.kernel)
    assert sorted(map(tuple, np.argwhere(here))) == [(60, 60), (60, 61)]


@pytest.mark.parametrize("sharper", [1.0, 0.6])
def test_stars_are_not_hot_even_if_they_are_sharper_than_the_kernel(sharper):
    rng = np.random.default_rng(0)
    sky = np.zeros((160, 160))
    for _ in range(60):
        sky[tuple(rng.integers(5, 155, 2))] = 10 ** rng.uniform(1, 4)
    seen = ndimage.gaussian_filter(np.repeat(np.repeat(sky, 3, 0), 3, 1), 3 * sharper * SIGMA)[::3, ::3] * 9
    counts = rng.poisson(seen + 50).astype(np.float64)
    for y in (counts, np.minimum(counts, np.quantile(counts, 0.999))):
        assert found(y / 1000) is None


@pytest.mark.parametrize("mean", [0.01, 0.3, 3.0, 100.0])
def test_photons_are_not_hot(mean):
    """Rare photons are single bright pixels, too."""
    y = np.random.default_rng(0).poisson(mean, (256, 256)).astype(np.float64)
    assert found(y / y.max()) is None


def test_kernels_that_leave_single_pixels_allow_them():
    y = np.zeros((64, 64))
    y[30, 30] = 1
    for kernel in (np.ones((1, 1)), pp.kernels.gaussian(5, sigma=0.3), np.pad([[1.0, 0, 0, 0, 1.0]], ((2, 2), (0, 0)))):
        assert found(y, kernel / kernel.sum()) is None
    assert found(y)[30, 30]
