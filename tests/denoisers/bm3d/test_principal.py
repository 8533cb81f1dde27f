"""The third stage against singular value decompositions in double precision."""

from dataclasses import replace

import numba
import numpy as np
import pytest
import skimage.data

from oracles import bm3d as oracle
from plugplay.denoisers import BM3D
from plugplay.denoisers.bm3d.canvas import stride_for
from plugplay.denoisers.bm3d.denoiser import MIN_THIRD_SIGMA
from plugplay.denoisers.bm3d.pipeline import denoise_planes
from plugplay.denoisers.bm3d.principal import GROUP, invert, multiply
from plugplay.denoisers.bm3d.profiles import profile_for

PROFILE = profile_for("normal", 3, "denoising")
TWO_STAGES = replace(PROFILE, principal=None)


@numba.njit
def inverted(matrix):
    factor, rows, solved = np.empty(128, np.float32), np.empty(256, np.float32), np.empty(256, np.float32)
    invert(matrix, 32, factor, rows, solved)


@numba.njit
def tile(left, i, right, j, length, product):
    multiply(left, i, 24, right, j, 40, length, product, 3, 20)


def planes_of(shape, seed=0):
    """Return channels with edges, waves and noise, and the noise in each."""
    rng = np.random.default_rng(seed)
    channels, height, width = shape
    y, x = np.mgrid[:height, :width]
    waves = [np.sin(x / (3 + c)) * np.cos(y / 4) + 0.5 * (y > x) for c in range(channels)]
    sigmas = np.linspace(0.1, 0.2, channels)
    noise = sigmas[:, None, None] * rng.standard_normal(shape)
    return (np.stack(waves) + noise).astype(np.float32), sigmas


def shifts_of(groups, shape):
    """Return {(y, x): displacements} from the groups of the third stage."""
    rows, columns = (oracle.starts(length, PROFILE.principal) for length in shape)
    places = iter([(y, x) for y in rows for x in columns])
    pitch = 2 * stride_for(shape[1])
    found = {}
    for _, matches in sorted((key, value) for key, value in groups.items() if key[0] == 2):
        for offsets, count in zip(matches.offsets.reshape(-1, GROUP), matches.counts, strict=True):
            dy, dx = np.divmod(offsets[:count] + pitch // 2, pitch)
            found[next(places)] = list(zip(dy, dx - pitch // 2, strict=True))
    return found


@pytest.mark.parametrize("shape", [(1, 26, 33), (3, 26, 33), (1, 8, 8), (1, 9, 11), (3, 8, 13)])
@pytest.mark.parametrize("noise", [0.03, 1.0, 30.0])
def test_is_the_wiener_filter_in_principal_axes(shape, noise):
    planes, sigmas = planes_of(shape)
    sigmas = noise * sigmas
    groups = {}
    ours = denoise_planes(planes, sigmas, PROFILE, workers=1, groups=groups)
    pilots = denoise_planes(planes, sigmas, TWO_STAGES, workers=1)
    shifts = shifts_of(groups, shape[1:])
    for plane, pilot, sigma, found in zip(planes, pilots, sigmas, ours, strict=True):
        expected = oracle.principal(plane.astype(float), pilot.astype(float), sigma, PROFILE, shifts)
        # What single precision costs where the noise is weak is far below the noise.
        np.testing.assert_allclose(found, expected, atol=max(1e-4, 0.1 * sigma) if noise < 1 else 1e-4)


def test_groups_are_those_of_the_estimate():
    planes, sigmas = planes_of((1, 26, 33))
    ours = denoise_planes(planes, sigmas, PROFILE, workers=1)[0]
    pilot = denoise_planes(planes, sigmas, TWO_STAGES, workers=1)[0]
    expected = oracle.principal(planes[0].astype(float), pilot.astype(float), sigmas[0], PROFILE)
    # Blocks that are equally similar may change places in a group.
    assert np.sqrt(np.mean((ours - expected) ** 2)) < 0.03 * sigmas[0]
    assert np.sqrt(np.mean((ours - pilot) ** 2)) > 0.05 * sigmas[0]


@pytest.mark.parametrize("rank", [0, 5, 32])
def test_inverse(rank):
    factor = 30 * np.random.default_rng(rank).standard_normal((32, rank))
    matrix = factor @ factor.T + np.eye(32)
    ours = matrix.astype(np.float32).ravel()
    inverted(ours)
    np.testing.assert_allclose(ours.reshape(32, 32), -np.linalg.inv(matrix), atol=2e-3)


def test_tiles_of_products():
    rng = np.random.default_rng(0)
    left, right = rng.standard_normal((11, 24)), rng.standard_normal((11, 40))
    product = np.full(3 + 8 * 20, 7.0, np.float32)
    tile(left.astype(np.float32).ravel(), 5, right.astype(np.float32).ravel(), 13, 11, product)
    written = product[3:].reshape(8, 20)
    np.testing.assert_allclose(written[:, :16], left[:, 5:13].T @ right[:, 13:29], atol=1e-5)
    assert (written[:, 16:] == 7).all()


@pytest.mark.parametrize("sigma", [5 / 255, 25 / 255])
@pytest.mark.parametrize("image", ["coffee", "gray coffee", "text"])
def test_removes_more_noise(image, sigma):
    clean = (skimage.data.text() if image == "text" else skimage.data.coffee())[60:172, 120:232] / 255
    clean = clean.mean(axis=-1) if image == "gray coffee" else clean
    noisy = clean + sigma * np.random.default_rng(0).standard_normal(clean.shape)
    errors = [np.mean((BM3D(stages=stages)(noisy, sigma) - clean) ** 2) for stages in (2, 3)]
    gain = 10 * np.log10(errors[0] / errors[1])
    assert gain > (0.1 if "coffee" in image else -0.1)


def test_is_left_out_where_there_is_hardly_any_noise():
    image = np.random.default_rng(0).random((30, 30))
    below, above = 0.99 * MIN_THIRD_SIGMA, 1.01 * MIN_THIRD_SIGMA
    np.testing.assert_array_equal(BM3D(stages=3)(image, below), BM3D()(image, below))
    assert not np.array_equal(BM3D(stages=3)(image, above), BM3D()(image, above))


@pytest.mark.parametrize("level", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("shape", [(30, 40), (30, 40, 3), (5, 3)])
def test_constant_images_stay_constant(level, shape):
    for sigma in (0.005, 0.1, 3.0):
        np.testing.assert_allclose(BM3D(stages=3)(np.full(shape, level), sigma), level, atol=1e-6)


def test_sessions_remember_groups_of_the_third_stage():
    rng = np.random.default_rng(0)
    image, other = rng.random((2, 40, 50))
    session = BM3D(stages=3).session()
    np.testing.assert_array_equal(session(image, 0.2), BM3D(stages=3)(image, 0.2))
    assert not np.array_equal(session(other, 0.2), BM3D(stages=3)(other, 0.2))
