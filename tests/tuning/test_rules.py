"""Automatic parameters: the rules, and what they are worth on images they were not found on."""

import re

import numpy as np
import pytest
from skimage import data

import plugplay as pp
from plugplay.arrays.masks import fill_from_nearest
from plugplay.tuning.case import Case
from plugplay.tuning.risk import FACTORS, least_risk
from plugplay.tuning.rules import choose as choose_for

BLUR = pp.models.Deblurring(pp.kernels.gaussian(9, sigma=1.6))


def choose(model, noise, shape=(64, 64), lam=None, **case):
    return choose_for(Case(traits=model.traits(np.zeros(shape)), noise=noise, **case), lam=lam)


def first_sigma(choice):
    return np.sqrt(choice.lam / choice.schedule.rho0)


def test_a_run_after_a_coarse_one_begins_higher_and_goes_faster_than_the_only_one():
    only, coarse, fine = (choose(BLUR, 0.02, grid=grid) for grid in ("only", "coarse", "fine"))
    assert first_sigma(fine) > 1.2 * first_sigma(only)
    assert first_sigma(coarse) == pytest.approx(first_sigma(only))
    assert only.schedule.gamma < fine.schedule.gamma < coarse.schedule.gamma
    assert only.lam < fine.lam < coarse.lam


def test_an_image_that_exceeds_its_range_begins_higher_and_ends_at_the_same_sigma():
    within, beyond = (choose(BLUR, 0.02, grid="fine", beyond=beyond) for beyond in (False, True))
    assert first_sigma(beyond) == pytest.approx(1.5 * first_sigma(within))
    assert (beyond.lam, beyond.tol, beyond.schedule.gamma) == (within.lam, within.tol, within.schedule.gamma)
    assert within.min_iter < beyond.min_iter <= within.min_iter + 2
    assert choose(BLUR, 0.02, beyond=True) == choose(BLUR, 0.02)


def test_lambda_follows_the_variance_of_the_noise():
    small, large = choose(BLUR, 0.01), choose(BLUR, 0.04)
    assert 8 * small.lam < large.lam <= 16 * small.lam  # the more noise, the less an observation decides
    assert first_sigma(large) == pytest.approx(first_sigma(small))
    assert choose(BLUR, 0.0).lam > 0


def test_lambda_follows_the_operator():
    """From a third of the variance for strong blur, well above the cliff at a quarter, to all of it for hardly any."""
    kernels = [pp.kernels.gaussian(31, sigma=width) for width in (4.0, 1.6, 0.8, 0.5)]
    shares = [choose(pp.models.Deblurring(kernel), 0.01, one_step=False).lam / 1e-4 for kernel in kernels]
    assert shares == sorted(shares)
    assert 0.34 < shares[0] < 0.45
    assert 0.9 < shares[-1] <= 1.05
    turned = choose(pp.models.Deblurring(np.roll(kernels[1], 3, axis=0)), 0.01).lam
    assert turned == pytest.approx(choose(pp.models.Deblurring(kernels[1]), 0.01).lam)


def test_hardly_any_blur_is_left_alone():
    """One denoising, and a step that changes nothing unless the noise is so low that even a little blur shows."""
    narrow = pp.kernels.gaussian(5, sigma=0.3)
    noisy, clean, shifted = (
        choose(pp.models.Deblurring(kernel), noise, iteration="denoise-first")
        for kernel, noise in ((narrow, 0.04), (narrow, 0.0005), (np.roll(narrow, 1, axis=0), 0.04))
    )
    for choice, noise in ((noisy, 0.04), (clean, 0.0005), (shifted, 0.04)):
        assert choice.max_iter == 1
        assert first_sigma(choice) == pytest.approx(noise)
    assert noisy.schedule.rho0 > 10
    assert clean.schedule.rho0 < 0.1
    assert shifted.schedule.rho0 < 0.1  # a shift is no small blur


def test_behind_a_mild_blur_runs_do_not_end_before_changes_are_below_the_noise():
    mild, wide = (pp.models.Deblurring(pp.kernels.gaussian(9, sigma=sigma)) for sigma in (0.5, 2.0))
    for noise in (0.7 / 255, 1 / 255, 5 / 255):
        tolerances = [choose(model, noise, grid="fine", planned=False).tol for model in (mild, wide)]
        assert tolerances[0] == pytest.approx(min(tolerances[1], 0.75 * noise))


def test_more_missing_pixels_ask_for_a_stronger_first_step():
    sigmas = [first_sigma(choose(pp.models.SuperResolution(k), 0.01)) for k in (1, 2, 4, 8)]
    assert sigmas == sorted(sigmas)
    assert sigmas[0] < sigmas[-1]


def test_the_inside_of_wide_holes_keeps_its_first_guess():
    rng = np.random.default_rng(0)
    lines, wide = np.ones((2, 64, 64), bool)
    lines[:, ::9] = lines[:, 1::9] = False
    wide[20:50, 20:45] = False
    assert first_sigma(choose(pp.models.Inpainting(wide), 0.01)) < 0.6 * first_sigma(
        choose(pp.models.Inpainting(lines), 0.01)
    )
    scattered = pp.models.Inpainting(rng.random((64, 64)) < 0.2)
    assert first_sigma(choose(scattered, 0.01)) > first_sigma(choose(pp.models.Inpainting(wide), 0.01))


def test_holes_begin_from_a_spline_and_ask_for_no_strong_first_step():
    rng = np.random.default_rng(0)
    few, many = (pp.models.Inpainting(rng.random((64, 64)) < share) for share in (0.02, 0.9))
    assert first_sigma(choose(few, 0.01)) < first_sigma(choose(many, 0.01)) <= 0.2 + 1e-12


def test_masks_count_in_the_choice_of_the_first_step():
    mask = np.random.default_rng(0).random((64, 64)) < 0.1
    for model in (pp.models.Deblurring, lambda kernel, mask=None: pp.models.SuperResolution(1, kernel, mask=mask)):
        whole, holes = model(pp.kernels.box(3)), model(pp.kernels.box(3), mask=mask)
        assert first_sigma(choose(holes, 0.01)) > first_sigma(choose(whole, 0.01))


@pytest.mark.parametrize("limit", [1, 3, 8, 20])
@pytest.mark.parametrize("model", [BLUR, pp.models.SuperResolution(4)], ids=["deblur", "upscale"])
def test_a_limit_of_iterations_does_not_smooth(model, limit):
    """Whatever the limit, the last denoising is as gentle as that of a run without one."""
    choice = choose(model, 0.02, max_iter=limit)
    rho = choice.schedule.rho0 * choice.schedule.gamma ** (limit - 1)
    assert np.sqrt(choice.lam / rho) <= 0.0101
    assert choice.max_iter == limit


def test_a_network_ends_where_it_no_longer_helps(camera):
    class Network:
        min_sigma = 0.02

        def __init__(self):
            self.asked = []

        def __call__(self, image, sigma):
            self.asked.append(sigma)
            return image / (1 + sigma)

    network = Network()
    y = BLUR.simulate(camera[:32, :32], noise=0.01, rng=0)
    result = pp.restore(y, BLUR, noise=0.01, denoiser=network, tol=0)
    assert result.status is pp.Status.FINISHED
    assert 0.02 <= min(network.asked) < 0.024
    assert result.parameters.last_sigma == 0.02


def test_half_quadratic_splitting_ends_at_the_noise():
    choice = choose(BLUR, 0.02, iteration="hqs")
    sigmas = [np.sqrt(choice.lam / (choice.schedule.rho0 * choice.schedule.gamma**k)) for k in (0, choice.max_iter - 1)]
    assert sigmas == pytest.approx([49 / 255, 0.02])
    assert choice.lam == pytest.approx(0.23 * 0.02**2)


def test_strength_multiplies_the_automatic_lambda():
    assert choose(BLUR, 0.02, strength=2.0).lam == pytest.approx(2 * choose(BLUR, 0.02).lam)
    assert choose(BLUR, 0.02, strength=2.0, lam=1e-4).lam == 1e-4


@pytest.mark.parametrize("options", [{}, {"max_iter": 1}, {"max_iter": 7}, {"tol": 1e-3}])
def test_denoising_is_one_call_of_the_denoiser(options):
    calls = []

    def record(image, sigma):
        calls.append((image.copy(), sigma))
        return image

    y = np.random.default_rng(1).normal(0.5, 0.3, (32, 32))
    result = pp.denoise(y, noise=0.1, denoiser=record, **options)
    assert result.status is (pp.Status.CONVERGED)
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
        # A spline fills holes better than total variation does; it should do better than nearest pixels.
        simple = fill_from_nearest(y, mask) if run is runs["inpaint"][1] else model.data_term(y).start()
        assert pp.psnr(result.image, x) > pp.psnr(simple, x)
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
        errors = {factor: np.mean((y / (1 + factor) - x) ** 2) for factor in FACTORS}
        assert errors[chosen] == min(errors.values())


def test_tuning_by_risk(camera):
    x = camera[:64, :64]
    y = BLUR.simulate(x, noise=0.03, rng=5)
    plain = pp.restore(y, BLUR, denoiser="tv", noise=0.03)
    tuned = pp.restore(y, BLUR, denoiser="tv", noise=0.03, tune="sure", rng=0)
    again = pp.restore(y, BLUR, denoiser="tv", noise=0.03, tune="sure", rng=0)
    assert tuned.image.tobytes() == again.image.tobytes()
    assert tuned.parameters.lam / plain.parameters.lam in [pytest.approx(factor) for factor in FACTORS]
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


@pytest.mark.parametrize(
    ("kernel", "noise", "expected"),
    [
        (pp.kernels.box(5), 0.5, 1.0),
        (pp.kernels.box(5), 1.0, 1.21),
        (pp.kernels.box(5), 2.0, 1.5),
        (pp.kernels.gaussian(17, sigma=2.5), 0.5, 1.5),
        (pp.kernels.gaussian(7, sigma=0.5), 0.5, 1.15),
    ],
    ids=["hardly any noise", "little noise", "noise", "strong blur", "mild blur"],
)
def test_with_hardly_any_noise_fast_runs_begin_where_others_do(kernel, noise, expected):
    model = pp.models.Deblurring(kernel)
    only, fine = (choose(model, noise / 255, grid=grid) for grid in ("only", "fine"))
    assert first_sigma(fine) == pytest.approx(expected * first_sigma(only), rel=0.03)
    assert 0 < fine.min_iter < only.min_iter


def test_rho_grows_more_slowly_where_hardly_anything_is_unknown():
    mild, strong = pp.models.Deblurring(pp.kernels.gaussian(7, sigma=0.5)), pp.models.Deblurring(pp.kernels.box(5))
    growth = [choose(model, noise / 255, grid="fine").schedule.gamma for model in (mild, strong) for noise in (0.5, 2)]
    assert growth == pytest.approx([1.45, 1.6, 1.6, 1.6], abs=0.005)
