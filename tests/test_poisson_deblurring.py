"""Deblurring and enlarging counts of photons: simulated cells, and what the noise is told to be."""

import numpy as np
import pytest
from scipy import ndimage
from skimage.restoration import richardson_lucy

import plugplay as pp

OFFSET, READ = 100, 1.5
UNIT = 65535  # images of uint16 come back on [0, 1]


def cells(size=96, seed=0):
    """Return smooth nuclei and thin filaments on a dim background, about 0 to 1."""
    rng = np.random.default_rng(seed)
    rows, columns = np.mgrid[:size, :size].astype(float)
    image = np.full((size, size), 0.03)
    for _ in range(4):
        (row, column), radius = rng.uniform(15, size - 15, 2), rng.uniform(9, 15)
        distance = np.hypot(rows - row, columns - column) / radius
        image += rng.uniform(0.3, 0.6) / (1 + np.exp(12 * (distance - 1)))
    for _ in range(6):
        place, angle, drawn = rng.uniform(0, size, 2), rng.uniform(0, 2 * np.pi), np.zeros((size, size))
        for _ in range(300):
            place, angle = place + 0.4 * np.array([np.sin(angle), np.cos(angle)]), angle + 0.04 * rng.normal()
            i, j = np.round(place).astype(int)
            if 0 <= i < size and 0 <= j < size:
                drawn[i, j] = 1
        image = np.maximum(image, rng.uniform(0.4, 1) * ndimage.gaussian_filter(drawn, 0.7) / 0.45)
    return image


def counted(clean, peak, seed=1):
    """Return what a camera with an offset makes of an image that is already blurred."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(peak * clean) + READ * rng.normal(size=clean.shape) + OFFSET
    return np.round(counts).astype(np.uint16)


def psnr_of(image, clean, peak):
    return pp.psnr((UNIT * image - OFFSET) / peak, clean)


def best_richardson_lucy(y, kernel, clean, peak):
    margin = len(kernel)
    padded = np.pad(np.maximum((y - float(OFFSET)) / peak, 1e-6), margin, mode="symmetric")
    inside = (slice(margin, -margin),) * 2
    return max(
        pp.psnr(richardson_lucy(padded, kernel, num_iter=n, clip=False)[inside], clean)
        for n in (2, 4, 7, 11, 16, 25, 40, 60, 90)
    )


@pytest.mark.parametrize(("peak", "sigma", "seed"), [(20, 2.0, 21), (60, 1.5, 22), (200, 2.5, 23)])
def test_cells_beat_the_best_richardson_lucy(peak, sigma, seed):
    clean = cells(seed=seed)
    kernel = pp.kernels.gaussian(2 * int(4 * sigma) + 1, sigma=sigma)
    y = counted(ndimage.convolve(clean, kernel, mode="reflect"), peak)
    result = pp.deblur(y, kernel, noise=pp.PoissonGaussian())
    found = psnr_of(result.image, clean, peak)
    assert found > best_richardson_lucy(y, kernel, clean, peak) + 0.3
    assert found > psnr_of(
        pp.deblur(y, kernel, noise=float(np.std(y - ndimage.median_filter(y, 5).astype(float)) / UNIT)).image,
        clean,
        peak,
    )
    assert result.parameters.noise.gain * UNIT == pytest.approx(1.0, rel=0.15)
    assert result.parameters.noise.offset * UNIT == pytest.approx(OFFSET, abs=0.05 * peak)
    assert result.status is pp.Status.CONVERGED
