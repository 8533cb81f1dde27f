"""`certify`: the bounds behind Theorem 1 on real runs, and what is said where the theorem has nothing to say."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import plugplay as pp
from plugplay.checks.bounds import FIRST_DELTA, Bounds
from plugplay.denoisers.tv import WEIGHT_PER_SIGMA, TotalVariation

TV_CONSTANT = (4 * WEIGHT_PER_SIGMA) ** 2
MONOTONE = pp.Monotone(rho0=1e-3, gamma=1.4)
TWO_SPEEDS = pp.TwoSpeed(rho0=1e-3, gamma=1.4, turn=0.05, faster=1.6)
ADAPTIVE = pp.Adaptive(rho0=1e-3, gamma=1.4, eta=0.95)
LAM = 1e-4


def shrink(image, sigma):
    """|D(x) - x| <= sigma on [0, 1]."""
    return image / (1 + sigma)


def negative(image, sigma):
    return 1 - image


@pytest.fixture(scope="module")
def term(camera):
    model = pp.models.SuperResolution(2, pp.kernels.gaussian(9, sigma=1.0))
    return model.data_term(model.simulate(camera[:48, :48], noise=5 / 255, rng=0))


def run(term, denoiser, schedule, **options):
    return pp.pnp_admm(term, denoiser, schedule=schedule, lam=LAM, **{"tol": 0, "max_iter": 40, **options})


@pytest.mark.parametrize("schedule", [MONOTONE, TWO_SPEEDS, ADAPTIVE], ids=["monotone", "two speeds", "adaptive"])
@pytest.mark.parametrize("clip", [(0.0, 1.0), (0.3, 0.6), None], ids=["clip", "narrow clip", "no clip"])
def test_a_bounded_denoiser_behaves_as_the_theorem_says(term, schedule, clip):
    result = run(term, shrink, schedule, clip=clip)
    certificate = pp.certify(result, term, shrink)
    assert certificate.behaved, str(certificate)
    assert certificate.covered, str(certificate)
    assert certificate.largest <= certificate.c_prime
    assert certificate.verdict.startswith("The run behaved as Theorem 1 says")
    # L is the largest gradient over the iterates; here, where nothing is constrained, it can be computed.
    assert certificate.slope >= 0.99 * np.sqrt(np.mean(term.gradient(result.state.x) ** 2))


def test_a_constant_known_beforehand_is_a_test_of_the_denoiser(term):
    tv = TotalVariation()
    result = run(term, tv, MONOTONE, max_iter=25)
    report = replace(pp.check_denoiser(shrink, size=16), name="tv")  # the search is not the point here, and slow
    assert pp.certify(result, term, report, constant=TV_CONSTANT).behaved
    measured = pp.certify(result, term, report)
    assert measured.constant <= TV_CONSTANT
    wrong = pp.certify(result, term, report, constant=measured.constant / 2)
    assert not wrong.behaved
    assert not wrong.bounds[0].passed
    assert "did not behave as Theorem 1 says" in wrong.verdict


def test_bounds_are_those_of_the_iterates(term):
    """Recompute every inequality from the iterates themselves, without the history."""
    states = []
    start = term.start()
    result = run(term, shrink, ADAPTIVE, clip=(0.2, 0.7), callback=states.append)
    x, v, u = ([getattr(s, name) for s in states] for name in ("x", "v", "u"))
    rho = result.history.rho
    rms = lambda array: math.sqrt(np.mean(array**2))  # noqa: E731
    before = [start, *v[:-1]]
    duals = [np.zeros_like(start), *u[:-1]]
    slope = max(rho[k] * rms(x[k] - (before[k] - duals[k])) for k in range(40))
    inputs = [np.clip(x[k] + duals[k], 0.2, 0.7) for k in range(40)]
    constant = max(rms(v[k] - inputs[k]) ** 2 * rho[k] / LAM for k in range(40))
    bounds = Bounds(LAM, constant, slope, rho)
    certificate = pp.certify(result, term, shrink)
    assert certificate.slope == pytest.approx(slope)
    assert certificate.constant == pytest.approx(constant)
    assert certificate.c_prime == pytest.approx(bounds.c_prime)
    for k in range(FIRST_DELTA, 40):
        assert rms(u[k]) <= bounds.dual[k - 1]
        delta = rms(x[k] - x[k - 1]) + rms(v[k] - v[k - 1]) + rms(u[k] - u[k - 1])
        assert delta <= bounds.delta[k - FIRST_DELTA] <= bounds.c_prime / math.sqrt(rho[k]) * (1 + 1e-12)


def test_the_rate_is_claimed_for_the_monotone_rule_only(term):
    monotone = pp.certify(run(term, shrink, MONOTONE, max_iter=60), term, shrink)
    assert monotone.promised_rate == pytest.approx(1 / math.sqrt(1.4))
    assert monotone.rate <= monotone.promised_rate * 1.01
    assert "falls by the factor 0.845 per iteration, and its own factor" in monotone.verdict
    adaptive = pp.certify(run(term, shrink, ADAPTIVE), term, shrink)
    assert math.isnan(adaptive.promised_rate)
    assert "no rate per iteration is proved for this rule" in adaptive.verdict
    resumed = run(term, shrink, MONOTONE, start=run(term, shrink, ADAPTIVE, max_iter=20).state)
    assert math.isnan(pp.certify(resumed, term, shrink).promised_rate)


def test_two_speeds_promise_the_rate_of_the_slower_one(term):
    result = run(term, shrink, TWO_SPEEDS, max_iter=40)
    assert result.history.rho[1] / result.history.rho[0] == pytest.approx(1.4)
    assert result.history.rho[-1] / result.history.rho[-2] == pytest.approx(1.6)
    certificate = pp.certify(result, term, shrink)
    assert certificate.covered
    assert certificate.promised_rate == pytest.approx(1 / math.sqrt(1.4))
    assert certificate.rate <= certificate.promised_rate * 1.01


@pytest.mark.parametrize("schedule", [pp.Constant(rho0=0.1), pp.Monotone(rho0=0.1, gamma=1.0)])
def test_nothing_is_promised_for_a_constant_rho(term, schedule):
    certificate = pp.certify(run(term, shrink, schedule), term, shrink)
    assert not certificate.covered
    assert certificate.verdict.startswith("The theorem promises nothing for this schedule")


def test_a_schedule_of_one_s_own(term):
    class Halving:
        rho0 = 1.0

        def next_rho(self, rho, delta, previous_delta):
            return rho / 2 if rho > 0.01 else 4 * rho

    certificate = pp.certify(run(term, shrink, Halving()), term, shrink)
    assert certificate.behaved  # the bounds are those of Algorithm 1 with any rho
    assert not certificate.covered
    assert "Halving is not one of the rules" in certificate.verdict


def test_an_unbounded_denoiser_is_not_covered_and_its_constant_grows(term):
    """Negative and positive for ever: as rho grows, the loop does nothing but apply the denoiser again."""
    result = run(term, negative, MONOTONE)
    certificate = pp.certify(result, term, negative)
    assert not certificate.covered
    assert not certificate.bounds[0].passed, str(certificate)
    assert "goes like rho^0.9" in certificate.bounds[0].detail
    assert "it violates Definition 1, the denoiser is bounded" in certificate.verdict


def test_single_photon_data_violate_assumption_1(camera):
    x = camera[:24, :24]
    dark_free = pp.models.SinglePhoton(4)
    with_dark = pp.models.SinglePhoton(4, dark=0.05)
    for model, holds in ((dark_free, False), (with_dark, True)):
        term = model.data_term(model.simulate(x, rng=0))
        result = pp.pnp_admm(term, shrink, schedule=pp.Monotone(rho0=5.0, gamma=1.3), lam=0.5, max_iter=20)
        certificate = pp.certify(result, term, shrink)
        assert certificate.assumptions[0].passed == holds, str(certificate)
        assert certificate.behaved, str(certificate)
        if not holds:
            assert "grows without bound near 0" in certificate.assumptions[0].detail
            assert "it violates Assumption 1" in certificate.verdict


def test_single_precision_runs_far_beyond_rounding(term):
    """At rho of 1e11 both steps change nothing but the last bits, which the bounds must not be blamed for."""
    single = pp.models.Denoising().data_term(np.random.default_rng(0).random((16, 16)).astype(np.float32))
    result = run(single, shrink, pp.Monotone(rho0=1e-3, gamma=3.0), max_iter=50)
    assert result.state.x.dtype == np.float32
    assert result.history.rho[-1] > 1e11
    certificate = pp.certify(result, single, shrink)
    assert certificate.behaved, str(certificate)
    assert certificate.slope < 10


def test_colour_and_reports(astronaut):
    term = pp.models.Inpainting(np.random.default_rng(0).random((64, 64)) < 0.5).data_term(astronaut)
    result = run(term, shrink, MONOTONE)
    report = pp.check_denoiser(shrink, size=16)
    certificate = pp.certify(result, term, report)
    assert certificate.behaved
    assert certificate.covered
    assert json.loads(json.dumps(certificate.to_dict(), allow_nan=False))["verdict"] == certificate.verdict
    assert pp.certify(run(term, TotalVariation(), MONOTONE, max_iter=4), term, "tv").behaved


@pytest.mark.parametrize("boundary", ["circular", "reflect", "unknown"])
def test_what_restore_returns_can_be_certified(camera, boundary):
    """Eight-bit data, single precision, an iterative step, an unknown image larger than the frame."""
    model = pp.models.Deblurring(pp.kernels.motion(7, 20), boundary=boundary)
    y = np.round(255 * np.clip(model.simulate(camera[:40, :40], noise=0.01, rng=0), 0, 1)).astype(np.uint8)
    result = pp.restore(y, model, denoiser=shrink, lam=LAM, schedule=pp.Monotone(rho0=0.05, gamma=1.5), max_iter=30)
    certificate = pp.certify(result, result.parameters.model.data_term((y / 255).astype(np.float32)), shrink)
    assert certificate.behaved, str(certificate)
    assert certificate.covered


def test_broken_records_are_found(term):
    result = run(term, shrink, MONOTONE)
    for name, culprit in (("delta", 3), ("dual", 2)):
        column = getattr(result.history, name).copy()
        column[20] = 50.0
        broken = replace(result, history=replace(result.history, **{name: column}))
        certificate = pp.certify(broken, term, shrink)
        assert [check.passed for check in certificate.bounds].index(False) == culprit
        assert "at iteration 21" in certificate.bounds[culprit].detail
    diverged = replace(result, status=pp.Status.DIVERGED)
    assert not pp.certify(diverged, term, shrink).behaved


@pytest.mark.parametrize("steps", [1, 2, 3, 4])
def test_short_runs(term, steps):
    certificate = pp.certify(run(term, shrink, MONOTONE, max_iter=steps), term, shrink)
    assert certificate.behaved
    assert math.isnan(certificate.rate)
    assert ("too short" in str(certificate)) == (steps <= FIRST_DELTA)


def test_what_does_not_belong_to_the_run(term, camera):
    result = run(term, shrink, MONOTONE, max_iter=5)
    other = pp.models.Denoising()
    with pytest.raises(ValueError, match="the run has no iterations"):
        pp.certify(run(term, shrink, MONOTONE, max_iter=0), term, shrink)
    with pytest.raises(ValueError, match="data_term is not that of the run"):
        pp.certify(result, other.data_term(camera[:48, :48]), shrink)
    with pytest.raises(ValueError, match="has the shape"):
        pp.certify(result, other.data_term(camera), shrink)
    with pytest.raises(ValueError, match="was made with the denoiser 'shrink', not with 'tv'"):
        pp.certify(result, term, "tv")
    with pytest.raises(ValueError, match="constant must be >= 0"):
        pp.certify(result, term, shrink, constant=-1)


def test_a_denoiser_that_fails_afterwards_is_said_to(term):
    result = run(term, shrink, MONOTONE, max_iter=5)

    def broken(image, sigma):
        raise RuntimeError

    broken.__name__ = "shrink"
    certificate = pp.certify(result, term, broken)
    assert not certificate.covered
    assert "the denoiser failed when it was tried" in str(certificate)
