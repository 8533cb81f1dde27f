"""The transforms against explicit matrices."""

import numba
import numpy as np
import pytest

from oracles import bm3d as oracle
from plugplay.denoisers.bm3d.canvas import load_block, store_block
from plugplay.denoisers.bm3d.transforms import (
    biorthogonal,
    biorthogonal_norms,
    biorthogonal_scales,
    dct,
    dct_scales,
    haar,
    haar_8,
    inverse_biorthogonal,
    inverse_dct,
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
def forth(block, out):
    a0, a1, a2, a3, a4, a5, a6, a7 = load_block(block, 0, 8)
    a0, a1, a2, a3, a4, a5, a6, a7 = haar_8(a0, a1, a2, a3, a4, a5, a6, a7)
    store_block(out, 0, 8, a0, a1, a2, a3, a4, a5, a6, a7)


@numba.njit
def back(block, out):
    a0, a1, a2, a3, a4, a5, a6, a7 = load_block(block, 0, 8)
    r0, r1, r2, r3, r4, r5, r6, r7 = inverse_haar_8(a0, a1, a2, a3, a4, a5, a6, a7)
    store_block(out, 0, 8, r0, r1, r2, r3, r4, r5, r6, r7)


@numba.njit
def across(blocks, count, pitch):
    haar(blocks, count, pitch)


@numba.njit
def back_across(blocks, count, pitch):
    inverse_haar(blocks, count, pitch)


@pytest.fixture(scope="module")
def block():
    return np.random.default_rng(0).standard_normal((8, 8))


def test_dct_is_the_orthonormal_dct_without_its_scales(block):
    scaled = on_block(dct)(block) * dct_scales()[:, None]
    np.testing.assert_allclose(scaled, oracle.dct_matrix() @ block, atol=2e-6)


def test_inverse_dct_undoes_dct_after_scaling(block):
    scaled = on_block(dct)(block) * np.square(dct_scales())[:, None]
    np.testing.assert_allclose(on_block(inverse_dct)(scaled), block, atol=2e-6)


def test_biorthogonal_is_the_wavelet_times_its_norms(block):
    matrix = oracle.biorthogonal_matrix() * biorthogonal_norms()[:, None]
    np.testing.assert_allclose(on_block(biorthogonal)(block), matrix @ block, atol=2e-6)


def test_inverse_biorthogonal_undoes_it_after_scaling(block):
    scaled = on_block(biorthogonal)(block) * biorthogonal_scales()[:, None]
    np.testing.assert_allclose(on_block(inverse_biorthogonal)(scaled), block, atol=2e-6)


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("pitch", [64, 512])
def test_haar_across_blocks(count, pitch):
    blocks = np.random.default_rng(count).standard_normal((count, 8, 8)).astype(np.float32)
    memory = np.zeros((count, pitch), np.float32)
    memory[:, :64] = blocks.reshape(count, 64)
    across(memory.reshape(-1), count, pitch)
    expected = np.einsum("an,nij->aij", oracle.haar_matrix(count), blocks)
    # In place: entry 0 is the sum, odd entries are differences of neighbours, the others are in between.
    order, lengths = {1: ([0], [1]), 2: ([0, 1], [2, 2]), 4: ([0, 2, 1, 3], [4, 4, 2, 2])}[count]
    ours = memory[order, :64].reshape(count, 8, 8) / np.sqrt(lengths)[:, None, None]
    np.testing.assert_allclose(ours, expected, atol=2e-6)
    memory[order] /= np.array(lengths, np.float32)[:, None]
    back_across(memory.reshape(-1), count, pitch)
    np.testing.assert_allclose(memory[:, :64], blocks.reshape(count, 64), atol=2e-6)
    assert not memory[:, 64:].any()


def test_haar_of_eight_rows(block):
    out = np.empty(64, np.float32)
    forth(block.astype(np.float32).ravel(), out)
    lengths = np.array([8, 8, 4, 4, 2, 2, 2, 2])
    matrix = oracle.haar_matrix(8)
    np.testing.assert_allclose(out.reshape(8, 8), np.sqrt(lengths)[:, None] * (matrix @ block), atol=5e-6)
    scaled = (out.reshape(8, 8) / lengths[:, None]).astype(np.float32).ravel()
    back(scaled, out)
    np.testing.assert_allclose(out.reshape(8, 8), block, atol=2e-6)
