"""Coloured noise: variances against noise that is drawn, and what they are good for."""

from dataclasses import replace

import numpy as np
import pytest
import skimage.data

from oracles import bm3d as oracle
from plugplay.denoisers import BM3D
from plugplay.denoisers.bm3d.colouring import coefficient_variances, compact_spectrum


def spectrum_of(kind, shape=(48, 64)):
    f, g = np.meshgrid(*(np.fft.fftfreq(length) for length in shape), indexing="ij")
    low = np.exp(-((f / 0.15) ** 2) - (g / 0.08) ** 2)
    return {
        "low": low,
        "high": 0.01 + (f**2 + g**2) ** 2,
        "stripes": 0.01 + (np.abs(f) < 0.02),
        "white": np.ones(shape),
    }[kind]


def noise_with(spectrum, count, seed=0):
    """Return periodic noise of variance 1, filtered in the Fourier domain."""
    white = np.random.default_rng(seed).standard_normal((count, *spectrum.shape))
    return np.fft.ifft2(np.fft.fft2(white) * np.sqrt(spectrum / spectrum.mean())).real


@pytest.mark.parametrize("kind", ["low", "high", "stripes", "white"])
@pytest.mark.parametrize(
    ("transform", "matrix"), [("dct", oracle.dct_matrix()), ("biorthogonal", oracle.biorthogonal_matrix())]
)
def test_variances_are_those_of_drawn_noise(kind, transform, matrix):
    spectrum = spectrum_of(kind)
    noise = noise_with(3 * spectrum, 200)
    blocks = np.lib.stride_tricks.sliding_window_view(noise, (8, 8), axis=(1, 2))[:, ::3, ::3]
    coefficients = np.einsum("ij,kl,...jl->...ik", matrix, matrix, blocks)
    expected = np.mean(coefficients**2, axis=(0, 1, 2))
    found = coefficient_variances(compact_spectrum(3 * spectrum), transform)
    np.testing.assert_allclose(found, expected, rtol=0.1, atol=2e-3)


@pytest.mark.parametrize("stages", [2, None])
def test_flat_spectrum_is_white_noise(stages):
    image = np.random.default_rng(0).random((40, 50))
    found = BM3D(noise_spectrum=np.full((20, 30), 7.0), stages=stages)(image, 0.2)
    np.testing.assert_allclose(found, BM3D()(image, 0.2), atol=1e-3)


@pytest.mark.parametrize(("kind", "gain"), [("high", 0.3), ("low", 1.0), ("stripes", 1.0)])
def test_coloured_noise_is_removed_better_if_its_spectrum_is_known(kind, gain):
    clean = skimage.data.camera()[60:188, 140:268] / 255
    spectrum = spectrum_of(kind, clean.shape)
    noisy = clean + 0.1 * noise_with(spectrum, 1)[0]
    known, unknown = BM3D(noise_spectrum=spectrum)(noisy, 0.1), BM3D()(noisy, 0.1)
    assert 10 * np.log10(np.mean((unknown - clean) ** 2) / np.mean((known - clean) ** 2)) > gain


def test_can_be_compared_replaced_and_prepared():
    spectrum = spectrum_of("low")
    denoiser = BM3D(noise_spectrum=spectrum)
    assert denoiser == BM3D(noise_spectrum=4 * spectrum) == replace(denoiser, workers=None)
    assert denoiser != BM3D()
    assert denoiser != BM3D(noise_spectrum=spectrum_of("high"))
    assert hash(denoiser) == hash(replace(denoiser))


@pytest.mark.parametrize(
    "bad", [np.ones(64), np.ones((64, 8)), -np.ones((32, 32)), np.full((32, 32), np.nan), np.zeros((32, 32))]
)
def test_bad_spectra_are_refused(bad):
    with pytest.raises(ValueError, match="noise_spectrum"):
        BM3D(noise_spectrum=bad)


def test_third_stage_is_for_white_noise():
    with pytest.raises(ValueError, match="three stages"):
        BM3D(noise_spectrum=np.ones((32, 32)), stages=3)
    image = np.random.default_rng(0).random((30, 30))
    spectrum = spectrum_of("low")
    high = BM3D(profile="high", noise_spectrum=spectrum)
    np.testing.assert_array_equal(high(image, 0.1), replace(high, stages=2)(image, 0.1))
