"""Automatic runs have a planned length; those with a given tolerance end where that is reached."""

import math

import numpy as np
import pytest
from skimage import data

import plugplay as pp
from plugplay.traits import Traits
from plugplay.tuning.length import planned_iterations

BLUR = pp.models.Deblurring(pp.kernels.disk(2))
HOLES = pp.models.Inpainting(np.random.default_rng(1).random((48, 48)) < 0.7)
IMAGES = [
    image / 255 for image in (data.brick()[:48, :48], data.coins()[40:88, 40:88], data.camera()[100:148, 200:248])
]


@pytest.mark.parametrize("model", [BLUR, HOLES, pp.models.SuperResolution(2)])
@pytest.mark.parametrize("image", IMAGES)
def test_images_take_as_many_iterations_as_were_planned(model, image):
    plan = pp.prepare(model.simulate(image, noise=0.02, rng=0), model, denoiser="tv", noise=0.02)
    result = plan.run()
    assert 10 < len(result.history) == plan.parameters.min_iter < plan.parameters.max_iter
    assert result.status is pp.Status.CONVERGED
    assert result.history.delta[-1] <= result.parameters.tol


def test_a_given_tolerance_ends_a_run_as_soon_as_it_is_reached():
    y = BLUR.simulate(IMAGES[0], noise=0.02, rng=0)
    planned = pp.restore(y, BLUR, denoiser="tv", noise=0.02)
    for tol in (0.02, 5e-4):
        result = pp.restore(y, BLUR, denoiser="tv", noise=0.02, tol=tol)
        assert (result.status, result.parameters.min_iter) == (pp.Status.CONVERGED, 0)
        assert result.history.delta[-1] <= tol < result.history.delta[:-1].min()
        assert (len(result.history) < len(planned.history)) == (tol == 0.02)


@pytest.mark.parametrize("options", [{"schedule": pp.Monotone(rho0=1e-3, gamma=2.0)}, {"iteration": "hqs"}])
def test_other_runs_are_not_planned(options):
    y = BLUR.simulate(IMAGES[0], noise=0.02, rng=0)
    assert pp.prepare(y, BLUR, denoiser="tv", noise=0.02, **options).parameters.min_iter == 0


class Restless:
    """Adds and takes away light in turn, for some calls."""

    def __init__(self, calls):
        self.calls, self.done, self.smooth = calls, 0, pp.denoisers.get("tv")

    def __call__(self, image, sigma):
        self.done += 1
        return self.smooth(image, sigma) + (0.004 * (-1) ** self.done if self.done <= self.calls else 0.0)


@pytest.mark.parametrize("more", [3, 100])
def test_a_run_that_has_not_settled_goes_on(more):
    y = HOLES.simulate(IMAGES[0], noise=0.02, rng=0)
    planned = pp.prepare(y, HOLES, denoiser="tv", noise=0.02).parameters
    result = pp.restore(y, HOLES, denoiser=Restless(planned.min_iter + more), noise=0.02)
    if more == 3:
        assert result.status is pp.Status.CONVERGED
        assert planned.min_iter + 3 <= len(result.history) < planned.max_iter
        assert result.history.delta[-1] <= result.parameters.tol < result.history.delta[-2]
    else:
        assert result.status is pp.Status.MAX_ITERATIONS
        assert len(result.history) == planned.max_iter


def test_a_limit_of_iterations_is_kept():
    y = BLUR.simulate(IMAGES[0], noise=0.02, rng=0)
    result = pp.restore(y, BLUR, denoiser="tv", noise=0.02, max_iter=6)
    assert (len(result.history), result.parameters.min_iter) == (6, 6)


def test_a_state_goes_on_where_it_was():
    y = BLUR.simulate(IMAGES[0], noise=0.02, rng=0)
    plan = pp.prepare(y, BLUR, denoiser="tv", noise=0.02)
    whole = plan.run()
    states = plan.iterate()
    state = [next(states) for _ in range(5)][-1]
    rest = plan.resumed(state).run()
    assert rest.status is whole.status
    np.testing.assert_array_equal(rest.image, whole.image)


def test_a_rerun_with_other_noise_has_a_length_of_its_own():
    y = BLUR.simulate(IMAGES[2], noise=0.02, rng=0)
    plan = pp.prepare(y, BLUR, denoiser="tv", noise=0.01)
    states = list(plan.iterate())
    assert [state.iteration for state in states].count(1) == 2
    assert states[0].planned == plan.parameters.min_iter > states[-1].planned == len(states[-1].history)
    assert plan.run().parameters.min_iter == states[-1].planned


@pytest.mark.parametrize("traits", [Traits(), Traits(decimation=2.0), Traits(weight=1.0)])
@pytest.mark.parametrize("gamma", [1.2, 1.6])
def test_the_last_sigma_is_proportional_to_the_tolerance(traits, gamma):
    """However fast rho grows, to within the half of a step that whole numbers of iterations are off."""
    fall = math.log(gamma) / 2

    def last(tol):
        count = planned_iterations(traits, 0.02, first_sigma=0.3, gamma=gamma, tol=tol)
        return math.log(0.3) - (count - 1) * fall

    assert last(4e-3) - last(1e-3) == pytest.approx(math.log(4), abs=fall)


def test_what_makes_runs_shorter():
    def count(noise=0.02, **options):
        return planned_iterations(Traits(), noise, first_sigma=0.25, gamma=1.6, tol=3e-3, **options)

    assert count() < count(0.002)
    assert count(min_sigma=0.05) < count()
    assert count(coarse=True) < count()
    assert count(min_sigma=0.5) == 1  # not below the first call
