"""Single photons by one denoising: the transform against exact expectations, and the whole way without bias."""

import numpy as np
import pytest
from scipy.stats import binom

import plugplay as pp
from plugplay.models import SinglePhoton
from plugplay.models.likelihoods.binomial import BinomialStabiliser
from plugplay.models.stabilised_photons import StabilisedPhotons


def average(image, sigma):
    """A denoiser for constant images."""
    return np.full_like(image, image.mean(dtype=np.float64))


def expected_value(stabiliser, chance):
    counts = np.arange(stabiliser.trials + 1)
    return binom.pmf(counts, stabiliser.trials, chance) @ stabiliser.forward(counts.astype(float))


@pytest.mark.parametrize("trials", [1, 4, 16, 64, 1000, 5000])
def test_the_inverse_undoes_the_mean_of_the_transform(trials):
    stabiliser = BinomialStabiliser.build(trials)
    for chance in (0.0, 1e-3, 0.05, 0.3, 0.5, 0.632, 0.99, 1.0):
        back = stabiliser.inverse(np.array([expected_value(stabiliser, chance)]))[0]
        assert back == pytest.approx(chance, abs=1e-5)


def test_the_table_rises():
    for trials in (1, 16, 100_000):
        assert (np.diff(BinomialStabiliser.build(trials).expected) > 0).all()


@pytest.mark.parametrize("trials", [16, 64])
def test_the_noise_is_what_it_is_said_to_be(trials):
    stabiliser = BinomialStabiliser.build(trials)
    counts = np.arange(trials + 1)
    values = stabiliser.forward(counts.astype(float))
    for chance in (0.2, 0.5, 0.8):
        weights = binom.pmf(counts, trials, chance)
        deviation = np.sqrt(weights @ values**2 - (weights @ values) ** 2)
        assert deviation == pytest.approx(stabiliser.noise, rel=0.05)


@pytest.mark.parametrize(
    "sensor",
    [
        SinglePhoton(4),
        SinglePhoton(2, frames=3),
        SinglePhoton(4, gain=48, threshold=2, dark=0.05, efficiency=0.8),
    ],
)
@pytest.mark.parametrize("x", [0.1, 0.5, 0.9])
def test_constant_images_come_back_without_bias(sensor, x):
    bits = sensor.simulate(np.full((200, 200), x), rng=0)
    options = {"gain": sensor.gain, "threshold": sensor.threshold, "dark": sensor.dark, "efficiency": sensor.efficiency}
    image = pp.single_photon(bits, oversampling=sensor.oversampling, denoiser=average, **options).image
    assert image.mean() == pytest.approx(x, abs=0.015)  # four standard errors of the worst


def test_where_jots_are_few_the_exact_inverse_matters():
    """The plain inverse of T, sin², is biased: what this module does differently is seen."""
    stabiliser = BinomialStabiliser.build(16)
    mean = expected_value(stabiliser, 0.02)
    counts = np.linspace(0, 16, 4001)
    plain = np.interp(mean, stabiliser.forward(counts), counts) / 16
    assert abs(plain - 0.02) > 0.002
    assert stabiliser.inverse(np.array([mean]))[0] == pytest.approx(0.02, abs=1e-5)


def test_images_are_restored(camera):
    sensor = SinglePhoton(4)
    bits = sensor.simulate(camera, rng=0)
    result = pp.single_photon(bits, oversampling=4, denoiser="tv")
    assert isinstance(result.parameters.model, StabilisedPhotons)
    assert pp.psnr(result.image, camera) > pp.psnr(sensor.data_term(bits).start(), camera) + 6


def test_the_loop_is_there_when_it_is_asked_for(camera):
    bits = SinglePhoton(2).simulate(camera[:16, :16], rng=0)
    for options in ({"method": "loop"}, {"max_iter": 3}, {"lam": 0.5}):
        result = pp.single_photon(bits, oversampling=2, denoiser="tv", **options)
        assert type(result.parameters.model) is SinglePhoton
        assert len(result.history) > 1


def test_missing_jots_are_left_to_the_loop(camera):
    works = np.random.default_rng(1).random((64, 64)) < 0.6
    cube = np.random.default_rng(2).random((5, 64, 64)) < 0.5
    counts = pp.io.photons.count_ones(cube, oversampling=2, mask=works)
    assert len(pp.single_photon(counts, denoiser="tv").history) > 1


@pytest.mark.parametrize("count", [0, 16])
def test_the_ends_of_the_scale_are_reached_and_finite(count):
    counts = np.stack([np.full((8, 8), count), np.full((8, 8), 16)])
    result = pp.restore(counts, StabilisedPhotons(4), denoiser=lambda image, sigma: image)
    assert result.image.tolist() == np.full((8, 8), min(count, 1.0)).tolist()


def test_the_denoiser_is_called_once_with_the_known_noise():
    calls = []

    def watch(image, sigma):
        calls.append((image.dtype, image.min(), image.max(), sigma))
        return image

    ones = np.arange(17).repeat(4).reshape(4, 17)
    pp.restore(np.stack([ones, np.full_like(ones, 16)]), StabilisedPhotons(4), denoiser=watch)
    ((dtype, low, high, sigma),) = calls
    assert (dtype, low, high) == (np.float32, 0.0, 1.0)
    assert sigma == pytest.approx(BinomialStabiliser.build(16).noise) == pytest.approx(0.097, abs=1e-3)


def test_the_mean_of_the_transform_is_entered_and_left():
    sensor = StabilisedPhotons(4, gain=8.0, dark=0.02)
    term = sensor.data_term(sensor.simulate(np.full((6, 5), 0.3), rng=0))
    image = np.linspace(0.05, 0.9, 30).reshape(6, 5)
    np.testing.assert_allclose(term.crop(term.enter(image)), image, atol=1e-4)
