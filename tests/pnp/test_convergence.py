"""What the paper proves and observes, on real runs with a denoiser whose bound is known."""

import math

import numpy as np
import pytest

import plugplay as pp
from plugplay.denoisers.tv import WEIGHT_PER_SIGMA, TotalVariation

# |D(x) - x| <= 4 c sigma at every pixel, hence C = (4 c)² in Definition 1.
C = (4 * WEIGHT_PER_SIGMA) ** 2


@pytest.fixture(scope="module")
def problem(camera):
    model = pp.models.SuperResolution(2, pp.kernels.gaussian(9, sigma=1.0))
    x = camera[:64, :64]
    return x, model.data_term(model.simulate(x, noise=5 / 255, rng=0))


@pytest.mark.parametrize(
    "schedule",
    [pp.Monotone(rho0=1e-3, gamma=1.4), pp.Adaptive(rho0=1e-3, gamma=1.4, eta=0.95)],
    ids=["monotone", "adaptive"],
)
def test_delta_is_bounded_by_a_constant_over_root_rho(problem, schedule):
    """Lemma 1, with the clip: every part of delta is below its bound at every step, C' computed, not fitted."""
    _, term = problem
    states = []
    lam = 1e-4
    result = pp.pnp_admm(term, TotalVariation(), schedule=schedule, lam=lam, tol=0, max_iter=40, callback=states.append)
    h = result.history
    assert (h.denoiser_move <= math.sqrt(C) * h.sigma).all()
    gradients = [np.sqrt(np.mean(term.gradient(state.x) ** 2)) for state in states]
    slope = max(gradients)
    root = np.sqrt(h.rho)
    noise = math.sqrt(lam * C)
    u = slope / h.rho[1:] + noise * (1 / root[1:] + 1 / root[:-1])  # of u after steps 2, 3, ...
    assert (h.dual[1:] <= u).all()
    du = u[1:] + u[:-1]
    assert (h.du[2:] <= du).all()
    dv = (slope / h.rho + noise / root)[2:] + u[1:]
    assert (h.dv[2:] <= dv).all()
    # All of them are constants over sqrt(rho), so one constant serves for delta at every step.
    gamma, rho0 = 1.4, h.rho[0]
    a = slope / math.sqrt(rho0)
    u_const = a + noise * (1 + math.sqrt(gamma))
    du_const = u_const * (1 + math.sqrt(gamma))
    dv_const = a + noise + u_const
    dx_const = du_const * (1 + math.sqrt(gamma)) + dv_const
    assert (h.delta[3:] * root[3:] <= du_const + dv_const + dx_const).all()


def test_the_monotone_rule_converges_geometrically(problem):
    _, term = problem
    gamma = 1.5
    result = pp.pnp_admm(
        term, TotalVariation(), schedule=pp.Monotone(rho0=1e-3, gamma=gamma), lam=1e-4, tol=0, max_iter=70
    )
    tail = np.log(result.history.delta[40:])
    rate = np.polyfit(np.arange(tail.size), tail, 1)[0]
    assert rate <= -0.5 * math.log(gamma) * 0.98


def test_x_and_v_meet(problem):
    _, term = problem
    result = pp.pnp_admm(
        term, TotalVariation(), schedule=pp.Monotone(rho0=1e-3, gamma=1.5), lam=1e-4, tol=1e-4, max_iter=200
    )
    assert result.status is pp.Status.CONVERGED
    assert np.abs(result.state.x - result.state.v).max() < 1e-3


def test_the_start_hardly_matters(problem):
    """Configuration 3 of the paper from 20 random starts."""
    x, term = problem
    final = []
    for seed in range(20):
        start = np.random.default_rng(seed).random(term.shape)
        result = pp.pnp_admm(
            term, TotalVariation(), schedule=pp.Monotone(rho0=1e-5, gamma=1.2), lam=1e-4, start=start, reference=x
        )
        final.append(result.history.psnr[-1])
    assert np.std(final) < 0.02
    assert min(final) > pp.psnr(term.start(), x)
