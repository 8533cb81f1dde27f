"""Tiles: weights that add up to one, and cores that are restored as in the whole image."""

import numpy as np
import pytest

from plugplay.scale.tiles import ALIGNMENT, Grid


@pytest.mark.parametrize("shape", [(64, 64), (65, 130), (200, 97), (1, 300), (129, 64)])
@pytest.mark.parametrize("factor", [1, 2])
def test_what_all_tiles_agree_on_is_what_comes_out(shape, factor):
    grid = Grid(shape, (64, 48), halo=20, blend=8, factor=factor)
    truth = np.random.default_rng(0).random(tuple(n * factor for n in shape)).astype(np.float32)
    enlarged = {}
    for tile in grid.tiles():
        rows, columns = (slice(s.start * factor, s.stop * factor) for s in tile.outer)
        enlarged[tile.name] = tile.kept(truth[rows, columns], factor)
    result = np.zeros_like(truth)
    written = np.zeros(truth.shape, int)
    for tile in grid.tiles():
        rows, columns = (slice(s.start * factor, s.stop * factor) for s in tile.core)
        result[rows, columns] = grid.assembled(tile, enlarged)
        written[rows, columns] += 1
    np.testing.assert_allclose(result, truth, rtol=2e-6)
    assert (written == 1).all()


def test_a_step_between_tiles_becomes_a_ramp():
    grid = Grid((10, 128), (10, 64), halo=20, blend=5)
    parts = {tile.name: np.full(tile.kept(np.empty((10, 999)), 1).shape, float(tile.column)) for tile in grid.tiles()}
    row = np.concatenate([grid.assembled(tile, parts)[0] for tile in grid.tiles()])
    assert (row[:59] == 0).all()
    assert (row[69:] == 1).all()
    np.testing.assert_allclose(np.diff(row[59:69]), 0.1, atol=1e-6)


def test_tiles_begin_where_blocks_do():
    for tile in Grid((1000, 1000), (256, 256), halo=40, blend=10).tiles():
        assert tile.rows.first % ALIGNMENT == tile.columns.first % ALIGNMENT == 0
        assert tile.rows.first <= max(tile.rows.start - 40, 0)
        assert tile.columns.last == min(tile.columns.stop + 40, 1000)


def test_bands_must_fit():
    with pytest.raises(ValueError, match="cannot be blended over 30 pixels"):
        Grid((100, 100), (50, 50), halo=40, blend=30)
