"""Shrinkage of whole groups against explicit transforms."""

import numba
import numpy as np
import pytest

from oracles import bm3d as oracle
from plugplay.denoisers.bm3d.canvas import load_block, store_block
from plugplay.denoisers.bm3d.filtering import (
    NORMS,
    load_filtered,
    log2,
    store_copies,
    threshold_group,
    threshold_tables,
    wiener_group,
    wiener_tables,
)
from plugplay.denoisers.bm3d.transforms import (
    biorthogonal_block,
    dct_block,
    inverse_biorthogonal_block,
    inverse_dct_block,
)

SIZES = [1, 2, 4, 8, 16, 32]


@numba.njit
def filter_by_threshold(blocks, count, thresholds, scales):
    copies = max(8 // count, 1)
    group, octets = np.empty(32 * 64, np.float32), np.empty(4 * 64, np.float32)
    for i in range(count):
        r0, r1, r2, r3, r4, r5, r6, r7 = load_block(blocks, i * 64, 8)
        r0, r1, r2, r3, r4, r5, r6, r7 = biorthogonal_block(r0, r1, r2, r3, r4, r5, r6, r7)
        store_copies(group, i * copies, copies, r0, r1, r2, r3, r4, r5, r6, r7)
    kept = threshold_group(group, octets, copies * count, thresholds, log2(copies) * 64, scales)
    for i in range(count):
        r0, r1, r2, r3, r4, r5, r6, r7 = load_filtered(group, octets, i * copies)
        r0, r1, r2, r3, r4, r5, r6, r7 = inverse_biorthogonal_block(r0, r1, r2, r3, r4, r5, r6, r7)
        store_block(blocks, i * 64, 8, r0, r1, r2, r3, r4, r5, r6, r7)
    return kept


@numba.njit
def filter_by_wiener(blocks, pilots, count, noise, scales):
    copies = max(8 // count, 1)
    group, octets = np.empty(32 * 64, np.float32), np.empty(4 * 64, np.float32)
    pilot, pilot_octets = np.empty(32 * 64, np.float32), np.empty(4 * 64, np.float32)
    for i in range(count):
        r0, r1, r2, r3, r4, r5, r6, r7 = load_block(blocks, i * 64, 8)
        r0, r1, r2, r3, r4, r5, r6, r7 = dct_block(r0, r1, r2, r3, r4, r5, r6, r7)
        store_copies(group, i * copies, copies, r0, r1, r2, r3, r4, r5, r6, r7)
        r0, r1, r2, r3, r4, r5, r6, r7 = load_block(pilots, i * 64, 8)
        r0, r1, r2, r3, r4, r5, r6, r7 = dct_block(r0, r1, r2, r3, r4, r5, r6, r7)
        store_copies(pilot, i * copies, copies, r0, r1, r2, r3, r4, r5, r6, r7)
    energy = wiener_group(group, pilot, octets, pilot_octets, copies * count, noise, 0, scales, copies)
    for i in range(count):
        r0, r1, r2, r3, r4, r5, r6, r7 = load_filtered(group, octets, i * copies)
        r0, r1, r2, r3, r4, r5, r6, r7 = inverse_dct_block(r0, r1, r2, r3, r4, r5, r6, r7)
        store_block(blocks, i * 64, 8, r0, r1, r2, r3, r4, r5, r6, r7)
    return energy


def similar_blocks(count, seed):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal((8, 8)) + 0.3 * rng.standard_normal((count, 8, 8))).astype(np.float32)


@pytest.mark.parametrize("count", SIZES)
def test_hard_threshold(count):
    blocks = similar_blocks(count, seed=count)
    variances = np.random.default_rng(0).uniform(0.1, 2, (8, 8))
    thresholds, scales = threshold_tables(np.array([0.8]), variances)
    assert thresholds.size == NORMS * 64
    ours = blocks.ravel().copy()
    kept = filter_by_threshold(ours, count, thresholds, scales)
    expected, expected_kept = oracle.threshold_group(blocks.astype(float), 0.8 * np.sqrt(variances))
    assert 0 < kept == expected_kept < blocks.size
    np.testing.assert_allclose(ours.reshape(-1, 8, 8), expected, atol=1e-5)


@pytest.mark.parametrize("count", SIZES)
def test_wiener(count):
    blocks, pilots = similar_blocks(count, seed=count), similar_blocks(count, seed=100 + count)
    ours = blocks.ravel().copy()
    variances = np.random.default_rng(0).uniform(0.2, 2, (8, 8))
    energy = filter_by_wiener(ours, pilots.ravel(), count, *wiener_tables(np.array([0.5]), variances))
    expected, expected_energy = oracle.wiener_group(blocks.astype(float), pilots.astype(float), 0.5 * variances)
    assert energy == pytest.approx(expected_energy, rel=1e-5)
    np.testing.assert_allclose(ours.reshape(-1, 8, 8), expected, atol=1e-5)


def test_groups_of_zeros_stay_zero():
    thresholds, scales = threshold_tables(np.array([0.8]), np.ones((8, 8)))
    zeros = np.zeros(32 * 64, np.float32)
    assert filter_by_threshold(zeros, 32, thresholds, scales) == 0
    assert filter_by_wiener(zeros, zeros.copy(), 32, *wiener_tables(np.array([0.0]), np.ones((8, 8)))) == 0
    assert not zeros.any()


def test_each_channel_has_its_own_thresholds():
    thresholds, scales = threshold_tables(np.array([1.0, 2.0]), np.ones((8, 8)))
    first, second = thresholds.reshape(2, -1)
    np.testing.assert_allclose(second, 2 * first)
    assert scales.min() > 0
