"""Noise that grows with the signal: its estimate, and the transform that makes it uniform."""

import numpy as np
import pytest
from skimage import data

import plugplay as pp
from plugplay.arrays.transfer import encode, linearise
from plugplay.noise.curve import estimate_curve, find_growing_noise, grows_with_signal
from plugplay.noise.estimation import estimate_noise
from plugplay.noise.growing import PoissonGaussian, Stabiliser, estimate_poisson_gaussian


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


def test_the_offset_is_taken_off_and_put_back():
    shifted = Stabiliser.build(np.array([100.0, 1000.0]), PoissonGaussian(2.0, 3.0, offset=100.0))
    plain = Stabiliser.build(np.array([0.0, 900.0]), PoissonGaussian(2.0, 3.0))
    y = np.linspace(95, 1200, 50)
    np.testing.assert_allclose(shifted.forward(y), plain.forward(y - 100))
    np.testing.assert_allclose(shifted.inverse(shifted.forward(y)), plain.inverse(plain.forward(y - 100)) + 100)


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


@pytest.mark.parametrize(("gain", "read", "offset"), [(1.0, 2.0, 0.0), (0.5, 3.0, 100.0), (2.2, 6.0, 500.0)])
def test_counts_of_a_camera(gain, read, offset):
    rng = np.random.default_rng(20)
    electrons = 400 * (data.rocket()[:300, :400].mean(axis=-1) / 255) ** 2
    y = np.round(gain * rng.poisson(electrons) + read * rng.normal(size=electrons.shape) + offset)
    curve = estimate_curve(y)
    assert curve.grows
    assert curve.gain == pytest.approx(gain, rel=0.1)
    assert abs(curve.gain - gain) <= 3 * curve.gain_error
    found = estimate_poisson_gaussian(y, PoissonGaussian())
    assert found.offset == pytest.approx(offset, abs=0.1 * gain * 400)
    at = offset + gain * np.array([20, 100, 400])
    np.testing.assert_allclose(
        found.gain * (at - found.offset) + found.read**2, gain * (at - offset) + read**2, rtol=0.15
    )


def test_clipped_photons():
    rng = np.random.default_rng(21)
    clean = 1.3 * data.rocket()[:300, :400].mean(axis=-1) / 255
    y = np.round(255 * np.clip(0.004 * rng.poisson(clean / 0.004) + 0.01 * rng.normal(size=clean.shape), 0, 1)) / 255
    found = estimate_poisson_gaussian(y, PoissonGaussian())
    assert found.gain == pytest.approx(0.004, rel=0.15)


def test_whether_noise_grows():
    rng = np.random.default_rng(22)
    clean = data.rocket()[:300, :400].mean(axis=-1) / 255
    uniform = clean + 0.03 * rng.normal(size=clean.shape)
    assert not grows_with_signal(uniform)
    assert not grows_with_signal(np.clip(uniform, 0, 1))
    assert grows_with_signal(0.01 * rng.poisson(clean / 0.01))
    assert not grows_with_signal(np.full((4, 4), 0.5))


def test_denoising_photons_gains_over_treating_them_as_gaussian(camera):
    rng = np.random.default_rng(6)
    gain, read = 0.03, 0.01
    y = gain * rng.poisson(camera / gain) + read * rng.normal(size=camera.shape)
    options = {"denoiser": "tv", "reference": camera}
    plain = pp.denoise(y, noise=estimate_noise(y).sigma, **options)
    known = pp.denoise(y, noise=PoissonGaussian(gain, read), **options)
    found = pp.denoise(y, noise=PoissonGaussian(), **options)
    assert pp.psnr(known.image, camera) > pp.psnr(plain.image, camera) + 0.3
    assert pp.psnr(found.image, camera) > pp.psnr(known.image, camera) - 0.5
    assert known.history.psnr[-1] == pytest.approx(pp.psnr(known.image, camera))
    assert known.parameters.noise == PoissonGaussian(gain, read)


ROWS, COLUMNS = np.indices((128, 128))
STEPS = {
    "a dark disk": np.where(np.hypot(ROWS - 64, COLUMNS - 120) < 24, 0.1, 1.0),
    "half dark": np.where(COLUMNS > 64, 0.02, 1.0),
    "a dark strip": np.where(COLUMNS < 30, 0.02, 1.0),
}


def counts_of(scene, photons, rng):
    """Return what a camera of gain 2, offset 100 and read-out noise 2 shows of a scene on a faint background."""
    light = photons * scene + 1
    return np.rint(2 * rng.poisson(light) + 100 + 2 * rng.normal(size=scene.shape)).clip(0)


@pytest.mark.parametrize("photons", [8, 60])
@pytest.mark.parametrize("name", STEPS)
def test_dark_parts_of_bright_counts_do_not_tell_the_noise_of_all(name, photons):
    y = counts_of(STEPS[name], photons, np.random.default_rng(30))
    curve = estimate_curve(y)
    assert curve.grows
    assert curve.gain == pytest.approx(2, rel=0.15)
    assert abs(curve.gain - 2) <= 3 * curve.gain_error
    variance = 4 * (photons * STEPS[name] + 1) + 4
    np.testing.assert_allclose(curve.variance(2 * (photons * STEPS[name] + 1) + 100), variance, rtol=0.3)
    estimate = estimate_noise(y)
    assert abs(estimate.sigma - np.sqrt(variance.mean())) <= 3 * estimate.uncertainty
    assert estimate.uncertainty < 0.15 * estimate.sigma


@pytest.mark.parametrize("flat_fielded", [False, True])
def test_counts_are_denoised_as_photons_in_integers_and_in_floats(flat_fielded):
    scene = STEPS["half dark"]
    y = counts_of(scene, 60, np.random.default_rng(31))
    if flat_fielded:
        y = 100 + (y - 100) * np.linspace(0.98, 1.02, y.shape[1])
    result = pp.denoise(y if flat_fielded else y.astype(np.uint16), denoiser="tv")
    assert isinstance(result.parameters.noise, PoissonGaussian)
    assert result.parameters.transfer == "linear"
    image = result.image if flat_fielded else 65535 * result.image
    assert pp.psnr((image - 102) / 120, scene) > pp.psnr((y - 102) / 120, scene) + 10


def photograph(clean, rng):
    """Return the 8 bits that a camera makes of a photograph if it counts a thousand photons at white."""
    light = linearise(clean, "srgb")
    noisy = light + np.sqrt(1e-3 * light + 5e-5) * rng.normal(size=light.shape)
    return np.round(255 * np.clip(encode(np.clip(noisy, 0, 1), "srgb"), 0, 1)).astype(np.uint8)


@pytest.mark.parametrize("colour", [False, True])
def test_photon_noise_behind_a_curve_of_brightness_is_found(colour):
    clean = data.rocket()[:192, :192] / 255
    clean = clean if colour else clean.mean(axis=-1)
    y = photograph(clean, np.random.default_rng(32))
    found = pp.denoise(y, denoiser="tv")
    assert (type(found.parameters.noise), found.parameters.transfer) == (PoissonGaussian, "srgb")
    told = pp.denoise(y, denoiser="tv", transfer="srgb", noise=PoissonGaussian())
    np.testing.assert_array_equal(found.image, told.image)
    assert pp.psnr(found.image, clean) > pp.psnr(pp.denoise(y, denoiser="tv", noise=0.02).image, clean) + 1
    assert pp.denoise(y, denoiser="tv", noise=0.02).parameters.transfer == "linear"


@pytest.mark.parametrize("sigma", [0, 2, 5, 10, 20])
@pytest.mark.parametrize("image", ["rocket", "moon", "astronaut", "page"])
def test_uniform_noise_does_not_pass_for_growing(image, sigma):
    clean = getattr(data, image)()[:192, :192] / 255
    y = clean + sigma / 255 * np.random.default_rng(33).normal(size=clean.shape)
    assert find_growing_noise(np.round(255 * np.clip(y, 0, 1)) / 255) is None
    if sigma:
        assert find_growing_noise(y) is None


def test_no_unit_of_the_numbers_matters():
    y = counts_of(STEPS["half dark"], 60, np.random.default_rng(34))
    for unit in (1e-100, 1.0, 1e100):
        assert find_growing_noise(unit * y) == "linear"
        assert estimate_curve(unit * y).gain == pytest.approx(2 * unit, rel=0.15)


def test_inpainting_photons(camera):
    rng = np.random.default_rng(7)
    mask = rng.random(camera.shape) < 0.6
    y = np.where(mask, 0.02 * rng.poisson(camera / 0.02), np.nan)
    result = pp.inpaint(y, mask, noise=PoissonGaussian(gain=0.02, read=0.0), denoiser="tv")
    assert pp.psnr(result.image, camera) > 20


def test_what_cannot_be_known_about_photons_is_refused():
    with pytest.raises(ValueError, match="gain must be > 0"):
        PoissonGaussian(gain=0.0)
    with pytest.raises(ValueError, match="too few wholly observed places"):
        pp.denoise(np.full((2, 2), 0.5), noise=PoissonGaussian(), denoiser="tv")
    with pytest.raises(ValueError, match="noise= must not be given"):
        pp.single_photon(np.ones((8, 8), int), noise=0.1, denoiser="tv")
