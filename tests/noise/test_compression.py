"""The steps of JPEG files, found in the arrays read from them, and the noise before they were written."""

import io

import numpy as np
import pytest
from PIL import Image
from scipy.ndimage import gaussian_filter
from skimage import data

from plugplay.noise.blocks import FREQUENCY, quantisation_step, take_blocks
from plugplay.noise.compression import Rounding, compressed_planes
from plugplay.noise.estimation import estimate_noise


def written(image, quality, subsampling=0):
    """Return the array read from a JPEG file, and the tables that the file holds."""
    stored = np.round(255 * np.clip(image, 0, 1)).astype(np.uint8)
    file = io.BytesIO()
    Image.fromarray(stored).save(
        file, "jpeg", quality=quality, **({} if image.ndim == 2 else {"subsampling": subsampling})
    )
    read = Image.open(file)
    return np.asarray(read) / 255, [np.array(table, float) for table in read.quantization.values()]


def blocks_of(image):
    stack = image.reshape(1, *image.shape[:2], -1)
    return take_blocks(stack, None, step=quantisation_step(stack, None))


def noisy(clean, level, seed):
    return clean + level / 255 * np.random.default_rng(seed).normal(size=clean.shape)


@pytest.mark.parametrize("quality", [75, 90, 95])
@pytest.mark.parametrize("corner", [(0, 0), (3, 5)])
def test_the_steps_are_those_of_the_file(quality, corner):
    image, tables = written(noisy(data.astronaut()[:256, :256] / 255, 3, 0), quality)
    found = compressed_planes(blocks_of(image[corner[0] :, corner[1] :]))
    assert found.held.shape[1:] == (3, 64)
    assert found.others.shape[1] == 0
    gain = [0.6686, 0.6229, 0.6573]  # of luma and chroma, for noise that is independent in the channels
    for plane, table in enumerate((tables[0], tables[1], tables[1])):
        steps = 255 * gain[plane] * found.rounding.steps[plane]
        known = ~np.isnan(steps)
        # A large step that few coefficients reach may be off by one.
        off = np.abs(steps - table)[known]
        assert off.max() < 1.02
        assert np.mean(off < 0.02) > 0.9
        assert np.count_nonzero(known) > (30 if plane == 0 else 6)


def test_subsampled_chroma_has_no_steps():
    image, _ = written(noisy(data.astronaut()[:256, :256] / 255, 3, 0), 95, subsampling=2)
    found = compressed_planes(blocks_of(image))
    assert found.held.shape[1] == 1
    assert found.others.shape[1] == 2


def test_what_was_processed_or_never_written_has_none():
    gray, _ = written(noisy(data.camera() / 255, 3, 1), 95)
    again = np.round(255 * np.clip(noisy(gray, 2, 2), 0, 1)) / 255
    for image in (again, gray[::-1, ::2], np.round(255 * data.camera() / 255) / 255, noisy(gray, 2, 3)):
        assert compressed_planes(blocks_of(image)) is None


@pytest.mark.parametrize("level", [0.15, 0.3, 0.6, 2.0])
def test_rounding_is_undone(level):
    # A seventh of the step: hardly one coefficient in a thousand is not zero.
    steps = np.where(FREQUENCY > 0, 1.0, np.nan)[None]
    rounding = Rounding(steps, np.zeros((1, 64)), 0.1)
    number = np.array([1000, 4000])
    noise = level * np.random.default_rng(4).normal(size=(4000, 64))
    power = np.square(np.round(noise))
    mean = np.stack([power[:1000].mean(axis=0), power.mean(axis=0)])[:, None]
    before, telling = rounding.undone(mean, number)
    found = np.sqrt(before[:, 0, 1:])
    if level > 0.2:
        np.testing.assert_allclose(found, level, rtol=0.05)
        assert telling[1, 0, 1:].sum() > 1000
    else:  # only that there is not more
        assert (found > level).all()
        assert (found < 1.7 * level).all()
        assert telling.sum() == 0


@pytest.mark.parametrize("level", [2, 5])
@pytest.mark.parametrize("subsampling", [0, 2])
def test_noise_of_a_blurred_colour_file(level, subsampling):
    """As it is met in deblurring: a smooth image, most of whose noise the compression took."""
    clean = gaussian_filter(data.rocket()[:384, 128:512] / 255, (1.5, 1.5, 0))
    image, _ = written(noisy(clean, level, 5), 95, subsampling)
    estimate = estimate_noise(image)
    assert estimate.compressed
    assert 255 * estimate.sigma == pytest.approx(level, rel=0.15)
    assert 255 * estimate.upper > level


def test_a_dark_sky_is_not_left_out_for_its_stars():
    """Nearly all blocks of a dark sky have a clipped pixel; the few that have none are those of bright objects."""
    rng = np.random.default_rng(6)
    stars = np.zeros((256, 256))
    stars[tuple(rng.integers(0, 256, (2, 60)))] = 40 * rng.random(60)
    clean = 10 / 255 + np.clip(gaussian_filter(stars, 2), 0, 0.8)
    for image in (np.round(255 * np.clip(noisy(clean, 5, 7), 0, 1)) / 255, written(noisy(clean, 5, 7), 95)[0]):
        assert 255 * estimate_noise(image).sigma == pytest.approx(5, rel=0.15)
