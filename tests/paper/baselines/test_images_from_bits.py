import numpy as np
import pytest
from scipy.stats import binom

from plugplay import denoisers, psnr
from plugplay.models import SinglePhoton
from plugplay_paper.baselines.images_from_bits import BinomialStabiliser, count_ones, images_from_bits


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
    image = images_from_bits(count_ones(bits, sensor), sensor, average)
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
    image = images_from_bits(count_ones(bits, sensor), sensor, denoisers.get("tv"))
    assert psnr(image, camera) > psnr(sensor.data_term(bits).start(), camera) + 6


@pytest.mark.parametrize("count", [0, 16])
def test_the_ends_of_the_scale_are_reached_and_finite(count):
    image = images_from_bits(np.full((8, 8), count), SinglePhoton(4), lambda image, sigma: image)
    assert image.tolist() == np.full((8, 8), min(count, 1.0)).tolist()


def test_a_denoiser_that_leaves_the_scale_is_clipped():
    wild = [lambda image, sigma: image + 3, lambda image, sigma: image - 3]
    ones = np.full((8, 8), 5)
    assert [float(images_from_bits(ones, SinglePhoton(4), one).max()) for one in wild] == [1.0, 0.0]


def test_the_denoiser_is_called_once_with_the_known_noise():
    calls = []

    def watch(image, sigma):
        calls.append((image.dtype, image.min(), image.max(), sigma))
        return image

    images_from_bits(np.arange(17).repeat(4).reshape(4, 17), SinglePhoton(4), watch)
    ((dtype, low, high, sigma),) = calls
    assert (dtype, low, high) == (np.float32, 0.0, 1.0)
    assert sigma == BinomialStabiliser.build(16).noise == pytest.approx(0.097, abs=1e-3)


@pytest.mark.parametrize(
    ("ones", "error", "message"),
    [
        (np.zeros((2, 4, 4)), ValueError, r"shape \(H, W\)"),
        (np.full((4, 4), 17), ValueError, "from 0 to 16"),
        (np.full((4, 4), -1), ValueError, "got values from -1"),
        (np.full((4, 4), 0.5), ValueError, "whole numbers"),
        (np.full((4, 4), np.nan), ValueError, "NaN"),
        ("bits", TypeError, "real numbers"),
    ],
)
def test_bad_counts_are_named(ones, error, message):
    with pytest.raises(error, match=message):
        images_from_bits(ones, SinglePhoton(4), average)


def test_bad_parts_are_named():
    ones = np.zeros((4, 4))
    with pytest.raises(TypeError, match="SinglePhoton"):
        images_from_bits(ones, 4, average)
    with pytest.raises(TypeError, match="plugplay.denoisers.get"):
        images_from_bits(ones, SinglePhoton(4), "bm3d")
    with pytest.raises(ValueError, match="NaN or infinite"):
        images_from_bits(ones, SinglePhoton(4), lambda image, sigma: image * np.nan)
    with pytest.raises(ValueError, match="returned the shape"):
        images_from_bits(ones, SinglePhoton(4), lambda image, sigma: image[:2])
    with pytest.raises(TypeError, match="int64"):
        images_from_bits(ones, SinglePhoton(4), lambda image, sigma: image.astype(np.int64))
