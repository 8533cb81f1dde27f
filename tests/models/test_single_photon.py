"""The photon model against the Poisson law and a scalar root finder in 60 digits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import poisson

import plugplay as pp
from oracles.photon import prox as scalar_prox

RHOS = (1e-6, 1e-3, 1.0, 1e3, 1e9)
TARGETS = (-2.0, -1e-3, 0.0, 1e-6, 0.3, 1.0, 5.0)


@pytest.mark.parametrize(("q", "dark"), [(1, 0.0), (1, 0.05), (2, 0.0), (5, 0.02)])
@pytest.mark.parametrize("ones", [0, 1, 8, 15, 16])
def test_step_is_the_scalar_root(ones, q, dark):
    model = pp.models.SinglePhoton(4, threshold=q, dark=dark, efficiency=0.8, gain=20.0)
    term = model.data_term_from_counts(np.full((1, len(TARGETS)), ones), 16)
    for rho in RHOS:
        step = term.prox(np.array([TARGETS]), rho)[0]
        for v, x in zip(TARGETS, step, strict=True):
            root = scalar_prox(ones=ones, zeros=16 - ones, rho=rho, v=v, a=0.8 * 20 / 16, d=dark, q=q)
            assert x == pytest.approx(root, rel=1e-9, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(
    trials=st.integers(1, 10_000),
    share=st.floats(0, 1),
    exponent=st.floats(-6, 9),
    v=st.floats(-10, 10),
    q=st.integers(1, 4),
)
def test_step_is_the_scalar_root_anywhere(trials, share, exponent, v, q):
    ones, rho = round(share * trials), 10.0**exponent
    term = pp.models.SinglePhoton(1, threshold=q).data_term_from_counts(np.full((1, 1), ones), trials)
    root = scalar_prox(ones=ones, zeros=trials - ones, rho=rho, v=v, a=1.0, d=0.0, q=q)
    assert term.prox(np.array([[v]]), rho)[0, 0] == pytest.approx(root, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("q", [1, 2, 3])
def test_forward_is_the_poisson_law(q):
    model = pp.models.SinglePhoton(3, gain=18.0, threshold=q, dark=0.1, efficiency=0.5)
    x = np.linspace(0, 1, 12).reshape(3, 4)
    chance = model.forward(x)
    assert chance.shape == (9, 12)
    expected = poisson.sf(q - 1, 0.5 * 18 / 9 * x + 0.1)
    np.testing.assert_allclose(chance[::3, ::3], expected, rtol=1e-12)
    np.testing.assert_array_equal(chance, np.kron(chance[::3, ::3], np.ones((3, 3))))


def test_likelihood_is_that_of_the_bits():
    rng = np.random.default_rng(0)
    model = pp.models.SinglePhoton(2, frames=3, threshold=2, gain=12.0)
    x = rng.uniform(0.1, 1, (4, 5))
    bits = model.simulate(x, rng=rng)
    assert bits.shape == (3, 8, 10)
    chance = model.forward(x)
    expected = -np.sum(np.where(bits == 1, np.log(chance), np.log1p(-chance)))
    assert model.data_term(bits).value(x) == pytest.approx(expected, rel=1e-12)


def test_simulated_bits_have_the_right_mean():
    model = pp.models.SinglePhoton(8)
    bits = model.simulate(np.full((40, 40), 0.7), rng=1)
    assert bits.mean() == pytest.approx(-np.expm1(-0.7), abs=4 * 0.5 / 320)


@pytest.mark.parametrize("q", [1, 3])
def test_start_maximises_the_likelihood(q):
    model = pp.models.SinglePhoton(4, threshold=q, gain=64.0, dark=0.01)
    ones = np.arange(17).reshape(1, 17)
    term = model.data_term_from_counts(ones, 16)
    start = term.start().astype(np.float64)
    inside = (start > 0) & (start < 1)
    assert inside.sum() > 8
    assert np.abs(term.gradient(start))[inside].max() < 1e-3  # the start is single precision
    assert start[0, -1] == 1.0
    assert np.isfinite(start).all()


def test_counts_and_bits_agree_and_colour_is_independent():
    rng = np.random.default_rng(2)
    model = pp.models.SinglePhoton(3)
    bits = model.simulate(rng.random((4, 5, 3)), rng=rng)
    assert bits.shape == (12, 15, 3)
    v = rng.random((4, 5, 3))
    whole = model.data_term(bits).prox(v, 2.0)
    for c in range(3):
        ones = bits[..., c].reshape(4, 3, 5, 3).sum(axis=(1, 3))
        np.testing.assert_array_equal(whole[..., c], model.data_term_from_counts(ones, 9).prox(v[..., c], 2.0))


def test_pixels_without_trials_follow_the_prior():
    trials = np.array([[16, 0, 16]])
    term = pp.models.SinglePhoton(4).data_term_from_counts(np.array([[8, 0, 4]]), trials)
    v = np.array([[0.2, 0.3, 0.4]])
    assert term.prox(v, 1.0)[0, 1] == 0.3
    assert np.isfinite(term.start()).all()


def test_step_keeps_the_dtype():
    term = pp.models.SinglePhoton(2).data_term_from_counts(np.full((2, 2), 2), 4)
    assert term.prox(np.full((2, 2), 0.5, np.float32), 1.0).dtype == np.float32
    assert term.start().dtype == np.float32
