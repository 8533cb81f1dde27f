"""Both stages against the whole algorithm written out."""

import itertools
import threading
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from oracles import bm3d as oracle
from plugplay.denoisers.bm3d.canvas import stride_for
from plugplay.denoisers.bm3d.pipeline import denoise_planes, in_order
from plugplay.denoisers.bm3d.profiles import MAX_THINNED_STEP, Profile, Stage, profile_for

SMALL = Profile(
    pilot=Stage(step=3, reach=4, group=16, similarity=0.02, noise_share=2.5),
    final=Stage(step=3, reach=5, group=32, similarity=0.006, noise_share=0.2, offset=2),
)
SIGMA = 0.1


@pytest.fixture(scope="module")
def noisy():
    y, x = np.mgrid[:27, :31]
    image = 0.4 * np.sin(x / 3) + 0.3 * (y > 12)
    image = image + SIGMA * np.random.default_rng(0).standard_normal(image.shape)
    return image - image.mean()


def denoise(image, sigma=SIGMA, profile=SMALL, **options):
    return denoise_planes(image[None].astype(np.float32), np.array([sigma]), profile, workers=1, **options)[0]


def shifts_of(groups, stage_index, stage, shape):
    """Return {(y, x): displacements} from the tables of a run."""
    rows, columns = (oracle.starts(length, stage) for length in shape)
    places = iter([(y, x) for y in rows for x in columns])
    pitch = 2 * stride_for(shape[1])
    found = {}
    for (index, _), matches in sorted(groups.items(), key=lambda item: item[0]):
        if index == stage_index:
            for offsets, count in zip(matches.offsets.reshape(-1, stage.group), matches.counts, strict=True):
                dy, dx = np.divmod(offsets[:count] + pitch // 2, pitch)
                found[next(places)] = list(zip(dy, dx - pitch // 2, strict=True))
    return found


def test_filters_the_groups_that_it_found_exactly(noisy):
    groups = {}
    ours = denoise(noisy, groups=groups)
    pilot = oracle.stage(noisy, SIGMA, SMALL, groups=shifts_of(groups, 0, SMALL.pilot, noisy.shape))
    final = oracle.stage(noisy, SIGMA, SMALL, pilot, groups=shifts_of(groups, 1, SMALL.final, noisy.shape))
    # A coefficient that is as large as the threshold may be kept by one and not by the other.
    difference = np.abs(ours - final)
    assert np.quantile(difference, 0.9) < 1e-4
    assert difference.max() < 0.05 * SIGMA


def test_is_bm3d_with_groups_and_all(noisy):
    difference = denoise(noisy) + 0.5 - oracle.bm3d(noisy + 0.5, SIGMA, SMALL)
    # Blocks that are equally similar may change places in a group.
    assert np.sqrt(np.mean(difference**2)) < 0.03 * SIGMA


def test_known_groups_are_used_and_give_the_same(noisy):
    groups = {}
    first = denoise(noisy, groups=groups)
    before = dict(groups)
    np.testing.assert_array_equal(denoise(noisy, groups=groups), first)
    assert all(groups[key] is before[key] for key in before)
    assert not np.array_equal(denoise(noisy.T.reshape(noisy.shape), groups=groups), denoise(noisy))


@pytest.mark.parametrize("name", ["fast", "normal", "high"])
@pytest.mark.parametrize("stages", [2, 3])
@pytest.mark.parametrize("channels", [1, 3])
def test_any_number_of_workers_gives_the_same_bits(name, stages, channels):
    profile = profile_for(name, stages, "denoising")
    planes = np.random.default_rng(1).standard_normal((channels, 110, 75)).astype(np.float32)
    sigmas = np.linspace(0.5, 1, channels)
    alone = denoise_planes(planes, sigmas, profile, workers=1)
    for workers in (2, 5):
        np.testing.assert_array_equal(denoise_planes(planes, sigmas, profile, workers=workers), alone)


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_outcomes_come_in_order(workers):
    assert list(in_order(lambda task: task**2, range(30), workers)) == [task**2 for task in range(30)]


def test_abandoned_work_is_cancelled_but_for_what_has_begun():
    begun, release = [], threading.Event()

    def work(task):
        begun.append(task)
        if task >= 2:
            release.wait(60)
        return task

    with closing(in_order(work, range(20), 2)) as outcomes:
        assert [next(outcomes), next(outcomes)] == [0, 1]
        # Both workers are held up by the tasks 2 and 3; they go on when the others have been cancelled.
        threading.Timer(0.5, release.set).start()
    assert set(begun) <= {0, 1, 2, 3}


@pytest.mark.parametrize("thinning", [2, 4])
@pytest.mark.parametrize("step", range(1, MAX_THINNED_STEP + 1))
def test_thinning_leaves_no_pixel_out(step, thinning):
    # Every block is alone in its group, so that only reference blocks cover pixels.
    alone = Stage(step=step, reach=4, group=16, similarity=0, noise_share=0, offset=step // 2)
    thinned = Profile(pilot=replace(alone, offset=0), final=alone, thinning=thinning)
    for height, width in itertools.product((8, 9, 11, 14, 17, 35, 38), (8, 10, 13, 15, 26)):
        planes = np.random.default_rng(0).standard_normal((2, height, width)).astype(np.float32)
        assert np.isfinite(denoise_planes(planes, np.array([0.1, 0.1]), thinned, workers=2)).all()


@pytest.mark.parametrize("thinning", [2, 4])
def test_thinning_filters_the_first_channel_as_before_and_the_others_less_often(noisy, thinning):
    planes = np.stack([noisy, noisy[::-1]]).astype(np.float32)
    every, other = (
        denoise_planes(planes, np.array([SIGMA, SIGMA]), replace(SMALL, thinning=share), workers=2)
        for share in (1, thinning)
    )
    np.testing.assert_array_equal(other[0], every[0])
    assert 0 < np.abs(other[1] - every[1]).max() < 2 * SIGMA
    noise = np.std(planes[1] - every[1])
    assert np.std(other[1] - every[1]) < 0.3 * noise
