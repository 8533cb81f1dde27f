"""The loop watches itself: no cliff where too little noise is told, and no result called good that is not."""

import io
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont
from scipy.ndimage import convolve
from skimage import data

import plugplay as pp
from plugplay.noise.estimation import estimate_noise
from plugplay.tuning.ringing import ringing
from plugplay.tuning.watch import Suggestion, Watch
from plugplay.tuning.weakest import WeakNoise

KERNELS = {
    "motion": pp.kernels.motion(9, 20),
    "gaussian": pp.kernels.gaussian(13, sigma=1.3),
    "mild": pp.kernels.gaussian(7, sigma=0.5),
}


@pytest.fixture(scope="module")
def cup():
    return data.coffee()[100:228, 200:328].mean(axis=-1) / 255


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize("told", [0.4, 0.6, 2.0])
def test_noise_told_wrong_does_not_destroy(cup, kernel, told):
    model = pp.models.Deblurring(kernel)
    y = model.simulate(cup, noise=4 / 255, rng=0)
    right = pp.restore(y, model, noise=4 / 255)
    wrong = pp.restore(y, model, noise=told * 4 / 255)
    assert pp.psnr(wrong.image, cup) > pp.psnr(y, cup)
    assert pp.psnr(wrong.image, cup) > pp.psnr(right.image, cup) - (2.5 if told > 1 else 0.7)
    if told < 1:
        assert any("the data contradict the assumed noise" in warning for warning in wrong.warnings)
        assert wrong.parameters.noise > told * 4 / 255
    else:
        assert wrong.parameters.noise == told * 4 / 255  # it is only ever raised


def test_a_given_lambda_is_never_changed(cup):
    model = pp.models.Deblurring(KERNELS["motion"])
    y = model.simulate(cup, noise=4 / 255, rng=0)
    lam = 0.05 * (4 / 255) ** 2
    result = pp.restore(y, model, noise=1 / 255, lam=lam, denoiser="tv", max_iter=5)
    assert result.parameters.lam == lam
    assert result.parameters.noise == 1 / 255


@pytest.mark.parametrize("compressed", [False, True], ids=["clipped", "JPEG"])
def test_photographs_in_8_bits_end_above_their_input(compressed):
    """The file that version 0.1 ended 9.5 dB below: clipped, rounded, and its noise estimated too low."""
    x = data.astronaut()[:224, 100:324] / 255
    kernel = pp.kernels.motion(11, 20)
    blurred = np.stack([convolve(x[..., c], kernel) for c in range(3)], -1)
    y = blurred + np.random.default_rng(1).normal(0, 3 / 255, x.shape)
    stored = np.round(np.clip(y, 0, 1) * 255).astype(np.uint8)
    if compressed:
        buffer = io.BytesIO()
        Image.fromarray(stored).save(buffer, "JPEG", quality=95, subsampling=0)
        stored = np.asarray(Image.open(buffer))
    result = pp.deblur(stored, kernel, channel_axis=-1)
    assert pp.psnr(result.image, x) > pp.psnr(stored / 255, x) + (2 if compressed else 4)


def test_a_kernel_that_explains_nothing_is_doubted(cup):
    y = pp.models.Deblurring(pp.kernels.motion(15, 0)).simulate(cup, noise=1 / 255, rng=0)
    negative = np.zeros((3, 3))
    negative[1] = (-1.0, 3.0, -1.0)  # a sharpening filter is not what happened
    result = pp.restore(y, pp.models.Deblurring(-negative), noise=1 / 255, denoiser="tv")
    assert result.status is pp.Status.DOUBTFUL
    assert any("does not explain the data" in warning for warning in result.warnings)


def test_a_result_without_contrast_is_doubted(cup):
    result = pp.restore(cup, pp.models.Denoising(), denoiser=lambda image, sigma: np.full_like(image, 0.5), noise=0.01)
    assert result.status is pp.Status.DOUBTFUL
    assert any("nearly constant" in warning for warning in result.warnings)


def test_texture_is_not_taken_for_noise():
    """Gravel looks like noise, and stays when more noise is assumed: the first run is kept."""
    x = data.gravel()[100:228, 100:228] / 255
    model = pp.models.Deblurring(pp.kernels.gaussian(5, sigma=0.6))
    y = model.simulate(x, noise=1 / 255, rng=0)
    result = pp.restore(y, model, noise=1 / 255)
    assert pp.psnr(result.image, x) > pp.psnr(y, x) + 1


def test_lines_are_not_taken_for_ringing(cup):
    """Strong lines along the zeros of a kernel: they seem to ring, and stay where more noise is assumed."""
    columns = np.arange(128)
    lines = 0.5 + 0.2 * np.sign(np.sin(2 * np.pi * columns / 4.5)) * np.hanning(128)[:, None]
    x = np.clip(0.2 * cup + 0.8 * lines, 0, 1)
    kernel = pp.kernels.motion(9)
    model = pp.models.Deblurring(kernel)
    y = model.simulate(x, noise=2 / 255, rng=0)
    assert ringing(x, kernel) > 0.2
    result = pp.restore(y, model, noise=2 / 255)
    assert result.parameters.noise == 2 / 255


def test_noise_told_twice_does_not_cost_fine_texture():
    x = data.grass()[200:328, 200:328] / 255
    model = pp.models.Deblurring(pp.kernels.gaussian(7, sigma=0.5))
    y = model.simulate(x, noise=10 / 255, rng=0)
    result = pp.restore(y, model, noise=20 / 255)
    assert pp.psnr(result.image, x) > pp.psnr(y, x)
    assert result.parameters.noise == 20 / 255
    assert any("less noise than was given" in warning for warning in result.warnings)


def test_grain_that_passes_for_noise_in_blocks_is_not_assumed():
    """Also where there is little noise."""
    x = data.moon()[192:320, 86:214] / 255
    model = pp.models.Deblurring(pp.kernels.gaussian(7, sigma=0.5))
    y = model.simulate(x, noise=0.5 / 255, rng=0)
    result = pp.restore(y, model)
    assert estimate_noise(y).sigma > 0.8 / 255
    assert result.parameters.noise == pytest.approx(0.5 / 255, rel=0.2)
    assert pp.psnr(result.image, x) > pp.psnr(y, x) + 3


def test_texture_is_not_taken_for_noise_told_too_high():
    x = data.gravel()[128:256, 128:256] / 255
    model = pp.models.Deblurring(pp.kernels.gaussian(7, sigma=0.5))
    y = model.simulate(x, noise=1 / 255, rng=0)
    result = pp.restore(y, model, noise=1 / 255)
    assert result.warnings == ()
    assert pp.psnr(result.image, x) > pp.psnr(y, x)


def test_texture_does_not_hide_that_too_little_noise_was_told():
    """The image takes up noise as if it were texture; what is left where it is weakest tells."""
    x = data.gravel()[96:208, 96:208] / 255
    kernel = pp.kernels.gaussian(5, sigma=0.58)
    model = pp.models.Deblurring(kernel)
    y = model.simulate(x, noise=5 / 255, rng=0)
    result = pp.restore(y, model, noise=3 / 255)
    assert pp.psnr(result.image, x) > pp.psnr(y, x)
    assert result.parameters.noise > 4 / 255


def test_what_jpeg_took_is_noise_where_a_blur_is_inverted():
    x = data.rocket()[60:188, 150:278] / 255
    blurred = np.stack([convolve(x[..., c], pp.kernels.gaussian(9, sigma=1.0)) for c in range(3)], -1)
    noisy = blurred + np.random.default_rng(0).normal(0, 1 / 255, x.shape)
    buffer = io.BytesIO()
    Image.fromarray(np.round(np.clip(noisy, 0, 1) * 255).astype(np.uint8)).save(buffer, "JPEG", quality=92)
    y = np.asarray(Image.open(buffer))
    plan = pp.prepare(y, pp.models.Deblurring(pp.kernels.gaussian(9, sigma=1.0)), channel_axis=-1)
    assert plan.parameters.noise >= 2.5 / 255 * (1 - 1e-6)  # steps are measured in single precision
    assert pp.prepare(y, pp.models.Denoising(), channel_axis=-1).parameters.noise < 2.5 / 255


def test_the_little_noise_that_jpeg_leaves_at_high_frequencies_is_not_all_there_is():
    sharp = data.stereo_motorcycle()[0][180:308, 280:408] / 255
    kernel = pp.kernels.gaussian(5, sigma=0.5)
    blurred = np.stack([convolve(sharp[..., c], kernel) for c in range(3)], -1)
    noisy = blurred + np.random.default_rng(1).normal(0, 20 / 255, sharp.shape)
    buffer = io.BytesIO()
    Image.fromarray(np.round(np.clip(noisy, 0, 1) * 255).astype(np.uint8)).save(buffer, "JPEG", quality=92)
    y = np.asarray(Image.open(buffer))
    result = pp.deblur(y, kernel, noise=40 / 255, channel_axis=-1)
    assert pp.psnr(result.image, sharp) > pp.psnr(y / 255, sharp) + 2.8


@pytest.mark.parametrize(("name", "top", "left"), [("gravel", 108, 108), ("chelsea", 78, 123)])
def test_texture_everywhere_in_a_file_does_not_hide_its_noise(name, top, left):
    """Of what may all be texture little was assumed, 2/255 of 5, and a mild blur was inverted into noise."""
    kernel = pp.kernels.gaussian(5, sigma=0.58)
    x = getattr(data, name)()[top : top + 112, left : left + 112] / 255
    blurred = convolve(x, kernel.reshape(5, 5, *(1,) * (x.ndim - 2)))
    noisy = blurred + np.random.default_rng(0).normal(0, 5 / 255, x.shape)
    buffer = io.BytesIO()
    Image.fromarray(np.round(np.clip(noisy, 0, 1) * 255).astype(np.uint8)).save(buffer, "JPEG", quality=92)
    y = np.asarray(Image.open(buffer))
    result = pp.deblur(y, kernel, channel_axis=-1 if x.ndim == 3 else None)
    assert pp.psnr(result.image, x) > pp.psnr(y / 255, x)


def test_a_mild_blur_is_not_restored_with_ever_more_noise_in_mind():
    """Blurred as light and stored with a curve: three runs wind up a little, and large steps would lose detail."""
    kernel = pp.kernels.gaussian(5, sigma=0.58)
    x = data.chelsea()[78:190, 123:235] / 255
    light = convolve(x**2.2, kernel[..., None]) + np.random.default_rng(0).normal(0, 0.5 / 255, x.shape)
    y = np.round(np.clip(light, 0, 1) ** (1 / 2.2) * 255).astype(np.uint8)
    result = pp.deblur(y, kernel, channel_axis=-1)
    assert pp.psnr(result.image, x) > pp.psnr(y / 255, x)


@pytest.mark.parametrize(("left", "weak", "expected"), [(0.76, 0.77, 0.77), (0.7, 0.9, None), (0.85, 0.77, None)])
def test_residuals_that_are_small_everywhere_speak_for_less_noise(cup, monkeypatch, left, weak, expected):
    """In all and where the image is weakest, in units of the assumed noise; texture makes only the former small."""
    model = pp.models.Deblurring(KERNELS["gaussian"])
    plan = pp.prepare(model.simulate(cup, noise=4 / 255, rng=0), model, denoiser="gaussian", max_iter=2, noise=4 / 255)
    state = plan.run().state
    watch = plan._watch
    monkeypatch.setattr(Watch, "winds_up", lambda self, history: False)
    monkeypatch.setattr(Watch, "invents", lambda self, image: False)
    monkeypatch.setattr(Watch, "_residual", lambda self, x: left * self.noise)
    monkeypatch.setattr(Watch, "_weak_noise", lambda self, image, x: WeakNoise(weak * self.noise))
    found = watch.suggests(state, state.v, refuted=frozenset({"ringing", "noise"}))
    assert (found and (found.sign, found.noise / watch.noise)) == (expected and ("excess", pytest.approx(expected)))


@pytest.mark.parametrize("mild", [False, True], ids=["blurred", "mildly blurred"])
@pytest.mark.parametrize(
    ("sign", "cleaner", "left", "expected"),
    [
        ("noise", 1.5, 1.0, (0, 0)),
        ("noise", 3.0, 1.0, (1, 1)),
        ("noise", 3.0, 0.5, (1 / 3, 0)),
        ("excess", 1.0, 0.9, (1, 1)),
        ("excess", 1.0, 0.6, (1, 1 / 2)),
        ("excess", 1.0, 0.2, (0, 0)),
    ],
    ids=["stays", "was noise", "fine", "was less", "noise or texture", "was texture"],
)
def test_where_two_runs_cannot_be_told_apart_both_have_a_say(cup, monkeypatch, sign, cleaner, left, expected, mild):
    """By what is left of the noise, and of the residual where the image is weakest, in units of what was suggested."""
    model = pp.models.Deblurring(KERNELS["gaussian"])
    plan = pp.prepare(model.simulate(cup, noise=4 / 255, rng=0), model, denoiser="gaussian", max_iter=2, noise=4 / 255)
    before, after = list(plan.iterate())
    watch = replace(plan._watch, mild=mild, estimated=True)
    levels = {id(before.image): cleaner, id(after.image): 1.0}
    monkeypatch.setattr("plugplay.tuning.watch.noisiness", lambda image: levels[id(image)])
    monkeypatch.setattr(Watch, "suggests", lambda *args, **kwargs: None)
    monkeypatch.setattr(Watch, "_weak_noise", lambda self, image, x: WeakNoise(left * self.noise))
    suggested = Suggestion(watch.noise, sign, watch.noise)
    assert watch.share(suggested, before, after, after.v) == expected[mild]


def test_texture_behind_a_mild_blur_is_a_mean_of_what_may_be_right():
    """An estimate is six times too high, and the image is too small to tell noise from texture by their places."""
    x = data.grass()[40:100, 120:180] / 255
    model = pp.models.Deblurring(pp.kernels.gaussian(7, sigma=0.5))
    y = model.simulate(x, noise=0.5 / 255, rng=0)
    result = pp.restore(y, model)
    assert any("look alike" in warning for warning in result.warnings)
    # A level that was told is not doubted.
    assert pp.psnr(result.image, x) > pp.psnr(pp.restore(y, model, noise=result.parameters.noise).image, x) + 1


def test_missing_pixels_do_not_hide_that_it_was_a_jpeg_file():
    """The little noise that the file leaves at high frequencies spoke for less, and detail came out as noise."""
    rng = np.random.default_rng(0)
    kernel = pp.kernels.gaussian(7, sigma=1.0)
    x = data.coffee()[104:216, 244:356] / 255
    noisy = convolve(x, kernel[..., None]) + rng.normal(0, 0.5 / 255, x.shape)
    buffer = io.BytesIO()
    Image.fromarray(np.round(np.clip(noisy, 0, 1) * 255).astype(np.uint8)).save(buffer, "JPEG", quality=92)
    y, mask = np.asarray(Image.open(buffer)), rng.random(x.shape[:2]) > 0.1
    result = pp.deblur(y, kernel, mask=mask, channel_axis=-1)
    assert pp.psnr(result.image, x) > pp.psnr(y / 255, x) + 1


def test_a_given_level_is_kept_if_it_is_exact(cup):
    model = pp.models.Deblurring(KERNELS["gaussian"])
    y = model.simulate(cup, noise=4 / 255, rng=0)
    for told in (1.6 / 255, 12 / 255):
        kept = pp.restore(y, model, noise=told, exact_noise=True, denoiser="tv")
        assert kept.parameters.noise == told
        assert not any("noise" in text and ("was used" in text or "show less" in text) for text in kept.warnings)
    with pytest.raises(ValueError, match="give noise="):
        pp.restore(y, model, exact_noise=True, denoiser="tv")


def test_a_denoiser_of_ones_own_may_be_what_does_not_follow_the_data(cup):
    model = pp.models.Deblurring(KERNELS["gaussian"])
    y = model.simulate(cup, noise=4 / 255, rng=0)

    def leaves_all(image, sigma):
        return image

    own, ours = (pp.restore(y, model, noise=4 / 255, denoiser=one) for one in (leaves_all, "bm3d"))
    assert own.parameters.noise > 4 / 255
    assert any("what 'leaves_all' does not follow of the data passes for noise" in text for text in own.warnings)
    assert not any("passes for noise" in text for text in ours.warnings)


def test_red_text_on_a_white_page_keeps_its_colour_when_it_is_enlarged():
    """Overshoot that is clipped at white is no noise; bicubic interpolation has 72 of 146 levels of red."""
    page = Image.new("RGB", (192, 96), (250, 250, 250))
    for row in range(5):
        at, colour = (6, 4 + 18 * row), (20, 20, 20) if row % 3 else (180, 20, 20)
        ImageDraw.Draw(page).text(at, f"{row}: def restore(image)", fill=colour, font=ImageFont.load_default(14))
    small = page.resize((96, 48), Image.Resampling.BICUBIC)
    result = pp.super_resolve(np.asarray(small), 2, noise=1.4 / 255, channel_axis=-1)
    cubic = np.asarray(small.resize(page.size, Image.Resampling.BICUBIC)) / 255
    truth = np.asarray(page) / 255
    red = truth[..., 0] - truth[..., 1] > 0.4
    redness = [float((image[..., 0] - image[..., 1])[red].mean()) for image in (result.image, cubic)]
    assert result.parameters.noise == 1.4 / 255
    assert redness[0] > 1.2 * redness[1]
    assert pp.psnr(result.image, truth) > pp.psnr(cubic, truth) + 1
