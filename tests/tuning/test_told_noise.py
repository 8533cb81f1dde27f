"""A noise level that was given, and data that hold less of it, or more."""

import io

import numpy as np
import pytest
from PIL import Image
from skimage import data

import plugplay as pp


def jpeg_of(image, quality):
    file = io.BytesIO()
    Image.fromarray(np.round(255 * np.clip(image, 0, 1)).astype(np.uint8)).save(file, "jpeg", quality=quality)
    return np.asarray(Image.open(file))


def gain(x, kernel, quality, **told):
    """Return what deblurring a JPEG file gains, in dB, and the result."""
    model = pp.models.Deblurring(kernel, boundary="reflect")
    y = jpeg_of(model.simulate(x, noise=1 / 255, rng=0), quality)
    axis = None if x.ndim == 2 else -1
    result = pp.deblur(y, kernel, channel_axis=axis, workers=1, **told)
    return pp.psnr(result.image, x) - pp.psnr(y / 255, x), result


@pytest.mark.parametrize(("quality", "told"), [(80, 4), (85, 2)])
def test_compression_that_smoothed_an_image_is_no_sign_of_less_noise(quality, told):
    """Taken for it, a smooth photograph lost 0.7 dB against its input, and others up to 7."""
    x = data.moon()[200:350, 200:350] / 255
    gained, result = gain(x, pp.kernels.disk(3), quality, noise=told / 255)
    assert gained > 0
    assert result.parameters.noise >= told / 255


def test_a_level_is_raised_to_what_a_file_hides():
    x = data.rocket()[20:170, 20:170] / 255
    gained, result = gain(x, pp.kernels.disk(3), 85, noise=1.5 / 255)
    unknown, _ = gain(x, pp.kernels.disk(3), 85)
    assert gained > 1
    assert gained == pytest.approx(unknown, abs=0.2)
    assert any("contradict the assumed noise" in warning for warning in result.warnings)
    kept = gain(x, pp.kernels.disk(3), 85, noise=1.5 / 255, exact_noise=True)[1]
    assert kept.parameters.noise == 1.5 / 255


@pytest.mark.parametrize("times", [4, 12])
def test_half_of_a_given_level_is_assumed_at_least(times):
    x = data.camera()[180:308, 180:308] / 255
    model = pp.models.Deblurring(pp.kernels.gaussian(5, sigma=0.5), boundary="reflect")
    result = pp.deblur(model.simulate(x, noise=1 / 255, rng=0), model.kernel, noise=times / 255, workers=1)
    told = [warning for warning in result.warnings if "restored as with" in warning]
    assert result.parameters.noise == pytest.approx(times / 255)
    assert float(told[0].rpartition(" ")[2]) == pytest.approx(times / 2 / 255, rel=0.01)
