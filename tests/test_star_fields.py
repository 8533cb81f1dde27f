"""Which images are taken for star fields, and what becomes of crowded ones."""

import numpy as np
import pytest
from scipy import ndimage
from skimage import data

import plugplay as pp

PSF = pp.kernels.gaussian(15, sigma=1.6)
SKY, READ = 300.0, 5.0


def stars(count, size=128, seed=0, brightest=2e4):
    """Return stars on a sky, and their exposure."""
    rng = np.random.default_rng(seed)
    clean = np.full((size, size), SKY)
    for flux in 100 * (brightest / 100) ** (rng.random(count) ** 1.7):
        clean[tuple(rng.integers(5, size - 5, 2))] += flux
    return clean, rng.poisson(ndimage.convolve(clean, PSF)) + READ * rng.normal(size=clean.shape)


def is_star_field(y, kernel=PSF, **options):
    plan = pp.prepare(y, pp.models.Deblurring(kernel, boundary="unknown"), denoiser="tv", **options)
    return any("bright points on a dark sky" in told for told in plan.warnings)


@pytest.mark.parametrize("well", [65535, 30000])
def test_stars_that_fill_the_range_are_stars_in_every_type(well):
    _, y = stars(30, brightest=3e6)
    counts = np.rint(np.clip(y, 0, well))
    for dtype in (np.uint16, np.int32, np.float32):
        assert is_star_field(counts.astype(dtype))
    assert is_star_field(counts.astype(np.float32), data_range=(0, well))
    assert is_star_field(counts.astype(np.uint16), data_range=(0, well))
    assert is_star_field(np.minimum(counts, 32767).astype(np.int16))
    assert not is_star_field(np.minimum(counts, 255).astype(np.uint8))


@pytest.mark.parametrize("name", ["camera", "moon", "page", "coins", "clock", "brick", "text"])
def test_photographs_in_16_bits_are_no_star_fields(name):
    image = getattr(data, name)()[:192, :192] / 255
    noise = np.random.default_rng(0).normal(size=image.shape)
    lamps = np.minimum(4 * np.maximum(image**2.2 - np.quantile(image**2.2, 0.6), 0) + 0.004, 3)
    for scene in (image, 1 - image, image**2.2, lamps):
        for level in (1 / 4000, 2 / 255):
            y = np.clip(ndimage.convolve(scene, PSF) + 0.01 + level * noise, 0, 1)
            assert not is_star_field(np.rint(65535 * y).astype(np.uint16))


@pytest.mark.parametrize("count", [400, 700])
def test_crowded_stars_are_restored_better_than_by_richardson_and_lucy(count):
    from skimage.restoration import richardson_lucy

    clean, y = stars(count, seed=1)
    result = pp.deblur(y.astype(np.float32), PSF)

    def seen(image):
        return ndimage.gaussian_filter(image, 0.8) / 1000

    padded = np.pad(np.maximum(y - SKY, 1e-3) + 1, 15, mode="reflect")
    peers = (richardson_lucy(padded, PSF, num_iter=n, clip=False)[15:-15, 15:-15] + SKY - 1 for n in (20, 40, 100))
    best = max(pp.psnr(seen(peer), seen(clean)) for peer in peers)
    assert pp.psnr(seen(result.image), seen(clean)) > best + 1
    assert result.status is pp.Status.CONVERGED
    # No dark pits between the stars.
    assert result.image.min() > SKY - 25
    assert (result.image - SKY).sum() == pytest.approx((clean - SKY).sum(), rel=0.03)
