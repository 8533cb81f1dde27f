"""Algorithm 1: its equations, its stopping, its promises."""

import math

import numpy as np
import pytest

import plugplay as pp

SCHEDULE = pp.Monotone(rho0=0.1, gamma=1.3)


def shrink(image, sigma):
    """Denoise by linear shrinkage, a bounded denoiser on [0, 1]: |D(x) - x| <= sigma."""
    return image / (1 + sigma)


@pytest.fixture
def term(camera):
    model = pp.models.Deblurring(pp.kernels.gaussian(7, sigma=1.5))
    return model.data_term(model.simulate(camera[:48, :40], noise=0.02, rng=0))


def test_the_loop_is_the_paper_s_algorithm(term):
    """Write Algorithm 1 out by hand, with the adaptive rule and the clip, and compare every iterate."""
    rho0, gamma, eta, lam = 1e-2, 1.7, 0.8, 1e-3
    seen = []
    result = pp.pnp_admm(
        term,
        shrink,
        schedule=pp.Adaptive(rho0=rho0, gamma=gamma, eta=eta),
        lam=lam,
        tol=0.0,
        max_iter=12,
        callback=seen.append,
    )
    x = v = term.start()
    u, rho, previous, n = np.zeros_like(x), rho0, None, x.size
    for k in range(12):
        x_new = term.prox(v - u, rho)
        v_new = shrink(np.clip(x_new + u, 0, 1), math.sqrt(lam / rho))
        u_new = u + x_new - v_new
        delta = (np.linalg.norm(x_new - x) + np.linalg.norm(v_new - v) + np.linalg.norm(u_new - u)) / math.sqrt(n)
        x, v, u = x_new, v_new, u_new
        np.testing.assert_allclose(seen[k].x, x, atol=1e-12)
        np.testing.assert_allclose(seen[k].v, v, atol=1e-12)
        np.testing.assert_allclose(seen[k].u, u, atol=1e-12)
        assert result.history.rho[k] == pytest.approx(rho)
        assert result.history.sigma[k] == pytest.approx(math.sqrt(lam / rho))
        assert result.history.delta[k] == pytest.approx(delta)
        assert result.history.fidelity[k] == pytest.approx(term.value(x))
        if previous is None or delta >= eta * previous:
            rho *= gamma
        previous = delta
    assert len(set(result.history.rho)) < 12  # both cases of the rule have occurred
    np.testing.assert_array_equal(result.image, seen[-1].v)


def test_history_records_what_the_theory_needs(term):
    states = []
    result = pp.pnp_admm(
        term, shrink, schedule=SCHEDULE, lam=0.1, tol=0, max_iter=3, callback=states.append, clip=(0.2, 0.6)
    )
    before, after = states[1], states[2]
    w = after.x + before.u
    rms = lambda array: math.sqrt(np.mean(array**2))  # noqa: E731
    assert result.history.model_move[2] == pytest.approx(rms(after.x - (before.v - before.u)))
    assert result.history.denoiser_move[2] == pytest.approx(rms(after.v - np.clip(w, 0.2, 0.6)))
    assert result.history.clip_move[2] == pytest.approx(rms(w - np.clip(w, 0.2, 0.6)))
    assert result.history.clip_move[2] > 0
    assert result.history.dual[2] == pytest.approx(rms(after.u))
    assert (result.history.seconds > 0).all()


@pytest.mark.parametrize("stop_rule", ["sum", "max"])
def test_stopping_rules(term, stop_rule):
    tol = 1e-2
    result = pp.pnp_admm(term, shrink, schedule=SCHEDULE, lam=1e-3, tol=tol, stop_rule=stop_rule)
    assert result.status is pp.Status.CONVERGED
    h = result.history
    measure = h.delta / tol if stop_rule == "sum" else np.max([h.dx, h.dv, h.du], axis=0) / (tol / 3)
    assert measure[-1] <= 1
    assert (measure[:-1] > 1).all()
    np.testing.assert_allclose(h.delta, h.dx + h.dv + h.du)


def test_iteration_limit_and_resuming_give_the_same_bits(term, tmp_path):
    options = {"schedule": SCHEDULE, "lam": 1e-3, "tol": 0.0}
    whole = pp.pnp_admm(term, shrink, max_iter=9, **options)
    assert whole.status is pp.Status.MAX_ITERATIONS
    half = pp.pnp_admm(term, shrink, max_iter=4, **options)
    half.state.save(tmp_path / "state.npz")
    resumed = pp.pnp_admm(term, shrink, max_iter=9, start=pp.State.load(tmp_path / "state.npz"), **options)
    assert resumed.image.tobytes() == whole.image.tobytes()
    assert len(resumed.history) == 9
    np.testing.assert_array_equal(resumed.history.delta, whole.history.delta)


def test_no_iterations_returns_the_start(term):
    result = pp.pnp_admm(term, shrink, schedule=SCHEDULE, lam=1e-3, max_iter=0)
    np.testing.assert_array_equal(result.image, term.start())
    assert result.status is pp.Status.MAX_ITERATIONS


def test_callback_may_stop(term):
    def watch(state):
        if state.iteration == 3:
            raise StopIteration

    result = pp.pnp_admm(term, shrink, schedule=SCHEDULE, lam=1e-3, tol=0, callback=watch)
    assert result.status is pp.Status.STOPPED
    assert len(result.history) == 3
    assert "start=result.state" in str(result.status)


def test_start_from_anything(term, camera):
    start = np.random.default_rng(0).random(term.shape)
    result = pp.pnp_admm(term, shrink, schedule=SCHEDULE, lam=1e-3, max_iter=1, start=start)
    np.testing.assert_allclose(result.state.x, term.prox(start, SCHEDULE.rho0), atol=1e-13)
    assert (
        pp.pnp_admm(term, shrink, schedule=SCHEDULE, lam=1e-3, start=start.astype(np.float32)).image.dtype == np.float32
    )


@pytest.mark.parametrize("clip", [(0.0, 1.0), (-0.5, 2.0), None])
def test_clip_of_the_denoiser_s_input(term, clip):
    inputs = []

    def record(image, sigma):
        inputs.append(image.copy())
        return image

    pp.pnp_admm(term, record, schedule=SCHEDULE, lam=1e-3, start=np.full(term.shape, 5.0), max_iter=2, clip=clip)
    if clip is None:
        assert inputs[0].max() > 1
    else:
        assert inputs[0].min() >= clip[0]
        assert inputs[0].max() <= clip[1]


def test_growing_iterates_end_with_the_last_sound_one(term):
    states = []
    result = pp.pnp_admm(
        term, lambda image, sigma: 30 * image + 1, schedule=pp.Constant(1.0), lam=1.0, clip=None, callback=states.append
    )
    assert result.status is pp.Status.DIVERGED
    assert "not bounded" in str(result.status).replace("probably not \nbounded", "not bounded")
    np.testing.assert_array_equal(result.image, states[-1].v)
    assert np.isfinite(result.image).all()
    assert np.sqrt(np.mean(result.image**2)) <= 1e3


def test_explosion_at_once_returns_the_start(term):
    result = pp.pnp_admm(term, lambda image, sigma: image * 1e200, schedule=SCHEDULE, lam=1.0)
    assert result.status is pp.Status.DIVERGED
    np.testing.assert_array_equal(result.image, term.start())


def poison(image, sigma):
    return np.full_like(image, np.nan)


@pytest.mark.parametrize(
    ("denoiser", "error", "message"),
    [
        (poison, ValueError, "denoiser 'poison' at iteration 1 (sigma 0.1) returned NaN or infinite values"),
        (lambda image, sigma: image[1:], ValueError, "returned the shape (47, 40) for an image of shape (48, 40)"),
        (lambda image, sigma: (image * 255).astype(np.uint8), TypeError, "returned an array of dtype uint8"),
        (lambda image, sigma: None, TypeError, "returned an array of dtype object"),
    ],
)
def test_bad_denoisers_are_named(term, denoiser, error, message):
    with pytest.raises(error) as caught:
        pp.pnp_admm(term, denoiser, schedule=SCHEDULE, lam=1e-3)
    assert message in str(caught.value)


def test_a_denoiser_that_works_in_place_is_told_to_copy(term):
    def in_place(image, sigma):
        image *= 0.9
        return image

    with pytest.raises(ValueError, match="copy the input first"):
        pp.pnp_admm(term, in_place, schedule=SCHEDULE, lam=1e-2)


@pytest.mark.parametrize(
    ("raised", "seen"), [(RuntimeError, RuntimeError), (ValueError, ValueError), (KeyError, RuntimeError)]
)
def test_a_denoiser_s_own_error_names_it_and_the_iteration(term, raised, seen):
    def broken(image, sigma):
        if sigma < 0.09:  # the second iteration
            raise raised("out of cheese")
        return image

    with pytest.raises(seen) as caught:
        pp.pnp_admm(term, broken, schedule=SCHEDULE, lam=1e-3)
    assert f"denoiser 'broken' at iteration 2 (sigma 0.0877) raised {raised.__name__}: " in str(caught.value)
    assert "out of cheese" in str(caught.value)
    assert isinstance(caught.value.__cause__, raised)


def test_a_denoiser_cannot_spoil_the_iterates(term):
    def vandal(image, sigma):
        with pytest.raises(ValueError, match="read-only"):
            image[:] = 0
        return image

    assert pp.pnp_admm(term, vandal, schedule=SCHEDULE, lam=1e-3).status is pp.Status.CONVERGED


def test_reused_buffers_do_no_harm(term):
    buffer = np.empty(term.shape)

    def thrifty(image, sigma):
        np.divide(image, 1 + sigma, out=buffer)
        return buffer

    options = {"schedule": SCHEDULE, "lam": 1e-3}
    np.testing.assert_array_equal(
        pp.pnp_admm(term, thrifty, **options).image, pp.pnp_admm(term, shrink, **options).image
    )


def test_a_session_is_opened_once_per_run(term):
    class Remembering:
        name = "remembering"
        opened = 0

        def __call__(self, image, sigma):
            raise AssertionError("the session must be called, not the denoiser")

        def session(self):
            self.opened += 1
            return shrink

    denoiser = Remembering()
    result = pp.pnp_admm(term, denoiser, schedule=SCHEDULE, lam=1e-3, max_iter=5)
    assert denoiser.opened == 1
    assert result.parameters.denoiser == "remembering"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lam": 0.0}, "lam must be > 0; got 0.0"),
        ({"lam": "big"}, "lam must be a number; got 'big'"),
        ({"tol": -1.0}, "tol must be >= 0"),
        ({"max_iter": 2.5}, "max_iter must be an integer; got 2.5"),
        ({"max_iter": -1}, "max_iter must be an integer >= 0"),
        ({"stop_rule": "mean"}, "stop_rule must be one of 'sum', 'max'; got 'mean'"),
        ({"clip": (1.0, 0.0)}, "low < high"),
        ({"clip": 3}, "clip must be a pair (low, high); got 3"),
        ({"start": np.zeros((3, 3))}, "start has the shape (3, 3), but the unknown image has (48, 40)"),
        ({"start": np.zeros((48, 40), int)}, "floats on the scale [0, 1]"),
        ({"reference": np.zeros((2, 2))}, "reference has the shape (2, 2)"),
    ],
)
def test_bad_options(term, options, message):
    with pytest.raises((ValueError, TypeError)) as caught:
        pp.pnp_admm(term, shrink, **{"schedule": SCHEDULE, "lam": 1e-3, **options})
    assert message in str(caught.value)


def test_names_and_typos_are_refused(term):
    with pytest.raises(TypeError, match="denoisers.get makes one from a name"):
        pp.pnp_admm(term, "tv", schedule=SCHEDULE, lam=1e-3)
    with pytest.raises(TypeError, match="lamda"):
        pp.pnp_admm(term, shrink, schedule=SCHEDULE, lam=1e-3, lamda=1)
