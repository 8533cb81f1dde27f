"""Coloured noise: its record, and the estimate of its spectrum."""

import numpy as np
import pytest
from scipy.fft import dct
from scipy.ndimage import correlate1d, gaussian_filter
from skimage import data

from plugplay.noise.coloured import ColouredNoise, estimate_spectrum

SIZE = 32


def binomial(shape):
    """Noise under [1 2 1] / 4 along both axes, and its spectrum, which is known in closed form."""
    response = np.square(0.5 + 0.5 * np.cos(2 * np.pi * np.fft.fftfreq(SIZE)))
    spectrum = np.outer(response, response)
    noise = np.random.default_rng(0).normal(size=shape)
    for axis in (0, 1):
        noise = correlate1d(noise, [0.25, 0.5, 0.25], axis=axis, mode="wrap")
    return noise, spectrum / spectrum.mean()


def test_the_spectrum_of_filtered_noise_in_a_photograph():
    clean = data.rocket()[:320, :400].mean(axis=-1) / 255
    noise, spectrum = binomial(clean.shape)
    noise *= 0.03 / noise.std()
    found = estimate_spectrum(clean + noise)
    assert found.sigma == pytest.approx(0.03, rel=0.15)
    assert not found.is_white
    assert np.corrcoef(found.spectrum.ravel(), spectrum.ravel())[0, 1] > 0.95
    assert np.abs(found.spectrum - spectrum).mean() < 0.25


def test_noise_along_one_axis():
    noise = gaussian_filter(np.random.default_rng(1).normal(size=(256, 256)), (0, 1.0))
    found = estimate_spectrum(0.5 + 0.1 * noise)
    across, along = found.spectrum[SIZE // 2, 0], found.spectrum[0, SIZE // 2]
    assert across > 5 * along


@pytest.mark.parametrize("image", ["rocket", "moon"])
def test_white_noise_is_called_white(image):
    clean = getattr(data, image)()[:256, :256] / 255
    found = estimate_spectrum(clean + 0.04 * np.random.default_rng(2).normal(size=clean.shape))
    assert found.is_white
    assert found.whiteness > 0.97
    assert found.sigma == pytest.approx(0.04, rel=0.1)


def test_coefficients_of_a_transform():
    # Against the covariance matrix of an 8x8 block, written out.
    spectrum = binomial((4, 4))[1]
    noise = ColouredNoise(0.5, spectrum)
    covariance = 0.25 * np.fft.ifft2(noise.spectrum).real
    places = np.stack(np.meshgrid(np.arange(8), np.arange(8), indexing="ij"), axis=-1).reshape(-1, 2)
    apart = places[:, None] - places[None]
    full = covariance[apart[..., 0] % SIZE, apart[..., 1] % SIZE]
    basis = dct(np.eye(8), axis=0, norm="ortho")
    both = np.kron(basis, basis)
    expected = np.diag(both @ full @ both.T).reshape(8, 8)
    np.testing.assert_allclose(noise.coefficient_power(basis), expected, rtol=1e-9)
    np.testing.assert_allclose(ColouredNoise(0.5, np.ones((32, 32))).coefficient_power(basis), 0.25)


def test_samples_have_the_spectrum():
    noise = ColouredNoise(0.2, binomial((4, 4))[1])
    sample = noise.sample((256, 192, 2), rng=3)
    assert sample.std() == pytest.approx(0.2, rel=0.02)
    assert np.mean(sample[1:] * sample[:-1]) / 0.04 == pytest.approx(2 / 3, abs=0.02)  # that of [1 2 1]
    assert noise.power((100, 90)).mean() == pytest.approx(0.04)


def test_the_record():
    noise = ColouredNoise(0.1, 7 * np.ones((16, 16)))
    assert noise.is_white
    assert noise.spectrum.mean() == 1
    assert not noise.spectrum.flags.writeable
    with pytest.raises(ValueError, match="spectrum must be 2-D"):
        ColouredNoise(0.1, -np.ones((16, 16)))
    with pytest.raises(ValueError, match="sigma must be"):
        ColouredNoise(-0.1, np.ones((16, 16)))
    assert estimate_spectrum(np.random.default_rng(4).normal(0.5, 0.1, (12, 12))).is_white
