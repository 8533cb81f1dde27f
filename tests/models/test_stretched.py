"""The likelihood of star fields: its stretch, its steps against a general minimiser, its saturated pixels."""

import numpy as np
import pytest
from scipy.optimize import minimize

import plugplay as pp
from plugplay.models.likelihoods.stretched import LEVEL, Stretch, saturated_pixels
from plugplay.noise.sky import find_sky

KERNEL = pp.kernels.gaussian(5, sigma=1.0)


def field(size=12, seed=0, star=3000.0):
    rng = np.random.default_rng(seed)
    y = 50 + 2 * rng.normal(size=(size, size))
    y[5:8, 6:9] += star * pp.kernels.gaussian(3, sigma=0.8)
    return y


def term_of(y, **options):
    model = pp.models.Deblurring(KERNEL, boundary="unknown", **options)
    return model.stretched_term(y, sky=find_sky(y, 2.0, mask=options.get("mask")), tau=5.0)


def test_stretch_has_the_slope_that_makes_photon_noise_uniform():
    stretch, z = Stretch(4.0), np.linspace(-5, 300, 4001)
    t = stretch.inverse(z)
    np.testing.assert_allclose(stretch.forward(t), z, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(stretch.slope(z), np.sqrt(1 + np.maximum(t, 0) / 4.0), rtol=1e-12)
    np.testing.assert_allclose(np.gradient(t, z)[1:-1], stretch.slope(z)[1:-1], rtol=1e-2)


@pytest.mark.parametrize("masked", [False, True])
def test_step_is_that_of_a_general_minimiser(masked):
    y = field(star=300.0)
    mask = np.ones(y.shape, bool)
    if masked:
        mask[:, 3] = False
        y[:, 3] = np.nan
    term = term_of(y, mask=mask)
    wanted = term.start() + 0.3 * LEVEL * np.random.default_rng(1).normal(size=term.shape)
    rho, tau = 0.3, 5.0
    step = term.prox(wanted, rho)
    sky = find_sky(y, 2.0, mask=mask)
    model = pp.models.Deblurring(KERNEL, boundary="unknown", mask=mask)
    observed = np.where(mask, (y - sky.level) / 2.0, 0)

    # Written out: the variance is 1 below the sky and 1 + t / tau above it, so that the likelihood of a count y is the
    # integral of (t - y) / variance, in closed form on either side.
    def likelihood(t):
        def integral(t):
            high = np.maximum(t, 0)
            above = tau * high - tau * (tau + observed) * np.log1p(high / tau)
            return above + np.minimum(t, 0) ** 2 / 2 - observed * np.minimum(t, 0)

        return integral(t) - integral(observed)

    def objective(flat):
        z = flat.reshape(term.shape)
        seen = model.forward(term.stretch.inverse(z))
        force = np.where(mask, (seen - observed) / (1 + np.maximum(seen, 0) / tau), 0)
        gap = z - wanted / LEVEL
        value = np.sum(likelihood(seen)[mask]) + rho / 2 * np.sum(gap**2)
        return value, (model.adjoint(force) * term.stretch.slope(z) + rho * gap).ravel()

    best = minimize(objective, (wanted / LEVEL).ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 9000})
    exact = {"maxiter": 9000, "ftol": 1e-15, "gtol": 1e-9}
    best = minimize(objective, best.x, jac=True, method="L-BFGS-B", options=exact)
    np.testing.assert_allclose(step / LEVEL, best.x.reshape(term.shape), atol=1e-3)
    np.testing.assert_allclose(
        term.value(step) / LEVEL**2,
        best.fun - rho / 2 * np.sum((best.x.reshape(term.shape) - wanted / LEVEL) ** 2),
        rtol=1e-4,
    )
    direction = np.random.default_rng(3).normal(size=term.shape)
    slope = (term.value(step + 1e-6 * direction) - term.value(step - 1e-6 * direction)) / 2e-6
    assert slope == pytest.approx(np.sum(term.gradient(step) * direction), rel=1e-5)


def test_repeated_steps_of_a_session_reach_the_step():
    term = term_of(field())
    wanted, session = term.start(), term.session(1e-9)
    for _ in range(40):
        step = session.prox(wanted, 0.2)
    np.testing.assert_allclose(step, term.prox(wanted, 0.2), atol=1e-4 * LEVEL * 100)
    assert term.residual(step).shape == (12, 12)


def test_units_go_back_and_forth():
    y = field()
    term = term_of(y)
    np.testing.assert_allclose(term.crop(term.enter(y)), y, rtol=1e-9)
    np.testing.assert_allclose(term.crop(term.start()), y, rtol=1e-9)


def test_saturated_cores_and_their_neighbours_are_left_out():
    y = np.minimum(field(32), 400.0)
    sky = find_sky(y, 2.0)
    full = saturated_pixels(y, np.ones(y.shape, bool), sky=sky)
    assert full[5:8, 6:9].all()
    assert full.sum() <= 25
    # A single brightest pixel is no sign of it, and neither is noise.
    assert not saturated_pixels(field(32), np.ones((32, 32), bool), sky=sky).any()


def test_what_has_no_sky_is_no_star_field():
    rng = np.random.default_rng(0)
    assert find_sky(rng.uniform(0, 1000, (64, 64)), 2.0) is None
    assert find_sky(np.full((64, 64), 5.0), 0.0) is None
    uneven = 100 + np.linspace(0, 15, 64) * np.ones((64, 1)) + 2 * rng.normal(size=(64, 64))
    sky = find_sky(uneven, 2.0)
    assert sky.surface.at(np.arange(64), np.arange(4)).max() - sky.dip < 105


def test_a_sky_is_followed_where_it_slopes_but_not_up_to_galaxies():
    rng = np.random.default_rng(0)
    rows, columns = np.mgrid[:192, :256].astype(float)
    truth = 500 + 0.4 * columns - 0.2 * rows + 4e-4 * (columns - 100) ** 2
    y = truth + 5 * rng.normal(size=truth.shape)
    y[20:26, 30:36] += 800
    y += 300 * np.exp(-((rows - 120) ** 2 + (columns - 150) ** 2) / (2 * 14**2))
    sky = find_sky(y, 5.0)
    found = sky.surface.at(np.arange(192), np.arange(256))
    assert np.abs(found - truth).max() < 0.35 * 5
    assert 0 <= sky.dip < 0.3 * 5
    assert sky.contrast == pytest.approx(160, rel=0.05)
    # Beyond the frame it goes on.
    assert sky.surface.at(np.array([-8]), np.array([-8]))[0, 0] == pytest.approx(500 - 1.6 + 4.7, abs=2.5)


@pytest.mark.parametrize("boundary", ["unknown", "reflect", "circular"])
def test_an_uneven_sky_is_flat_for_the_denoiser_and_uneven_in_the_image(boundary):
    rng = np.random.default_rng(1)
    rows, columns = np.mgrid[:128, :128].astype(float)
    sky = 200 + 0.5 * columns + 0.3 * rows
    model = pp.models.Deblurring(KERNEL, boundary=boundary)
    term = model.stretched_term(sky + 2 * rng.normal(size=sky.shape), sky=find_sky(sky, 2.0), tau=5.0)
    flat = term.crop(np.zeros(term.shape))
    np.testing.assert_allclose(flat, sky, atol=0.2)
    # What is left of the observation is noise, in units of it.
    seen = term.term.in_frame(term.term.y)
    assert np.abs(seen[8:-8, 8:-8].mean(axis=0)).max() < 0.5
    assert seen[8:-8, 8:-8].std() == pytest.approx(1, abs=0.05)
    np.testing.assert_allclose(term.crop(term.enter(sky)), sky, rtol=1e-9)


def test_the_sky_that_an_image_lacks_is_told_in_units_of_the_observation():
    y = field(48)
    term = term_of(y)
    image = np.full(y.shape, 49.7)
    assert term.missing(term.enter(image)) == pytest.approx(0.3, abs=0.15)
    assert term.missing(term.enter(image + 0.3)) == pytest.approx(term.missing(term.enter(image)) - 0.3, abs=0.05)


def test_the_brightest_of_a_few_counts_have_not_saturated():
    y = np.random.default_rng(0).poisson(4.0, (64, 64)).astype(float)
    y[::8, ::8] = 60 - np.arange(64).reshape(8, 8) // 8
    y[0, :40:8] = 61  # five of them, and eight that are one less
    sky = find_sky(y, 2.0)
    everywhere = np.ones(y.shape, bool)
    assert not saturated_pixels(y, everywhere, sky=sky).any()
    assert saturated_pixels(np.minimum(y, 40.0), everywhere, sky=sky).any()
