"""Other ways to take the model's step, against the closed form."""

from dataclasses import replace

import numpy as np
import pytest

import plugplay as pp
from plugplay_paper.methods import PlugAndPlay
from plugplay_paper.model_steps import ClosedForm, ConjugateGradients, TwoSplits
from plugplay_paper.problems import Degraded

GAUSSIAN = pp.kernels.gaussian(9, sigma=1.0)
METHOD = PlugAndPlay(lam=1e-4, schedule=pp.Monotone(rho0=1e-5, gamma=1.5), denoiser="tv")


@pytest.fixture(params=[(2, "bicubic"), (4, GAUSSIAN)], ids=["x2", "x4"])
def problem(request):
    factor, kernel = request.param
    return Degraded("degraded", pp.models.SuperResolution(factor, kernel), 0.02)


def test_inner_conjugate_gradients_give_the_same_result(small, problem):
    """Step by step to the accuracy that was asked for, and after a whole run."""
    observation = problem.observe(small.pixels, seed=0)
    exact, other = (step.data_term(problem.model, observation.y) for step in (ClosedForm(), ConjugateGradients()))
    v = exact.start() + np.random.default_rng(0).normal(scale=0.1, size=exact.shape).astype(np.float32)
    for rho in (1e-5, 1e-2, 10.0):
        expected = exact.prox(v.astype(np.float64), rho)
        np.testing.assert_allclose(other.prox(v, rho), expected, atol=1e-3)
    runs = [replace(METHOD, step=step).restore(observation) for step in (ClosedForm(), ConjugateGradients())]
    assert runs[0].iterations == runs[1].iterations
    assert pp.psnr(runs[1].image, runs[0].image) > 60


def test_less_accuracy_is_less_accurate(small, problem):
    y = problem.observe(small.pixels, seed=0).y
    exact = problem.model.data_term(y)
    expected = exact.prox(exact.start(), 1e-3)
    errors = [
        np.abs(ConjugateGradients(accuracy).data_term(problem.model, y).prox(exact.start(), 1e-3) - expected).max()
        for accuracy in (1.0, 1e-2, 1e-4)
    ]
    assert errors[0] > errors[1] > errors[2]


@pytest.mark.parametrize("channels", [(), (3,)])
def test_passes_of_the_two_splits_lead_to_the_closed_form(problem, channels):
    """While v and rho stay, they are ADMM for the model's step alone, which is convex."""
    rng = np.random.default_rng(0)
    y = problem.model.simulate(rng.random((32, 24, *channels)))
    exact = problem.model.data_term(y)
    v = rng.random(exact.shape)
    session = TwoSplits(0.1).data_term(problem.model, y).session()
    solution = exact.prox(v, 0.05)
    errors = [np.abs(session.prox(v, 0.05) - solution).max() for _ in range(600)]
    assert errors[0] > 1e-2
    assert errors[-1] < 1e-5


def test_one_pass_for_each_iteration(small, problem):
    """A whole run is not the closed form's, but comes near."""
    observation = problem.observe(small.pixels, seed=0)
    plain = METHOD.restore(observation).image
    split = replace(METHOD, step=TwoSplits(0.1)).restore(observation).image
    assert not np.array_equal(split, plain)
    start = observation.data_term().start()
    assert pp.psnr(split, plain) > pp.psnr(start, plain) + 3


@pytest.mark.parametrize(
    "model", [pp.models.Denoising(), pp.models.SuperResolution(2, boundary="unknown"), pp.models.SinglePhoton(2)]
)
def test_two_splits_are_for_circular_super_resolution(model):
    with pytest.raises(TypeError, match="for super-resolution on a circular domain"):
        TwoSplits(0.1).data_term(model, np.zeros((8, 8)))
