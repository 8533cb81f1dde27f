"""The shifted Poisson likelihood behind a blur, against dense matrices, quadrature and a general minimiser."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.stats import poisson

import plugplay as pp
from plugplay.models.likelihoods.poisson import MIN_PHOTONS

NOISE = pp.PoissonGaussian(gain=0.02, read=0.01, offset=0.1)


def seen_by(model, term):
    """Return G as a dense matrix on the term's whole domain, and the observed y."""
    basis = np.eye(int(np.prod(term.shape))).reshape(-1, *term.shape)
    nothing = model.data_term(np.zeros(model.forward(basis[0]).shape))
    observed = np.ones(model.forward(basis[0]).shape, bool) if model.mask is None else model.mask
    return np.stack([nothing.residual(x)[observed] for x in basis], axis=1), observed


def posed(boundary="unknown", factor=1, mask=None, noise=NOISE, seed=0):
    rng = np.random.default_rng(seed)
    kernel = pp.kernels.gaussian(3, sigma=0.8)
    model = pp.models.Deblurring(kernel, boundary=boundary, mask=mask)
    if factor > 1:
        model = pp.models.SuperResolution(factor, kernel, boundary=boundary, mask=mask)
    clean = rng.uniform(0.1, 1.0, (7, 6))
    y = (
        noise.offset
        + noise.gain * rng.poisson((clean - noise.offset) / noise.gain)
        + noise.read * rng.normal(size=clean.shape)
    )
    return model, y, model.poisson_term(y, noise)


@pytest.mark.parametrize("noise", [NOISE, pp.PoissonGaussian(1e-7, 0.05), pp.PoissonGaussian(0.3, 0.0)])
def test_value_is_the_integral_of_the_score(noise):
    model, y, term = posed(noise=noise)
    x = np.random.default_rng(1).uniform(-0.2, 1.0, term.shape)
    matrix, observed = seen_by(model, term)
    floor = max(noise.read**2, MIN_PHOTONS * noise.gain**2)

    def score(u, value):
        return (u - value) / max(noise.gain * (u - noise.offset) + noise.read**2, floor)

    bend = noise.offset + (floor - noise.read**2) / noise.gain
    total = 0.0
    for t, value in zip(matrix @ x.ravel(), y[observed], strict=True):
        inside = [bend] if min(t, value) < bend < max(t, value) else None
        total += quad(score, value, t, args=(value,), points=inside, epsabs=1e-12)[0]
    assert term.value(x) == pytest.approx(term.noise**2 * total, rel=1e-7)


def test_value_is_the_log_likelihood_of_photons():
    kernel = np.ones((1, 1))
    counts = np.random.default_rng(0).poisson(20.0, (5, 5)).astype(float)
    term = pp.models.Deblurring(kernel).poisson_term(counts, pp.PoissonGaussian(1.0, 0.0))
    dim, bright = np.full((5, 5), 15.0), np.full((5, 5), 31.0)
    expected = poisson.logpmf(counts, 15.0).sum() - poisson.logpmf(counts, 31.0).sum()
    assert (term.value(bright) - term.value(dim)) / term.noise**2 == pytest.approx(expected, rel=1e-9)


def test_without_gain_it_is_least_squares():
    model, y, term = posed(noise=pp.PoissonGaussian(1e-9, 0.05))
    least = model.data_term(y)
    x = np.random.default_rng(1).uniform(0, 1, term.shape)
    assert term.noise == pytest.approx(0.05, rel=1e-6)
    assert term.value(x) == pytest.approx(least.value(x), rel=1e-6)
    np.testing.assert_allclose(term.gradient(x), least.gradient(x), atol=1e-6)
    np.testing.assert_allclose(term.prox(x, 0.1), least.prox(x, 0.1), atol=1e-6)


@pytest.mark.parametrize("boundary", ["circular", "reflect", "unknown"])
def test_gradient_is_the_derivative_of_the_value(boundary):
    _, _, term = posed(boundary)
    rng = np.random.default_rng(2)
    x, direction = rng.uniform(-0.1, 1.0, term.shape), rng.normal(size=term.shape)
    h = 1e-6
    slope = (term.value(x + h * direction) - term.value(x - h * direction)) / (2 * h)
    assert np.sum(term.gradient(x) * direction) == pytest.approx(slope, rel=1e-6)


MASK = np.random.default_rng(5).random((7, 6)) < 0.8


@pytest.mark.parametrize(
    ("boundary", "factor", "mask"),
    [("circular", 1, None), ("unknown", 1, None), ("reflect", 1, None), ("unknown", 2, None), ("circular", 1, MASK)],
)
@pytest.mark.parametrize("rho", [0.01, 1.0])
def test_step_minimises_the_objective(boundary, factor, mask, rho):
    _, _, term = posed(boundary, factor, mask)
    v = np.random.default_rng(3).uniform(0, 1, term.shape)
    x = term.prox(v, rho)
    slope = term.gradient(x) + rho * (x - v)
    assert np.abs(slope).max() < 1e-5 * np.abs(term.gradient(v)).max()
    if boundary == "circular" and mask is None:  # another method finds nothing better

        def objective(w):
            return term.value(w.reshape(v.shape)) + rho / 2 * np.sum(np.square(w - v.ravel()))

        other = minimize(objective, v.ravel(), method="L-BFGS-B", options={"maxiter": 200, "maxfun": 20000})
        assert objective(x.ravel()) <= other.fun + 1e-9


def test_repeated_steps_of_a_session_converge_to_the_step():
    _, _, term = posed()
    v = np.random.default_rng(3).uniform(0.2, 1, term.shape)
    session = term.session(1e-9)
    first = session.prox(v, 0.1)
    for _ in range(20):
        last = session.prox(v, 0.1)
    exact = term.prox(v, 0.1)
    np.testing.assert_allclose(last, exact, atol=1e-5)
    assert np.abs(first - exact).max() > 1e-4
    assert session.warnings() == ()


def test_one_step_is_weighted_least_squares():
    model, y, term = posed("circular")
    matrix, _ = seen_by(model, term)
    rho, v = 0.3, np.random.default_rng(3).uniform(0.2, 1, term.shape)
    seen = matrix @ term.start().ravel()
    weights = term.noise**2 / (NOISE.gain * (seen - NOISE.offset) + NOISE.read**2)
    system = matrix.T @ (weights[:, None] * matrix) + rho * np.eye(v.size)
    expected = np.linalg.solve(system, matrix.T @ (weights * y.ravel()) + rho * v.ravel())
    np.testing.assert_allclose(term.session(1e-10).prox(v, rho).ravel(), expected, atol=1e-8)


def test_residual_of_the_truth_is_as_large_as_the_noise_everywhere():
    rng = np.random.default_rng(0)
    clean = np.where(np.arange(128) < 64, 0.2, 1.0) * np.ones((128, 1))
    model = pp.models.Deblurring(pp.kernels.gaussian(5, sigma=1.0), boundary="reflect")
    blurred = model.forward(clean)
    y = 0.1 + 0.02 * rng.poisson((blurred - 0.1) / 0.02) + 0.01 * rng.normal(size=clean.shape)
    term = model.poisson_term(y, NOISE)
    residual = term.residual(term.enter(clean))
    assert residual.shape == y.shape
    for part in (residual[:, 8:56], residual[:, 72:120]):
        assert part.std() == pytest.approx(term.noise, rel=0.05)


def test_colour_and_single_precision():
    rng = np.random.default_rng(0)
    y = rng.poisson(30, (12, 10, 3)).astype(np.float32) / 50
    term = pp.models.Deblurring(pp.kernels.gaussian(3, sigma=0.8), boundary="unknown").poisson_term(
        y, pp.PoissonGaussian(0.02, 0.01)
    )
    v = term.start()
    step = term.session(1e-6).prox(v, 0.1)
    assert step.dtype == np.float32
    assert step.shape == (14, 12, 3)
    for c in range(3):
        one = pp.models.Deblurring(pp.kernels.gaussian(3, sigma=0.8), boundary="unknown").poisson_term(
            y[..., c], pp.PoissonGaussian(0.02, 0.01)
        )
        alone = one.session(1e-6).prox(v[..., c], 0.1)
        # Each alone has its own mean variance, s², by which rho is to be understood.
        same = one.session(1e-6).prox(v[..., c], 0.1 * one.noise**2 / term.noise**2)
        np.testing.assert_allclose(step[..., c], same, atol=1e-4)
        assert alone.shape == same.shape


def test_a_circle_of_any_length_stays_a_circle():
    mask = np.ones((23, 29), bool)
    mask[5:8, 6:9] = False
    model = pp.models.Deblurring(pp.kernels.gaussian(7, sigma=1.5), boundary="circular", mask=mask)
    y = model.forward(np.random.default_rng(0).random((23, 29)))
    term = model.data_term(y)
    x = term.prox(np.zeros((23, 29)), 0.1)
    moved = pp.models.Deblurring(model.kernel, boundary="circular", mask=np.roll(mask, 4, axis=0))
    expected = np.roll(x, 4, axis=0)
    np.testing.assert_allclose(
        moved.data_term(np.roll(y, 4, axis=0)).prox(np.zeros((23, 29)), 0.1), expected, atol=1e-5
    )


def test_background_is_a_bound_only_where_there_is_one():
    rng = np.random.default_rng(0)
    noise = pp.PoissonGaussian(1.0, 1.0)
    model = pp.models.Deblurring(pp.kernels.gaussian(9, sigma=1.5), boundary="reflect")
    bright = np.full((96, 96), 10.0)
    bright[40:50, 20:70] = 100.0
    dark = 110 - bright
    bounds = []
    for clean in (bright, dark):
        y = rng.poisson(model.forward(clean)) + rng.normal(size=clean.shape)
        bounds.append(model.poisson_term(y, noise).darkest)
    assert 6 < bounds[0] < 10.5
    assert bounds[1] <= -1  # where the variance vanishes, or below


def test_gain_and_read_must_be_known():
    with pytest.raises(ValueError, match="gain and read must be known"):
        pp.models.Deblurring(np.ones((1, 1))).poisson_term(np.ones((4, 4)), pp.PoissonGaussian())


@pytest.mark.parametrize("boundary", ["unknown", "reflect"])
def test_misfit_and_simulated_noise_are_those_of_dense_matrices(boundary):
    model, y, term = posed(boundary)
    x = np.random.default_rng(2).uniform(0.2, 1.0, term.shape)
    if boundary == "unknown":
        matrix, observed = seen_by(model, term)
        np.testing.assert_allclose(term.misfit(x)[observed], matrix @ x.ravel() - y[observed], atol=1e-12)
    seen = term.misfit(x) + y
    rng = np.random.default_rng(0)
    drawn = np.stack([term.simulated(x, rng) for _ in range(4000)])
    variance = NOISE.gain * (seen - NOISE.offset) + NOISE.read**2
    np.testing.assert_allclose(drawn.mean(axis=0), seen, atol=5 * np.sqrt(variance.max() / 4000))
    np.testing.assert_allclose(drawn.var(axis=0), variance, rtol=0.15)


def test_a_background_that_is_too_dark_tells_by_how_much():
    rng = np.random.default_rng(0)
    model = pp.models.Deblurring(pp.kernels.gaussian(9, sigma=1.5), boundary="reflect")
    clean = np.full((96, 96), 10.0)
    clean[40:50, 20:70] = 100.0
    y = rng.poisson(model.forward(clean)) + rng.normal(size=clean.shape)
    term = model.poisson_term(y, pp.PoissonGaussian(1.0, 1.0))
    truth = term.enter(clean)
    assert term.missing(truth) == pytest.approx(0.0, abs=0.15)
    assert term.missing(truth - 0.7) == pytest.approx(0.7, abs=0.15)
    # Without a flat background nothing is known.
    uneven = rng.poisson(np.linspace(10, 100, 96) * np.ones((96, 1))).astype(float)
    assert model.poisson_term(uneven, pp.PoissonGaussian(1.0, 1.0)).missing(truth - 0.7) == 0.0
