"""Deblurring and enlarging counts of photons: simulated cells, and what the noise is told to be."""

import json

import numpy as np
import pytest
import tifffile
from scipy import ndimage
from skimage import data
from skimage.restoration import richardson_lucy

import plugplay as pp
from plugplay.noise.estimation import estimate_noise

OFFSET, READ = 100, 1.5
UNIT = 65535  # images of uint16 come back on [0, 1]


def cells(size=96, seed=0):
    """Return smooth nuclei and thin filaments on a dim background, about 0 to 1."""
    rng = np.random.default_rng(seed)
    rows, columns = np.mgrid[:size, :size].astype(float)
    image = np.full((size, size), 0.03)
    for _ in range(4):
        (row, column), radius = rng.uniform(15, size - 15, 2), rng.uniform(9, 15)
        distance = np.hypot(rows - row, columns - column) / radius
        image += rng.uniform(0.3, 0.6) / (1 + np.exp(12 * (distance - 1)))
    for _ in range(6):
        place, angle, drawn = rng.uniform(0, size, 2), rng.uniform(0, 2 * np.pi), np.zeros((size, size))
        for _ in range(300):
            place, angle = place + 0.4 * np.array([np.sin(angle), np.cos(angle)]), angle + 0.04 * rng.normal()
            i, j = np.round(place).astype(int)
            if 0 <= i < size and 0 <= j < size:
                drawn[i, j] = 1
        image = np.maximum(image, rng.uniform(0.4, 1) * ndimage.gaussian_filter(drawn, 0.7) / 0.45)
    return image


def counted(clean, peak, seed=1):
    """Return what a camera with an offset makes of an image that is already blurred."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(peak * clean) + READ * rng.normal(size=clean.shape) + OFFSET
    return np.round(counts).astype(np.uint16)


def psnr_of(image, clean, peak):
    return pp.psnr((UNIT * image - OFFSET) / peak, clean)


def best_richardson_lucy(y, kernel, clean, peak):
    margin = len(kernel)
    padded = np.pad(np.maximum((y - float(OFFSET)) / peak, 1e-6), margin, mode="symmetric")
    inside = (slice(margin, -margin),) * 2
    return max(
        pp.psnr(richardson_lucy(padded, kernel, num_iter=n, clip=False)[inside], clean)
        for n in (2, 4, 7, 11, 16, 25, 40, 60, 90)
    )


def blurred_cells(peak, sigma, seed):
    """Return cells, the kernel, and the counts of their blurred image."""
    clean = cells(seed=seed)
    kernel = pp.kernels.gaussian(2 * int(4 * sigma) + 1, sigma=sigma)
    return clean, kernel, counted(ndimage.convolve(clean, kernel, mode="reflect"), peak)


def test_floats_whose_noise_grows_are_warned_about_and_uniform_ones_are_not():
    kernel = pp.kernels.gaussian(7, sigma=1.2)
    model = pp.models.Deblurring(kernel)
    clean = cells()
    y = counted(model.forward(clean), 100).astype(float)
    plan = pp.prepare(y, model, denoiser="tv")
    assert isinstance(plan.parameters.noise, float)
    assert any("grows with the signal" in told for told in plan.warnings)
    for uniform in (pp.prepare(y, model, denoiser="tv", noise=4.0), pp.prepare(clean + 0.02, model, denoiser="tv")):
        assert not any("grows with the signal" in told for told in uniform.warnings)


@pytest.mark.parametrize(("peak", "sigma", "seed"), [(20, 2.0, 21), (60, 1.5, 22), (200, 2.5, 23)])
def test_cells_beat_richardson_lucy_and_uniform_noise(peak, sigma, seed):
    clean, kernel, y = blurred_cells(peak, sigma, seed)
    result = pp.deblur(y, kernel)
    uniform = pp.deblur(y, kernel, noise=estimate_noise(y / UNIT).sigma)
    found = psnr_of(result.image, clean, peak)
    assert found > best_richardson_lucy(y, kernel, clean, peak) + 0.3
    assert found > psnr_of(uniform.image, clean, peak)
    assert result.parameters.noise.gain * UNIT == pytest.approx(1.0, rel=0.2)
    assert result.parameters.noise.offset * UNIT == pytest.approx(OFFSET, abs=0.05 * peak)
    assert "noise" in result.parameters.chosen
    assert result.status is pp.Status.CONVERGED
    # Neither light nor background is lost.
    assert (UNIT * result.image - OFFSET).mean() == pytest.approx((y - float(OFFSET)).mean(), rel=0.02)


def test_counts_are_the_same_in_every_unit():
    _, kernel, y = blurred_cells(60, 1.5, 24)
    by_itself = pp.deblur(y, kernel, denoiser="tv").image
    told = pp.deblur(y.astype(np.float64), kernel, denoiser="tv", noise=pp.PoissonGaussian()).image
    scaled = pp.deblur(3.0 * y + 7, kernel, denoiser="tv", noise=pp.PoissonGaussian()).image
    np.testing.assert_allclose(UNIT * by_itself, told, atol=0.05)
    np.testing.assert_allclose((scaled - 7) / 3, told, atol=0.3)


def test_photons_are_assumed_only_where_counts_say_so():
    clean, kernel, y = blurred_cells(200, 1.5, 25)
    model = pp.models.Deblurring(kernel)
    uniform = np.round(1000 + 500 * clean + 20 * np.random.default_rng(0).normal(size=clean.shape)).astype(np.uint16)

    def assumed(y, model=model, **options):
        return type(pp.prepare(y, model, denoiser="tv", **options).parameters.noise)

    assert assumed(y) is assumed(y, noise="auto") is pp.PoissonGaussian
    assert assumed(y.astype(np.int16)) is pp.PoissonGaussian
    assert assumed(y.astype(np.int32)) is float
    assert assumed(uniform) is float
    assert assumed(y, noise=1e-4) is float
    assert assumed(y, lam=1e-8) is float
    assert assumed(y, tune="sure", rng=0) is float
    assert assumed(np.minimum(y - OFFSET, 255).astype(np.uint8)) is float
    assert assumed(y / UNIT) is float
    assert assumed(y, pp.models.Denoising()) is pp.PoissonGaussian
    assert assumed(uniform, pp.models.Denoising()) is float
    assert assumed(y, pp.models.SuperResolution(2)) is float


def test_too_little_gain_is_raised():
    _, kernel, y = blurred_cells(60, 1.5, 26)
    told = pp.PoissonGaussian(0.1 / UNIT, 0.5 / UNIT, offset=OFFSET / UNIT)
    result = pp.deblur(y, kernel, noise=told, denoiser="nlm")
    assert any("contradict" in warning for warning in result.warnings)
    assert result.parameters.noise.gain > 3 * told.gain
    assert result.parameters.noise.offset == told.offset


@pytest.mark.parametrize("channels", [None, 3])
def test_enlarging_counts(channels):
    clean = cells(size=192, seed=28)
    if channels:
        clean = np.stack([clean, clean[::-1], clean.T], axis=-1)
    model = pp.models.SuperResolution(2, pp.kernels.gaussian(7, sigma=1.2), boundary="reflect")
    y = counted(model.forward(clean), 100)
    axis = None if channels is None else -1
    known = pp.PoissonGaussian(1 / UNIT, READ / UNIT, offset=OFFSET / UNIT)
    result = pp.restore(y, model, noise=known, denoiser="nlm", channel_axis=axis)
    term = model.data_term(y / UNIT)
    assert result.image.shape == clean.shape
    assert psnr_of(result.image, clean, 100) > psnr_of(term.crop(term.start()), clean, 100) + 1.5
    found = pp.prepare(y, model, noise=pp.PoissonGaussian(), channel_axis=axis).parameters.noise
    assert found.gain * UNIT == pytest.approx(1.0, rel=0.25)


def test_models_that_do_not_know_photons_say_so():
    model = pp.models.Linear(np.eye(256), shape=(16, 16))
    with pytest.raises(ValueError, match="has a poisson_term; for Linear give the standard deviation"):
        pp.restore(np.ones((16, 16)), model, noise=pp.PoissonGaussian(0.1, 0.1), denoiser="tv")


@pytest.mark.parametrize("words", [("deblur", "--kernel", "gaussian:1.5"), ("upscale", "--factor", "2")])
def test_command_line(words, tmp_path, run):
    _, _, y = blurred_cells(60, 1.5, 29)
    tifffile.imwrite(tmp_path / "cells.tif", y)
    verb, *options = words
    done = run(verb, tmp_path / "cells.tif", "-o", tmp_path / "out.tif", *options, "--noise", "poisson", "--json")
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout.splitlines()[-1])
    assert record["pages"][0]["parameters"]["noise"]["kind"] == "PoissonGaussian"
    # Sixty counts are so few levels that rounding to them would show.
    assert "so few that rounding shows" in done.stderr
    assert tifffile.imread(tmp_path / "out.tif").dtype == np.float32


def nuclei(seed, size=160, sigma=1.6, photons=250, gain=2):
    """Return the counts of blurred smooth nuclei on black, the truth in the same unit, and the kernel."""
    rng = np.random.default_rng(seed)
    rows, columns = np.indices((size, size))
    clean = np.zeros((size, size))
    for _ in range(8):
        (row, column), radius = rng.uniform(20, size - 20, 2), rng.uniform(6, 11)
        clean += rng.uniform(0.4, 1) / (1 + np.exp((np.hypot(rows - row, columns - column) - radius) / 0.7))
    clean *= photons / clean.max()
    kernel = pp.kernels.gaussian(15, sigma=sigma)
    counts = gain * rng.poisson(ndimage.convolve(clean, kernel)) + 3 * rng.normal(size=clean.shape) + OFFSET
    return np.round(counts).clip(0).astype(np.uint16), gain * clean + OFFSET, kernel


@pytest.mark.parametrize("seed", [41, 42])
def test_nuclei_are_no_stars_and_their_noise_is_left_as_measured(seed):
    y, truth, kernel = nuclei(seed)
    result = pp.deblur(y, kernel)
    assert not any("bright points" in told or "contradict" in told or "less noise" in told for told in result.warnings)
    assert result.status is pp.Status.CONVERGED
    assert result.parameters.noise.gain * UNIT == pytest.approx(2, rel=0.2)
    restored = UNIT * result.image
    assert pp.psnr(restored / 500, truth / 500) > pp.psnr(y / 500, truth / 500) + 5
    # The background keeps its level.
    assert np.mean((restored - truth)[truth < OFFSET + 1]) == pytest.approx(0, abs=0.2)


def test_given_noise_is_lowered_only_as_far_as_bright_places_confirm():
    y, truth, kernel = nuclei(43)

    def quality(gain, read, offset=OFFSET):
        result = pp.deblur(y, kernel, noise=pp.PoissonGaussian(gain / UNIT, read / UNIT, offset=offset / UNIT))
        return pp.psnr(UNIT * result.image / 500, truth / 500), result

    true, result = quality(2, 3)
    assert not any("less noise" in told for told in result.warnings)
    # Twice the noise everywhere is noticed; a forgotten offset is far too much only where it is dark.
    for found, result in (quality(8, 6), quality(2, 3, offset=0)):
        assert found > true - 1.5
        assert result.parameters.noise.read * UNIT >= 3


def test_smooth_images_with_much_light_are_not_made_worse():
    """Lambda is rehearsed, because these have little detail, and what is lost in the dark is no noise."""
    kernel = pp.kernels.gaussian(15, sigma=1.8)
    for image in (data.cell()[200:360, 200:360], data.camera()[80:240, 130:290]):
        clean = image / 255.0
        rng = np.random.default_rng(7)
        y = np.round(rng.poisson(2e4 * ndimage.convolve(clean, kernel)) + READ * rng.normal(size=clean.shape) + OFFSET)
        y = y.clip(0).astype(np.uint16)
        result = pp.deblur(y, kernel)
        assert psnr_of(result.image, clean, 2e4) > pp.psnr((y - float(OFFSET)) / 2e4, clean) + 2
        assert result.parameters.noise.gain * UNIT < 1.5
