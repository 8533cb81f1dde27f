"""Colour images whose channels are equal, and noise that is alike in all channels."""

import dask.array as da
import numpy as np
import pytest
import tifffile
from skimage import data

import plugplay as pp
from plugplay.arrays.transfer import encode, linearise
from plugplay.metrics import psnr
from plugplay.noise.estimation import estimate_noise
from plugplay.preparation import prepare

GRAY = data.camera()[100:228, 140:268] / 255
COLOUR = data.chelsea()[20:148, 120:248] / 255
BLUR = pp.kernels.gaussian(7, sigma=1.2)


def in_colour(gray):
    return np.repeat(gray[..., None], 3, axis=-1)


@pytest.fixture(scope="module")
def noisy():
    return GRAY + np.random.default_rng(0).normal(0, 15 / 255, GRAY.shape)


def seen():
    return np.random.default_rng(1).random(GRAY.shape) < 0.7


VERBS = {
    "denoise": lambda y, **options: pp.denoise(y, **options),
    "deblur": lambda y, **options: pp.deblur(y, BLUR, max_iter=3, **options),
    "inpaint": lambda y, **options: pp.inpaint(y, seen(), max_iter=3, **options),
    "upscale": lambda y, **options: pp.super_resolve(y, 2, max_iter=3, **options),
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_equal_channels_are_restored_as_gray(verb, axis, noisy):
    gray = VERBS[verb](noisy)
    result = VERBS[verb](np.moveaxis(in_colour(noisy), -1, axis), channel_axis=axis)
    np.testing.assert_array_equal(np.moveaxis(result.image, axis, -1), in_colour(gray.image))
    assert result.parameters.equal_channels
    assert not gray.parameters.equal_channels
    assert result.parameters.noise == gray.parameters.noise
    assert result.status is gray.status


def test_the_channels_may_differ_where_nothing_was_observed(noisy):
    mask = seen()
    y = np.where(mask[..., None], in_colour(noisy), [1.0, np.nan, 0.0])
    for given in (mask, in_colour(mask)):
        result = pp.inpaint(y, given, channel_axis=-1, max_iter=2)
        np.testing.assert_array_equal(result.image, in_colour(pp.inpaint(noisy, mask, max_iter=2).image))
    one = in_colour(mask)
    one[..., 0] = True
    y = np.where(one, in_colour(noisy), 0.0)
    assert not pp.inpaint(y, one, channel_axis=-1, max_iter=1).parameters.equal_channels


def test_starts_references_and_states_of_gray_in_colour(noisy):
    y, states = in_colour(noisy), []
    reference = np.stack([GRAY, GRAY, 0.9 * GRAY], axis=-1)
    plan = prepare(y, pp.models.Deblurring(BLUR), channel_axis=-1, start=reference, reference=reference, max_iter=2)
    result = plan.run(callback=states.append)
    assert plan.image(states[0]).shape == result.image.shape == y.shape
    assert result.history.psnr[-1] == pytest.approx(psnr(result.image, reference), abs=1e-4)
    again = pp.restore(y, pp.models.Deblurring(BLUR), channel_axis=-1, start=result.state, max_iter=1)
    assert again.image.shape == y.shape
    with pytest.raises(ValueError, match="reference"):
        pp.denoise(y, channel_axis=-1, reference=GRAY)


def test_a_denoiser_of_ones_own_gets_the_colours_that_it_may_need(noisy):
    shapes = set()

    def own(image, sigma):
        shapes.add(image.shape)
        return image

    result = pp.denoise(in_colour(noisy), channel_axis=-1, denoiser=own)
    assert shapes == {(*GRAY.shape, 3)}
    assert not result.parameters.equal_channels


def test_tiles_of_gray_in_colour_and_gray_tiles_of_a_colour_image(noisy):
    made = pp.scale.denoise(da.from_array(in_colour(noisy), chunks=64), channel_axis=-1, core=64).compute()
    gray = pp.scale.denoise(da.from_array(noisy, chunks=64), core=64).compute()
    np.testing.assert_array_equal(made.image, in_colour(gray.image))
    half = in_colour(noisy)
    half[:, 64:, 0] += 0.1
    options = pp.scale.denoise(da.from_array(half, chunks=64), channel_axis=-1, core=64)
    assert not options.parameters.equal_channels
    part = prepare(half[:, :64], pp.models.Denoising(), channel_axis=-1, noise=0.1, joins_equal=False)
    assert not part.parameters.equal_channels


def test_gray_files_in_colour_keep_their_channels(run, tmp_path):
    values = np.rint(255 * np.clip(GRAY + np.random.default_rng(2).normal(0, 0.05, GRAY.shape), 0, 1)).astype(np.uint8)
    for name, pixels in (("gray", values), ("colour", in_colour(values))):
        pp.io.write(tmp_path / f"{name}.png", pp.io.ImageFile.of(pixels, colour=pixels.ndim == 3))
        done = run("denoise", f"{name}.png", "-o", f"{name}_out.png", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    made = pp.io.read(tmp_path / "colour_out.png").pixels
    np.testing.assert_array_equal(made, in_colour(pp.io.read(tmp_path / "gray_out.png").pixels))
    assert "gray in 3 channels" in done.stdout + done.stderr


def test_noise_alike_in_all_channels_is_removed_from_the_luminance():
    rng = np.random.default_rng(3)
    y = COLOUR + 0.06 * rng.normal(size=GRAY.shape)[..., None]
    result = pp.denoise(y, channel_axis=-1)
    assert result.parameters.noise == pytest.approx(0.06, rel=0.1)
    assert any("alike in all channels" in text for text in result.warnings)
    unaware = pp.denoise(y, channel_axis=-1, denoiser=pp.denoisers.BM3D(noise_planes=(1.0, 1.0, 1.0)))
    assert psnr(result.image, COLOUR) > psnr(unaware.image, COLOUR) + 2
    given = pp.denoise(y, channel_axis=-1, noise=0.06)
    assert psnr(given.image, COLOUR) > psnr(unaware.image, COLOUR) + 2
    assert given.parameters.noise == 0.06
    lazy = pp.scale.denoise(da.from_array(y, chunks=64), channel_axis=-1, core=64).compute()
    assert psnr(lazy.image, COLOUR) > psnr(unaware.image, COLOUR) + 2


def test_independent_noise_is_not_alike():
    rng = np.random.default_rng(4)
    mask = rng.random(GRAY.shape) < 0.5
    for sigma in (0.01, 0.03, 0.1):
        independent = COLOUR + sigma * rng.normal(size=COLOUR.shape)
        assert estimate_noise(independent).planes is None
        assert estimate_noise(independent, mask=mask).planes is None
        assert not any("alike" in text for text in pp.denoise(independent, channel_axis=-1).warnings)
    found = estimate_noise(COLOUR + 0.1 * rng.normal(size=GRAY.shape)[..., None], mask=mask).planes
    assert found is not None
    assert found[0] == pytest.approx(np.sqrt(3), rel=0.02)


def sixteen_bit(image):
    return np.rint(65535 * np.clip(image, 0, 1)).astype(np.uint16)


@pytest.mark.parametrize("transfer", ["srgb", "linear"])
def test_sixteen_bit_photographs_are_not_counts(transfer):
    """Uniform noise of the stored values is stronger where light is bright."""
    image = data.coffee()[80:240, 200:360] / 255
    kernel = pp.kernels.disk(2)
    camera = pp.models.Deblurring(kernel, boundary="circular")
    blurred = encode(camera.forward(linearise(image, "srgb")), "srgb")
    stored = blurred + np.random.default_rng(5).normal(0, 0.006, image.shape)
    if transfer == "linear":
        image, stored = linearise(image, "srgb"), linearise(np.clip(stored, 0, 1), "srgb")
    options = {"channel_axis": -1, "boundary": "circular", "transfer": transfer}
    deep = pp.deblur(sixteen_bit(stored), kernel, **options)
    shallow = pp.deblur(np.rint(255 * np.clip(stored, 0, 1)).astype(np.uint8), kernel, **options)
    assert isinstance(deep.parameters.noise, float)
    assert psnr(deep.image, image) > psnr(shallow.image, image) - 0.4


def test_sixteen_bit_colour_files_are_not_counts(run, tmp_path):
    image = data.coffee()[80:208, 200:328] / 255
    camera = pp.models.Deblurring(pp.kernels.disk(2), boundary="circular")
    stored = encode(camera.forward(linearise(image, "srgb")), "srgb") + np.random.default_rng(6).normal(
        0, 0.006, image.shape
    )
    tifffile.imwrite(tmp_path / "y.tif", sixteen_bit(stored), photometric="rgb")
    done = run("deblur", "y.tif", "-o", "x.tif", "-k", "disk:2", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "PoissonGaussian" not in done.stdout
    assert psnr(tifffile.imread(tmp_path / "x.tif") / 65535, image) > psnr(stored, image) + 1


def test_counts_of_several_channels_in_a_corner_of_their_range_are_counts():
    rng = np.random.default_rng(7)
    light = np.stack([GRAY, GRAY[::-1], 0.5 * GRAY[:, ::-1] + 0.1], axis=-1)
    counts = rng.poisson(200 * light).astype(np.uint16)
    result = pp.deblur(counts, BLUR, channel_axis=-1, max_iter=2, denoiser="tv")
    assert isinstance(result.parameters.noise, pp.PoissonGaussian)
