"""Denoising first, then one exact step of the model."""

import pickle

import numpy as np
import pytest

import plugplay as pp
from plugplay.tuning.mild_blur import denoises_first, rho_after_denoising

NOISE = 8 / 255
MILD = pp.kernels.gaussian(9, sigma=0.4)


def observed(camera, model, noise=NOISE):
    return model.simulate(camera[:96, :96], noise=noise, rng=0)


@pytest.mark.parametrize("boundary", ["circular", "reflect", "unknown"])
def test_the_step_minimises_what_the_rule_says(camera, boundary):
    """x is the minimiser for the denoised data, found here by the gradient of both squares."""
    model = pp.models.Deblurring(MILD, boundary=boundary)
    y = camera[:32, :32] + NOISE * np.random.default_rng(0).standard_normal((32, 32))
    shrink = lambda image, sigma: image * (1 - sigma)  # noqa: E731
    plan = pp.prepare(y, model, denoiser=shrink, noise=NOISE)
    result = plan.run()
    used = result.parameters
    assert used.iteration == "denoise-first"
    assert result.history.sigma == pytest.approx(NOISE)
    term = model.data_term(y * (1 - NOISE))
    rho = float(result.history.rho[0])
    slope = term.gradient(result.state.x) + rho * (result.state.x - term.start())
    assert np.abs(slope).max() < 1e-5
    np.testing.assert_array_equal(result.image, term.crop(result.state.x))


def test_rho_is_what_denoising_leaves_over_what_the_blur_took():
    spectra = [
        pp.models.Deblurring(pp.kernels.gaussian(9, sigma=w)).traits(np.zeros((64, 64))) for w in (0.3, 0.4, 0.6)
    ]
    rhos = [rho_after_denoising(traits.spectrum, NOISE) for traits in spectra]
    assert rhos == sorted(rhos, reverse=True)  # the less was taken, the nearer to the denoised data
    assert rho_after_denoising(spectra[1].spectrum, 2 * NOISE) == pytest.approx(4 * rhos[1])


def test_it_is_used_for_mild_blur_only():
    traits = {
        w: pp.models.Deblurring(pp.kernels.gaussian(9, sigma=w)).traits(np.zeros((64, 64))) for w in (0.4, 0.7, 2)
    }
    assert denoises_first(traits[0.4], NOISE)
    assert not denoises_first(traits[0.7], NOISE)
    assert not denoises_first(traits[2], NOISE)
    for model in (pp.models.SuperResolution(2, MILD), pp.models.Denoising(), pp.models.Inpainting(np.eye(64) < 1)):
        assert not denoises_first(model.traits(np.zeros((64, 64))), NOISE)


@pytest.mark.parametrize(
    "options",
    [{"lam": 1e-3}, {"schedule": pp.Monotone(rho0=1e-2, gamma=2.0)}, {"max_iter": 3}, {"iteration": "hqs"}],
    ids=lambda options: next(iter(options)),
)
def test_what_is_given_asks_for_the_loop(options):
    plan = pp.prepare(np.eye(32), pp.models.Deblurring(MILD), denoiser="tv", noise=NOISE, **options)
    assert plan.parameters.iteration != "denoise-first"


@pytest.mark.parametrize("noise", [2 / 255, 8 / 255, 20 / 255])
def test_it_loses_neither_to_one_denoising_nor_to_the_loop(camera, noise):
    model = pp.models.Deblurring(MILD)
    x, y = camera[:96, :96], observed(camera, model, noise)
    first = pp.restore(y, model, noise=noise)
    assert first.parameters.iteration == "denoise-first"
    assert len(first.history) == 1
    alone = pp.denoise(y, noise=noise)
    loop = pp.restore(y, model, noise=noise, max_iter=40)
    assert pp.psnr(first.image, x) > max(pp.psnr(alone.image, x), pp.psnr(loop.image, x)) - 0.02


@pytest.mark.parametrize("kernel", [np.array([[0.0, 0.0, 1.0]]), np.array([[-1.0]])], ids=["shifted", "inverted"])
def test_what_turns_the_phase_is_no_mild_blur(kernel):
    """Though inverting it amplifies nothing."""
    assert not denoises_first(pp.models.Deblurring(kernel).traits(np.zeros((64, 64))), NOISE)


def test_plans_can_be_pickled():
    plan = pp.prepare(np.eye(32), pp.models.Deblurring(MILD), denoiser="tv", noise=NOISE)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(plan)).run().image, plan.run().image)
