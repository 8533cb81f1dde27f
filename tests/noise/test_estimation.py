"""Estimates of noise on images they were not tuned on."""

import io

import numpy as np
import pytest
from PIL import Image
from scipy.ndimage import gaussian_filter
from skimage import data

import plugplay as pp
from plugplay.noise.estimation import NoiseEstimate, estimate_noise

IMAGES = {
    "rocket": lambda: data.rocket()[:256, :256].mean(axis=-1) / 255,
    "moon": lambda: data.moon()[128:384, 128:384] / 255,
    "page": lambda: data.page()[:190, :380] / 255,
}


@pytest.mark.parametrize("image", IMAGES.values(), ids=IMAGES)
@pytest.mark.parametrize("sigma", [2 / 255, 5 / 255, 15 / 255, 50 / 255])
def test_white_noise(image, sigma):
    clean = image()
    before = estimate_noise(clean)  # photographs bring noise of their own, unless a file's compression took it
    own = 0.0 if before.compressed else before.sigma
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
    assert estimate_noise(noisy, mask=rng.random(clean.shape) < 2e-5).uncertainty == np.inf


def test_small_and_colour_images():
    rng = np.random.default_rng(3)
    assert estimate_noise(rng.normal(0.5, 0.1, (128, 128, 3))).sigma == pytest.approx(0.1, rel=0.1)
    for shape in ((1, 1), (2, 2), (3, 5), (8, 8), (1, 50)):
        assert np.isfinite(estimate_noise(rng.normal(0.5, 0.1, shape)).sigma)


def eight_bit(image):
    return np.round(np.clip(image, 0, 1) * 255) / 255


def jpeg(image, quality):
    file = io.BytesIO()
    Image.fromarray(np.round(255 * np.clip(image, 0, 1)).astype(np.uint8)).save(file, "jpeg", quality=quality)
    return np.asarray(Image.open(file)) / 255


def covers(estimate, true):
    return abs(estimate.sigma - true) <= 2 * estimate.uncertainty


# Dark backgrounds and white highlights: clipping makes their noise small, and the estimate must not fall for it.
CLIPPED = {
    "astronaut": lambda: data.astronaut()[::2, ::2] / 255,
    "retina": lambda: data.retina()[::3, ::3] / 255,
    "gray rocket": lambda: data.rocket()[:300, :400].mean(axis=-1) / 255,
}


@pytest.mark.parametrize("image", CLIPPED.values(), ids=CLIPPED)
@pytest.mark.parametrize("sigma", [5 / 255, 15 / 255])
def test_clipped_files(image, sigma):
    clean = image()
    noisy = eight_bit(clean + sigma * np.random.default_rng(8).normal(size=clean.shape))
    estimate = estimate_noise(noisy)
    assert estimate.sigma == pytest.approx(sigma, rel=0.1)
    assert estimate.uncertainty < 0.3 * sigma


def test_half_the_image_is_saturated():
    rng = np.random.default_rng(9)
    clean = np.where(np.arange(256) < 128, 1.2, np.linspace(0.3, 0.7, 256)) * np.ones((256, 1))
    estimate = estimate_noise(eight_bit(clean + 0.04 * rng.normal(size=clean.shape)))
    assert estimate.sigma == pytest.approx(0.04, rel=0.05)


def test_noise_at_black_is_corrected_for_what_clipping_took():
    # Everywhere, half a standard deviation above black: clipping leaves 55 % of the variance.
    y = np.clip(0.02 + 0.04 * np.random.default_rng(10).normal(size=(256, 256)), 0, 1)
    assert y.std() < 0.03
    assert estimate_noise(y).sigma == pytest.approx(0.04, rel=0.1)


def test_rounding_is_noise():
    step = 1 / 255
    ramp = np.linspace(0.2, 0.8, 512) * np.ones((256, 1))
    estimate = estimate_noise(eight_bit(ramp))
    assert estimate.sigma >= step / np.sqrt(12) * 0.999
    assert estimate.uncertainty > 0.1 * step
    assert "rounding" in estimate.reasons
    noisy = eight_bit(ramp + 2 * step * np.random.default_rng(11).normal(size=ramp.shape))
    assert estimate_noise(noisy).sigma == pytest.approx(step * np.sqrt(4 + 1 / 12), rel=0.03)
    assert estimate_noise(noisy, quantisation=0.05).sigma == 0.05


@pytest.mark.parametrize("sigma", [5 / 255, 15 / 255])
def test_jpeg(sigma):
    clean = data.rocket()[:426, :640].mean(axis=-1) / 255
    y = jpeg(clean + sigma * np.random.default_rng(12).normal(size=clean.shape), 95)
    assert estimate_noise(y).sigma == pytest.approx(sigma, rel=0.15)
    assert estimate_noise(y[3:, 5:]).sigma == pytest.approx(sigma, rel=0.15)  # whose grid does not begin at 0


def test_coloured_noise_is_measured_at_all_frequencies():
    rng = np.random.default_rng(13)
    clean = data.rocket()[:384, :384].mean(axis=-1) / 255
    noise = gaussian_filter(rng.normal(size=clean.shape), 0.8)
    noise *= 0.03 / noise.std()
    estimate = estimate_noise(clean + noise)
    assert estimate.sigma == pytest.approx(0.03, rel=0.15)
    assert covers(estimate, 0.03)


@pytest.mark.parametrize("share", [0.2, 0.05])
def test_scattered_observations(share):
    rng = np.random.default_rng(14)
    clean = data.moon() / 255
    mask = rng.random(clean.shape) < share
    estimate = estimate_noise(np.where(mask, clean + 0.1 * rng.normal(size=clean.shape), np.nan), mask=mask)
    assert estimate.sigma == pytest.approx(0.1, rel=0.25)
    assert covers(estimate, 0.1)


def test_texture_everywhere_is_said_to_be_uncertain():
    rng = np.random.default_rng(15)
    gravel = data.gravel() / 255
    for clean in (gravel, gravel[::4, ::4]):
        estimate = estimate_noise(clean + 5 / 255 * rng.normal(size=clean.shape))
        assert covers(estimate, 5 / 255)
        assert estimate.upper > 5 / 255
        assert estimate.reasons


@pytest.mark.parametrize("period", [7, 9, 12])
def test_ridges_everywhere_are_not_noise(period):
    rng = np.random.default_rng(period)
    phase = 180 * gaussian_filter(rng.normal(size=(256, 256)), 12)
    distance = np.hypot(*np.meshgrid(np.arange(256) - 100, np.arange(256) - 140, indexing="ij"))
    ridges = gaussian_filter(0.5 + 0.35 * np.tanh(2 * np.sin(2 * np.pi * distance / period + phase)), 0.6)
    estimate = estimate_noise(ridges + 10 / 255 * rng.normal(size=ridges.shape))
    assert estimate.sigma == pytest.approx(10 / 255, rel=0.4)
    assert covers(estimate, 10 / 255)


def test_uncertainty_of_pure_noise_is_its_scatter():
    # In white noise the error is statistical alone, and the uncertainty is of its size.
    errors, said = [], []
    for seed in range(12):
        estimate = estimate_noise(np.random.default_rng(seed).normal(0.5, 0.1, (96, 96)))
        errors.append(estimate.sigma - 0.1)
        said.append(estimate.uncertainty)
    assert np.mean(np.abs(errors) <= 2 * np.array(said)) >= 0.9
    assert np.median(said) < 0.015
    assert abs(np.mean(errors)) < 0.004


def test_noise_that_grows_counts_at_its_mean():
    rng = np.random.default_rng(16)
    clean = data.moon() / 255
    y = 0.01 * rng.poisson(clean / 0.01) + 0.005 * rng.normal(size=clean.shape)
    estimate = estimate_noise(y)
    assert estimate.sigma == pytest.approx(np.sqrt(0.01 * clean.mean() + 0.005**2), rel=0.12)


def test_volumes_channels_and_constant_channels():
    rng = np.random.default_rng(17)
    volume = np.linspace(0, 1, 12)[:, None, None] + rng.normal(0, 0.03, (12, 64, 64))
    assert estimate_noise(volume, spatial_ndim=3).sigma == pytest.approx(0.03, rel=0.05)
    assert estimate_noise(volume[..., None], spatial_ndim=3).sigma == pytest.approx(0.03, rel=0.05)
    mask = np.ones(volume.shape, bool)
    mask[3] = False
    assert estimate_noise(np.where(mask, volume, np.nan), mask=mask, spatial_ndim=3).sigma == pytest.approx(
        0.03, rel=0.05
    )
    opaque = np.dstack([rng.normal(0.5, 0.05, (128, 128, 3)), np.ones((128, 128))])
    assert estimate_noise(opaque).sigma == pytest.approx(0.05, rel=0.05)
    with pytest.raises(ValueError, match="spatial_ndim=3 needs floats of the shape"):
        estimate_noise(np.zeros((8, 8)), spatial_ndim=3)


def test_the_same_bits_for_every_layout_and_no_change_of_the_input():
    y = np.random.default_rng(18).normal(0.5, 0.05, (100, 120, 3))
    before = y.copy()
    found = estimate_noise(y)
    assert found == estimate_noise(np.asfortranarray(y))
    np.testing.assert_array_equal(y, before)
    assert found.upper == found.sigma + 2 * found.uncertainty
    assert NoiseEstimate(0.1, 0.02).reasons == ()


def test_scale_does_not_matter():
    # Counts in thousands are as good as intensities in [0, 1].
    y = np.random.default_rng(19).normal(0.5, 0.05, (128, 128)) + np.linspace(0, 0.2, 128)
    found, scaled = estimate_noise(y), estimate_noise(1024 * y)
    assert scaled.sigma == pytest.approx(1024 * found.sigma, rel=1e-9)
    assert scaled.uncertainty == pytest.approx(1024 * found.uncertainty, rel=1e-6)


@pytest.mark.parametrize("channels", [(), (3,)])
def test_a_few_missing_pixels_do_not_hide_flat_places(channels):
    """Single pixels are missing, so that hardly any block is whole; over texture, planes are no good fit."""
    rng = np.random.default_rng(5)
    coins = data.coins()[100:228, 60:188] / 255
    clean = np.broadcast_to(coins.reshape(*coins.shape, *[1] * len(channels)), (*coins.shape, *channels))
    y = clean + 10 / 255 * rng.normal(size=clean.shape)
    mask = rng.random(coins.shape) < 0.9
    estimate = estimate_noise(np.where(mask.reshape(clean.shape[:2] + (1,) * len(channels)), y, np.nan), mask=mask)
    assert estimate.sigma == pytest.approx(10 / 255, rel=0.1)


@pytest.mark.parametrize("quality", [92, 95])
@pytest.mark.parametrize("noise", [0.5 / 255, 5 / 255])
def test_the_grid_of_a_jpeg_file_is_seen_in_small_and_blurred_crops(quality, noise):
    rng = np.random.default_rng(6)
    sharp = data.astronaut()[40:168, 160:288] / 255
    clean = gaussian_filter(sharp, (2, 2, 0))
    stored = np.round(255 * np.clip(clean + noise * rng.normal(size=clean.shape), 0, 1)).astype(np.uint8)
    file = io.BytesIO()
    Image.fromarray(stored).save(file, "jpeg", quality=quality)
    read = np.asarray(Image.open(file))
    for corner in ((0, 0), (3, 5)):
        part = read[corner[0] :, corner[1] :] / 255
        assert estimate_noise(part).compressed
        assert not estimate_noise(stored[corner[0] :, corner[1] :] / 255).compressed


def test_what_a_colour_jpeg_hides_is_uncertain():
    rng = np.random.default_rng(7)
    clean = gaussian_filter(data.astronaut()[:192, :192] / 255, (1, 1, 0))
    noisy = np.clip(clean + 2 / 255 * rng.normal(size=clean.shape), 0, 1)
    file = io.BytesIO()
    Image.fromarray(np.round(255 * noisy).astype(np.uint8)).save(file, "jpeg", quality=90)
    read = np.asarray(Image.open(file)) / 255
    truth = float(np.sqrt(np.mean(np.square(read - clean))))
    estimate = estimate_noise(read)
    assert abs(estimate.sigma - truth) < 2 * estimate.uncertainty
    assert "JPEG" in estimate.reasons
