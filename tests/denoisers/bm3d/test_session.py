"""Sessions: what they remember, and for how long; what they tell about their progress."""

import threading
from dataclasses import replace

import numpy as np
import pytest

from plugplay.denoisers import BM3D
from plugplay.denoisers.bm3d.canvas import Canvas
from plugplay.denoisers.bm3d.denoiser import MIN_THIRD_SIGMA
from plugplay.denoisers.bm3d.images import denoise_image
from plugplay.denoisers.bm3d.loop import MOVES_AFTER
from plugplay.denoisers.bm3d.memory import LIFETIME, NOISE_CHANGE, TINY_SIGMA, Memory
from plugplay.denoisers.bm3d.pipeline import denoise_planes
from plugplay.denoisers.bm3d.profiles import profile_for
from plugplay.traits import Traits


def noise_image(seed, shape=(40, 50)):
    return np.random.default_rng(seed).random(shape)


def test_first_call_is_that_of_the_denoiser():
    image = noise_image(0)
    np.testing.assert_array_equal(BM3D().session()(image, 0.2), BM3D()(image, 0.2))


@pytest.mark.parametrize("shape", [(40, 50), (40, 50, 3), (40, 50, 2)])
def test_groups_are_kept_and_renewed(shape):
    session = BM3D(workers=1).session()
    session(noise_image(0, shape), 0.2)
    other = noise_image(1, shape)
    fresh = BM3D(workers=1)(other, 0.2)
    for _ in range(LIFETIME - 1):
        assert not np.array_equal(session(other, 0.2), fresh)
    np.testing.assert_array_equal(session(other, 0.2), fresh)


@pytest.mark.parametrize("sigma", [0.2 * 1.1 * NOISE_CHANGE, 0.2 / 1.1 / NOISE_CHANGE])
def test_other_noise_asks_for_other_groups(sigma):
    session = BM3D().session()
    session(noise_image(0), 0.2)
    np.testing.assert_array_equal(session(noise_image(1), sigma), BM3D()(noise_image(1), sigma))


def test_shapes_may_change_between_calls():
    session = BM3D().session()
    for seed, shape in enumerate([(40, 50), (50, 40), (40, 50, 3), (40, 50, 2), (40, 50), (1, 1), (9, 9, 3)]):
        image = noise_image(seed, shape)
        np.testing.assert_array_equal(session(image, 0.2), BM3D()(image, 0.2))


def test_sessions_share_nothing():
    denoiser = BM3D()
    first, second = denoiser.session(), denoiser.session()
    first(noise_image(0), 0.2)
    expected = BM3D()(noise_image(1), 0.2)
    np.testing.assert_array_equal(second(noise_image(1), 0.2), expected)
    np.testing.assert_array_equal(denoiser(noise_image(1), 0.2), expected)


def test_no_noise_is_the_identity_and_forgets_nothing():
    session = BM3D().session()
    image = noise_image(0)
    session(image, 0.2)
    np.testing.assert_array_equal(session(image, 0), image)
    np.testing.assert_array_equal(session(image, 0.2), BM3D()(image, 0.2))


def test_memory_starts_empty_and_hands_out_the_same_groups_until_they_expire():
    memory = Memory(40)
    profile = profile_for("normal", 2, "denoising")
    groups = memory.groups_for(0.1, profile)
    assert groups == {}
    for _ in range(LIFETIME - 1):
        assert memory.groups_for(0.1, profile) is groups
    assert memory.groups_for(0.1, profile) is not groups


def test_groups_of_other_grids_are_not_used():
    """Below the noise that a third stage needs, the grids are others."""
    session = BM3D(stages=3).session()
    session(noise_image(0), 1.1 * MIN_THIRD_SIGMA)
    sigma = 0.9 * MIN_THIRD_SIGMA
    np.testing.assert_array_equal(session(noise_image(1), sigma), BM3D()(noise_image(1), sigma))


class CancelledError(Exception):
    pass


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("shape", [(70, 40), (70, 40, 3), (70, 40, 2), (3, 3)])
def test_progress_rises_to_one_in_the_thread_of_the_caller(shape, workers):
    shares, threads = [], set()

    def progress(share):
        shares.append(share)
        threads.add(threading.current_thread())

    session = BM3D(workers=workers).session(progress)
    for sigma in (0.2, 0.1, 0.0):
        shares.clear()
        image = noise_image(0, shape)
        session(image, sigma)
        assert shares[0] > 0
        assert shares == sorted(set(shares))
        assert shares[-1] == 1
    assert threads == {threading.current_thread()}


@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize("shape", [(120, 40), (120, 40, 3), (120, 40, 2)])
def test_what_progress_raises_ends_the_call_and_leaves_the_session_usable(shape, workers):
    calls = 0

    def progress(share):
        nonlocal calls
        calls += 1
        if calls == 2:
            raise CancelledError

    image, other = noise_image(0, shape), noise_image(1, shape)
    session = BM3D(workers=workers).session(progress)
    threads = threading.active_count()
    with pytest.raises(CancelledError):
        session(image, 0.2)
    assert calls == 2
    assert threading.active_count() == threads
    # Nothing of the call that was ended is left in the groups.
    np.testing.assert_array_equal(session(other, 0.2), BM3D(workers=workers)(other, 0.2))


def test_tiny_noise_counts_as_the_same():
    memory, profile = Memory(40), profile_for("normal", 2, "restoration")
    groups = memory.groups_for(TINY_SIGMA, profile)
    assert memory.groups_for(TINY_SIGMA / (2 * NOISE_CHANGE), profile) is groups
    assert memory.groups_for(TINY_SIGMA * (2 * NOISE_CHANGE), profile) is not groups


def test_a_third_stage_joins_the_groups_that_are_there():
    """Below `third_below` the calls of a session have a third stage; the first two keep their grids and groups."""
    image, third, two = noise_image(3), BM3D(sparse_above=0.0, third_below=0.15), BM3D(sparse_above=0.0, third_below=0)
    session = third.session()
    sparse = two.session()
    np.testing.assert_array_equal(session(image, 0.2), sparse(image, 0.2))
    assert not np.array_equal(session(image, 0.14), sparse(image, 0.14))
    memory, profile = Memory(40), third._profile(0.2, in_session=True, colour=False)
    groups = memory.groups_for(0.2, profile)
    with_third = third._profile(0.14, in_session=True, colour=False)
    assert with_third.principal is not None
    assert profile.principal is None
    assert memory.groups_for(0.14, with_third) is groups
    # Outside of a session there are two stages on the usual grid, and two for a noise that a third cannot improve.
    np.testing.assert_array_equal(third(image, 0.14), BM3D()(image, 0.14))
    assert third._profile(0.9 * MIN_THIRD_SIGMA, in_session=True, colour=False) == profile


@pytest.mark.parametrize(
    ("denoiser", "colour", "expected"),
    [
        (BM3D(sparse_above=0.15), False, [(7, 7, 1), (4, 4, 4), (6, 6, 1)]),
        (BM3D(sparse_above=0.15), True, [(7, 7, 1), (4, 4, 4), (6, 6, 1)]),
        (BM3D(sparse_above=0.15, third_below=0.15), False, [(5, 5, 1), (7, 7, 1), (7, 7, 1)]),
        (BM3D(sparse_above=0.15, third_below=0.15), True, [(4, 4, 4), (7, 7, 1), (7, 7, 1)]),
        (BM3D(sparse_above=0.0, third_below=0.15), True, [(4, 4, 4), (5, 5, 1), (5, 5, 1)]),
        (BM3D(sparse_above=0.15, third_below=0.15, moves_after=3), False, [(7, 7, 1), (4, 4, 1), (4, 4, 1)]),
        (BM3D(sparse_above=0.15, third_below=0.15, moves_after=3), True, [(7, 7, 1), (4, 4, 4), (4, 4, 4)]),
    ],
    ids=["blurred", "blurred colours", "decimated by 2", "colours by 2", "colours by 4", "exact", "exact colours"],
)
def test_colours_are_thinned_out_where_no_third_stage_follows(denoiser, colour, expected):
    profiles = [denoiser._profile(sigma, in_session=True, colour=colour) for sigma in (0.2, 0.1, 0.02)]
    assert [(profile.pilot.step, profile.final.step, profile.thinning) for profile in profiles] == expected
    assert denoiser._profile(0.2, in_session=False, colour=colour) == profile_for("normal", 2, "denoising")


def test_only_luminance_has_the_third_stage_in_a_session():
    """The first channel is that of a third stage for all, the others are those of two stages."""
    noisy = Canvas.of(np.random.default_rng(4).random((3, 40, 40)).astype(np.float32))
    two = profile_for("normal", 2, "restoration").sparser(2)
    three = replace(two, principal=profile_for("normal", 3, "restoration").principal)
    made = [
        denoise_planes(noisy.noisy.copy(), np.full(3, 0.2), profile, workers=2)
        for profile in (two, three, replace(three, principal_luminance=True))
    ]
    np.testing.assert_array_equal(made[2][0], made[1][0])
    np.testing.assert_array_equal(made[2][1:], made[0][1:])
    assert not np.array_equal(made[1][1:], made[0][1:])


@pytest.mark.parametrize("noise", [0.5 / 255, 5 / 255])
def test_super_resolution_has_the_third_stage_from_some_sigma_on(noise):
    traits = Traits(leaves="coloured", unknowns_per_sample=4.0, decimation=2.0, noise=noise)
    prepared = BM3D().prepared(traits, 1)
    assert prepared.third_below is not None
    for colour in (False, True):
        before, after = (prepared.efforts([sigma] * 2, colour=colour)[-1] for sigma in (0.5, 0.03))
        assert after > before
    assert prepared.sparse_above is not None
    # Two stages that were asked for stay two, and so do those of a deblurring.
    assert BM3D(stages=2).prepared(traits, 1).third_below is None
    assert BM3D().prepared(Traits(leaves="coloured", noise=noise), 1).third_below is None


def test_reference_blocks_move_with_every_search():
    """The first grid is that of the denoiser; the next has all its blocks one pixel further down and along."""
    denoiser = BM3D(moves_after=2, workers=1)
    session, image = denoiser.session(), noise_image(5)
    usual = profile_for("normal", 2, "denoising")
    for turn in (0, 1, 2):
        expected = denoise_image(image, 0.2, usual.moved(turn), workers=1)
        for _ in range(2):
            np.testing.assert_array_equal(session(image, 0.2), expected)
    assert not np.array_equal(expected, BM3D(workers=1)(image, 0.2))


def test_other_sessions_have_blocks_that_stay():
    session = BM3D(workers=1).session()
    image = noise_image(5)
    for _ in range(LIFETIME + 1):
        np.testing.assert_array_equal(session(image, 0.2), BM3D(workers=1)(image, 0.2))


@pytest.mark.parametrize("stages", [2, 3])
def test_moving_blocks_are_bit_identical_for_any_number_of_workers(stages):
    image = noise_image(6, (70, 50))
    made = []
    for workers in (1, 3):
        session = BM3D(moves_after=1, stages=stages, workers=workers).session()
        made.append([session(image, sigma) for sigma in (0.2, 0.15, 0.1)])
    np.testing.assert_array_equal(*made)


@pytest.mark.parametrize(("noise", "calls"), [(0.5 / 255, MOVES_AFTER), (5 / 255, None)])
def test_blocks_move_where_nearly_exact_data_are_enlarged(noise, calls):
    traits = Traits(leaves="coloured", unknowns_per_sample=16.0, decimation=4.0, noise=noise)
    assert BM3D().prepared(traits, 1).moves_after == calls
    assert BM3D(moves_after=5).prepared(traits, 1).moves_after == 5
    # What was asked for by name stays as it is, and so do deblurring and inpainting.
    assert BM3D(stages=2).prepared(traits, 1).moves_after is None
    assert BM3D().prepared(Traits(leaves="coloured", noise=noise), 1).moves_after is None
    assert BM3D().prepared(Traits(leaves="coloured", unknowns_per_sample=4.0, noise=noise), 1).moves_after is None


@pytest.mark.parametrize("calls", [0, 1.5])
def test_blocks_move_after_a_number_of_calls(calls):
    with pytest.raises((ValueError, TypeError), match="moves_after"):
        BM3D(moves_after=calls)


@pytest.mark.parametrize(
    "denoiser",
    [
        BM3D(),
        BM3D(sparse_above=0.08),
        BM3D(sparse_above=0.03, third_below=0.03, local_below=0.2),
        BM3D(sparse_above=0.12, third_below=0.12, local_below=0.2, moves_after=5),
        BM3D(sparse_above=0.0, third_below=0.01, third_above=0.06, moves_after=4),
    ],
    ids=["plain", "deblurring", "super-resolution", "nearly exact", "mild blur"],
)
def test_efforts_know_when_a_session_searches(denoiser, monkeypatch):
    """Calls that take longer than those just before with the same stages are those that find no groups."""
    searched = []

    def recorded(image, sigma, profile, *, groups, **options):
        searched.append(not groups)
        return denoise_image(image, sigma, profile, groups=groups, **options)

    monkeypatch.setattr("plugplay.denoisers.bm3d.denoiser.denoise_image", recorded)
    sigmas = [0.3 / 1.15**k for k in range(36)]
    session = denoiser.session()
    image = np.random.default_rng(0).random((24, 24))
    for sigma in sigmas:
        session(image, sigma)

    assert 2 < sum(searched) < 10
    efforts = denoiser.efforts(sigmas)
    alone = [denoiser.efforts([sigma] * 2)[-1] for sigma in sigmas]
    assert [told > plain for told, plain in zip(efforts, alone, strict=True)] == searched
