"""The steps of JPEG files, found in the arrays read from them, and the noise before they were written."""

import io

import numpy as np
import pytest
from PIL import Image
from scipy.fft import dctn, idctn
from scipy.ndimage import gaussian_filter
from skimage import data

from plugplay.noise.blocks import FREQUENCY, _between_blocks, quantisation_step, take_blocks
from plugplay.noise.compression import Rounding, completed, compressed_planes
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


@pytest.mark.parametrize("level", [0.1, 0.15, 0.3, 0.6, 2.0])
def test_rounding_is_undone(level):
    # A seventh of the step: hardly one coefficient in a thousand is not zero. A tenth: none is.
    steps = np.where(FREQUENCY > 0, 1.0, np.nan)[None]
    rounding = Rounding(steps, np.zeros((1, 64)), np.zeros(1), 0.1)
    number = np.array([1000, 4000])
    noise = level * np.random.default_rng(4).normal(size=(4000, 64))
    power = np.square(np.round(noise))
    mean = np.stack([power[:1000].mean(axis=0), power.mean(axis=0)])[:, None]
    before, telling, bounding = rounding.undone(mean, number)
    found = np.sqrt(before[:, 0, 1:])
    if level > 0.12:
        np.testing.assert_allclose(found, level, rtol=0.05)
        assert telling[1, 0, 1:].sum() > 1000
    else:  # only that there is not more
        assert (found > level).all()
        assert (found < 1.5 * level).all()
        assert telling.sum() == 0
        assert bounding[1].sum() > 100


def test_tables_are_completed():
    """Steps that do not show are those of the table that the others belong to, if there is one."""
    flat = np.zeros((16, 16, 3))
    for quality in (60, 90, 95):
        _, (luma, chroma) = written(flat, quality)
        table = np.stack([luma, chroma, chroma])
        shown = np.where(FREQUENCY < 0.7, table, np.nan)
        np.testing.assert_array_equal(completed(shown), table)
        np.testing.assert_array_equal(completed(shown[:1]), table[:1])
        # Another camera's table, and a plane that was not written with it.
        other = np.round(1.37 * shown + 2 * FREQUENCY)
        np.testing.assert_array_equal(completed(other), other)
        np.testing.assert_array_equal(completed(np.stack([shown[0], other[1], other[2]]))[1:], other[1:])


def compressed_by_hand(image, quality):
    """Return what a file of JPEG holds, decoded: an oracle without a codec, of luma and chroma in full."""
    _, (luma, chroma) = written(np.zeros((16, 16, 3)), quality)
    forward = np.array([[0.299, 0.587, 0.114], [-0.168736, -0.331264, 0.5], [0.5, -0.418688, -0.081312]])
    planes = np.round(np.round(255 * image) @ forward.T)
    height, width = planes.shape[:2]
    blocks = planes.reshape(height // 8, 8, width // 8, 8, 3)
    steps = np.stack([luma, chroma, chroma], axis=-1).reshape(1, 8, 1, 8, 3)
    held = steps * np.round(dctn(blocks, axes=(1, 3), norm="ortho") / steps)
    decoded = np.round(idctn(held, axes=(1, 3), norm="ortho")).reshape(planes.shape)
    return np.clip(np.round(decoded @ np.linalg.inv(forward).T), 0, 255) / 255


@pytest.mark.parametrize(("quality", "level"), [(95, 2), (95, 3), (92, 2), (92, 5), (90, 3), (90, 15)])
def test_noise_of_a_smooth_file(quality, level):
    """Where there is no texture, what rounding took is known to a few percent, and so is the noise."""
    ramp = np.add.outer(np.linspace(0.2, 0.35, 256), np.linspace(0.2, 0.35, 256))
    image = compressed_by_hand(noisy(np.stack([ramp, ramp[::-1], 1 - ramp], axis=-1), level, 8), quality)
    estimate = estimate_noise(image)
    assert estimate.compressed
    assert 255 * estimate.sigma == pytest.approx(level, rel=0.06)
    assert estimate.uncertainty < 0.5 * estimate.sigma


def test_chroma_tells_the_noise_under_texture():
    """Gray gravel hides noise in the luma; of chroma most is rounded to zero, but not more than noise would be."""
    clean = np.repeat(data.gravel()[:256, :256, None] / 255, 3, axis=-1)
    for level in (2, 3, 5):
        image = compressed_by_hand(noisy(clean, level, 10), 95)
        estimate = estimate_noise(image)
        assert 255 * estimate.sigma == pytest.approx(level, rel=0.1)
        assert estimate.uncertainty < 0.4 * estimate.sigma
    nothing = estimate_noise(compressed_by_hand(clean, 95))
    assert nothing.uncertainty >= 0.9 * nothing.sigma


@pytest.mark.parametrize("share", [0.02, 0.05])
def test_the_grid_is_found_with_missing_pixels(share):
    rng = np.random.default_rng(11)
    blurred = gaussian_filter(data.camera()[100:228, 200:328] / 255, 1.0)
    observed = rng.random(blurred.shape) >= share
    for level in (0.5, 2, 5):
        stored = np.round(255 * noisy(blurred, level, 12)) / 255
        assert estimate_noise(written(stored, 92)[0], mask=observed).compressed
        assert not estimate_noise(stored, mask=observed).compressed


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


def smooth_photograph():
    """A photograph that a blur has left with hardly any detail."""
    return gaussian_filter(data.rocket()[120:260, 320:460] / 255, (3, 3, 0))


@pytest.mark.parametrize("quality", [70, 78])
@pytest.mark.parametrize("corner", [(0, 0), (3, 5)])
def test_edges_between_blocks_show_the_grid_of_smooth_files(quality, corner):
    image, _ = written(smooth_photograph(), quality, subsampling=2)
    luma = 255 * image @ [0.299, 0.587, 0.114]
    assert _between_blocks(luma[corner[0] :, corner[1] :]) == (-corner[0] % 8, -corner[1] % 8)
    assert estimate_noise(image).compressed


@pytest.mark.parametrize("seed", range(4))
def test_rounding_to_8_bits_leaves_no_edges(seed):
    stored = np.round(255 * np.clip(noisy(smooth_photograph(), 0.5, seed), 0, 1)) / 255
    assert _between_blocks(255 * stored.mean(axis=2)) is None
    assert not estimate_noise(stored).compressed


@pytest.mark.parametrize("quality", [76, 84, 93])
@pytest.mark.parametrize("colour", [False, True])
def test_the_quality_is_that_of_the_file(quality, colour):
    clean = data.astronaut()[:160, 200:360] / 255
    image, tables = written(noisy(clean if colour else clean.mean(axis=2), 2, 0), quality)
    estimate = estimate_noise(image)
    assert estimate.quality == quality
    assert estimate.zeroed == pytest.approx(0.4 * tables[0].reshape(8, 8)[:4, :4].mean() / 255, rel=0.05)
    assert estimate_noise(clean).zeroed == 0
