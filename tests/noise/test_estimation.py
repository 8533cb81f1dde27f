"""Estimates of noise on images they were not tuned on."""

import numpy as np
import pytest
from skimage import data

import plugplay as pp
from plugplay.noise.estimation import estimate_noise
from plugplay.noise.growing import PoissonGaussian, Stabiliser, estimate_poisson_gaussian

IMAGES = {
    "rocket": lambda: data.rocket()[:256, :256].mean(axis=-1) / 255,
    "moon": lambda: data.moon()[128:384, 128:384] / 255,
    "page": lambda: data.page()[:190, :380] / 255,
}


@pytest.mark.parametrize("image", IMAGES.values(), ids=IMAGES)
@pytest.mark.parametrize("sigma", [2 / 255, 5 / 255, 15 / 255, 50 / 255])
def test_white_noise(image, sigma):
    clean = image()
    own = estimate_noise(clean).sigma  # photographs bring noise of their own
    noisy = clean + sigma * np.random.default_rng(0).normal(size=clean.shape)
    estimate = estimate_noise(noisy)
    assert estimate.sigma == pytest.approx(np.hypot(sigma, own), rel=0.15)
    assert 0 < estimate.uncertainty < 0.2 * sigma


@pytest.mark.parametrize("image", IMAGES.values(), ids=IMAGES)
def test_noise_of_a_blurred_image(image):
    model = pp.models.Deblurring(pp.kernels.gaussian(11, sigma=1.6))
    for sigma in (0.5 / 255, 10 / 255):
        y = model.simulate(image(), noise=sigma, rng=1)
        assert estimate_noise(y).sigma == pytest.approx(sigma, rel=0.08)
    assert estimate_noise(model.simulate(image())).sigma < 0.1 / 255


def test_missing_pixels_are_not_looked_at():
    rng = np.random.default_rng(2)
    clean = data.moon()[:256, :256] / 255
    noisy = clean + 0.05 * rng.normal(size=clean.shape)
    stripes = np.ones(clean.shape, bool)
    stripes[100:130] = False
    scattered = rng.random(clean.shape) < 0.5
    for mask in (stripes, scattered):
        estimate = estimate_noise(np.where(mask, noisy, np.nan), mask=mask)
        assert estimate.sigma == pytest.approx(0.05, rel=0.2)
    assert estimate_noise(noisy, mask=rng.random(clean.shape) < 0.01).uncertainty == np.inf


def test_small_and_colour_images():
    rng = np.random.default_rng(3)
    assert estimate_noise(rng.normal(0.5, 0.1, (128, 128, 3))).sigma == pytest.approx(0.1, rel=0.1)
    for shape in ((1, 1), (2, 2), (3, 5), (8, 8), (1, 50)):
        assert np.isfinite(estimate_noise(rng.normal(0.5, 0.1, shape)).sigma)


@pytest.mark.parametrize(("gain", "read"), [(0.01, 0.01), (0.05, 0.02), (0.002, 0.03)])
def test_the_transform_makes_noise_uniform_and_its_inverse_is_unbiased(gain, read):
    rng = np.random.default_rng(4)
    stabiliser = Stabiliser.build(np.array([0.0, 1.0]), PoissonGaussian(gain, read))
    for x in (5 * gain, 0.3, 1.0):
        y = gain * rng.poisson(x / gain, 200_000) + read * rng.normal(size=200_000)
        transformed = stabiliser.forward(y)
        assert transformed.std() / stabiliser.noise == pytest.approx(1, abs=0.06)
        back = float(stabiliser.inverse(np.array([transformed.mean()]))[0])
        assert back == pytest.approx(x, abs=4 * y.std() / np.sqrt(y.size))


def test_the_inverse_joins_its_asymptote_smoothly():
    stabiliser = Stabiliser.build(np.array([0.0, 1.0]), PoissonGaussian(1e-3, 1e-3))
    x = np.linspace(0.3, 0.6, 1001)
    steps = np.diff(stabiliser.inverse(stabiliser.forward(x)))
    assert steps.min() > 0
    assert steps.max() < 1.1 * steps.min() + 1e-6


def test_gain_and_read_noise_are_found():
    rng = np.random.default_rng(5)
    clean = data.moon() / 255
    for gain, read in ((0.01, 0.01), (0.002, 0.02)):
        y = gain * rng.poisson(clean / gain) + read * rng.normal(size=clean.shape)
        found = estimate_poisson_gaussian(y, PoissonGaussian())
        typical = np.sqrt(gain * clean.mean() + read**2)
        assert np.sqrt(found.gain * clean.mean() + found.read**2) == pytest.approx(typical, rel=0.1)
        assert estimate_poisson_gaussian(y, PoissonGaussian(read=read)).gain == pytest.approx(gain, rel=0.25)
    # Only the last pair has enough read-out noise for it to be told from the photons'.
    assert estimate_poisson_gaussian(y, PoissonGaussian(gain=gain)).read == pytest.approx(read, rel=0.3)


def test_denoising_photons_gains_over_treating_them_as_gaussian(camera):
    rng = np.random.default_rng(6)
    gain, read = 0.03, 0.01
    y = gain * rng.poisson(camera / gain) + read * rng.normal(size=camera.shape)
    options = {"denoiser": "tv", "reference": camera}
    plain = pp.denoise(y, **options)
    known = pp.denoise(y, noise=PoissonGaussian(gain, read), **options)
    found = pp.denoise(y, noise=PoissonGaussian(), **options)
    assert pp.psnr(known.image, camera) > pp.psnr(plain.image, camera) + 0.3
    assert pp.psnr(found.image, camera) > pp.psnr(known.image, camera) - 0.5
    assert known.history.psnr[-1] == pytest.approx(pp.psnr(known.image, camera))
    assert known.parameters.noise == PoissonGaussian(gain, read)


def test_inpainting_photons(camera):
    rng = np.random.default_rng(7)
    mask = rng.random(camera.shape) < 0.6
    y = np.where(mask, 0.02 * rng.poisson(camera / 0.02), np.nan)
    result = pp.inpaint(y, mask, noise=PoissonGaussian(gain=0.02, read=0.0), denoiser="tv")
    assert pp.psnr(result.image, camera) > 20


def test_photons_through_a_blur_are_refused(camera):
    with pytest.raises(ValueError, match="only denoise and inpaint can use it"):
        pp.deblur(camera, pp.kernels.box(3), noise=PoissonGaussian(0.01, 0.01), denoiser="tv")
    with pytest.raises(ValueError, match="gain must be > 0"):
        PoissonGaussian(gain=0.0)
    with pytest.raises(ValueError, match="too few wholly observed places"):
        pp.denoise(np.full((2, 2), 0.5), noise=PoissonGaussian(), denoiser="tv")
    with pytest.raises(ValueError, match="noise= must not be given"):
        pp.single_photon(np.ones((8, 8), int), noise=0.1, denoiser="tv")
