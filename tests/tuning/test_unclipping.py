"""Noise that was clipped at black and white must not leave photographs washed out."""

import numpy as np
import pytest
from skimage import data

import plugplay as pp
from plugplay.models import Deblurring, Denoising
from plugplay.scale.choices import choose_globally

NOISE = 50 / 255
COFFEE = data.coffee()[150:278, 200:328] / 255


def stored(image):
    """Return an image in 8 bits."""
    return np.rint(255 * np.clip(image, 0, 1)).astype(np.uint8)


def noisy(image, noise=NOISE):
    return stored(image + np.random.default_rng(1).normal(0, noise, image.shape))


def shifts(image, truth):
    """Return how far the means of dark and of bright places are from the truth, on 255."""
    return [255 * float((image - truth)[where].mean()) for where in (truth < 0.1, truth > 0.9)]


def told(result):
    return [text for text in result.warnings if "clipped at" in text]


def test_dark_and_bright_places_of_a_noisy_photograph_keep_their_brightness():
    y = noisy(COFFEE)
    result = pp.denoise(y, channel_axis=-1)
    dark, bright = shifts(result.image, COFFEE)
    assert abs(dark) < 4
    assert abs(bright) < 4
    # Values below black, however little, cannot have been clipped there.
    plain = pp.denoise(np.where(y == 0, -1e-9, y / 255), channel_axis=-1, noise=result.parameters.noise)
    assert plain.parameters.clipped_noise is None or plain.parameters.clipped_noise[0] == 0
    assert shifts(plain.image, COFFEE)[0] > 12
    assert pp.psnr(result.image, COFFEE) > pp.psnr(plain.image, COFFEE) + 2
    assert result.parameters.clipped_noise == pytest.approx((NOISE, NOISE), rel=0.05)
    assert told(result)


def test_nor_does_a_deblurred_one_lose_it():
    kernel = pp.kernels.gaussian(7, sigma=1.0)
    y = noisy(Deblurring(kernel).forward(COFFEE))
    result = pp.deblur(y, kernel, channel_axis=-1)
    assert max(map(abs, shifts(result.image, COFFEE))) < 6
    assert pp.psnr(result.image, COFFEE) > 25.5  # 23.9 as it is
    assert told(result)


def test_floats_that_were_clipped_are_like_integers():
    y = noisy(COFFEE)
    result = pp.denoise(np.asarray(y / 255, np.float32), channel_axis=-1)
    np.testing.assert_allclose(result.image, pp.denoise(y, channel_axis=-1).image, atol=1e-4)


def weak_at_the_ends(image):
    """Add noise that falls to a tenth towards black and white."""
    share = np.clip(3 * np.minimum(image, 1 - image), 0.1, 1)
    return stored(image + share * np.random.default_rng(1).normal(0, 0.1, image.shape))


@pytest.mark.parametrize(
    "y",
    [
        pytest.param(noisy(0.6 * COFFEE + 0.2, 10 / 255), id="within the range"),
        pytest.param(noisy(COFFEE, 4 / 255), id="too little to matter"),
        pytest.param(weak_at_the_ends(COFFEE), id="hardly any near the ends"),
        pytest.param(COFFEE + np.random.default_rng(1).normal(0, NOISE, COFFEE.shape), id="not clipped"),
    ],
)
def test_noise_that_was_not_clipped_is_left_as_it_is(y):
    plan = pp.prepare(y, Denoising(), channel_axis=-1)
    assert plan.parameters.clipped_noise is None
    assert not told(plan)


def test_a_clean_image_told_to_be_noisy_is_left_as_it_is():
    assert pp.prepare(stored(COFFEE), Denoising(), noise=25 / 255, channel_axis=-1).parameters.clipped_noise is None


def test_an_end_at_which_nothing_was_clipped_stays():
    result = pp.denoise(noisy(0.5 * COFFEE), channel_axis=-1)
    low, high = result.parameters.clipped_noise
    assert low == pytest.approx(NOISE, rel=0.1)
    assert high == 0
    assert "black" in told(result)[0]
    assert "white" not in told(result)[0]


def test_what_a_researcher_gives_is_used_as_it_is():
    """A given lambda is meant for the squares of the values that were given, and only BM3D is known to find means."""
    y = noisy(COFFEE)
    for options in ({"lam": 0.04, "noise": NOISE}, {"denoiser": "tv"}, {"denoiser": lambda image, sigma: image}):
        assert pp.prepare(y, Denoising(), channel_axis=-1, **options).parameters.clipped_noise is None


def test_parts_of_an_image_take_what_the_whole_of_it_tells():
    """A part in which no pixel is dark tells nothing by itself, and one that is all dark too much."""
    y = noisy(COFFEE)

    def read(_, place):
        return y[place], None

    choices = choose_globally(read, y.shape[:2], lambda _: Denoising(), {"denoiser": "bm3d", "channel_axis": -1})
    assert choices.parameters.clipped_noise is not None
    halves = [choices.plan(y[:, cut], lambda _: Denoising(), None, workers=1) for cut in (np.s_[:64], np.s_[64:])]
    assert [half.parameters.clipped_noise for half in halves] == [choices.parameters.clipped_noise] * 2
    joined = np.concatenate([half.run().image for half in halves], axis=1)
    assert max(map(abs, shifts(joined, COFFEE))) < 4
    quiet = {"denoiser": "bm3d", "channel_axis": -1, "noise": 0.1}
    clean = choose_globally(lambda _, place: (stored(COFFEE)[place], None), y.shape[:2], lambda _: Denoising(), quiet)
    assert clean.plan(y, lambda _: Denoising(), None, workers=1).parameters.clipped_noise is None
