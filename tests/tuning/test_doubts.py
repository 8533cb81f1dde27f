"""Signs that a run itself seldom shows."""

import numpy as np
import pytest
from skimage import data

import plugplay as pp
from plugplay.tuning.doubts import Seen, doubts
from plugplay.tuning.watch import Watch


def watched(y, noise, kernel):
    term = pp.models.Deblurring(kernel).data_term(y)
    return Watch(term, None, noise, Seen.of(y, None), noise, bounded=True, convolution=True)


def test_a_result_that_explains_less_than_its_start(camera):
    """Hardly any blur: the observation itself is nearer to the data than a result off by 1.5 times the noise."""
    rng = np.random.default_rng(0)
    y = camera[:32, :32] + rng.normal(0, 0.01, (32, 32))
    watch = watched(y, 0.02, pp.kernels.gaussian(3, sigma=0.3))
    off = y + rng.choice([-0.032, 0.032], y.shape)
    assert [text[:46] for text in doubts(watch, off, off)] == ["the observation explains the data better than "]
    assert doubts(watch, y, y) == ()


def test_black_and_white_images_are_no_reason_to_doubt():
    """A chart is restored to black and white, which explains the data."""
    chart = np.kron(np.indices((8, 8)).sum(axis=0) % 2, np.ones((8, 8)))
    kernel = pp.kernels.gaussian(9, sigma=2.0)
    y = pp.models.Deblurring(kernel).simulate(chart, noise=0.01, rng=0)
    assert doubts(watched(y, 0.01, kernel), chart, chart) == ()
    wrong = 1 - chart
    assert any("black or white" in text for text in doubts(watched(y, 0.01, kernel), wrong, wrong))


@pytest.mark.parametrize(("contrast", "doubted"), [(0.0, True), (0.02, False)])
def test_coarse_structure_below_the_noise_is_structure(contrast, doubted):
    ramp = np.linspace(-contrast, contrast, 64)[:, None] * np.ones((1, 64))
    y = 0.5 + ramp + np.random.default_rng(0).normal(0, 0.1, (64, 64))
    watch = watched(y, 0.1, pp.kernels.gaussian(5, sigma=1.0))
    smooth = np.full_like(y, 0.5) + ramp
    assert any("no more than its noise" in text for text in doubts(watch, smooth, smooth)) == doubted


@pytest.mark.parametrize(
    ("told", "noise", "doubted"),
    [("gaussian:1.5", None, False), ("gaussian:1.5", 0.001, False), ("gaussian:3", None, True), ("box:9", None, True)],
)
def test_noise_that_stands_for_a_wrong_kernel(told, noise, doubted):
    """A kernel of another kind or far too wide fits the data only with noise that is not in them."""
    lens = pp.models.Deblurring(pp.kernels.gaussian(13, sigma=1.5), boundary="reflect")
    y = lens.simulate(data.coffee()[100:260, 200:360] / 255, noise=2 / 255, rng=0)
    result = pp.deblur((255 * np.clip(y, 0, 1)).round().astype(np.uint8), told, noise=noise)
    assert any("times the noise that they show; the kernel may be wrong" in text for text in result.warnings) == doubted
    assert (result.status is pp.Status.DOUBTFUL) >= doubted


@pytest.mark.parametrize(("transfer", "advised"), [("linear", "data_range"), ("srgb", "a larger noise")])
def test_where_light_was_lost_a_range_is_advised_only_where_it_is_not_known(transfer, advised, camera):
    """Black and white of a photograph are those of its file."""
    camera_like = pp.models.Deblurring(pp.kernels.box(3), boundary="reflect")
    y = (255 * np.clip(camera_like.simulate(camera[:48, :48], noise=0.01, rng=0), 0, 1)).round().astype(np.uint8)
    result = pp.restore(y, camera_like, denoiser=lambda image, sigma: 0.6 * image, transfer=transfer, max_iter=5)
    (told,) = (text for text in result.warnings if "of the light was lost" in text)
    assert advised in told
    assert ("data_range" in told) == (transfer == "linear")
