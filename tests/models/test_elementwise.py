"""Denoising and inpainting, whose steps are divisions."""

import numpy as np
import pytest

import plugplay as pp


@pytest.mark.parametrize("rho", [1e-6, 0.5, 1e6])
def test_denoising_step(rho):
    rng = np.random.default_rng(0)
    y, v = rng.random((4, 5)), rng.random((4, 5))
    np.testing.assert_allclose(pp.models.Denoising().data_term(y).prox(v, rho), (y + rho * v) / (1 + rho))


@pytest.mark.parametrize("channels", [(), (3,)])
@pytest.mark.parametrize("rho", [1e-6, 0.5, 1e6])
def test_inpainting_step_is_the_paper_s_formula(rho, channels):
    rng = np.random.default_rng(1)
    mask = rng.random((6, 5)) < 0.5
    y, v = rng.random((6, 5, *channels)), rng.random((6, 5, *channels))
    s = mask.astype(float).reshape(6, 5, *[1] * len(channels))
    step = pp.models.Inpainting(mask).data_term(y).prox(v, rho)
    np.testing.assert_allclose(step, (s * y + rho * v) / (s + rho))


def test_inpainting_ignores_what_was_not_observed():
    mask = np.array([[True, False, False, False], [True, True, False, True]])
    y = np.where(mask, [[0.1, 9, 9, 9], [0.2, 0.3, 9, 0.7]], np.nan)
    start = pp.models.Inpainting(mask).data_term(y).start()
    np.testing.assert_array_equal(start[mask], y[mask])
    assert np.isfinite(start).all()
    other = np.where(mask, y, 7.0)
    np.testing.assert_array_equal(pp.models.Inpainting(mask).data_term(other).start(), start)


def test_mask_per_channel():
    rng = np.random.default_rng(2)
    mask = rng.random((6, 5, 3)) < 0.5
    model = pp.models.Inpainting(mask)
    y = model.simulate(rng.random((6, 5, 3)), noise=0.1, rng=0)
    assert (y[~mask] == 0).all()
    assert np.isfinite(model.data_term(y).start()).all()


def test_simulate_draws_the_asked_noise():
    x = np.full((400, 400), 0.5)
    y = pp.models.Denoising().simulate(x, noise=0.1, rng=3)
    assert y.std() == pytest.approx(0.1, rel=0.02)
    assert (y != pp.models.Denoising().simulate(x, noise=0.1, rng=4)).any()
    np.testing.assert_array_equal(y, pp.models.Denoising().simulate(x, noise=0.1, rng=3))
    np.testing.assert_array_equal(y, pp.models.Denoising().simulate(x, noise=0.1, rng=np.random.default_rng(3)))
