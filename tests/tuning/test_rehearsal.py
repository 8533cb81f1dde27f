"""Rehearsals: which lambda would be best if a first result were the truth."""

from dataclasses import replace

import numpy as np
import pytest
from skimage import data

import plugplay as pp
from plugplay.tuning import rehearsal
from plugplay.tuning.mild_blur import leaves_nearly_white_noise
from plugplay.tuning.rehearsal import Rehearsal
from plugplay.tuning.windows import curvature, windows_of

KERNEL = pp.kernels.box(5)
NOISE = 10 / 255


def blurred(image, noise=NOISE, boundary="unknown", seed=1):
    model = pp.models.Deblurring(KERNEL, boundary=boundary)
    clean = pp.models.Deblurring(KERNEL).simulate(image, noise=0.0, rng=seed)
    return model, (clean + noise * np.random.default_rng(seed).standard_normal(image.shape)).astype(np.float32)


@pytest.fixture(scope="module")
def bricks():
    return blurred(data.brick()[200:296, 200:296] / 255)


def usual_lambda(y, model, monkeypatch, **options):
    """Return lambda as it would be without a rehearsal."""
    with monkeypatch.context() as patched:
        patched.setattr(rehearsal, "MIN_SIDE", 10**6)
        return pp.prepare(y, model, workers=1, **options).parameters.lam


def test_what_repeats_gets_more_and_what_does_not_gets_the_usual_lambda(bricks, monkeypatch):
    model, y = bricks
    assert pp.prepare(y, model, noise=NOISE, workers=1).parameters.lam >= 1.9 * usual_lambda(
        y, model, monkeypatch, noise=NOISE
    )
    model, y = blurred(np.random.default_rng(0).random((96, 96)))
    assert pp.prepare(y, model, noise=NOISE, workers=1).parameters.lam == usual_lambda(
        y, model, monkeypatch, noise=NOISE
    )


def test_it_is_the_best_of_runs_done_by_hand(bricks):
    """With the loop's own function, on data simulated by the model, against the result of a first run."""
    model, y = bricks
    plan = pp.prepare(y, model, noise=NOISE, workers=1)
    usual = replace(plan._case, strength=1.0)

    def restored(given, factor):
        choice = rehearsal.choose(replace(usual, strength=factor))
        return pp.pnp_admm(
            model.data_term(given),
            plan._loop.prepared,
            schedule=choice.schedule,
            lam=choice.lam,
            tol=0.0,
            max_iter=plan._loop.min_iter,
            clip=plan._loop.clip,
        )

    first = restored(y, 1.0)
    noise = NOISE * np.random.default_rng(rehearsal.SEED).standard_normal(y.shape)
    again = (y + model.data_term(y).residual(first.state.v) + noise).astype(np.float32)
    losses = {f: np.mean((restored(again, f).image - first.image) ** 2) for f in (1.0, 2.0, 4.0)}
    best = min(losses, key=losses.get)
    assert losses[best] < (1 - rehearsal.MIN_GAIN) * losses[1.0]
    assert losses[4.0] < (1 - rehearsal.MIN_GAIN_BEYOND) * losses[1.0]
    assert Rehearsal(model, usual, plan._loop, plan._iteration).factor(y) == best
    assert plan._case.strength == best


def test_given_values_are_kept(bricks, monkeypatch):
    model, y = bricks
    assert pp.prepare(y, model, noise=NOISE, lam=2e-4).parameters.lam == pytest.approx(2e-4)
    doubled = pp.prepare(y, model, noise=NOISE, strength=2.0, workers=1).parameters.lam
    assert doubled == pytest.approx(2 * pp.prepare(y, model, noise=NOISE, workers=1).parameters.lam)
    for options in ({"denoiser": "tv"}, {"schedule": pp.Monotone(rho0=0.01, gamma=1.5)}, {"start": y}, {"max_iter": 9}):
        plan = pp.prepare(y, model, noise=NOISE, workers=1, **options)
        assert plan.parameters.lam == usual_lambda(y, model, monkeypatch, noise=NOISE, **options)


def test_the_same_on_any_number_of_threads(bricks):
    model, y = bricks
    one, two = (pp.prepare(y, model, noise=NOISE, workers=workers).parameters for workers in (1, 2))
    assert (one.lam, one.schedule) == (two.lam, two.schedule)


def test_a_run_with_more_noise_keeps_the_factor(bricks):
    model, y = bricks
    plan = pp.prepare(y, model, noise=NOISE, workers=1)
    assert plan._with_noise(2 * plan._case.noise)._case.strength == plan._case.strength > 1


def test_hardly_any_noise_mild_blur_and_small_images_are_not_rehearsed(bricks):
    model, y = bricks
    plan = pp.prepare(y, model, noise=NOISE, workers=1)
    judge = Rehearsal(model, replace(plan._case, strength=1.0), plan._loop, plan._iteration)
    assert judge.factor(y[:60]) == 1
    assert replace(judge, case=replace(judge.case, noise=1e-5)).factor(y) == 1
    mild = pp.models.Deblurring(pp.kernels.gaussian(5, sigma=0.5), boundary="unknown")
    assert leaves_nearly_white_noise(mild.traits(y), judge.case.noise)
    assert replace(judge, model=mild, case=replace(judge.case, traits=mild.traits(y))).factor(y) == 1


def test_colours_are_rehearsed_by_their_mean(bricks, monkeypatch):
    model, y = bricks
    plan = pp.prepare(y, model, noise=NOISE, workers=1)
    seen = []
    asked = Rehearsal(model, plan._case, plan._loop, plan._iteration)
    whole = Rehearsal._restored
    monkeypatch.setattr(
        Rehearsal, "_restored", lambda self, term, factor: seen.append(self.case.noise) or whole(self, term, factor)
    )
    pair = np.stack([y + np.float32(0.25), y - np.float32(0.25)], axis=-1)
    gray = replace(asked, case=replace(plan._case, noise=NOISE / np.sqrt(2)))
    assert asked.factor(pair) == gray.factor((pair[..., 0] + pair[..., 1]) / np.float32(2))
    np.testing.assert_allclose(seen, NOISE / np.sqrt(2))


def test_all_windows_have_to_agree(bricks, monkeypatch):
    model, y = bricks
    plan = pp.prepare(y, model, noise=NOISE, workers=1)
    asked = Rehearsal(model, plan._case, plan._loop, plan._iteration)
    large = np.random.default_rng(0).random((300, 300))
    first, *others = windows_of(large, rehearsal.SIDE, curvature(NOISE))
    assert len({str(window) for window in (first, *others)}) == 3
    said = dict(zip(map(str, (first, *others)), (4.0, 2.0, 4.0), strict=True))
    monkeypatch.setattr(Rehearsal, "_factor_of", lambda self, y, window: said[str(window)])
    assert asked.factor(large) == 2.0
    said[str(others[-1])] = 1.0
    assert asked.factor(large) == 1.0


def test_less_lambda_needs_the_agreement_of_all_windows_as_well(bricks, monkeypatch):
    model, y = bricks
    plan = pp.prepare(y, model, noise=NOISE, workers=1)
    asked = Rehearsal(model, plan._case, plan._loop, plan._iteration)
    large = np.random.default_rng(0).random((300, 300))
    for said, expected in (((0.7, 0.7, 0.7), 0.7), ((0.7, 0.7, 1.0), 1.0), ((0.7, 2.0, 0.7), 1.0), ((2.0, 0.7), 1.0)):
        answers = iter(said)
        monkeypatch.setattr(Rehearsal, "_factor_of", lambda self, y, window, answers=answers: next(answers))
        assert asked.factor(large) == expected


@pytest.mark.parametrize(
    ("losses", "expected"),
    [((8, 1.0, 1.1), rehearsal.LESS), ((8, 1.0, 0.95), 1.0), ((5, 1.0, 0.95), 1.0), ((13, 1.0, 1.1), 1.0)],
)
def test_lines_that_are_lost_at_once_get_less_lambda(bricks, monkeypatch, losses, expected):
    model, y = bricks
    plan = pp.prepare(y, model, noise=NOISE, workers=1)
    asked = Rehearsal(model, plan._case, plan._loop, plan._iteration)
    monkeypatch.setattr(Rehearsal, "_side_by_side", lambda self, term, truth: losses)
    assert asked.factor(y) == expected


@pytest.mark.parametrize(
    ("twice", "most", "expected"),
    [(0.8, 0.7, 4.0), (0.8, 0.9, 2.0), (0.8, 0.97, 1.4), (0.8, 1.1, 1.4), (0.8, 1.2, 1.0), (0.9, 0.7, 1.0)],
)
def test_four_times_lambda_tells_how_much_more_there_is_to_gain(bricks, monkeypatch, twice, most, expected):
    model, y = bricks
    plan = pp.prepare(y, model, noise=NOISE, workers=1)
    asked = Rehearsal(model, plan._case, plan._loop, plan._iteration)
    monkeypatch.setattr(Rehearsal, "_side_by_side", lambda self, term, truth: (12, 1.0, twice))
    monkeypatch.setattr(Rehearsal, "_restored", lambda self, term, factor: term.start())
    monkeypatch.setattr(rehearsal, "_loss", lambda image, truth: most)
    assert asked.factor(y) == expected


@pytest.mark.parametrize(
    ("ratios", "number"),
    [
        ((2.0, 2.0, 2.0, 2.0, 0.95), 5),
        ((0.5, 0.5, 0.5, 0.5, 1.1, 1.1, 1.1, 1.1, 1.1), 8),
        ((0.5, 0.5, 0.5, 0.5, 1.1, 0.95), 6),
        ((0.5, 0.5, 0.5, 0.5, 1.1, 1.1, 1.1, 0.95), 8),
        ((0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.9), 9),
    ],
)
def test_what_is_worse_at_once_is_looked_at_a_little_longer(bricks, monkeypatch, ratios, number):
    model, y = bricks
    plan = pp.prepare(y, model, noise=NOISE, workers=1)
    asked = Rehearsal(model, plan._case, plan._loop, plan._iteration)
    # Losses are asked for from the fifth iteration on, first with the usual lambda, then with twice as much.
    losses = iter([loss for ratio in ratios[4:] for loss in (1.0, ratio)])
    monkeypatch.setattr(rehearsal, "_loss", lambda image, truth: next(losses))
    assert asked._side_by_side(model.data_term(y), y) == (number, 1.0, ratios[-1])


@pytest.mark.parametrize("image", [data.brick, data.camera])
def test_runs_are_given_up_only_if_they_would_have_lost(image):
    """Against both runs done to their ends."""
    model, y = blurred(image()[200:296, 200:296] / 255)
    plan = pp.prepare(y, model, noise=NOISE, workers=1)
    asked = Rehearsal(model, replace(plan._case, strength=1.0), plan._loop, plan._iteration)
    term = model.data_term(y)
    first = asked._restored(term, 1.0)
    truth = term.crop(first)
    fresh = NOISE * np.random.default_rng(1).standard_normal(y.shape)
    again = model.data_term((y + term.residual(first) + fresh).astype(np.float32))
    number, usual, twice = asked._side_by_side(again, truth)
    ends = [float(np.mean((again.crop(asked._restored(again, factor)) - truth) ** 2)) for factor in (1.0, 2.0)]
    enough = 1 - rehearsal.MIN_GAIN
    assert number >= rehearsal.MIN_ITERATIONS
    assert (twice <= enough * usual) == (ends[1] <= enough * ends[0])
    if twice <= enough * usual:
        assert (usual, twice) == pytest.approx(tuple(ends))


def test_only_a_part_of_a_large_image_is_restored(monkeypatch):
    """Which is solved with an unknown border, whatever the boundary of the whole image."""
    seen = []
    whole = Rehearsal._restored
    monkeypatch.setattr(
        Rehearsal, "_restored", lambda self, term, factor: seen.append(term.shape) or whole(self, term, factor)
    )
    model, y = blurred(np.tile(data.brick()[200:328, 200:328] / 255, (3, 3)), boundary="circular")
    pp.prepare(y, model, noise=NOISE, workers=1)
    assert len(seen) >= 3
    assert all(max(shape) < rehearsal.SIDE + 2 * 16 for shape in seen)
