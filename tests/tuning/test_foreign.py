"""Bars, frames and stamps that were put on a photograph after the blur are left as they are, and nothing else is."""

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont
from skimage import data

import plugplay as pp
from plugplay.tuning.borders import borders
from plugplay.tuning.foreign import foreign_pixels

NOISE = 1 / 255
BLUR = pp.models.Deblurring(pp.kernels.motion(9, 35), boundary="unknown")
DOWN, ALONG = (n // 2 for n in BLUR.kernel.shape)
SCENE = data.astronaut()[:144, 130:274] / 255
TRUTH = SCENE[DOWN:-DOWN, ALONG:-ALONG]


def observed(scene):
    return BLUR.simulate(scene, noise=NOISE, rng=0)


def stamped(y, text="2025 01 01", color=(255, 150, 20)):
    image = Image.fromarray(np.rint(255 * np.clip(y, 0, 1)).astype(np.uint8))
    at = (image.size[0] - 90, image.size[1] - 24)
    ImageDraw.Draw(image).text(at, text, fill=color, font=ImageFont.load_default(16))
    return np.asarray(image)


def found(y, model=BLUR):
    unit = y / 255 if y.dtype == np.uint8 else y
    return foreign_pixels(unit, model, model.traits(unit), NOISE, linear=False)


@pytest.mark.parametrize("level", [0, 255])
def test_bars_are_found_to_the_row_and_restored_around(level):
    y = np.rint(255 * np.clip(observed(SCENE), 0, 1)).astype(np.uint8)
    barred = np.pad(y, ((16, 16), (0, 0), (0, 0)), constant_values=level)
    plain, result = (pp.deblur(a, BLUR.kernel, channel_axis=-1, noise=NOISE) for a in (y, barred))
    assert result.warnings[0] == (
        f"rows 0 to 15 and {len(barred) - 16} to {len(barred) - 1} do not follow the blur: they were left as they are"
    )
    np.testing.assert_allclose(result.image[:16], level / 255, atol=1e-6)
    np.testing.assert_allclose(result.image[-16:], level / 255, atol=1e-6)
    assert pp.psnr(result.image[16:-16], TRUTH) > pp.psnr(plain.image, TRUTH) - 0.5
    assert result.parameters.noise == pytest.approx(plain.parameters.noise, rel=0.2)


def test_a_stamp_is_found_kept_and_does_not_raise_the_noise():
    y = np.rint(255 * np.clip(observed(SCENE), 0, 1)).astype(np.uint8)
    drawn = stamped(y / 255)
    plain, result = (pp.deblur(a, BLUR.kernel, channel_axis=-1, noise=NOISE) for a in (y, drawn))
    touched = np.abs(drawn.astype(int) - y).max(axis=-1) > 20
    kept = np.abs(result.image - drawn / 255).max(axis=-1) < 1e-6
    assert kept[touched].mean() > 0.9
    assert kept.mean() < 0.15
    assert "does not follow the blur: it was left as it is" in result.warnings[0]
    assert result.parameters.noise == pytest.approx(plain.parameters.noise, rel=0.2)
    away = slice(0, -40)
    assert pp.psnr(result.image[away], TRUTH[away]) > pp.psnr(plain.image[away], TRUTH[away]) - 0.3
    # A mask that is white everywhere says that all was observed.
    white = pp.deblur(drawn, BLUR.kernel, mask=np.ones(y.shape[:2], bool), channel_axis=-1, noise=NOISE)
    assert not any("does not follow" in text for text in white.warnings)


def test_stamp_and_bars_together():
    y = np.pad(np.clip(observed(SCENE), 0, 1), ((16, 16), (0, 0), (0, 0)))
    y[:-16] = stamped(y[:-16]) / 255
    here = found(y)
    assert here[:16].all()
    assert here[-16:].all()
    assert here[len(y) - 40 : len(y) - 20].any()
    assert here[16:-60].sum() == 0


@pytest.mark.parametrize("level", [0.0, 0.5, 1.0])
def test_borders_that_were_blurred_with_the_scene_are_not_touched(level):
    scene = SCENE.copy()
    scene[: 12 + DOWN] = level
    scene[:, -12 - ALONG :] = level
    for y in (BLUR.forward(scene), observed(scene), np.clip(observed(scene), 0, 1) ** (1 / 2.2)):
        assert found(y) is None


@pytest.mark.parametrize("told", [pp.kernels.motion(10, 35), pp.kernels.motion(9, 40), pp.kernels.motion(8, 35)])
def test_wrong_kernels_curves_and_lights_are_no_stamps(told):
    scene = SCENE.copy()
    rng = np.random.default_rng(0)
    for at in rng.integers(20, 120, (8, 2)):
        scene[at[0] : at[0] + 3, at[1] : at[1] + 3] = 5  # lamps that are clipped
    model = pp.models.Deblurring(told, boundary="unknown")
    for y in (observed(SCENE), np.clip(observed(scene), 0, 1), np.clip(observed(SCENE), 0, 1) ** (1 / 2.2)):
        assert found(y, model) is None


def test_rows_along_a_motion_may_end_at_once():
    """A blur along the rows leaves an edge between rows as it is."""
    y = np.clip(observed(SCENE), 0, 1)
    y[:16] = 0
    assert borders(y, np.full((1, 9), 1 / 9)) is None
    assert borders(y, np.full((9, 1), 1 / 9))[:16].all()


def test_models_without_a_mask_are_left_alone():
    y = np.pad(np.clip(observed(SCENE), 0, 1), ((16, 16), (0, 0), (0, 0)))
    assert foreign_pixels(y, pp.models.Denoising(), pp.models.Denoising().traits(y), NOISE, linear=False) is None


@pytest.mark.parametrize("words", ["motion:15,30", "gaussian:2", "disk:4"])
def test_a_file_without_noise_has_no_stamps(words):
    """A step that is not exact enough leaves more at some borders than a drawing would."""
    model = pp.models.Deblurring(pp.kernels.parse(words), boundary="unknown")
    y = np.rint(255 * model.forward(data.camera() / 255)).astype(np.uint8) / 255
    assert foreign_pixels(y, model, model.traits(y), None, linear=False) is None
