"""The transforms against explicit matrices."""

import numba
import numpy as np
import pytest

from oracles import bm3d as oracle
from plugplay.denoisers.bm3d.canvas import load_block, store_block
from plugplay.denoisers.bm3d.transforms import (
    biorthogonal_block,
    biorthogonal_norms,
    biorthogonal_scales,
    dct_block,
    dct_scales,
    haar,
    haar_8,
    inverse_biorthogonal_block,
    inverse_dct_block,
    inverse_haar,
    inverse_haar_8,
)


def on_block(transform):
    @numba.njit
    def apply(block, out):
        r0, r1, r2, r3, r4, r5, r6, r7 = load_block(block, 0, 8)
        r0, r1, r2, r3, r4, r5, r6, r7 = transform(r0, r1, r2, r3, r4, r5, r6, r7)
        store_block(out, 0, 8, r0, r1, r2, r3, r4, r5, r6, r7)

    def call(block):
        out = np.empty(64, np.float32)
        apply(block.astype(np.float32).ravel(), out)
        return out.reshape(8, 8)

    return call


@numba.njit
def details_only(block, out):
    """Haar over the rows, every difference divided by its length, back without the sum."""
    a0, a1, a2, a3, a4, a5, a6, a7 = load_block(block, 0, 8)
    a0, a1, a2, a3, a4, a5, a6, a7 = haar_8(a0, a1, a2, a3, a4, a5, a6, a7)
    store_block(out, 0, 8, a0, a1, a2, a3, a4, a5, a6, a7)


@numba.njit
def back_without_sum(block, out):
    _, a1, a2, a3, a4, a5, a6, a7 = load_block(block, 0, 8)
    r0, r1, r2, r3, r4, r5, r6, r7 = inverse_haar_8(a1, a2, a3, a4, a5, a6, a7)
    store_block(out, 0, 8, r0, r1, r2, r3, r4, r5, r6, r7)


@numba.njit
def across(blocks, count):
    haar(blocks, count)


@numba.njit
def back_across(blocks, count):
    inverse_haar(blocks, count)


@pytest.fixture(scope="module")
def block():
    return np.random.default_rng(0).standard_normal((8, 8))


def test_dct_block_is_the_orthonormal_dct_transposed_and_without_its_scales(block):
    matrix = oracle.dct_matrix()
    scaled = on_block(dct_block)(block) * np.outer(dct_scales(), dct_scales())
    np.testing.assert_allclose(scaled, (matrix @ block @ matrix.T).T, atol=2e-6)


def test_inverse_dct_block_undoes_dct_block_after_scaling(block):
    scaled = on_block(dct_block)(block) * np.square(np.outer(dct_scales(), dct_scales()))
    np.testing.assert_allclose(on_block(inverse_dct_block)(scaled), block, atol=2e-6)


def test_biorthogonal_block_is_the_wavelet_times_its_norms(block):
    matrix = oracle.biorthogonal_matrix() * biorthogonal_norms()[:, None]
    np.testing.assert_allclose(on_block(biorthogonal_block)(block), (matrix @ block @ matrix.T).T, atol=2e-5)


def test_inverse_biorthogonal_block_undoes_it_after_scaling(block):
    scaled = on_block(biorthogonal_block)(block) * np.outer(biorthogonal_scales(), biorthogonal_scales())
    np.testing.assert_allclose(on_block(inverse_biorthogonal_block)(scaled), block, atol=2e-6)


@pytest.mark.parametrize("count", [1, 2, 4])
def test_haar_across_blocks(count):
    blocks = np.random.default_rng(count).standard_normal((count, 8, 8)).astype(np.float32)
    transformed = blocks.ravel().copy()
    across(transformed, count)
    expected = np.einsum("an,nij->aij", oracle.haar_matrix(count), blocks)
    # In place: entry 0 is the sum, odd entries are differences of neighbours, the others are in between.
    order, lengths = {1: ([0], [1]), 2: ([0, 1], [2, 2]), 4: ([0, 2, 1, 3], [4, 4, 2, 2])}[count]
    ours = transformed.reshape(count, 8, 8)[order] / np.sqrt(lengths)[:, None, None]
    np.testing.assert_allclose(ours, expected, atol=2e-6)
    scaled = transformed.reshape(count, 8, 8)
    scaled[order] /= np.array(lengths, np.float32)[:, None, None]
    back = scaled.ravel()
    back_across(back, count)
    np.testing.assert_allclose(back, blocks.ravel(), atol=2e-6)


def test_haar_of_eight_rows(block):
    out = np.empty(64, np.float32)
    details_only(block.astype(np.float32).ravel(), out)
    lengths = np.array([8, 8, 4, 4, 2, 2, 2, 2])
    matrix = oracle.haar_matrix(8)
    np.testing.assert_allclose(out.reshape(8, 8), np.sqrt(lengths)[:, None] * (matrix @ block), atol=5e-6)
    scaled = (out.reshape(8, 8) / lengths[:, None]).astype(np.float32).ravel()
    back_without_sum(scaled, out)
    np.testing.assert_allclose(out.reshape(8, 8), block - block.mean(axis=0), atol=2e-6)
