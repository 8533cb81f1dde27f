"""What the cells measure."""

import numpy as np
import pytest

import plugplay as pp
from plugplay_paper.cells.expansion import Expansion
from plugplay_paper.cells.solver_timing import SolverTiming
from plugplay_paper.cells.trials import Trial
from plugplay_paper.experiments.tolerance import psnr_at
from plugplay_paper.images import TestImage
from plugplay_paper.methods import PlugAndPlay
from plugplay_paper.problems import Degraded

BLUR = Degraded("blur", pp.models.Deblurring(pp.kernels.box(3)), 0.01)
METHOD = PlugAndPlay(lam=5e-5, schedule=pp.Monotone(rho0=0.01, gamma=1.5), denoiser="tv")


def test_a_trial_measures_what_a_user_would(small):
    y = BLUR.model.simulate(small.pixels, noise=0.01, rng=5)
    image = METHOD.restore(BLUR.observe(small.pixels, seed=5)).image
    record = Trial(image=small, problem=BLUR, method=METHOD, seed=5, border=4, curves=True, keep=True).measure()
    assert record.psnr == pp.psnr(image, small.pixels, border=4)
    assert record.psnr > pp.psnr(y, small.pixels, border=4)
    assert record.psnr_curve[-1] == record.psnr
    assert len(record.psnr_curve) == len(record.delta_curve) == record.iterations
    assert record.delta_curve[-1] <= 1e-3 < record.delta_curve[-2]
    np.testing.assert_array_equal(record.image, np.round(255 * np.clip(image, 0, 1)))
    assert record.seconds > 0


def test_curves_and_images_are_kept_on_request_only(small):
    record = Trial(image=small, problem=BLUR, method=METHOD, seed=5).measure()
    assert record.psnr_curve == record.delta_curve == ()
    assert record.image is None


def test_a_tolerance_ends_the_run_where_the_curve_says(small):
    """The figure on stopping reads all tolerances from one run: check one of them by running it."""
    from dataclasses import replace

    options = {"image": small, "problem": BLUR, "seed": 5}
    long = Trial(**options, method=replace(METHOD, tol=1e-5), curves=True).measure()
    tolerances, quality = psnr_at(long.delta_curve, long.psnr_curve)
    middle = len(tolerances) // 2
    short = Trial(**options, method=replace(METHOD, tol=tolerances[middle])).measure()
    assert short.psnr == quality[middle]
    assert short.iterations < long.iterations


@pytest.mark.parametrize("factor", [2, 4])
def test_conjugate_gradients_arrive_at_the_closed_form(small, factor):
    record = SolverTiming(small, factor).measure()
    assert record.cg_distance[0] > 1e-3
    assert record.cg_distance[-1] < 1e-6
    assert len(record.cg_seconds) == len(record.cg_distance) > 3
    assert list(record.cg_seconds) == sorted(record.cg_seconds)
    assert record.closed_form > 0


def test_kappa_is_that_of_the_pair(small):
    record = Expansion(image=small, denoiser="nlm", count=8).measure()
    denoise = pp.denoisers.get("nlm")
    for kappa, (x, y, denoised_x, denoised_y) in (
        (record.kappa, record.pair),
        (record.searched_kappa, record.searched_pair),
    ):
        ratio = np.sum((denoised_x - denoised_y) ** 2) / np.sum((x - y) ** 2)
        assert ratio == pytest.approx(kappa, rel=1e-3)
    np.testing.assert_allclose(denoise(record.pair[0], 0.04), record.pair[2], atol=1e-4)
    assert record.pairs == 8 * 7 / 2
    assert record.searched_kappa > 1


@pytest.mark.parametrize("level", [0.0, 0.5])
def test_a_flat_image_has_no_pairs_and_says_so(level):
    """Its inputs are equal, or differ by rounding."""
    flat = TestImage("flat", np.full((32, 32), level))
    with pytest.raises(ValueError, match="equal, because flat is constant; an image with some"):
        Expansion(image=flat, denoiser="gaussian", count=4).measure()
