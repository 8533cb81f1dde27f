"""The evidence for a kernel: the right one is believed, one that is a tenth too wide or turned is found out."""

import io

import numpy as np
import pytest
from PIL import Image
from skimage import data

import plugplay as pp
from plugplay.models.operators.reshaping import Reshaping
from plugplay.scale.choices import choose_globally
from plugplay.tuning.evidence import kernel_mismatch

BLUR = {"box": "box:9", "disk": "disk:5", "motion": "motion:9,30"}
WIDE = {"box": "box:10", "disk": "disk:5.5", "motion": "motion:9.9,30"}


@pytest.fixture(scope="module")
def brick():
    return data.brick()[150:278, 150:278] / 255


def judged(x, true, told, noise):
    y = pp.models.Deblurring(pp.kernels.parse(true)).simulate(x, noise=noise, rng=0)
    return kernel_mismatch(y, pp.models.Deblurring(pp.kernels.parse(told)).traits(y), noise)


@pytest.mark.parametrize("blur", [*BLUR.values(), "gaussian:1"])
@pytest.mark.parametrize("noise", [0.5 / 255, 5 / 255])
def test_the_right_kernel_is_believed(brick, blur, noise):
    assert judged(brick, blur, blur, noise) is None


@pytest.mark.parametrize("blur", BLUR)
def test_a_kernel_that_is_too_wide_is_found_out_and_measured(brick, blur):
    found = judged(brick, BLUR[blur], WIDE[blur], 0.5 / 255)
    assert found.reshaping.stretch == pytest.approx(1 / 1.1, abs=0.03)
    assert "narrower" in str(found)
    assert 2 / 255 < found.noise < 12 / 255


def test_a_turned_kernel_is_found_out_and_measured(brick):
    found = judged(brick, "motion:15,30", "motion:15,36", 0.5 / 255)
    assert abs(found.reshaping.turn) == pytest.approx(6, abs=2.1)
    assert "turned by" in str(found)


def test_white_noise_through_a_kernel_needs_no_natural_spectrum():
    """An oracle without an image: for white noise the smooth spectrum is exact, and so is the stretch."""
    x = np.random.default_rng(1).normal(0.5, 0.1, (160, 160))
    found = judged(x, "disk:5", "disk:5.5", 1 / 255)
    assert found.reshaping.stretch == pytest.approx(5 / 5.5, abs=0.02)


def test_colour_is_judged_by_the_sum_of_its_channels(brick):
    colour = np.stack([brick, 0.9 * brick, 0.8 * brick], axis=-1)
    assert judged(colour, "box:9", "box:9", 0.5 / 255) is None
    assert judged(colour, "box:9", "box:10", 0.5 / 255) is not None


def test_what_cannot_be_judged_is_not(brick):
    for model in (
        pp.models.Denoising(),
        pp.models.SuperResolution(2),
        pp.models.Deblurring(np.ones((9, 9)) / 81, mask=np.ones((128, 128), bool)),
        pp.models.Deblurring(np.ones((61, 61)) / 61**2),
    ):
        assert kernel_mismatch(brick, model.traits(brick), 0.001) is None
    small = brick[:64, :64]
    assert kernel_mismatch(small, pp.models.Deblurring(np.ones((9, 9)) / 81).traits(small), 0.001) is None


def test_another_kernel_is_used_where_the_data_clearly_want_it(brick):
    wide = pp.models.Deblurring(pp.kernels.parse("box:10"), boundary="circular")
    y = pp.models.Deblurring(pp.kernels.box(9)).simulate(brick, noise=0.5 / 255, rng=0)
    found = pp.prepare(y, wide, noise=0.5 / 255)
    assert found.reshaping.stretch == pytest.approx(0.9, abs=0.03)
    assert "so it was used" in found.warnings[-1]
    np.testing.assert_array_equal(found.parameters.model.kernel, found.reshaping.of(wide.kernel))
    exact = pp.prepare(y, pp.models.Deblurring(wide.kernel, exact=True), noise=0.5 / 255)
    told = pp.prepare(y, wide, noise=0.5 / 255, reshaping=Reshaping())
    for kept in (exact, told):
        assert not kept.reshaping
        assert kept.parameters.noise > 2 / 255  # what the kernel does not explain


def test_a_curve_of_brightness_is_not_taken_for_another_kernel():
    """Right kernel, wrong numbers: something is left at the zeros of every kernel."""
    x = data.coffee()[100:260, 200:360].mean(axis=-1) / 255
    model = pp.models.Deblurring(pp.kernels.disk(3), boundary="reflect")
    y = np.clip(model.simulate(x**2.2, noise=0.5 / 255, rng=0), 0, 1) ** (1 / 2.2)
    assert not pp.prepare(y, model).reshaping


def test_a_wrong_kernel_is_told_and_does_not_spoil_the_image(brick):
    y = pp.models.Deblurring(pp.kernels.box(9), boundary="circular").simulate(brick, noise=0.5 / 255, rng=0)
    result = pp.deblur(y, pp.kernels.parse("box:10"), boundary="circular")
    assert pp.psnr(result.image, brick) > pp.psnr(y, brick)
    assert any("the data fit a kernel that is" in warning for warning in result.warnings)


def test_all_tiles_take_the_kernel_that_the_whole_image_prefers(brick):
    """A tile alone could not tell, and another kernel for each would show as seams."""
    y = pp.models.Deblurring(pp.kernels.box(9)).simulate(brick, noise=0.5 / 255, rng=0).astype(np.float32)

    def model_for(observed):
        return pp.models.Deblurring(pp.kernels.parse("box:10"), boundary="unknown", mask=observed)

    told = {"denoiser": "gaussian"}
    choices = choose_globally(lambda _, place: (y[place], None), y.shape, model_for, told, workers=1)
    small = choices.plan(y[:40, :40], model_for, None, workers=1)
    assert small.reshaping.stretch == pytest.approx(0.9, abs=0.03)
    np.testing.assert_array_equal(small.parameters.model.kernel, small.reshaping.of(model_for(None).kernel))


def jpeg_of(image, quality):
    file = io.BytesIO()
    Image.fromarray(np.round(255 * np.clip(image, 0, 1)).astype(np.uint8)).save(file, "jpeg", quality=quality)
    return np.asarray(Image.open(file))


@pytest.mark.parametrize("quality", [75, 82, 90])
@pytest.mark.parametrize("name", ["astronaut", "chelsea", "coffee"])
def test_zeros_of_compression_are_not_those_of_another_kernel(name, quality):
    """A disk of 3 pixels was said to be 12 % wider in a chelsea of quality 80, and replaced in an astronaut."""
    x = getattr(data, name)()[20:170, 150:300] / 255
    model = pp.models.Deblurring(pp.kernels.disk(3), boundary="reflect")
    y = jpeg_of(model.simulate(x, noise=0.5 / 255, rng=0), quality)
    plan = pp.prepare(y, model, channel_axis=-1)
    assert not plan.reshaping
    assert not any("the data fit a kernel" in warning for warning in plan.warnings)


def test_wrong_kernels_are_found_behind_compression(brick):
    wide = pp.models.Deblurring(pp.kernels.parse("box:10"), boundary="reflect")
    y = pp.models.Deblurring(pp.kernels.box(9), boundary="reflect").simulate(brick, noise=0.5 / 255, rng=0)
    assert pp.prepare(jpeg_of(y, 82), wide).reshaping.stretch == pytest.approx(0.9, abs=0.03)
