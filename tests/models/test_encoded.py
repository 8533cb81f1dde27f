"""Blur in light, observed as encoded values: the model, its data term against SciPy, and saturated values."""

import numpy as np
import pytest
from scipy import ndimage, optimize

import plugplay as pp
from plugplay.arrays.transfer import encode, linearise, slope_in_light
from plugplay.models.encoded import EncodedDeblurring
from plugplay.models.likelihoods.encoded import STEP_RESIDUAL

CURVES = ["srgb", "gamma:2.2"]
KERNEL = pp.kernels.gaussian(5, sigma=0.8)


def photograph(shape=(9, 8), seed=0):
    rng = np.random.default_rng(seed)
    return ndimage.gaussian_filter(rng.uniform(0.05, 0.95, shape), 0.7)


def bound(transfer, boundary="unknown", mask=None, lamp=False):
    x = photograph((13, 12) if boundary == "unknown" else (9, 8))
    if lamp:
        x[5:7, 4:6] = 2.5
    model = EncodedDeblurring(np.ones((3, 3)) / 9, transfer=transfer, boundary=boundary)
    y = model.forward(x) + 0.01 * np.random.default_rng(1).standard_normal(model.forward(x).shape)
    y = np.clip(y, 0, 1)
    if mask is not None:
        y[~mask(y)] = np.nan
        model = EncodedDeblurring(np.ones((3, 3)) / 9, transfer=transfer, boundary=boundary, mask=mask(y))
    return model.data_term(y)


@pytest.mark.parametrize("transfer", CURVES)
def test_light_is_blurred_and_values_are_observed(transfer):
    x = photograph()
    seen = EncodedDeblurring(KERNEL, transfer=transfer).forward(x)
    expected = encode(pp.models.Deblurring(KERNEL).forward(linearise(x, transfer)), transfer)
    np.testing.assert_allclose(seen, expected, rtol=1e-12)


@pytest.mark.parametrize("transfer", CURVES)
def test_the_slope_is_the_derivative_of_light(transfer):
    values = np.linspace(0.05, 3, 200)
    measured = (linearise(values + 1e-6, transfer) - linearise(values - 1e-6, transfer)) / 2e-6
    np.testing.assert_allclose(slope_in_light(values, transfer), measured, rtol=1e-6)


@pytest.mark.parametrize("transfer", CURVES)
@pytest.mark.parametrize("boundary", ["circular", "reflect", "unknown"])
@pytest.mark.parametrize("lamp", [False, True], ids=["plain", "lamp"])
def test_the_gradient_is_that_of_f(transfer, boundary, lamp):
    term = bound(transfer, boundary, lamp=lamp)
    x = np.random.default_rng(2).uniform(0.2, 0.9, term.shape)
    numeric = optimize.approx_fprime(x.ravel(), lambda z: term.value(z.reshape(term.shape)), 1e-7)
    np.testing.assert_allclose(term.gradient(x).ravel(), numeric, atol=2e-5)


@pytest.mark.parametrize("transfer", CURVES)
@pytest.mark.parametrize("lamp", [False, True], ids=["plain", "lamp"])
def test_the_step_minimises_its_objective(transfer, lamp):
    term, rho = bound(transfer, lamp=lamp), 0.05
    v = np.array(term.start()) + 0.02 * np.random.default_rng(3).standard_normal(term.shape)
    x = term.prox(v, rho)
    steepness = term.gradient(x) + rho * (x - v)
    assert np.abs(steepness).max() < 1e-5
    found = optimize.minimize(
        lambda z: term.value(z.reshape(v.shape)) + rho / 2 * np.sum((z - v.ravel()) ** 2),
        v.ravel(),
        jac=lambda z: (term.gradient(z.reshape(v.shape)) + rho * (z.reshape(v.shape) - v)).ravel(),
        method="L-BFGS-B",
        options={"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-9},
    )
    objective = term.value(x) + rho / 2 * np.sum((x - v) ** 2)
    assert objective <= found.fun * (1 + 1e-6)


def test_steps_of_a_session_come_to_the_exact_one():
    term, rho = bound("srgb"), 0.05
    v = np.array(term.start())
    steps = term.session()
    for _ in range(30):
        x = steps.prox(v, rho)
    assert np.abs(x - term.prox(v, rho)).max() < STEP_RESIDUAL * np.abs(x - v).max()
    assert steps.fidelity() == pytest.approx(term.value(x), rel=2 * STEP_RESIDUAL)


def test_missing_values_have_no_say():
    seen = bound("srgb", mask=lambda y: np.arange(y.size).reshape(y.shape) % 7 != 3)
    x = np.array(seen.start())
    assert np.isfinite(x).all()
    assert np.isfinite(seen.prox(x, 0.1)).all()
    assert np.count_nonzero(seen.residual(x)) < x.size


def test_saturated_values_only_say_that_it_was_bright():
    term = bound("srgb", lamp=True)
    assert term.saturated.any()
    x = np.array(term.start())
    brighter = np.where(ndimage.binary_dilation(term.saturated, iterations=2), 3.0, x)
    shown = term.crop(term.saturated)
    assert np.all(term.residual(brighter)[shown] == 0)
    darker = np.where(ndimage.binary_dilation(term.saturated, iterations=2), 0.5, x)
    assert np.all(term.residual(darker)[shown] < 0)
    assert term.crop(brighter).max() == 1


def test_a_dark_spot_inside_a_lamp_is_filled():
    y = np.full((16, 16), 0.2)
    y[4:12, 4:12] = 1
    term = EncodedDeblurring(pp.kernels.box(3), transfer="srgb", boundary="unknown").data_term(y)
    image = np.full((16, 16), 0.2)
    image[6:10, 6:10] = 1
    image[7, 8] = 0
    filled = term.finished(image)
    assert filled[7, 8] == 1
    np.testing.assert_array_equal(np.delete(filled.ravel(), 7 * 16 + 8), np.delete(image.ravel(), 7 * 16 + 8))
