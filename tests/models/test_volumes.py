"""Three spatial axes: blur, sampling, masks and frames against dense matrices and SciPy."""

import itertools

import numpy as np
import pytest
from scipy.signal import convolve

import plugplay as pp


def dense(kernel, shape, factor=1, offset=0):
    """G = S H as a matrix, from its definition: samples of a circular convolution."""
    small = [n // factor for n in shape]
    matrix = np.zeros((*small, *shape))
    for sample in itertools.product(*map(range, small)):
        for tap in itertools.product(*map(range, kernel.shape)):
            places = [
                (factor * i + offset - (t - n // 2)) % length
                for i, t, n, length in zip(sample, tap, kernel.shape, shape, strict=True)
            ]
            matrix[(*sample, *places)] += kernel[tap]
    return matrix.reshape(np.prod(small), -1)


@pytest.mark.parametrize(("factor", "small"), [(1, (4, 5, 3)), (2, (2, 3, 2)), (2, (3, 2, 3)), (3, (2, 1, 2))])
@pytest.mark.parametrize("taps", [(3, 3, 3), (2, 3, 1)])
def test_blur_and_sampling_are_their_dense_matrix(factor, small, taps):
    rng = np.random.default_rng(0)
    kernel = rng.normal(size=taps)
    shape = tuple(factor * n for n in small)
    for offset in range(factor):
        matrix = dense(kernel, shape, factor, offset)
        model = pp.models.SuperResolution(factor, kernel, offset=offset)
        x, y, rho = rng.random(shape), rng.random(small), 0.3
        np.testing.assert_allclose(model.forward(x).ravel(), matrix @ x.ravel(), atol=1e-12)
        np.testing.assert_allclose(model.adjoint(y).ravel(), matrix.T @ y.ravel(), atol=1e-12)
        exact = np.linalg.solve(matrix.T @ matrix + rho * np.eye(x.size), matrix.T @ y.ravel() + rho * x.ravel())
        np.testing.assert_allclose(model.data_term(y).prox(x, rho).ravel(), exact, atol=1e-10)


def test_an_unknown_boundary_is_the_valid_convolution():
    rng = np.random.default_rng(1)
    kernel = rng.normal(size=(3, 2, 3))
    model = pp.models.Deblurring(kernel, boundary="unknown")
    y = rng.random((5, 6, 4))
    term = model.data_term(y)
    x = rng.random(term.shape)
    np.testing.assert_allclose(model.forward(x), convolve(x, kernel, mode="valid"), atol=1e-12)
    assert term.crop(x).shape == y.shape
    slope = term.gradient(term.prox(x, 0.1)) + 0.1 * (term.prox(x, 0.1) - x)
    assert np.abs(slope).max() < 1e-6


@pytest.mark.parametrize("boundary", ["circular", "reflect", "unknown"])
@pytest.mark.parametrize("channels", [(), (2,)])
def test_models_of_volumes_pass_the_check(boundary, channels):
    rng = np.random.default_rng(2)
    model = pp.models.Deblurring(pp.kernels.gaussian((3, 3, 3), sigma=0.8), boundary=boundary)
    y = rng.random((6, 5, 7, *channels))
    pp.check_model(model, rng.random(model.data_term(y).shape), y=y).raise_if_failed()


def test_masks_of_volumes(camera):
    volume = np.stack([np.roll(camera[:24, :24], k, 0) for k in range(8)])
    mask = np.random.default_rng(3).random(volume.shape) < 0.6
    model = pp.models.Inpainting(mask, spatial_ndim=3)
    start = model.data_term(np.where(mask, volume, np.nan)).start()
    assert np.isfinite(start).all()
    np.testing.assert_array_equal(start[mask], volume[mask])


@pytest.fixture(scope="module")
def volume(camera):
    """A bright ball and a bar in a dark volume."""
    z, y, x = np.mgrid[:16, :24, :20]
    ball = (z - 8) ** 2 + (y - 10) ** 2 + (x - 9) ** 2 < 36
    return np.where(ball, 0.8, 0.2) + 0.1 * (np.abs(y - 18) < 2)


@pytest.mark.parametrize("denoiser", ["tv", "gaussian", "median", "wavelet", "nlm", "bm3d"])
def test_noise_of_volumes_is_removed(volume, denoiser):
    noisy = volume + 0.1 * np.random.default_rng(4).standard_normal(volume.shape)
    result = pp.denoise(noisy, denoiser=denoiser, noise=0.1, spatial_ndim=3)
    assert result.image.shape == volume.shape
    assert np.std(result.image - volume) < 0.75 * np.std(noisy - volume)


@pytest.mark.parametrize("denoiser", ["tv", "bm3d"])
def test_volumes_are_deblurred_and_filled_in(volume, denoiser):
    kernel = pp.kernels.gaussian((5, 5, 5), sigma=1.0)
    y = pp.models.Deblurring(kernel).simulate(volume, noise=0.02, rng=5)
    sharp = pp.deblur(y, kernel, boundary="circular", denoiser=denoiser, spatial_ndim=3)
    assert pp.psnr(sharp.image, volume) > pp.psnr(y, volume) + 1
    mask = np.random.default_rng(6).random(volume.shape) < 0.5
    filled = pp.inpaint(np.where(mask, volume, np.nan), mask, noise=0.01, denoiser=denoiser, spatial_ndim=3)
    assert pp.psnr(filled.image, volume) > 26


def test_colour_volumes(volume):
    y = np.stack([volume, 0.5 * volume], axis=0)
    result = pp.denoise(y, denoiser="tv", noise=0.05, channel_axis=0, spatial_ndim=3)
    assert result.image.shape == y.shape


def test_a_kernel_of_three_axes_says_that_it_is_a_volume(volume):
    result = pp.deblur(volume, np.ones((3, 3, 3)) / 27, denoiser="tv", max_iter=2)
    assert result.image.shape == volume.shape
    with pytest.raises(ValueError, match="spatial_ndim is 3, but Deblurring works on 2"):
        pp.deblur(volume, np.ones((3, 3)) / 9, denoiser="tv", spatial_ndim=3)
