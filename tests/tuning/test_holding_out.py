"""Noise told from texture by samples that are held out."""

import numpy as np
import pytest
from skimage import data

import plugplay as pp
from plugplay.noise.finding import find_noise
from plugplay.tuning.decimation import noise_found
from plugplay.tuning.holding_out import EVERY, foretold, speaks_of_noise

NARROW = pp.kernels.gaussian(9, sigma=1.0)


def gravel(size=192):
    """A texture that has detail everywhere."""
    return data.gravel()[32:, 480 - size :][:size, :size] / 255


def told(y, model):
    """What a restoration that is told nothing assumes."""
    return pp.prepare(y, model, denoiser="tv").parameters.noise


@pytest.mark.parametrize("factor", [2, 3, 4])
def test_samples_of_a_texture_speak_against_noise_that_is_not_there(factor):
    camera = pp.models.SuperResolution(factor)
    noisy = camera.simulate(gravel(), noise=10 / 255, rng=0)
    assert foretold(noisy, camera) < foretold(camera.forward(gravel()), camera) - 0.02


@pytest.mark.parametrize("factor", [2, 3, 4])
def test_texture_is_restored_without_noise(factor):
    camera = pp.models.SuperResolution(factor)
    y = camera.forward(gravel())
    traits, found = camera.traits(y), find_noise(y)
    assert noise_found(y, traits, found).level > 3 / 255  # neither blocks nor spectrum nor a denoising know
    assert told(y, camera) < 2 / 255


def test_texture_with_noise_is_restored_with_noise():
    camera = pp.models.SuperResolution(2)
    assert told(camera.simulate(gravel(), noise=5 / 255, rng=0), camera) > 4 / 255


def test_restored_texture_is_closer_to_the_truth():
    camera, x = pp.models.SuperResolution(2), gravel()
    y = camera.forward(x)
    assumed = noise_found(y, camera.traits(y), find_noise(y)).level
    automatic, before = pp.restore(y, camera), pp.restore(y, camera, noise=assumed)
    assert pp.psnr(automatic.image, x) > pp.psnr(before.image, x) + 0.3


def test_colours_speak_as_their_noise_does():
    camera, x = pp.models.SuperResolution(2), gravel()
    gray = camera.simulate(x, noise=5 / 255, rng=0)
    rng = np.random.default_rng(1)
    colour = camera.forward(x)[..., None] + 5 / 255 * rng.standard_normal((*gray.shape, 3))
    assert foretold(colour, camera) < 0.965
    assert foretold(gray, camera) < 0.965


@pytest.mark.parametrize("boundary", ["circular", "reflect", "unknown"])
def test_part_of_a_large_image_speaks_for_it(boundary):
    camera = pp.models.SuperResolution(2, boundary=boundary)
    x = np.tile(gravel(256), (1, 2))
    y = pp.models.SuperResolution(2).forward(x)
    assert foretold(y, camera) > 0.985
    assert foretold(y + np.random.default_rng(0).normal(0, 6 / 255, y.shape), camera) < 0.965


def test_samples_held_out_have_no_say_in_the_restoration():
    """Spoiling one value of a sample that is held out changes its own error only, by the same in both runs."""
    camera, x = pp.models.SuperResolution(2), gravel(96)
    y = camera.forward(x)
    spoiled = y.copy()
    rows, columns = np.indices(y.shape)
    spoiled[(rows + 2 * columns) % EVERY == 0] += 1000.0
    # Against errors of a thousand those of both restorations are nothing.
    assert foretold(spoiled, camera) == pytest.approx(1.0, abs=1e-3)
    assert abs(foretold(y, camera) - 1) > 1e-3


def test_kernels_that_fold_nearly_everything_are_not_asked():
    y = np.zeros((8, 8))
    asked = {
        (factor, name): speaks_of_noise(model := pp.models.SuperResolution(factor, kernel), model.traits(y))
        for factor in (2, 3, 4)
        for name, kernel in (("bicubic", "bicubic"), ("narrow", NARROW))
    }
    assert [key for key, asks in asked.items() if not asks] == [(4, "narrow")]


def test_models_that_take_no_mask_are_not_asked():
    class Plain:
        """A decimation of somebody else's."""

        def __init__(self):
            self.inner = pp.models.SuperResolution(2)

        def data_term(self, y):
            return self.inner.data_term(y)

        def traits(self, y):
            return self.inner.traits(y)

    model = Plain()
    y = model.inner.forward(gravel(96))
    assert not speaks_of_noise(model, model.traits(y))
    assert told(y, model) > 0


def test_photographs_with_usual_noise_by_four_are_told_about_it():
    x = data.coffee()[100:292, 200:392].mean(axis=-1) / 255
    camera = pp.models.SuperResolution(4, NARROW)
    assert told(camera.simulate(x, noise=5 / 255, rng=0), camera) == pytest.approx(5 / 255, rel=0.2)
