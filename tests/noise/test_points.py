"""What stands out of a sky: points, or anything else."""

import numpy as np
import pytest
from scipy import ndimage
from skimage import data

import plugplay as pp
from plugplay.noise.points import has_points, peaks_are_points
from plugplay.noise.sky import find_sky

PSF = pp.kernels.gaussian(15, sigma=1.8)
NOISE = 4.0


def stars(count=40, size=192, seed=0, brightest=6e3):
    rng = np.random.default_rng(seed)
    clean = np.zeros((size, size))
    for flux in np.geomspace(200, brightest, count):
        clean[tuple(rng.integers(6, size - 6, 2))] += flux
    return 100 + ndimage.convolve(clean, PSF) + NOISE * rng.normal(size=clean.shape)


def told(y, noise=NOISE, **options):
    sky = find_sky(y, noise, mask=options.get("mask"))
    return sky is not None and has_points(y, sky, PSF, **options)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("count", [3, 40, 100])
def test_stars_are_points(count, seed):
    assert told(stars(count, seed=seed))


def test_stars_on_an_uneven_sky_with_missing_pixels_are_points():
    y = stars() + 0.3 * np.arange(192)
    mask = np.ones(y.shape, bool)
    mask[:, 60] = False
    y[:, 60] = np.nan
    assert told(y, mask=mask)
    y[:, 60] = 0
    assert told(y, mask=mask)


def test_noise_cells_and_negatives_are_no_points():
    rng = np.random.default_rng(0)
    assert not told(100 + NOISE * rng.normal(size=(192, 192)))
    assert not told(200 - stars())
    rows, columns = np.mgrid[:192, :192]
    cells = sum(60 / (1 + np.exp(np.hypot(rows - r, columns - c) - 9)) for r, c in ((40, 40), (120, 60), (90, 150)))
    assert not told(100 + cells + NOISE * rng.normal(size=cells.shape))


@pytest.mark.parametrize("noise", [2, 10, 20])
@pytest.mark.parametrize("name", ["camera", "moon", "page", "brick", "text", "coins", "clock"])
def test_photographs_and_their_negatives_are_no_points(name, noise):
    image = getattr(data, name)()[:256, :256].astype(float)
    rng = np.random.default_rng(1)
    for each in (image, 255 - image):
        assert not told(ndimage.convolve(each, PSF) + noise * rng.normal(size=each.shape), noise)


def sharp(y, psf=PSF, noise=NOISE, **options):
    return peaks_are_points(y, find_sky(y, noise, mask=options.get("mask")), psf, **options)


def bodies(length, width, count=14, peak=300, seed=0, psf=PSF, size=192):
    """Return blurred rods with round ends, or disks if their length is 0."""
    rng = np.random.default_rng(seed)
    rows, columns = np.indices((size, size))
    clean = np.zeros((size, size))
    for _ in range(count):
        (row, column), angle = rng.uniform(20, size - 20, 2), rng.uniform(0, np.pi)
        along = (rows - row) * np.cos(angle) + (columns - column) * np.sin(angle)
        across = (columns - column) * np.cos(angle) - (rows - row) * np.sin(angle)
        distance = np.hypot(np.maximum(np.abs(along) - length / 2, 0), across)
        clean = np.maximum(clean, rng.uniform(0.4, 1) * (distance < width))
    return 100 + rng.poisson(peak * ndimage.convolve(clean, psf)) + NOISE * rng.normal(size=clean.shape)


@pytest.mark.parametrize("sigma", [0.7, 1.8, 4.0])
def test_peaks_of_stars_are_points_whatever_blurs_them(sigma):
    psf = pp.kernels.gaussian(2 * int(4 * sigma) + 3, sigma=sigma)
    rng = np.random.default_rng(3)
    clean = np.zeros((192, 192))
    for flux in np.geomspace(3e3, 3e5, 30):
        clean[tuple(rng.integers(6, 186, 2))] += flux
    y = 100 + rng.poisson(ndimage.convolve(clean, psf)) + NOISE * rng.normal(size=clean.shape)
    assert sharp(y, psf)
    assert sharp(np.minimum(y, 2000), psf)  # saturated
    mask = np.ones(y.shape, bool)
    mask[:, 60] = False
    assert sharp(np.where(mask, y, np.nan), psf, mask=mask)
    trail = np.eye(11) / 11
    assert sharp(100 + ndimage.convolve(clean, trail) + NOISE * rng.normal(size=clean.shape), trail)


@pytest.mark.parametrize(("length", "width"), [(0, 7), (0, 11), (9, 3), (20, 2.5)])
@pytest.mark.parametrize("seed", [1, 2])
def test_peaks_of_cells_and_bacteria_are_no_points(length, width, seed):
    y = bodies(length, width, seed=seed)
    assert find_sky(y, NOISE).contrast > 30
    assert not sharp(y)
    hot = tuple(np.random.default_rng(seed).integers(0, 192, (2, 12)))
    y[hot] += 2000
    assert not sharp(y)
