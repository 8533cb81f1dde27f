"""The iterations beside ADMM: their formulas step by step, where they come to rest, and the one driver behind all."""

import numpy as np
import pytest

import plugplay as pp
from plugplay.pnp.driver import Driver
from plugplay.pnp.gradient import FISTA
from plugplay.pnp.iterations import ITERATIONS, get_iteration
from plugplay.pnp.results import Parameters

NAMES = tuple(ITERATIONS)


def shrink(image, sigma):
    return image / (1 + sigma)


@pytest.fixture(scope="module")
def term():
    rng = np.random.default_rng(0)
    return pp.models.Deblurring(pp.kernels.box(3) * 1.4).data_term(rng.random((9, 8)))


def parameters(name, **changes):
    schedule = changes.pop("schedule", pp.Monotone(rho0=0.3, gamma=1.2))
    return Parameters("shrink", schedule, 0.02, 0.0, 5, "sum", None, iteration=name, **changes)


def run(term, name, **changes):
    return Driver(term, shrink, get_iteration(name), parameters(name, **changes)).run()


def by_hand(term, name, passes=5):
    """The formulas of the documentation, in a plain loop."""
    x = v = z = term.start()
    u = np.zeros_like(v)
    rho, t = 0.3, 1.0
    lipschitz = 1.4**2  # of a kernel of that sum without negative weights
    for _ in range(passes):
        sigma = np.sqrt(0.02 / rho)
        if name == "admm":
            x = term.prox(v - u, rho)
            v = shrink(x + u, sigma)
            u = u + x - v
        elif name == "hqs":
            x = term.prox(v, rho)
            v = shrink(x, sigma)
        elif name in ("pgd", "fista"):
            x = z - term.gradient(z) / lipschitz
            before, v = v, shrink(x, sigma)
            after = (1 + np.sqrt(1 + 4 * t * t)) / 2
            z = v + (t - 1) / after * (v - before) if name == "fista" else v
            t = after
        else:
            v = shrink(x, sigma)
            x = x - (term.gradient(x) + rho * (x - v)) / (lipschitz + rho)
        rho *= 1.2
    return x if name == "red" else v


@pytest.mark.parametrize("name", NAMES)
def test_each_iteration_is_its_formula(term, name):
    np.testing.assert_allclose(run(term, name).image, by_hand(term, name), atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_each_iteration_comes_to_rest_where_its_formula_says(name):
    """With rho constant and D linear, D(x) = x / (1 + sigma), all fixed points can be written down."""
    y = np.random.default_rng(1).random((6, 5))
    term = pp.models.Denoising().data_term(y)
    rho, sigma = 0.5, np.sqrt(0.02 / 0.5)
    driver = Driver(
        term,
        shrink,
        get_iteration(name),
        Parameters("shrink", pp.Constant(rho), 0.02, 1e-13, 5000, "sum", None, iteration=name),
    )
    result = driver.run()
    fixed = {
        # x = v and (x - y) + rho u = 0 with v = (v + u) / (1 + sigma), that is, u = sigma v.
        "admm": y / (1 + rho * sigma),
        # x = (y + rho v) / (1 + rho), v = x / (1 + sigma).
        "hqs": y / ((1 + sigma) * (1 + rho) - rho),
        # The gradient step from anywhere is y.
        "pgd": y / (1 + sigma),
        "fista": y / (1 + sigma),
        # x - y + rho (x - x / (1 + sigma)) = 0.
        "red": y / (1 + rho * sigma / (1 + sigma)),
    }[name]
    assert result.status is pp.Status.CONVERGED
    np.testing.assert_allclose(result.image, fixed, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_each_iteration_restores(name, camera):
    x = camera[:64, :64]
    model = pp.models.Deblurring(pp.kernels.gaussian(7, sigma=1.2))
    y = model.simulate(x, noise=0.02, rng=0)
    result = pp.restore(y, model, denoiser="tv", iteration=name, noise=0.02)
    assert result.parameters.iteration == name
    assert pp.psnr(result.image, x) > pp.psnr(y, x) + 0.5
    assert np.isnan(result.history.dual).all() == (name != "admm")


def test_a_dozen_passes_of_half_quadratic_splitting_do(camera):
    model = pp.models.Deblurring(pp.kernels.gaussian(7, sigma=1.2))
    y = model.simulate(camera, noise=0.02, rng=0)
    hqs = pp.restore(y, model, iteration="hqs", noise=0.02)
    admm = pp.restore(y, model, noise=0.02)
    assert len(hqs.history) <= 12 < len(admm.history)
    assert pp.psnr(hqs.image, camera) > pp.psnr(admm.image, camera) - 0.5


@pytest.mark.parametrize("name", ["pgd", "fista", "red"])
def test_photons_have_no_gradient_to_follow(name):
    bits = np.random.default_rng(2).random((16, 16)) < 0.5
    with pytest.raises(ValueError, match="use iteration='admm' or 'hqs'"):
        pp.single_photon(bits, oversampling=2, denoiser="tv", iteration=name)


def test_momentum_follows_from_the_number_of_the_pass():
    """A resumed run goes on with the momentum it had."""
    y = np.random.default_rng(3).random((12, 12))
    options = {"denoiser": "tv", "iteration": "fista", "lam": 0.002, "schedule": pp.Monotone(rho0=0.1, gamma=1.1)}
    model = pp.models.Deblurring(pp.kernels.box(3))
    whole = pp.restore(y, model, **options, max_iter=8, tol=0)
    half = pp.restore(y, model, **options, max_iter=3, tol=0)
    resumed = pp.restore(y, model, **options, max_iter=8, tol=0, start=half.state)
    assert whole.image.tobytes() == resumed.image.tobytes()
    assert FISTA().momentum(0) == 0.0


def test_an_iteration_of_ones_own_is_one_class(camera):
    class HalfSteps:
        """HQS that goes only half of the way to the denoised image."""

        name = "half-steps"

        def init(self, first, rho):
            return get_iteration("hqs").init(first, rho)

        def step(self, problem, state):
            from plugplay.pnp.iterations import Pass

            x = problem.prox(state.v, state.rho)
            v = 0.5 * (x + problem.denoise(problem.clipped(x), problem.sigma(state.rho)))
            return Pass(x, v, np.zeros_like(v))

        def image(self, state):
            return state.v

    y = camera[:32, :32]
    result = pp.restore(y, pp.models.Deblurring(pp.kernels.box(3)), denoiser="tv", iteration=HalfSteps(), noise=0.02)
    assert result.parameters.iteration == "half-steps"
    assert np.isfinite(result.history.delta).all()


def test_certificates_speak_of_admm_only(camera):
    model = pp.models.Deblurring(pp.kernels.box(3))
    result = pp.restore(camera[:24, :24], model, denoiser="tv", iteration="hqs", noise=0.02)
    with pytest.raises(ValueError, match="Theorem 1 is about Plug-and-Play ADMM"):
        pp.certify(result, model.data_term(camera[:24, :24]))


@pytest.mark.parametrize("name", sorted(ITERATIONS))
@pytest.mark.parametrize("colour", [False, True])
def test_a_mirrored_margin_is_not_denoised(name, colour):
    """The denoiser sees the frame alone, and v is its result, continued by reflection."""
    camera = pp.models.SuperResolution(2, boundary="reflect")
    y = camera.simulate(np.random.default_rng(0).random((20, 26, 3) if colour else (20, 26)))
    seen = []

    def smooth(image, sigma):
        seen.append(image.shape)
        return image / (1 + sigma)

    plan = pp.prepare(
        y, camera, denoiser=smooth, iteration=name, noise=0.01, max_iter=3, channel_axis=-1 if colour else None
    )
    *_, state = plan.iterate()
    frame = (20, 26, 3) if colour else (20, 26)
    assert set(seen) == {frame}
    assert plan.image(state).shape == frame
    assert state.x.shape[0] > 20
    if name in ("admm", "hqs"):
        before, margin = state.v.shape[0] - 20, 8
        np.testing.assert_array_equal(state.v[:margin], state.v[margin : 2 * margin][::-1])
        after = before - margin
        np.testing.assert_array_equal(state.v[20 + margin :], state.v[20 + margin - after : 20 + margin][::-1])
