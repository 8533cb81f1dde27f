"""Shrinkage of whole groups against explicit transforms."""

from dataclasses import replace

import numpy as np
import pytest

from oracles import bm3d as oracle
from plugplay.denoisers.bm3d import filtering
from plugplay.denoisers.bm3d.canvas import MARGIN, Canvas
from plugplay.denoisers.bm3d.filtering import NORMS, hard_threshold, threshold_tables, wiener
from plugplay.denoisers.bm3d.matching import Matches
from plugplay.denoisers.bm3d.profiles import profile_for
from plugplay.denoisers.bm3d.spectra import Scratch

SIZES = [1, 2, 4, 8, 16, 32]


def side_by_side(blocks):
    """Return the image (1, 8, 8 n) of n blocks."""
    return np.concatenate(blocks, axis=1)[None]


def filtered(stage, blocks, pilots=None, *, kaiser=0.0, **numbers):
    """Filter one group; return its blocks and its weight."""
    count = len(blocks)
    canvas = Canvas.of(side_by_side(blocks))
    if pilots is not None:
        canvas.estimate[...] = side_by_side(pilots)
    offsets = np.zeros(32, np.int32)
    offsets[:count] = 8 * np.arange(count)
    profile = replace(profile_for("normal", 2, "denoising"), kaiser=kaiser, **numbers)
    start = np.zeros(1, np.int64)
    matches = Matches(offsets, np.array([count], np.int32))
    sums = stage(canvas, profile, np.ones(1), start, start, matches, scratch=Scratch()).memory[0]
    weights = sums[0, 1, MARGIN : MARGIN + 8 * count : 8]
    assert np.count_nonzero(sums[:, 1]) == count
    assert (weights == weights[0]).all()
    return np.stack(np.split(sums[:, 0, MARGIN : MARGIN + 8 * count] / weights[0], count, axis=1)), weights[0]


def similar_blocks(count, seed):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal((8, 8)) + 0.3 * rng.standard_normal((count, 8, 8))).astype(np.float32)


@pytest.fixture
def coloured(monkeypatch):
    """Give the noise some variances, which it returns; rows are vertical frequencies."""
    variances = np.random.default_rng(0).uniform(0.2, 2, (8, 8))
    monkeypatch.setattr(filtering, "coefficient_variances", lambda *_: variances)
    return variances


@pytest.mark.parametrize("count", SIZES)
def test_hard_threshold(count, coloured):
    blocks = similar_blocks(count, seed=count)
    ours, weight = filtered(hard_threshold, blocks, threshold=0.8)
    expected, expected_kept = oracle.threshold_group(blocks.astype(float), 0.8 * np.sqrt(coloured))
    assert 0 < expected_kept < blocks.size
    assert weight == np.float32(1) / np.float32(expected_kept)
    np.testing.assert_allclose(ours, expected, atol=1e-5)


@pytest.mark.parametrize("count", SIZES)
def test_wiener(count, coloured):
    blocks, pilots = similar_blocks(count, seed=count), similar_blocks(count, seed=100 + count)
    ours, weight = filtered(wiener, blocks, pilots, wiener_noise=0.5)
    expected, expected_energy = oracle.wiener_group(blocks.astype(float), pilots.astype(float), 0.5 * coloured)
    assert 1 / weight == pytest.approx(expected_energy, rel=1e-5)
    np.testing.assert_allclose(ours, expected, atol=1e-5)


@pytest.mark.parametrize("count", SIZES)
def test_blocks_are_put_back_with_the_window(count):
    blocks, pilots = similar_blocks(count, seed=count), similar_blocks(count, seed=100 + count)
    window = np.outer(np.kaiser(8, 2.0), np.kaiser(8, 2.0))
    for stage in (hard_threshold, wiener):
        plain, _ = filtered(stage, blocks, pilots)
        windowed, _ = filtered(stage, blocks, pilots, kaiser=2.0)
        np.testing.assert_allclose(windowed, window * plain, atol=2e-6)


def test_groups_of_zeros_stay_zero():
    zeros = np.zeros((32, 8, 8), np.float32)
    for stage in (hard_threshold, wiener):
        blocks, weight = filtered(stage, zeros, zeros, wiener_noise=0.0)
        assert not blocks.any()
        assert weight == 1


def test_each_channel_and_level_has_its_own_thresholds():
    thresholds, scales = threshold_tables(np.array([1.0, 2.0]), np.ones((8, 8)))
    assert thresholds.size == 2 * NORMS * 64
    first, second = thresholds.reshape(2, -1)
    np.testing.assert_allclose(second, 2 * first)
    assert scales.min() > 0
