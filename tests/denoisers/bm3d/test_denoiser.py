"""BM3D as users meet it: shapes, dtypes, colours, bad input, extremes."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import skimage.data
from hypothesis import given, settings
from hypothesis import strategies as st

import plugplay as pp
from plugplay.denoisers import BM3D
from plugplay.denoisers.bm3d.loop import LOCAL_SIGMA, LOCAL_WHITE_SIGMA
from plugplay.traits import Traits


def psnr(a, b):
    return -10 * np.log10(np.mean((np.asarray(a, float) - b) ** 2))


def noisy_version(image, sigma, seed=0):
    return image + sigma * np.random.default_rng(seed).standard_normal(image.shape)


@pytest.fixture(scope="module")
def camera():
    return skimage.data.camera()[60:188, 140:268] / 255


@pytest.fixture(scope="module")
def astronaut():
    return skimage.data.astronaut()[:128, 160:288] / 255


def test_is_found_by_name():
    assert next(iter(pp.denoisers.available())) == "bm3d"
    assert pp.denoisers.get("bm3d", profile="fast", workers=1) == BM3D(profile="fast", workers=1)
    assert BM3D.name == "bm3d"
    assert isinstance(BM3D(), pp.denoisers.SessionDenoiser)
    assert "BM3D" in dir(pp.denoisers)


def test_importing_the_package_does_not_import_numba():
    code = "import sys, plugplay, plugplay.denoisers; plugplay.denoisers.available(); sys.exit('numba' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(Path(pp.__file__).parents[1])}
    assert subprocess.run([sys.executable, "-c", code], env=environment, check=False).returncode == 0


@pytest.mark.parametrize("sigma", [0.02, 0.1, 0.2])
def test_removes_noise(camera, sigma):
    noisy = noisy_version(camera, sigma)
    gain = {profile: psnr(BM3D(profile=profile)(noisy, sigma), camera) for profile in ("fast", "normal", "high")}
    assert gain["normal"] > psnr(noisy, camera) + 3 + 20 * sigma
    assert gain["fast"] > gain["normal"] - 0.15
    assert gain["high"] > gain["normal"] - 0.02


def test_colours_are_denoised_together(astronaut):
    noisy = noisy_version(astronaut, 25 / 255)
    together = BM3D()(noisy, 25 / 255)
    apart = pp.denoisers.per_channel(BM3D())(noisy, 25 / 255)
    assert psnr(together, astronaut) > psnr(apart, astronaut) + 0.5


def test_gray_images_in_colour_stay_gray(camera):
    noisy = noisy_version(camera, 0.1)
    denoised = BM3D()(np.stack([noisy] * 3, axis=-1), 0.1)
    np.testing.assert_allclose(denoised[..., 0], denoised[..., 1], atol=1e-6)
    np.testing.assert_allclose(denoised[..., 0], denoised[..., 2], atol=1e-6)


@pytest.mark.parametrize("channels", [1, 2, 4])
def test_other_numbers_of_channels_are_denoised_one_by_one(camera, channels):
    image = np.stack([noisy_version(camera[:40, :50], 0.1, seed) for seed in range(channels)], axis=-1)
    denoised = BM3D()(image, 0.1)
    for index in range(channels):
        np.testing.assert_array_equal(denoised[..., index], BM3D()(image[..., index], 0.1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(20, 30), (20, 30, 3), (20, 30, 2)])
def test_keeps_shape_and_dtype_and_leaves_the_input_alone(dtype, shape):
    image = np.random.default_rng(0).random(shape).astype(dtype)
    before = image.copy()
    for sigma in (0, 0.1):
        denoised = BM3D()(image, sigma)
        assert denoised.dtype == dtype
        assert denoised.shape == shape
        assert denoised is not image
    np.testing.assert_array_equal(image, before)


def test_any_memory_layout_gives_the_same(camera):
    noisy = noisy_version(camera, 0.1)[:60, :80]
    expected = BM3D()(np.ascontiguousarray(noisy), 0.1)
    backwards = np.asfortranarray(noisy)
    np.testing.assert_array_equal(BM3D()(backwards, 0.1), expected)
    frozen = noisy.copy()
    frozen.flags.writeable = False
    np.testing.assert_array_equal(BM3D()(frozen, 0.1), expected)


def test_no_noise_is_the_identity(camera):
    np.testing.assert_array_equal(BM3D()(camera, 0), camera)
    np.testing.assert_allclose(BM3D()(camera, 1e-12), camera, atol=1e-6)


@pytest.mark.parametrize("sigma", [0.9, 2.0, 3.0])
@pytest.mark.parametrize("stages", [2, 3])
def test_enormous_noise_is_smoothed_away(camera, sigma, stages):
    noisy = noisy_version(camera, sigma)
    denoised = BM3D(stages=stages)(noisy, sigma)
    assert np.abs(np.diff(denoised, axis=1)).mean() < 0.05 * np.abs(np.diff(noisy, axis=1)).mean()
    assert np.std(denoised - camera) < 0.3 * sigma
    assert denoised.mean() == pytest.approx(noisy.mean(), abs=0.05 * sigma)


def test_brightness_may_be_shifted(camera):
    noisy = noisy_version(camera, 0.1)
    np.testing.assert_allclose(BM3D()(noisy + 100, 0.1) - 100, BM3D()(noisy, 0.1), atol=1e-3)


@pytest.mark.parametrize("peak", [1e3, 1e8, 1e20, 1e38, 1e300])
@pytest.mark.parametrize("stages", [2, 3])
def test_huge_values_stay_finite(peak, stages):
    image = peak * np.random.default_rng(0).uniform(-1, 1, (30, 30))
    denoised = BM3D(stages=stages)(image, 1.0)
    assert np.isfinite(denoised).all()
    np.testing.assert_allclose(denoised, image, atol=1e-2 * peak)


@pytest.mark.parametrize("shape", [(1, 1), (1, 40), (40, 1), (7, 7), (8, 8), (9, 3), (1, 1, 3), (5, 40, 3)])
@pytest.mark.parametrize("stages", [2, 3])
def test_small_images(shape, stages):
    image = np.full(shape, 0.5) + 0.05 * np.random.default_rng(0).standard_normal(shape)
    denoised = BM3D(stages=stages)(image, 0.1)
    assert denoised.shape == shape
    np.testing.assert_allclose(denoised, 0.5, atol=0.15)


@st.composite
def images(draw):
    height, width = draw(st.integers(1, 40)), draw(st.integers(1, 40))
    shape = draw(st.sampled_from([(height, width), (height, width, 3), (height, width, 2)]))
    kind = draw(st.sampled_from(["constant", "bright pixel", "noise", "stripes", "black and white"]))
    level = draw(st.sampled_from([0.0, 0.5, 1.0, -3.0, 1e-30, 1e6]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    image = np.full(shape, level)
    if kind == "bright pixel":
        image.flat[rng.integers(image.size)] = rng.choice([1.0, 255.0, 1e9])
    elif kind == "noise":
        image += rng.standard_normal(shape)
    elif kind == "stripes":
        image[:, ::2] += 1
    elif kind == "black and white":
        image = (rng.random(shape) > 0.5).astype(float)
    return image.astype(draw(st.sampled_from([np.float32, np.float64])))


@settings(max_examples=1000, deadline=None)
@given(
    image=images(),
    sigma=st.one_of(st.floats(0, 3), st.sampled_from([0.0, 1e-40, 1e-20, 1e-9, 1e-3, 0.88, 3.0])),
    profile=st.sampled_from(["fast", "normal", "high"]),
    stages=st.sampled_from([2, 3]),
)
def test_is_finite_whatever_comes(image, sigma, profile, stages):
    denoised = BM3D(profile=profile, stages=stages, workers=1)(image, sigma)
    assert denoised.shape == image.shape
    assert denoised.dtype == image.dtype
    assert np.isfinite(denoised).all()
    assert np.abs(denoised).max() <= 2 * np.abs(image).max() + 1e-3


@pytest.mark.parametrize("call", [BM3D(), BM3D().session()], ids=["call", "session"])
@pytest.mark.parametrize(
    ("image", "sigma", "error", "message"),
    [
        (np.full((9, 9), np.nan), 0.1, ValueError, "NaN"),
        (np.full((9, 9), np.inf), 0.1, ValueError, "infinite"),
        (np.zeros((9, 9), np.uint8), 0.1, TypeError, "uint8"),
        (np.zeros((9, 9), np.int64), 0.1, TypeError, "int64"),
        (np.zeros((9, 9), complex), 0.1, TypeError, "real"),
        (np.zeros(9), 0.1, ValueError, "shape"),
        (np.zeros((2, 9, 9, 3)), 0.1, ValueError, "shape"),
        (np.zeros((0, 9)), 0.1, ValueError, "empty"),
        (np.zeros((9, 9, 0)), 0.1, ValueError, "empty"),
        ("image", 0.1, TypeError, "real"),
        (np.zeros((9, 9)), -0.1, ValueError, "sigma"),
        (np.zeros((9, 9)), np.nan, ValueError, "sigma"),
        (np.zeros((9, 9)), np.inf, ValueError, "sigma"),
        (np.zeros((9, 9)), "much", TypeError, "sigma"),
        (np.zeros((9, 9)), None, TypeError, "sigma"),
        (np.zeros((9, 9, 2)), -0.1, ValueError, "sigma"),
    ],
)
def test_bad_input_is_refused_with_its_name(call, image, sigma, error, message):
    with pytest.raises(error, match=message):
        call(image, sigma)


@pytest.mark.parametrize(
    ("leaves", "purpose"), [("white", "denoising"), ("coloured", "restoration"), ("shot", "photons")]
)
def test_is_prepared_for_what_a_model_leaves(leaves, purpose):
    traits = Traits(leaves=leaves)
    stages = 3 if leaves == "white" else None  # a single call is worth the third
    local = {"white": LOCAL_WHITE_SIGMA, "coloured": LOCAL_SIGMA, "shot": None}[leaves]
    expected = BM3D(profile="fast", stages=stages, purpose=purpose, local_below=local, workers=3)
    assert BM3D(profile="fast").prepared(traits, 3) == expected
    chosen = BM3D(purpose="photons", stages=2, workers=1)
    assert chosen.prepared(traits, 3) == chosen


def test_removes_white_noise_unless_told_otherwise(camera):
    noisy = noisy_version(camera, 0.1)[:40, :40]
    results = {purpose: BM3D(purpose=purpose)(noisy, 0.1) for purpose in ("denoising", "restoration", "photons")}
    np.testing.assert_array_equal(BM3D()(noisy, 0.1), results["denoising"])
    assert not np.array_equal(results["restoration"], results["denoising"])
    assert not np.array_equal(results["photons"], results["denoising"])


def test_high_has_three_stages_and_the_others_two(camera):
    noisy = noisy_version(camera, 0.1)[:40, :40]
    for profile, stages in (("fast", 2), ("normal", 2), ("high", 3)):
        np.testing.assert_array_equal(
            BM3D(profile=profile)(noisy, 0.1), BM3D(profile=profile, stages=stages)(noisy, 0.1)
        )


def test_bad_options_are_refused():
    with pytest.raises(ValueError, match="profile"):
        BM3D(profile="best")
    with pytest.raises(ValueError, match="purpose"):
        BM3D(purpose="sharpening")
    for stages in (1, 4):
        with pytest.raises(ValueError, match="stages"):
            BM3D(stages=stages)
    with pytest.raises(TypeError, match="stages"):
        BM3D(stages="3")
    with pytest.raises(ValueError, match="workers"):
        BM3D(workers=0)
    with pytest.raises(TypeError, match="workers"):
        BM3D(workers=1.5)
    with pytest.raises(TypeError):
        BM3D("fast")
    with pytest.raises(TypeError, match="speed"):
        pp.denoisers.get("bm3d", speed=3)
