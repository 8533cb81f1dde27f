"""The time that is left, foretold on problems the rule was not made for."""

from dataclasses import replace

import numpy as np
import pytest
from skimage import data

import plugplay as pp
from plugplay.pnp.forecast import iterations_left, remaining_iterations, seconds_left
from plugplay.pnp.state import Figures, History

BLUR = pp.models.Deblurring(pp.kernels.disk(2))
PROBLEMS = {
    "disk": BLUR,
    "holes": pp.models.Inpainting(np.random.default_rng(1).random((64, 64)) < 0.7),
    "shrunk": pp.models.SuperResolution(2, pp.kernels.gaussian(7, sigma=1.2)),
}
IMAGES = {
    "brick": data.brick()[:64, :64] / 255,
    "text": data.text()[60:124, 60:124] / 255,
    "moon": data.moon()[200:264, 200:264] / 255,
}


def histories(tolerances):
    """Restore all images; yield the course of each run with its parameters."""
    for image in IMAGES.values():
        for name, model in PROBLEMS.items():
            y = model.simulate(image, noise=0.02, rng=0)
            result = pp.restore(y, model, denoiser="tv", noise=0.02, tol=tolerances.get(name))
            yield result.history.delta.tolist(), result.history.sigma.tolist(), result.parameters


def test_iterations_left_on_other_images():
    """Within 30 % or one iteration from the fourth on, in nine cases of ten, where the tolerance is given."""
    right = []
    for delta, sigma, used in histories({"disk": 2e-3, "holes": 2e-3, "shrunk": 4e-3}):
        for done in range(4, len(delta)):
            left = len(delta) - done
            foretold = iterations_left(delta[:done], sigma[:done], tol=used.tol, max_iter=used.max_iter)
            right.append(abs(foretold - left) <= 0.3 * left + 1)
    assert len(right) > 100
    assert np.mean(right) >= 0.9


def test_iterations_of_an_automatic_run_are_known_from_the_first():
    right = []
    for delta, sigma, used in histories({}):
        for done in range(1, len(delta)):
            left = len(delta) - done
            limits = {"tol": used.tol, "max_iter": used.max_iter, "min_iter": used.min_iter}
            right.append(abs(iterations_left(delta[:done], sigma[:done], **limits) - left) <= max(0.3 * left, 1))
    assert len(right) > 100
    assert np.mean(right) >= 0.95


def timed(state, seconds):
    """Return a state whose iterations took these seconds."""
    return replace(state, history=replace(state.history, seconds=np.array(seconds[: len(state.history)])))


def test_seconds_fall_by_those_of_each_iteration():
    plan = pp.prepare(BLUR.simulate(IMAGES["brick"], noise=0.02, rng=0), BLUR, denoiser="tv", noise=0.02)
    states = [timed(state, [2.0] * 40) for state in plan.iterate()]
    left = [seconds_left(state, plan.parameters) for state in states]
    np.testing.assert_allclose(np.diff(left), -2.0)
    assert 0 <= left[-1] <= 4.0  # looking at the result is all that is left
    assert [remaining_iterations(state, plan.parameters) for state in states] == list(range(len(states)))[::-1]


def test_denoisers_tell_which_calls_take_longer():
    smooth = pp.denoisers.get("tv")

    class Growing:
        """Has another stage below a sigma of 0.05."""

        def __call__(self, image, sigma):
            return smooth(image, sigma)

        def efforts(self, sigmas, *, colour):
            return [3.0 if sigma < 0.05 else 1.0 for sigma in sigmas]

    y = BLUR.simulate(IMAGES["brick"], noise=0.02, rng=0)
    plan = pp.prepare(y, BLUR, denoiser=Growing(), noise=0.02)
    states = list(plan.iterate())
    seconds = np.where(states[-1].history.sigma < 0.05, 3.0, 1.0)
    assert 5 < np.count_nonzero(seconds == 1) < len(seconds) - 5
    for state in states[3:-3]:
        foretold = seconds_left(timed(state, seconds), plan.parameters)
        assert foretold == pytest.approx(seconds[state.iteration :].sum(), rel=0.3)


@pytest.mark.parametrize("tol", [None, 2e-3])
def test_a_run_that_follows_one_on_a_coarse_grid_is_foretold_from_its_first_iteration(tol):
    plan = pp.prepare(np.eye(16), pp.models.Deblurring(pp.kernels.box(3)), denoiser="tv", noise=0.02, tol=tol)
    parameters, some = plan.parameters, next(plan.iterate())

    def iteration(k, level):
        sigma = 0.3 / parameters.schedule.gamma ** (k / 2)
        return Figures(
            rho=0.02**2 / sigma**2, sigma=sigma, delta=0.3 * sigma, dx=0, dv=0, du=0, fidelity=1.0,
            seconds=4.0 if level == 0 else 1.0, level=level,
        )  # fmt: skip

    coarse = [iteration(k, 1) for k in range(8)]
    after = [History.of(coarse + [iteration(k, 0) for k in range(n)]) for n in range(1, 5)]
    left = [seconds_left(replace(some, history=history), parameters) for history in after]
    # As many seconds less as were spent, not those of the longest run that is allowed.
    np.testing.assert_allclose(-np.diff(left), 4.0, rtol=0.5)
    # On the coarse grid those of the full one are still to come.
    state = replace(some, history=History.of(coarse[:4]), planned=8 if tol is None else 0)
    assert seconds_left(state, parameters) > left[0]
    if tol is None:
        assert remaining_iterations(state, parameters) == 4 + parameters.min_iter
        assert seconds_left(state, parameters) == pytest.approx(4 + 4 * parameters.min_iter, rel=0.2)


def test_a_rerun_with_other_noise_is_foretold_by_its_own_length():
    """Light that wraps around where it does not by the model is taken for noise, step by step."""
    image = data.camera()[100:148, 200:248] / 255
    y = pp.models.Deblurring(pp.kernels.box(5)).simulate(image, noise=2 / 255, rng=0)
    plan = pp.prepare(y, pp.models.Deblurring(pp.kernels.box(5), boundary="reflect"), denoiser="tv")
    states = list(plan.iterate())
    numbers = [state.iteration for state in states]
    assert numbers.count(1) > 1
    assert len(states[-1].history) < plan.parameters.min_iter
    last = states[len(numbers) - numbers[::-1].index(1) - 1 :]
    assert [remaining_iterations(state, plan.parameters) for state in last] == list(range(len(last)))[::-1]


@pytest.mark.parametrize(
    ("delta", "sigma", "tol", "expected"),
    [
        ([0.1], [0.2], 1e-3, 39),  # nothing is known yet
        ([0.1, 0.05], [0.2, 0.2], 0.0, 38),  # it will not stop before the limit
        ([0.1, 0.1, 0.1], [0.2] * 3, 1e-3, 37),  # nothing moves
        ([0.08, 0.04, 0.02, 0.01], [0.2] * 4, 1e-3, np.log2(10)),  # a constant schedule: by the trend alone
        ([0.08, 0.04, 0.0005], [0.2] * 3, 1e-3, 0),
    ],
)
def test_special_courses(delta, sigma, tol, expected):
    assert iterations_left(delta, sigma, tol=tol, max_iter=40) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("done", "change", "expected"),
    [
        (1, 1.0, 9),  # as it was planned
        (9, 0.1, 1),  # although it has settled
        (5, 50.0, 5),  # although it has not: there is time
        (9, 8.0, 3),  # it will go on until it has: sigma is halved in each iteration
        (12, 4.0, 2),
        (10, 0.5, 0),
    ],
)
def test_planned_runs(done, change, expected):
    """Of ten iterations, with the last change in units of the tolerance."""
    sigma = [0.5**k for k in range(done)]
    delta = [1.0] * (done - 1) + [change * 1e-3]
    assert iterations_left(delta, sigma, tol=1e-3, max_iter=40, min_iter=10) == pytest.approx(expected)
    assert iterations_left(delta, sigma, tol=1e-3, max_iter=done, min_iter=10) == 0
