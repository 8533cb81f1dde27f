import pytest

import plugplay as pp


def test_constant_keeps_rho():
    assert pp.Constant(0.5).next_rho(0.5, delta=1.0, previous_delta=None) == 0.5


def test_monotone_multiplies_always():
    rule = pp.Monotone(rho0=1e-3, gamma=1.5)
    assert rule.next_rho(2.0, delta=0.0, previous_delta=9.0) == 3.0


def test_two_speeds_turn_once():
    rule = pp.TwoSpeed(rho0=1.0, gamma=1.5, turn=2.0, faster=3.0)
    seen = [rule.rho0]
    for _ in range(4):
        seen.append(rule.next_rho(seen[-1], delta=0.0, previous_delta=9.0))
    assert seen == [1.0, 1.5, 2.25, 6.75, 20.25]
    assert rule.next_rho(2.0, delta=0.0, previous_delta=None) == 6.0


@pytest.mark.parametrize(
    ("delta", "previous", "expected"),
    [(1.0, None, 2.0), (0.9, 1.0, 2.0), (0.5, 1.0, 2.0), (0.49, 1.0, 1.0)],
)
def test_adaptive_follows_the_paper(delta, previous, expected):
    # Multiplied at the first iteration and if delta >= eta * previous, with equality included.
    assert pp.Adaptive(rho0=1.0, gamma=2.0, eta=0.5).next_rho(1.0, delta, previous) == expected


def test_rho_never_overflows():
    rule = pp.Monotone(rho0=1.0, gamma=1e10)
    rho = rule.rho0
    for _ in range(100):
        rho = rule.next_rho(rho, 1.0, 1.0)
    assert 1e20 < rho < 1e38


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: pp.Constant(0.0), "rho0 must be > 0; got 0.0"),
        (lambda: pp.Constant("1"), "rho0 must be a number; got '1'"),
        (lambda: pp.Monotone(rho0=1.0, gamma=0.99), "gamma must be >= 1; got 0.99"),
        (lambda: pp.Monotone(rho0=float("nan"), gamma=2.0), "rho0 must be finite and > 0; got nan"),
        (lambda: pp.TwoSpeed(rho0=1.0, gamma=2.0, turn=1.0, faster=1.5), "faster must be >= 2; got 1.5"),
        (lambda: pp.TwoSpeed(rho0=1.0, gamma=2.0, turn=0.0, faster=3.0), "turn must be > 0; got 0.0"),
        (lambda: pp.Adaptive(rho0=1.0, gamma=2.0, eta=1.0), "eta must be >= 0 and < 1; got 1.0"),
        (lambda: pp.Adaptive(rho0=1.0, gamma=2.0, eta=-0.1), "eta must be >= 0 and < 1; got -0.1"),
    ],
)
def test_bad_arguments(make, message):
    with pytest.raises((ValueError, TypeError)) as error:
        make()
    assert message in str(error.value)
