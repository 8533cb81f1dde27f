"""How dark and how bright a restored image may be."""

import numpy as np
import pytest
from skimage import data

import plugplay as pp
from plugplay.clipping import goes_beyond

NOISE = 0.2 / 255
PHOTOGRAPH = data.page()[30:158, 60:188] / 255


def low_contrast(x, dtype):
    """Squeeze an image into a fifth of the range."""
    return (0.3 + 0.2 * x).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.uint16])
def test_a_blur_does_not_decide_how_dark_an_image_of_low_contrast_is(dtype):
    """Letters that a blur has nearly levelled out are darker than anything that was observed."""
    truth = low_contrast(PHOTOGRAPH, np.float64)
    model = pp.models.Deblurring(pp.kernels.disk(2))
    y = model.simulate(truth, noise=NOISE, rng=0)
    stored = np.round(65535 * y).astype(dtype) if dtype == np.uint16 else y.astype(dtype)
    result = pp.restore(stored, model)
    assert result.parameters.working_range != result.parameters.data_range
    assert 0 <= result.parameters.clip[0] < truth.min() < y.min() - 5 * NOISE
    held = pp.restore(stored, model, clip=(float(y.min()), 1e3))
    assert pp.psnr(result.image, truth) > pp.psnr(held.image, truth) + 1


def test_it_is_not_darker_than_black_unless_the_data_are():
    model = pp.models.Deblurring(pp.kernels.disk(2))
    y = model.simulate(0.01 + 0.1 * PHOTOGRAPH, noise=0.1 / 255, rng=0)
    assert pp.prepare(y, model).parameters.clip[0] == pytest.approx(0, abs=1e-6)
    below = y - 0.5
    width = np.ptp(y)
    assert pp.prepare(below, model).parameters.clip[0] == pytest.approx(below.min() - width, abs=1e-3 * width)


def test_on_a_background_nothing_is_darker_than_it():
    x = np.full((64, 64), 0.1)
    x[10:50, 10:40] = 0.3
    model = pp.models.Deblurring(pp.kernels.gaussian(9, sigma=1.5))
    y = model.simulate(x, noise=1 / 255, rng=0)
    assert pp.prepare(y, model).parameters.clip[0] == pytest.approx(y.min())


def test_what_fills_its_range_or_is_not_blurred_keeps_its_limits():
    blurred = pp.models.Deblurring(pp.kernels.disk(2))
    assert pp.prepare(PHOTOGRAPH, blurred, noise=0.01).parameters.clip == (0, 1)
    holes = pp.models.Inpainting(np.random.default_rng(0).random(PHOTOGRAPH.shape) > 0.3)
    y = low_contrast(PHOTOGRAPH, np.float64)
    assert pp.prepare(y, holes, noise=NOISE).parameters.clip[0] == pytest.approx(y.min(), abs=1e-6)


def test_only_what_may_be_darker_and_brighter_than_the_data_goes_beyond_them():
    unit = np.array([[0.1, np.nan], [0.5, 0.9]])
    assert goes_beyond((0.0, np.inf), unit)
    assert not any(goes_beyond(clip, unit) for clip in (None, (0.0, 1.0), (0.1, np.inf), (0.2, np.inf)))


def test_runs_that_go_beyond_the_data_begin_with_a_larger_sigma():
    """Unless the range is told, or there is a background."""

    def first_sigma(plan):
        return np.sqrt(plan.parameters.lam / plan.parameters.schedule.rho0) * plan._conversion.scale.gain

    model = pp.models.Deblurring(pp.kernels.disk(2))
    # With hardly any noise, the first sigma depends on the noise, which depends on the range.
    y = model.simulate(low_contrast(PHOTOGRAPH, np.float64), noise=4 * NOISE, rng=0)
    beyond, told = (pp.prepare(y, model, data_range=given) for given in (None, (0.3, 0.5)))
    assert beyond.parameters.clip[0] < y.min()
    assert first_sigma(beyond) == pytest.approx(1.5 * first_sigma(told))
    held = pp.prepare(y, model, clip=(float(y.min()), 1e3))
    assert first_sigma(held) == pytest.approx(first_sigma(told))


def test_a_range_that_was_chosen_can_be_given():
    """It may have no end, and parts of an image are told that of the whole."""
    model = pp.models.Deblurring(pp.kernels.disk(2))
    y = model.simulate(low_contrast(PHOTOGRAPH, np.float64), noise=NOISE, rng=0)
    chosen = pp.prepare(y, model).parameters.clip
    assert chosen[1] == np.inf
    assert pp.prepare(y, model, clip=chosen).parameters.clip == pytest.approx(chosen)
    with pytest.raises(ValueError, match=r"clip\[0\]"):
        pp.prepare(y, model, clip=(np.nan, 1.0))
