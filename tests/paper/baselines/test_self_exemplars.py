"""Self-exemplars: matches and votes against loops, resampling against the model's, planted recurrences."""

import numpy as np
import pytest

from plugplay import psnr
from plugplay.models import SuperResolution
from plugplay_paper.baselines.back_projection import bicubic, consistent_bicubic
from plugplay_paper.baselines.patch_match import OVERSAMPLING, RADIUS, match, vote
from plugplay_paper.baselines.planes import Planes
from plugplay_paper.baselines.resampling import resampled
from plugplay_paper.baselines.self_exemplars import Search, self_exemplars


@pytest.fixture(scope="module")
def pair():
    rng = np.random.default_rng(0)
    image = resampled(rng.random((6, 7)), (18, 21)).astype(np.float32)
    fine = resampled(rng.random((5, 6)), (OVERSAMPLING * 15, OVERSAMPLING * 17)).astype(np.float32)
    return image, fine


def matched(image, fine, passes, trials, seed):
    """Return matches without planes."""
    none = Planes.none()
    return match(image, fine, none.lines, none.support, passes, trials, seed)


def sample(fine, row, column):
    """Return the sample of an oversampled circular image that is nearest to a place."""
    rows, columns = fine.shape
    return fine[
        int(np.floor((row + 0.5) * OVERSAMPLING)) % rows,
        int(np.floor((column + 0.5) * OVERSAMPLING)) % columns,
    ]


def offsets():
    return [(i, j) for i in range(-RADIUS, RADIUS + 1) for j in range(-RADIUS, RADIUS + 1)]


def test_costs_are_variances_of_differences(pair):
    image, fine = pair
    matches, costs = matched(image, fine, 2, 4, 0)
    height, width = image.shape
    for row, column in [(0, 0), (3, 20), (17, 5), (9, 9)]:
        t, a = matches[row, column, :2].astype(float), matches[row, column, 2:6].reshape(2, 2).astype(float)
        differences = [
            image[(row + i) % height, (column + j) % width] - sample(fine, *(t + a @ (i, j))) for i, j in offsets()
        ]
        assert costs[row, column] == pytest.approx(np.var(differences), abs=1e-6)


def test_more_passes_never_make_a_match_worse_and_seeds_repeat(pair):
    image, fine = pair
    means = [matched(image, fine, passes, 4, 0)[1].mean() for passes in (0, 1, 2, 4)]
    assert means == sorted(means, reverse=True)
    assert means[-1] < 0.5 * means[0]
    for first, again in zip(matched(image, fine, 2, 4, 7), matched(image, fine, 2, 4, 7), strict=True):
        np.testing.assert_array_equal(first, again)
    # Scales stay within bounds.
    scales = np.linalg.svd(matched(image, fine, 3, 6, 1)[0][..., 2:6].reshape(-1, 2, 2), compute_uv=False)
    assert scales.max() < 1.5 * np.sqrt(2)
    assert np.sqrt(scales.prod(axis=1)).min() > 0.7


def test_votes_are_weighted_means_of_what_matches_bring(pair):
    image, fine = pair
    rng = np.random.default_rng(1)
    matches, _ = matched(image, fine, 1, 4, 0)
    height, width = image.shape
    weights = rng.random(image.shape, dtype=np.float32)
    details = rng.standard_normal((OVERSAMPLING * height, OVERSAMPLING * width)).astype(np.float32)
    found = vote(matches, weights, details, (22, 26), (15, 17), 0.2)
    for i, j in [(0, 0), (10, 13), (21, 25), (5, 7)]:
        place = (np.array([i, j]) + 0.5) * image.shape / (22, 26) - 0.5
        centre = np.rint(place).astype(int)
        total, summed = 0.0, 0.2 * 25
        for offset in offsets():
            p = centre + offset
            entry = matches[p[0] % height, p[1] % width].astype(float)
            source = entry[:2] + entry[2:6].reshape(2, 2) @ (place - p)
            # From pixels of the other image to pixels of this one.
            source = (source + 0.5) * np.array(image.shape) / (15, 17) - 0.5
            weight = weights[p[0] % height, p[1] % width]
            total += weight * sample(details, *source)
            summed += weight
        assert found[i, j] == pytest.approx(total / summed, abs=1e-4)


def test_a_turned_and_scaled_copy_is_found():
    """The same waves, turned by a quarter of a right angle and closer to each other by a tenth."""
    rows, columns = np.mgrid[:40, :40]
    image = np.sin(0.9 * rows + 0.35 * columns).astype(np.float32)
    turn, scale = np.pi / 8, 1.1
    a = scale * np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    places = (np.mgrid[: OVERSAMPLING * 40, : OVERSAMPLING * 40] + 0.5) / OVERSAMPLING - 0.5
    along = np.tensordot(np.linalg.inv(a).T @ (0.9, 0.35), places, axes=1)
    other = np.sin(along).astype(np.float32)
    straight = matched(image, other, 0, 0, 0)[1]
    found = matched(image, other, 4, 8, 0)[1]
    inner = (slice(4, -4), slice(4, -4))
    assert np.median(found[inner]) < 0.02 * np.median(straight[inner])


@pytest.mark.parametrize("factor", [2, 3, 4])
def test_resampling_by_whole_factors_is_the_models(factor):
    rng = np.random.default_rng(0)
    image, y = rng.random((8 * factor, 5 * factor)), rng.random((8, 5))
    np.testing.assert_allclose(resampled(image, (8, 5)), SuperResolution(factor).forward(image), atol=1e-12)
    np.testing.assert_allclose(resampled(y, image.shape), bicubic(y, factor), atol=1e-6)


def test_it_beats_back_projection_and_agrees_with_what_was_observed(camera):
    y = SuperResolution(2).simulate(camera)
    result = self_exemplars(y, 2)
    assert psnr(result, camera, border=4) > psnr(consistent_bicubic(y, 2), camera, border=4) + 0.2
    assert np.abs(SuperResolution(2).forward(result) - y).max() < 0.01


@pytest.mark.parametrize("factor", [2, 3, 4])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtype_shape_and_input_are_kept(dtype, factor):
    y = np.random.default_rng(0).random((9, 7)).astype(dtype)
    before = y.copy()
    search = Search(passes=1)
    result = self_exemplars(y, factor, search=search)
    assert result.dtype == dtype
    assert result.shape == (factor * 9, factor * 7)
    np.testing.assert_array_equal(y, before)
    np.testing.assert_array_equal(result, self_exemplars(y, factor, search=search))
