"""Automatic parameters: the rules, and what they are worth on images they were not found on."""

import re

import numpy as np
import pytest
from skimage import data

import plugplay as pp
from plugplay.tuning.rules import SURE_FACTORS, choose, least_risk

BLUR = pp.models.Deblurring(pp.kernels.gaussian(9, sigma=1.6))


def first_sigma(choice):
    return np.sqrt(choice.lam / choice.schedule.rho0)


def test_lambda_follows_the_variance_of_the_noise():
    small, large = choose(BLUR, 0.01), choose(BLUR, 0.04)
    assert large.lam == pytest.approx(16 * small.lam)
    assert first_sigma(large) == pytest.approx(first_sigma(small))
    assert choose(BLUR, 0.0).lam > 0


def test_more_missing_pixels_ask_for_a_stronger_first_step():
    sigmas = [first_sigma(choose(pp.models.SuperResolution(k), 0.01)) for k in (1, 2, 4, 8)]
    assert sigmas == sorted(sigmas)
    assert sigmas[0] < sigmas[-1]
    rng = np.random.default_rng(0)
    few, many = (pp.models.Inpainting(rng.random((64, 64)) < share) for share in (0.02, 0.9))
    assert first_sigma(choose(few, 0.01)) > first_sigma(choose(many, 0.01))


def test_denoising_is_one_call_of_the_denoiser():
    calls = []

    def record(image, sigma):
        calls.append((image.copy(), sigma))
        return image

    y = np.random.default_rng(1).normal(0.5, 0.3, (32, 32))
    result = pp.denoise(y, noise=0.1, denoiser=record)
    assert result.status is pp.Status.CONVERGED
    assert len(calls) == 1
    assert calls[0][1] == pytest.approx(0.1)
    np.testing.assert_array_equal(calls[0][0], y)  # not clipped


def image(name):
    image = getattr(data, name)()
    gray = image if image.ndim == 2 else image.mean(axis=-1)
    return gray[40:136, 60:156] / 255


@pytest.mark.parametrize("name", ["rocket", "retina", "coins"])
@pytest.mark.parametrize("noise", [1 / 255, 10 / 255])
def test_nobody_needs_to_know_what_rho_is(name, noise):
    x = image(name) if name != "retina" else data.retina()[600:696, 600:696].mean(axis=-1) / 255
    rng = np.random.default_rng(2)
    kernel = pp.kernels.disk(2.5)
    mask = rng.random(x.shape) < 0.5
    runs = {
        "deblur": (pp.models.Deblurring(kernel), lambda y: pp.deblur(y, kernel, boundary="circular", denoiser="tv")),
        "inpaint": (pp.models.Inpainting(mask), lambda y: pp.inpaint(y, mask, denoiser="tv")),
        "upscale": (pp.models.SuperResolution(2), lambda y: pp.super_resolve(y, 2, boundary="circular", denoiser="tv")),
    }
    for model, run in runs.values():
        y = model.simulate(x, noise=noise, rng=rng)
        result = run(y)
        term = model.data_term(y)
        assert pp.psnr(result.image, x) > pp.psnr(term.crop(term.start()), x)
        assert len(result.history) <= 40
        assert set(result.parameters.chosen) == {"noise", "lam", "schedule", "tol", "max_iter"}


def test_the_risk_estimate_finds_the_best_of_a_linear_family():
    """Shrinking towards zero by 1/(1 + lam) has a risk that can be computed."""
    rng = np.random.default_rng(3)
    x = rng.normal(0, 0.2, (96, 96))
    for noise in (0.05, 0.2, 0.5):
        y = x + noise * rng.normal(size=x.shape)
        chosen = least_risk(
            lambda y, lam: y / (1 + lam), lambda y: y, y, noise=noise, lam=1.0, rng=np.random.default_rng(4)
        )
        errors = {factor: np.mean((y / (1 + factor) - x) ** 2) for factor in SURE_FACTORS}
        assert errors[chosen] == min(errors.values())


def test_tuning_by_risk(camera):
    x = camera[:64, :64]
    y = BLUR.simulate(x, noise=0.03, rng=5)
    plain = pp.restore(y, BLUR, denoiser="tv", noise=0.03)
    tuned = pp.restore(y, BLUR, denoiser="tv", noise=0.03, tune="sure", rng=0)
    again = pp.restore(y, BLUR, denoiser="tv", noise=0.03, tune="sure", rng=0)
    assert tuned.image.tobytes() == again.image.tobytes()
    assert tuned.parameters.lam / plain.parameters.lam in [pytest.approx(factor) for factor in SURE_FACTORS]
    assert pp.psnr(tuned.image, x) > pp.psnr(plain.image, x) - 0.1
    assert "lam" in tuned.parameters.chosen


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda y: pp.restore(y, BLUR, denoiser="tv", tune="sure"), "tune='sure' needs rng="),
        (lambda y: pp.restore(y, BLUR, denoiser="tv", tune="gcv", rng=0), "tune must be one of 'sure'; got 'gcv'"),
        (
            lambda y: pp.single_photon(np.ones((8, 8), int), denoiser="tv", tune="sure", rng=0),
            "tune='sure' needs Gaussian noise on a linear model",
        ),
    ],
)
def test_bad_tuning(call, message, camera):
    with pytest.raises(ValueError, match=re.escape(message)):
        call(camera[:32, :32])
