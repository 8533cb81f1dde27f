"""The fourth stage against one pixel at a time in double precision."""

from dataclasses import replace

import numpy as np
import pytest
import skimage.data

import plugplay as pp
from plugplay.denoisers import BM3D
from plugplay.denoisers.bm3d.images import denoise_image
from plugplay.denoisers.bm3d.local import (
    COHERENCES,
    DIRECTIONS,
    FILTERS,
    MAX_CORRECTION,
    REACH,
    STRENGTHS,
    classes,
    correct_rows,
    learned_filters,
    mirrored,
)
from plugplay.denoisers.bm3d.loop import LOCAL_SIGMA, LOCAL_WHITE_SIGMA
from plugplay.denoisers.bm3d.pipeline import denoise_planes
from plugplay.denoisers.bm3d.profiles import profile_for
from plugplay.traits import Traits

PROFILE = profile_for("normal", 3, "restoration")
BINOMIAL = np.outer([1, 4, 6, 4, 1], [1, 4, 6, 4, 1]) / 256


def image_of(shape, seed=0):
    """Return an estimate with edges and waves, and noise around it."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[: shape[0], : shape[1]]
    estimate = np.sin(x / 3) * np.cos(y / 4) + 0.5 * (y > 1.4 * x) + 0.02 * rng.standard_normal(shape)
    return (estimate + 0.1 * rng.standard_normal(shape)).astype(np.float32), estimate.astype(np.float32)


def filters_of(seed=0):
    """Return filters that half a turn leaves as they are, like those that were learned."""
    parts = (np.random.default_rng(seed).standard_normal((FILTERS, n)) for n in (49, 25))
    return 0.05 * np.concatenate([part + part[:, ::-1] for part in parts], axis=1).astype(np.float32)


def whole(noisy, estimate, sigma, filters):
    return correct_rows(noisy, estimate, sigma, slice(0, len(estimate)), mirrored(filters))


def oracle(noisy, estimate, sigma, filters):
    """Correct an image, pixel by pixel, by eigenvalues and arc tangents."""
    b, y = (np.pad(image.astype(np.float64), REACH, mode="reflect") for image in (estimate, noisy))
    down, along = np.gradient(b)
    corrected = np.empty(estimate.shape)
    for i, j in np.ndindex(estimate.shape):
        p, q = i + REACH, j + REACH
        window = np.s_[p - 2 : p + 3, q - 2 : q + 3]
        g = np.stack([along[window], down[window]])
        tensor = np.einsum("aij,bij,ij->ab", g, g, BINOMIAL)
        second, first = np.sqrt(np.maximum(np.linalg.eigvalsh(tensor), 0))
        angle = 0.5 * np.arctan2(2 * tensor[0, 1], tensor[0, 0] - tensor[1, 1])
        around = b[p - 3 : p + 4, q - 3 : q + 4] - b[p, q]
        removed = (y - b)[window]
        if angle < 0:
            around, removed, angle = around[::-1], removed[::-1], -angle
        if angle > np.pi / 4:
            around, removed, angle = around.T, removed.T, np.pi / 2 - angle
        strength = np.searchsorted(STRENGTHS, first / sigma, side="right")
        coherence = np.searchsorted(COHERENCES, (first - second) / (first + second))
        direction = min(int(angle / (np.pi / 4) * DIRECTIONS), DIRECTIONS - 1)
        kind = (strength * (len(COHERENCES) + 1) + coherence) * DIRECTIONS + direction
        change = filters[kind] @ np.concatenate([around.ravel(), removed.ravel()])
        corrected[i, j] = estimate[i, j] + np.clip(change, -MAX_CORRECTION * sigma, MAX_CORRECTION * sigma)
    return corrected


@pytest.mark.parametrize("shape", [(8, 8), (9, 31), (40, 23)])
@pytest.mark.parametrize("sigma", [0.01, 0.1, 1.0])
def test_is_a_filter_chosen_by_the_structure_tensor(shape, sigma):
    noisy, estimate = image_of(shape)
    found, wanted = whole(noisy, estimate, sigma, filters_of()), oracle(noisy, estimate, sigma, filters_of())
    # Where a pixel lies between two kinds, rounding decides. On the border all do: the image is mirrored there.
    inside = np.s_[1:-1, 1:-1]
    assert np.mean(np.abs(found - wanted)[inside] > 1e-5) < 0.01


def test_strips_do_not_show():
    noisy, estimate = image_of((70, 33))
    filters = mirrored(filters_of())
    parts = [correct_rows(noisy, estimate, 0.1, slice(a, b), filters) for a, b in ((0, 1), (1, 3), (3, 68), (68, 70))]
    assert np.array_equal(np.concatenate(parts), whole(noisy, estimate, 0.1, filters_of()))


@pytest.mark.parametrize("turn", [np.transpose, np.flipud, np.fliplr, np.rot90])
def test_mirrored_images_are_corrected_alike(turn):
    noisy, estimate = image_of((40, 40))
    found = whole(np.ascontiguousarray(turn(noisy)), np.ascontiguousarray(turn(estimate)), 0.1, filters_of())
    apart = np.abs(found - turn(whole(noisy, estimate, 0.1, filters_of())))
    assert np.mean(apart[1:-1, 1:-1] > 1e-5) < 0.01


def test_what_is_flat_or_smooth_hardly_changes():
    flat = np.full((16, 16), 0.3, np.float32)
    assert np.abs(whole(flat, flat, 0.1, filters_of()) - flat).max() < 1e-6


def test_corrections_are_bounded():
    noisy, estimate = image_of((32, 32))
    moved = np.abs(whole(noisy, estimate, 0.01, 100 * filters_of()) - estimate).max()
    assert 0.0199 < moved < 0.0201


def test_directions_and_mirrors():
    y, x = np.mgrid[:9, :9].astype(np.float32)
    known = ((5, 0, 0), (20, 1, 0), (40, 2, 0), (50, 2, 2), (85, 0, 2), (-20, 1, 1), (-70, 1, 3))
    for angle, direction, mirror in known:
        ramp = np.cos(np.radians(angle)) * x + np.sin(np.radians(angle)) * y
        kind = classes(np.ascontiguousarray(ramp, np.float32), 1.0)[0, 0]
        assert (kind // 4 % DIRECTIONS, kind % 4) == (direction, mirror), angle


def test_any_number_of_threads_gives_the_same_bits():
    rng = np.random.default_rng(0)
    planes = rng.random((3, 150, 40), np.float32)
    profile = replace(PROFILE, local=True)
    one, three = (denoise_planes(planes, np.full(3, 0.1), profile, workers=n) for n in (1, 3))
    assert np.array_equal(one, three)
    # Luminance only.
    without = denoise_planes(planes, np.full(3, 0.1), PROFILE, workers=1)
    assert np.array_equal(one[1:], without[1:])
    assert not np.array_equal(one[0], without[0])


@pytest.mark.parametrize("level", [5, 15, 40])
def test_the_learned_filters_help(level):
    """On photographs that they were not learned on."""
    sigma = level / 255
    gains = []
    for name, corner in (("camera", 150), ("astronaut", 60), ("coins", 80)):
        part = getattr(skimage.data, name)()[corner : corner + 96, corner : corner + 96]
        image = part if part.ndim == 2 else part @ (0.299, 0.587, 0.114)
        noisy = image / 255 + sigma * np.random.default_rng(0).standard_normal(image.shape)
        errors = [
            np.mean(np.square(denoise_image(noisy, sigma, replace(PROFILE, local=local), workers=1) - image / 255))
            for local in (False, True)
        ]
        gains.append(10 * np.log10(errors[0] / errors[1]))
    assert np.mean(gains) > 0.03
    assert min(gains) > -0.15


def test_learned_filters_are_read_once():
    filters = learned_filters()
    assert filters is learned_filters()
    assert filters.size == FILTERS * 4 * 12 * 8
    assert np.isfinite(filters).all()


@pytest.mark.parametrize(("leaves", "level"), [("coloured", LOCAL_SIGMA), ("shot", None), ("white", LOCAL_WHITE_SIGMA)])
def test_restorations_have_the_stage_by_default(leaves, level):
    traits = Traits(leaves=leaves, noise=0.02)
    assert BM3D().prepared(traits, 1).local_below == level
    assert BM3D(local_below=0.1).prepared(traits, 1).local_below == 0.1
    assert BM3D(stages=2).prepared(traits, 1).local_below is None
    assert BM3D(stages=3).prepared(traits, 1).local_below is None
    assert BM3D().prepared(replace(traits, natural=False), 1).local_below is None


def test_a_denoising_by_default_is_better_than_one_of_three_stages():
    clean = skimage.data.camera()[150:278, 150:278] / 255
    noisy = clean + 20 / 255 * np.random.default_rng(0).standard_normal(clean.shape)
    four, three = (pp.denoise(noisy, noise=20 / 255, denoiser=BM3D(stages=stages)).image for stages in (None, 3))
    assert pp.psnr(four, clean) > pp.psnr(three, clean) + 0.03


def test_only_calls_of_a_session_below_the_level_have_it():
    image = np.random.default_rng(0).random((24, 24))
    with_it, without = BM3D(local_below=0.1), BM3D()
    assert np.array_equal(with_it(image, 0.1), without(image, 0.1))
    assert np.array_equal(with_it.session()(image, 0.11), without.session()(image, 0.11))
    assert not np.array_equal(with_it.session()(image, 0.1), without.session()(image, 0.1))
    assert np.array_equal(with_it.session()(image, 0.003), without.session()(image, 0.003))
