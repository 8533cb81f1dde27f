import numpy as np
import pytest

import plugplay as pp
from plugplay.denoisers.tv import WEIGHT_PER_SIGMA, TotalVariation, weight


def gradient(v):
    down, across = np.zeros_like(v), np.zeros_like(v)
    down[:-1] = v[1:] - v[:-1]
    across[:, :-1] = v[:, 1:] - v[:, :-1]
    return np.stack([down, across])


def adjoint(p):
    out = np.zeros_like(p[0])
    out[:-1] -= p[0, :-1]
    out[1:] += p[0, :-1]
    out[:, :-1] -= p[1, :, :-1]
    out[:, 1:] += p[1, :, :-1]
    return out


def length(p):
    axes = (0,) if p.ndim == 3 else (0, 3)
    return np.sqrt(np.sum(p**2, axis=axes, keepdims=True))


def objective(v, x, strength):
    return 0.5 * np.sum((v - x) ** 2) + strength * np.sum(length(gradient(v)))


def reference(x, strength, iterations=4000):
    """The primal-dual algorithm of Chambolle and Pock: another algorithm, run for long, in double precision."""
    tau = step = 1 / np.sqrt(8)
    v, ahead, p = x.copy(), x.copy(), np.zeros((2, *x.shape))
    for _ in range(iterations):
        p += step * gradient(ahead)
        p /= np.maximum(1, length(p) / strength)
        old, v = v, (v - tau * adjoint(p) + tau * x) / (1 + tau)
        theta = 1 / np.sqrt(1 + 2 * tau)
        tau, step = theta * tau, step / theta
        ahead = v + theta * (v - old)
    return v


@pytest.mark.parametrize("shape", [(12, 10), (9, 11, 3), (1, 16), (16, 1), (60, 5)])
@pytest.mark.parametrize("sigma", [0.03, 0.2])
def test_against_another_algorithm(shape, sigma):
    x = np.random.default_rng(0).random(shape)
    strength = weight(sigma, 1 if len(shape) == 2 else shape[2])
    exact = reference(x, strength)
    for accuracy in (0.1, 0.01):
        smooth = TotalVariation(accuracy=accuracy, max_iterations=10000)(x, sigma)
        # The reference itself is within 1e-3 sigma of the minimiser.
        assert np.sqrt(np.mean((smooth - exact) ** 2)) <= (accuracy + 1e-3) * sigma
    best = TotalVariation(accuracy=1e-4, max_iterations=10000)(x, sigma)
    assert objective(best, x, strength) <= objective(exact, x, strength) * (1 + 1e-8)


def test_a_step_has_a_known_answer():
    """Each side moves towards the other by the weight over its width, whatever the image's height."""
    sigma, columns = 0.05, 8
    step = np.tile(np.repeat([0.2, 0.8], columns), (5, 1))
    smooth = TotalVariation(accuracy=1e-6, max_iterations=20000)(step, sigma)
    move = weight(sigma) / columns
    np.testing.assert_allclose(smooth, np.tile(np.repeat([0.2 + move, 0.8 - move], columns), (5, 1)), atol=1e-5)


def test_strips_leave_no_trace():
    """An image of several strips, whatever their number of rows, is the same as one strip."""
    from plugplay.denoisers import tv

    x = np.random.default_rng(0).random((130, 20))
    whole = TotalVariation()(x, 0.1)
    fields = [np.zeros((4, 1, *x.shape)) for _ in range(2)]
    smooth = np.empty((1, *x.shape))
    factors = tv._momenta(400)
    for first in range(0, 400, tv.STRIDE):
        tv._advance(x[None], fields[0], fields[1], np.float64(weight(0.1)), factors[first : first + tv.STRIDE], 0, 130)
        fields.reverse()
        tv._gap(x[None], fields[0], np.float64(weight(0.1)), smooth, 0, 130)
        if np.array_equal(smooth[0], whole):
            break
    np.testing.assert_array_equal(smooth[0], whole)


@pytest.mark.parametrize("sigma", [1e-4, 0.01, 0.1, 3.0])
@pytest.mark.parametrize("iterations", [1, 400])
def test_no_pixel_moves_further_than_the_bound(sigma, iterations):
    x = np.random.default_rng(0).random((30, 30)).round()  # black and white: the worst there is
    move = np.abs(TotalVariation(max_iterations=iterations)(x, sigma) - x)
    assert move.max() <= 4 * WEIGHT_PER_SIGMA * sigma * (1 + 1e-12)
    colour = np.random.default_rng(1).random((30, 30, 5)).round()
    move = TotalVariation(max_iterations=iterations)(colour, sigma) - colour
    assert np.sqrt(np.mean(move**2, axis=2)).max() <= 4 * WEIGHT_PER_SIGMA * sigma * (1 + 1e-12)


def test_options():
    with pytest.raises(ValueError, match="accuracy must be > 0"):
        pp.denoisers.get("tv", accuracy=0.0)
    with pytest.raises(ValueError, match="max_iterations must be an integer >= 1"):
        pp.denoisers.get("tv", max_iterations=0)
