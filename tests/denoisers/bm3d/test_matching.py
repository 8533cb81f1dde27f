"""The search against distances that are computed one by one."""

from dataclasses import replace

import numpy as np
import pytest

from oracles import bm3d as oracle
from plugplay.denoisers.bm3d import matching
from plugplay.denoisers.bm3d.canvas import Canvas, reference_positions
from plugplay.denoisers.bm3d.integers import MAX_COARSE_LEVEL, MAX_LEVEL
from plugplay.denoisers.bm3d.matching import REACH, match
from plugplay.denoisers.bm3d.profiles import Stage

# Keys keep 12 bits of a distance's fraction.
KEY_PRECISION = 2.0**-11


def groups_of(image, stage, sigma, *, guide=0):
    """Yield (y, x, displacements) as the search finds them."""
    canvas = Canvas.of(image[None].astype(np.float32))
    if guide:
        canvas.estimate[...] = canvas.memory[:, :, 0, 24 : 24 + canvas.width]
        canvas.memory[:, :, 0] = 0
    rows, columns = (reference_positions(length, stage.step, stage.offset) for length in image.shape)
    matches = match(canvas, stage, sigma, rows, columns, guide=guide)
    offsets = matches.offsets.reshape(-1, stage.group)
    for index, count in enumerate(matches.counts):
        dy, dx = np.divmod(offsets[index, :count] + canvas.pitch // 2, canvas.pitch)
        shifts = list(zip(dy.tolist(), (dx - canvas.pitch // 2).tolist(), strict=True))
        yield int(rows[index // columns.size]), int(columns[index % columns.size]), shifts


def noisy_image(shape, seed=0):
    rng = np.random.default_rng(seed)
    waves = np.sin(np.arange(shape[0]) / 3)[:, None] * np.cos(np.arange(shape[1]) / 4)
    return 0.3 * waves + 0.1 * rng.standard_normal(shape)


@pytest.mark.parametrize(
    ("shape", "stage"),
    [
        ((30, 41), Stage(step=3, reach=19, group=16, similarity=0.03, noise_share=0.0)),
        ((30, 41), Stage(step=4, reach=19, group=32, similarity=0.02, noise_share=1.0)),
        ((64, 9), Stage(step=2, reach=19, group=32, similarity=1.0, noise_share=0.0)),
        ((8, 120), Stage(step=3, reach=7, group=16, similarity=1.0, noise_share=0.0)),
        ((50, 50), Stage(step=5, reach=3, group=32, similarity=0.03, noise_share=0.0)),
    ],
)
@pytest.mark.parametrize("guide", [0, 1])
def test_groups_hold_the_most_similar_blocks(shape, stage, guide):
    image = noisy_image(shape)
    for y, x, shifts in groups_of(image, stage, 0.1, guide=guide):
        measured = oracle.distances(image, y, x, stage.reach)
        expected = [measured[shift] for shift in oracle.group(image, y, x, stage, 0.1)]
        assert shifts[0] == (0, 0)
        assert len(set(shifts)) == len(shifts) == len(expected)
        found = [measured[shift] for shift in shifts]
        np.testing.assert_allclose(found, expected, rtol=KEY_PRECISION, atol=1e-5)


@pytest.mark.parametrize("tops", [(0, 1), (-1, 1), (3, 3.2)])
def test_rounded_pixels_are_compared_exactly(tops):
    """An image of levels, such as the search rounds to, loses nothing: darkest and brightest pixel are among them."""
    low, high = tops
    rng = np.random.default_rng(2)
    levels = rng.integers(0, 2 * MAX_LEVEL + 1, (26, 50))
    levels.flat[:2] = 0, 2 * MAX_LEVEL
    image = low + (high - low) * levels / (2 * MAX_LEVEL)
    stage = Stage(step=6, reach=19, group=32, similarity=1e9, noise_share=0.0)
    for y, x, shifts in groups_of(image, stage, high - low):
        measured = oracle.distances(levels.astype(float), y, x, stage.reach)
        found = [measured[shift] for shift in shifts]
        np.testing.assert_allclose(found, sorted(measured.values())[: len(found)], rtol=KEY_PRECISION)


@pytest.fixture(params=["as this CPU does", "as pairs", "as bytes"])
def packing(request, monkeypatch):
    """Run a test as on CPUs with and without products of bytes."""
    if request.param != "as this CPU does":
        monkeypatch.setattr(matching, "has_byte_products", lambda: request.param == "as bytes")


@pytest.mark.usefixtures("packing")
@pytest.mark.parametrize("shape", [(26, 50), (8, 120), (64, 9)])
@pytest.mark.parametrize("reach", [19, 6])
def test_images_of_few_levels_are_compared_exactly(shape, reach):
    levels = np.random.default_rng(4).integers(0, 2 * MAX_COARSE_LEVEL + 1, shape)
    levels.flat[:2] = 0, 2 * MAX_COARSE_LEVEL
    levels[:, -9:] = 2 * MAX_COARSE_LEVEL  # as different as can be from what is beyond the border
    stage = Stage(step=6, reach=reach, group=32, similarity=1e9, noise_share=0.0, coarse=True)
    for y, x, shifts in groups_of(levels / (2 * MAX_COARSE_LEVEL) - 0.3, stage, 1.0):
        measured = oracle.distances(levels.astype(float), y, x, stage.reach)
        found = [measured[shift] for shift in shifts]
        # Halves of distances are rounded.
        expected = sorted(measured.values())[: len(found)]
        np.testing.assert_allclose(found, expected, rtol=KEY_PRECISION, atol=1)
        assert shifts[0] == (0, 0)


def test_coarse_groups_do_not_depend_on_the_cpu(monkeypatch):
    stage = Stage(step=3, reach=19, group=32, similarity=0.03, noise_share=0.0, coarse=True)
    found = []
    for available in (False, True):
        monkeypatch.setattr(matching, "has_byte_products", lambda: available)  # noqa: B023
        found.append(list(groups_of(noisy_image((60, 71)), stage, 0.1)))
    assert found[0] == found[1]
    assert found[0] != list(groups_of(noisy_image((60, 71)), replace(stage, coarse=False), 0.1))


def test_coarse_groups_are_nearly_as_similar():
    """Levels as far apart as the rule allows, compared to the noise."""
    image, sigma = noisy_image((60, 71)), 0.1
    stage = Stage(step=3, reach=19, group=16, similarity=1.0, noise_share=0.0)
    sums = []
    for coarse in (False, True):
        groups = groups_of(image, replace(stage, coarse=coarse), sigma)
        means = [
            np.mean([oracle.distances(image, y, x, stage.reach)[shift] for shift in shifts[1:]])
            for y, x, shifts in groups
            if y % 9 == 0 and x % 9 == 0
        ]
        sums.append(np.mean(means))
    assert sums[0] <= sums[1] < 1.001 * sums[0]


def test_images_with_tiny_noise_are_not_rounded():
    """One bright pixel, and structure far below one of the levels that it would leave."""
    image = 1e-5 * noisy_image((40, 40))
    image[20, 20] = 10.0
    stage = Stage(step=4, reach=10, group=16, similarity=1e9, noise_share=0.0)
    for y, x, shifts in groups_of(image, stage, 1e-6):
        if abs(y - 20) < 30 and abs(x - 20) < 30 and (y > 20 or y < 12):
            measured = oracle.distances(image, y, x, stage.reach)
            found = [measured[shift] for shift in shifts if shift != (0, 0)]
            expected = sorted(value for shift, value in measured.items() if shift != (0, 0))[: len(found)]
            assert np.mean(found) < 1.2 * np.mean(expected) + 1e-12


def test_sizes_are_powers_of_two_and_grow_with_the_limit():
    image = noisy_image((40, 40))
    sizes = []
    for similarity in (1e-9, 0.02, 0.05, 10.0):
        stage = Stage(step=3, reach=REACH, group=32, similarity=similarity, noise_share=0.0)
        counts = np.array([len(shifts) for _, _, shifts in groups_of(image, stage, 0.0)])
        assert set(counts) <= {1, 2, 4, 8, 16, 32}
        sizes.append(counts.mean())
    assert sizes[0] == 1
    assert sizes[-1] == 32
    assert sizes == sorted(sizes)


def test_reference_block_is_in_its_group_even_if_all_blocks_are_equal():
    stage = Stage(step=3, reach=REACH, group=16, similarity=0.01, noise_share=0.0)
    for _, _, shifts in groups_of(np.zeros((32, 32)), stage, 0.1):
        assert shifts[0] == (0, 0)
        assert len(shifts) == 16


def test_reference_positions_reach_both_ends():
    for length in range(8, 60):
        for step in (1, 2, 3, 4, 7):
            for offset in range(step):
                positions = reference_positions(length, step, offset)
                assert positions[0] == 0
                assert positions[-1] == length - 8
                assert set(np.diff(positions)) <= set(range(1, step + 1))
                assert set(positions[1:-1] % step) <= {offset % step}
