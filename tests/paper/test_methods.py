"""The rows of the tables, by what defines them."""

import numpy as np
import pytest

import plugplay as pp
from plugplay.denoisers.tv import weight
from plugplay_paper.denoising import LimitedStrength
from plugplay_paper.methods import Automatic, FirstGuess, PlugAndPlay, TotalVariationADMM
from plugplay_paper.problems import Degraded, Missing, Photons

PHOTONS = Photons("photons", pp.models.SinglePhoton(6))
SHARP = Degraded("x2", pp.models.SuperResolution(2), 0.0)


def test_plug_and_play_is_algorithm_1(small):
    observation = SHARP.observe(small.pixels, seed=0)
    schedule = pp.Monotone(rho0=1e-3, gamma=1.5)
    method = PlugAndPlay(lam=1e-4, schedule=schedule, denoiser="tv", max_sigma=0.1, tol=1e-3, max_iter=9)
    tv = pp.denoisers.get("tv")
    expected = pp.pnp_admm(
        SHARP.model.data_term(observation.y),
        lambda image, sigma: tv(image, min(sigma, 0.1)),
        schedule=schedule,
        lam=1e-4,
        tol=1e-3,
        max_iter=9,
    )
    restored = method.restore(observation)
    np.testing.assert_array_equal(restored.image, expected.image)
    assert restored.iterations == len(expected.history) == 9


def test_a_mistaken_model_is_used_as_it_is(small):
    gaussian = Degraded("x2", pp.models.SuperResolution(2, pp.kernels.gaussian(9, sigma=1.0)), 0.0)
    observation = gaussian.observe(small.pixels, seed=0)
    options = {"lam": 1e-4, "schedule": pp.Monotone(rho0=1e-3, gamma=1.5), "denoiser": "tv"}
    right = PlugAndPlay(**options).restore(observation).image
    mistaken = PlugAndPlay(**options, assumed=pp.models.SuperResolution(2)).restore(observation).image
    # The filters differ, and so do the places of the samples: half a pixel.
    assert pp.psnr(mistaken, small.pixels, border=4) < pp.psnr(right, small.pixels, border=4) - 1


def test_a_random_start_is_its_seeds(small):
    observation = SHARP.observe(small.pixels, seed=0)

    def first(seed):
        method = PlugAndPlay(lam=1e-4, schedule=pp.Constant(1e-3), denoiser="tv", max_iter=1, random_start=seed)
        return method.restore(observation).image

    np.testing.assert_array_equal(first(1), first(1))
    assert not np.array_equal(first(1), first(2))


def test_the_limit_holds_in_sessions_too():
    seen = []

    class Denoiser:
        name = "noted"

        def __call__(self, image, sigma):
            seen.append(sigma)
            return image

        def session(self):
            return self

    limited = LimitedStrength(Denoiser(), 0.25)
    image = np.zeros((8, 8))
    limited(image, 3.0)
    limited.session()(image, 2.0)
    limited.session()(image, 0.1)
    assert seen == [0.25, 0.25, 0.1]
    assert limited.name == "noted, sigma <= 0.25"


def test_total_variation_finds_the_minimiser_whatever_rho_is(small):
    """f + mu TV is convex: two penalties, one solution, and its objective is the least."""
    observation = PHOTONS.observe(small.pixels, seed=0)
    term = observation.data_term()
    mu = weight(0.15) * 60

    def solved(rho):
        w = mu / rho
        sigma = w if w >= 1.375**-4 else (w / 1.375) ** 0.8  # the inverse of `weight`
        assert weight(sigma) == pytest.approx(w)
        method = TotalVariationADMM(sigma=sigma, rho=rho, tol=1e-6, max_iter=3000)
        return method.restore(observation).image.astype(np.float64)

    def objective(x):
        down = np.diff(x, axis=0, append=x[-1:])
        right = np.diff(x, axis=1, append=x[:, -1:])
        return term.value(np.clip(x, 1e-6, None)) + mu * np.hypot(down, right).sum()

    one, other = solved(60.0), solved(120.0)
    assert np.abs(one - other).max() < 0.01
    least = objective(one)
    rng = np.random.default_rng(0)
    for _ in range(20):
        assert objective(np.clip(one + 0.01 * rng.standard_normal(one.shape), 0, None)) > least
    assert objective(0.97 * one) > least
    assert objective(np.clip(1.03 * one, 0, None)) > least


@pytest.mark.parametrize("problem", [SHARP, PHOTONS, Missing("half", 0.5)])
def test_the_first_guess_is_the_data_terms(small, problem):
    observation = problem.observe(small.pixels, seed=3)
    restored = FirstGuess().restore(observation)
    np.testing.assert_array_equal(restored.image, observation.data_term().start())
    assert restored.iterations is None


def test_automatic_is_restore(small):
    observation = Missing("half", 0.5).observe(small.pixels, seed=0)
    expected = pp.restore(observation.y, observation.model, denoiser="tv")
    np.testing.assert_array_equal(Automatic("tv").restore(observation).image, expected.image)


def test_missing_pixels_are_missing_at_random():
    observation = Missing("most", 0.8).observe(np.ones((200, 200)), seed=0)
    assert observation.model.mask.mean() == pytest.approx(0.2, abs=0.01)
