"""The spectra of columns against explicit transforms."""

import numba
import numpy as np
import pytest

from oracles import bm3d as oracle
from plugplay.denoisers.bm3d.canvas import MARGIN, Canvas
from plugplay.denoisers.bm3d.spectra import Scratch, analyse_columns, clear_columns, place_blocks, synthesise_columns
from plugplay.denoisers.bm3d.transforms import biorthogonal_norms, biorthogonal_scales, dct_scales

HEIGHT, WIDTH = 13, 21


@numba.njit
def analysed(canvas, pitch, rows, width, wavelet, spectra):
    analyse_columns(canvas, MARGIN, pitch, rows, width, wavelet, spectra, MARGIN)


@numba.njit
def synthesised(results, pitch, rows, width, wavelet, window, sums):
    synthesise_columns(results, pitch, rows, width, wavelet, window, sums, MARGIN)


@numba.njit
def cleared(results, pitch, rows, width):
    clear_columns(results, pitch, rows, width)


@numba.njit
def placed(offsets, first, count, at, places):
    return place_blocks(offsets, first, count, at, places)


def columns_of(image):
    """Return the columns of eight pixels that start at (y, x), shape (H - 7, W, 8)."""
    return np.lib.stride_tricks.sliding_window_view(image, 8, axis=0)


@pytest.mark.parametrize("wavelet", [True, False])
def test_columns_are_transformed(wavelet):
    image = np.random.default_rng(0).standard_normal((1, HEIGHT, WIDTH)).astype(np.float32)
    canvas = Canvas.of(image)
    spectra = np.empty(8 * canvas.flat.size, np.float32)
    analysed(canvas.flat, canvas.pitch, HEIGHT - 7, WIDTH, wavelet, spectra)
    matrix = (
        oracle.biorthogonal_matrix() * biorthogonal_norms()[:, None]
        if wavelet
        else oracle.dct_matrix() / dct_scales()[:, None]
    )
    ours = spectra.reshape(HEIGHT, 2, canvas.stride, 8)[: HEIGHT - 7, 0, MARGIN : MARGIN + WIDTH]
    np.testing.assert_allclose(ours, columns_of(image[0]) @ matrix.T, atol=1e-5)


@pytest.mark.parametrize("wavelet", [True, False])
def test_columns_are_transformed_back_and_added_up(wavelet):
    rng = np.random.default_rng(1)
    canvas = Canvas.of(np.zeros((1, HEIGHT, WIDTH), np.float32))
    results, sums = np.full(8 * canvas.flat.size, np.nan, np.float32), np.zeros_like(canvas.memory)
    cleared(results, canvas.pitch, HEIGHT - 7, WIDTH)
    spectra = rng.standard_normal((HEIGHT - 7, WIDTH, 8))
    results.reshape(HEIGHT, 2, canvas.stride, 8)[: HEIGHT - 7, 0, MARGIN : MARGIN + WIDTH] = spectra
    window = rng.uniform(0.5, 1, 8)
    synthesised(
        results, canvas.pitch, HEIGHT - 7, WIDTH, wavelet, window.astype(np.float32), sums.reshape(-1)
    )  # fmt: skip
    if wavelet:
        inverse = np.linalg.inv(oracle.biorthogonal_matrix() * biorthogonal_norms()[:, None]) / biorthogonal_scales()
    else:
        inverse = oracle.dct_matrix().T / dct_scales()
    expected = np.zeros((HEIGHT, WIDTH))
    for y in range(HEIGHT - 7):
        expected[y : y + 8] += window[:, None] * (inverse @ spectra[y].T)
    np.testing.assert_allclose(sums[0, :, 0, MARGIN : MARGIN + WIDTH], expected, atol=2e-5)
    assert not sums[0, :, 1].any()


@pytest.mark.parametrize("count", [1, 2, 4, 8, 16, 32])
def test_small_groups_are_filled_up_with_copies(count):
    offsets = np.random.default_rng(count).integers(-1000, 1000, 64).astype(np.int32)
    places = np.zeros(32, np.int32)
    blocks = placed(offsets, 32, count, 5000, places)
    assert blocks == max(count, 8)
    np.testing.assert_array_equal(places[:blocks], 8 * (5000 + np.repeat(offsets[32 : 32 + count], blocks // count)))


def test_scratch_is_used_again():
    scratch = Scratch()
    first = scratch.take(100)
    assert first.shape[1] >= 100
    assert first.ctypes.data % 64 == 0
    assert first.strides[0] % 64 == 0
    other = scratch.take(100)
    assert not np.shares_memory(first, other)
    scratch.give_back(first)
    assert scratch.take(90) is first
    scratch.give_back(first)
    assert scratch.take(1000).shape[1] >= 1000
