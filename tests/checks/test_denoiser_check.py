"""`check_denoiser`: known constants are found, known mistakes are named, nothing crashes."""

import json
import math

import numpy as np
import pytest
from scipy import ndimage

import plugplay as pp
from oracles.nlm import dsg_nlm, nlm, weight_matrix
from plugplay.checks.boundedness import boundedness
from plugplay.checks.calibration import calibration
from plugplay.checks.conformance import conformance
from plugplay.checks.expansiveness import expansiveness
from plugplay.checks.probe import Probe
from plugplay.checks.report import CheckFailedError
from plugplay.denoisers.base import BUILT_IN
from plugplay.denoisers.tv import WEIGHT_PER_SIGMA


def shrink(image, sigma):
    """||D(x) - x||² / n <= sigma² / (1 + sigma)², reached by white; kappa = 1 / (1 + sigma)² for every pair."""
    return image / (1 + sigma)


def to_the_mean(image, sigma):
    """x - t (x - mean) with t = sigma / (1 + sigma): C = 1/4, reached by half black, half white as sigma -> 0."""
    return image - sigma / (1 + sigma) * (image - image.mean())


def circular(image, sigma):
    """A periodic blur by [w, 1 - 2w, w] along columns, w = sigma / 4 up to 1/4: eigenvalues between 1 - 4w and 1."""
    w = min(sigma, 1.0) / 4
    return (1 - 2 * w) * image + w * (np.roll(image, 1, axis=0) + np.roll(image, -1, axis=0))


def stretch(image, sigma):
    """Contrast about mid-gray times 1 + sigma / 4: kappa = (1 + sigma / 4)², C = 1/64."""
    return 0.5 + (1 + sigma / 4) * (image - 0.5)


def median(image, sigma):
    return ndimage.median_filter(image, (3, 3) + (1,) * (image.ndim - 2))


def root(image, sigma):
    """Moves by sqrt(sigma): tends to the identity, and is not bounded."""
    return image * (1 - 0.5 * math.sqrt(min(sigma, 1.0)))


@pytest.mark.parametrize(
    ("denoiser", "constant", "kappa"),
    [
        (shrink, 1.0, 1 / 1.03**2),
        (to_the_mean, 0.25, 1.0),  # two flat images keep their distance
        (circular, 0.25, 1.0),  # a chessboard moves by 2 w = sigma / 2 everywhere; flat images keep their distance
        (stretch, 1 / 64, 1.075**2),
    ],
)
def test_known_constants_are_found(denoiser, constant, kappa):
    report = pp.check_denoiser(denoiser, size=24)
    assert report.passed, str(report)
    found = report.boundedness
    assert found.bounded
    assert found.constant == pytest.approx(constant, rel=0.01)
    assert found.tends_to_identity
    assert found.identity_at_zero
    assert report.expansiveness.kappa == pytest.approx(kappa, rel=1e-3)
    assert report.expansiveness.expansive == (kappa > 1)
    # The images in the report prove the figures.
    assert np.mean((denoiser(found.image, found.sigma) - found.image) ** 2) == pytest.approx(
        found.constant * found.sigma**2
    )


@pytest.mark.parametrize(("denoiser", "exponent", "identity"), [(median, -2, False), (root, -1, True)])
def test_the_trend_shows_what_is_not_bounded(denoiser, exponent, identity):
    report = pp.check_denoiser(denoiser, size=24)
    found = report.boundedness
    assert report.passed  # an honest denoiser, if not a bounded one
    assert not found.bounded
    assert found.exponent == pytest.approx(exponent, abs=0.05)
    assert found.tends_to_identity == identity
    assert found.sigma == 1e-4
    move = np.mean((denoiser(found.image, found.sigma) - found.image) ** 2)
    assert move / found.sigma**2 == pytest.approx(found.constant)
    assert "not bounded: c grows like sigma^" in str(report)
    assert report.theorem.startswith("Theorem 1 does not apply")


def test_the_remedy_in_the_report_is_bounded():
    def tamed(image, sigma):
        change = median(image, sigma) - image
        size = math.sqrt(np.mean(change**2))
        return image + min(1, 2 * sigma / size) * change if size else image

    found = pp.check_denoiser(tamed, size=24).boundedness
    assert found.bounded
    assert found.constant <= 4 * (1 + 1e-9)


def test_tv_stays_below_its_proven_constant_and_is_not_expansive():
    report = pp.check_denoiser("tv", size=16)
    assert 1 < report.boundedness.constant <= (4 * WEIGHT_PER_SIGMA) ** 2
    assert report.expansiveness.kappa <= 1.001
    assert min(np.subtract(report.calibration.denoised, report.calibration.noisy)) > 0


def test_the_oracle_is_doubly_stochastic(camera):
    weights = weight_matrix(camera[:12, :12], 0.1, symmetric=True)
    np.testing.assert_allclose(weights.sum(axis=0), 1, atol=1e-8)
    np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-8)
    assert np.linalg.eigvalsh((weights + weights.T) / 2).max() <= 1 + 1e-8


@pytest.mark.parametrize("denoiser", [nlm, dsg_nlm])
def test_appendix_a_non_local_means_is_expansive(denoiser):
    """kappa > 1, although every single weight matrix of the second is doubly stochastic."""
    pair = expansiveness(Probe(denoiser), size=12, steps=60, rng=np.random.default_rng(0))
    assert pair.expansive
    ratio = np.sum((denoiser(pair.x, pair.sigma) - denoiser(pair.y, pair.sigma)) ** 2) / np.sum((pair.x - pair.y) ** 2)
    assert ratio == pytest.approx(pair.kappa)
    assert ratio > 1.05
    assert pair.x.min() >= 0
    assert pair.y.max() <= 1
    assert boundedness(Probe(denoiser), size=12, steps=5, rng=np.random.default_rng(0)).bounded


def test_the_pair_is_saved(tmp_path):
    report = pp.check_denoiser(stretch, size=16)
    assert "Constant has no guarantee, because the denoiser is expansive" in report.theorem
    report.save(tmp_path / "pair.npz")
    with np.load(tmp_path / "pair.npz") as saved:
        assert float(saved["kappa"]) == report.expansiveness.kappa
        np.testing.assert_array_equal(saved["y"], report.expansiveness.y)
        np.testing.assert_array_equal(saved["bound_image"], report.boundedness.image)
    assert list(tmp_path.iterdir()) == [tmp_path / "pair.npz"]


@pytest.mark.parametrize("name", sorted({"nlm", "dsg-nlm"} & set(BUILT_IN)))
def test_built_in_non_local_means_are_expansive(name):
    assert pp.check_denoiser(name, size=16).expansiveness.expansive


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", sorted(set(BUILT_IN) - {"dncnn", "ffdnet", "drunet"}))  # these need weights
def test_every_built_in_keeps_the_contract(name):
    if name == "net":
        pytest.importorskip("onnxruntime")
    checks = conformance(Probe(pp.denoisers.get(name)), 32, np.random.default_rng(0))
    assert all(check.passed for check in checks), "\n".join(map(str, checks))


def test_a_single_precision_denoiser_is_judged_like_any_other():
    report = pp.check_denoiser(lambda image, sigma: shrink(image.astype(np.float32), sigma), size=16)
    assert report.passed
    assert "returned as float32; the loop converts it" in str(report)
    assert report.boundedness.bounded
    assert not report.expansiveness.expansive
    nothing = pp.check_denoiser(lambda image, sigma: image.astype(np.float32), size=16)
    assert nothing.boundedness.bounded  # rounding does not fall with sigma, and does not count


class Forgetful:
    """Remembers the last image."""

    name = "forgetful"

    def __init__(self):
        self.last = 0.0

    def __call__(self, image, sigma):
        output = 0.9 * image + 0.1 * self.last
        self.last = float(image.mean())
        return output


def writes(image, sigma):
    image *= 0.9
    return image


def writes_if_it_may(image, sigma):
    if image.flags.writeable:
        image[:] = 0
    return image


def raises(image, sigma):
    raise RuntimeError("no such\nthing")


def gray_only(image, sigma):
    if image.ndim == 3:
        raise ValueError("gray only")
    return shrink(image, sigma)


def bad_at(level):
    return lambda image, sigma: image * (np.nan if sigma >= level else 1.0)


@pytest.mark.parametrize(
    ("denoiser", "culprit", "message"),
    [
        (raises, "shape and dtype", "raised RuntimeError at sigma 0.1 for the shape (16, 16): no such thing"),
        (lambda i, s: i[1:], "shape and dtype", "returned the shape (15, 16)"),
        (lambda i, s: (255 * i).astype(np.uint8), "shape and dtype", "returned the dtype uint8"),
        (lambda i, s: i * np.nan, "shape and dtype", "returned NaN or infinite values"),
        (lambda i, s: None, "shape and dtype", "returned the dtype object"),
        (lambda i, s: i + 1j, "shape and dtype", "returned the dtype complex128"),
        (gray_only, "shape and dtype", "for the shape (16, 16, 3): gray only"),
        (bad_at(3.0), "sigma from 0 to 3", "returned NaN or infinite values at sigma 3"),
        (lambda i, s: i / s, "sigma from 0 to 3", "at sigma 0 "),
        (lambda i, s: 255 * i, "range", "images are on the scale [0, 1]"),
        (lambda i, s: i if min(i.shape[:2]) > 2 else 1 / 0, "small and odd sizes", "raised ZeroDivisionError"),
        (Forgetful(), "determinism", "the same input gave another output"),
        (writes, "input left alone", "changed its input"),
        (writes, "shape and dtype", "it seems to write into its input"),
        (writes_if_it_may, "input left alone", "changed its input"),
    ],
)
@pytest.mark.filterwarnings("ignore:(divide by zero|invalid value) encountered")
def test_mistakes_are_reported_not_raised(denoiser, culprit, message):
    report = pp.check_denoiser(denoiser, size=16)
    assert not report.passed
    (check,) = [check for check in report.conformance if check.name == culprit]
    assert not check.passed
    assert message in check.detail
    assert "\n" not in check.detail
    assert report.theorem == "No theorem applies until the denoiser passes the checks of its interface."
    with pytest.raises(CheckFailedError, match="FAILED"):
        report.raise_if_failed()
    json.dumps(report.to_dict(), allow_nan=False)


class WithSession:
    """Remembers the last image of a session; two kinds of mistakes can be planted."""

    def __init__(self, *, shared=False, broken=False):
        self.memory, self.shared, self.broken = [], shared, broken

    def __call__(self, image, sigma):
        return shrink(image, sigma)

    def session(self):
        if self.broken:
            raise RuntimeError("no sessions today")
        memory = self.memory if self.shared else []

        def denoise(image, sigma):
            output = shrink(image, sigma) + 1e-3 * len(memory)
            memory.append(image)
            return output

        return denoise


@pytest.mark.parametrize(
    ("denoiser", "passed", "detail"),
    [
        (shrink, True, "none is offered"),
        (WithSession(), True, "two sessions do not depend on each other"),
        (WithSession(shared=True), False, "a session depends on the calls of another one"),
        (WithSession(broken=True), False, "session() raised RuntimeError: no sessions today"),
    ],
)
def test_sessions(denoiser, passed, detail):
    (check,) = [c for c in conformance(Probe(denoiser), 16, np.random.default_rng(0)) if c.name == "session"]
    assert check.passed == passed
    assert check.detail == detail


def test_a_denoiser_that_always_fails_has_nothing_to_save(tmp_path):
    report = pp.check_denoiser(raises, size=16)
    assert report.boundedness is report.expansiveness is report.calibration is None
    assert "boundedness: not measured" in str(report)
    with pytest.raises(ValueError, match="there is nothing to save"):
        report.save(tmp_path / "pair.npz")


def test_calibration_finds_the_scale_of_sigma():
    tv = pp.denoisers.get("tv")
    for factor, best in ((1.0, 1.0), (2.0, 0.5)):
        told = Probe(lambda image, sigma, factor=factor: tv(image, factor * sigma))
        found = calibration(told, size=64, rng=np.random.default_rng(0))
        assert found.best_multiple == best
        assert f"best {'when told the true sigma' if best == 1 else 'at 0.5 sigma'}" in str(found)


def test_the_same_seed_gives_the_same_report():
    first, second = (pp.check_denoiser(stretch, size=16, rng=3) for _ in range(2))
    assert first.to_dict() == second.to_dict()
    assert json.loads(json.dumps(first.to_dict(), allow_nan=False)) == first.to_dict()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 8}, "size must be an integer >= 16"),
        ({"effort": "heroic"}, "effort must be one of 'quick', 'thorough'"),
        ({"rng": None}, "needs rng="),
        ({"denoiser": 3}, "denoiser must be a callable"),
        ({"denoiser": "nosuch"}, "unknown denoiser 'nosuch'"),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        pp.check_denoiser(**{"denoiser": shrink, **options})
