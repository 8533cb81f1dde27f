"""Things that were wrong in version 0.1: each of these failed."""

import stat

import numpy as np
import pytest

import plugplay as pp
from plugplay.models.single_photon import CountedSinglePhoton


def test_a_cube_of_one_frame_may_count_its_channel_axis_from_the_end():
    bits = np.random.default_rng(0).random((3, 1, 16, 18)) < 0.5  # channels first, then frames
    options = {"oversampling": 2, "denoiser": "tv", "max_iter": 2}
    first = pp.single_photon(bits, channel_axis=-4, **options)
    assert first.image.shape == (3, 8, 9)
    np.testing.assert_array_equal(first.image, pp.single_photon(bits, channel_axis=0, **options).image)


def test_the_quality_of_lists_is_measured():
    assert pp.psnr([[0.6, 0.5]], [[0.5, 0.5]]) == pytest.approx(23.0103, abs=1e-4)
    assert pp.psnr([0.5], [0.5]) == np.inf


def test_counts_are_simulated_as_they_are_observed():
    sensor = CountedSinglePhoton(2, frames=50)
    x = np.full((12, 10), 0.4)
    counts = sensor.simulate(x, rng=0)
    assert counts.shape == (2, 12, 10)
    assert (counts[1] == 200).all()
    term = sensor.data_term(counts)
    assert term.shape == x.shape
    assert term.start().mean() == pytest.approx(0.4, abs=0.02)


def test_checkpoints_have_the_mode_that_other_files_have(tmp_path):
    state = pp.denoise(np.eye(8), denoiser="tv", noise=0.1).state
    state.save(tmp_path / "state.npz")
    (tmp_path / "plain").write_bytes(b"")
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("state.npz", "plain")]
    assert modes[0] == modes[1]


def test_checkpoints_of_version_0_1_load(tmp_path):
    state = pp.restore(np.eye(16), pp.models.Deblurring(pp.kernels.box(3)), denoiser="tv", noise=0.1, max_iter=3).state
    state.save(tmp_path / "new.npz")
    with np.load(tmp_path / "new.npz") as stored:
        columns = {name: stored[name] for name in stored.files if name not in ("format", "history_level")}
    np.savez(tmp_path / "old.npz", **columns)
    old = pp.State.load(tmp_path / "old.npz")
    np.testing.assert_array_equal(old.v, state.v)
    assert (old.history.level == 0).all()
    np.savez(tmp_path / "later.npz", format=99, **columns)
    with pytest.raises(ValueError, match="written by a later version of plugplay"):
        pp.State.load(tmp_path / "later.npz")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pp.models.SinglePhoton(2, gain=1e300), "gain must be > 0 and <= 1e+15; got 1e+300"),
        (lambda: pp.kernels.parse(5), "a kernel is described by a string such as 'gaussian:1.6'; got 5"),
        (
            lambda: pp.State(0, np.eye(2), np.eye(2), np.eye(2), 0.0, pp.History.of([])),
            "State.rho must be > 0; got 0.0",
        ),
    ],
)
def test_wrong_numbers_are_refused(call, message):
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    assert message in str(caught.value)


def test_tiny_kernels_are_kernels():
    np.testing.assert_array_equal(pp.kernels.disk(0.03), [[1.0]])
    np.testing.assert_allclose(pp.kernels.gaussian(2, sigma=0.01), np.full((2, 2), 0.25))
    np.testing.assert_allclose(pp.kernels.gaussian((3, 3, 3), sigma=0.01).sum(), 1.0)


def test_a_certificate_examines_the_denoiser_of_the_run(camera):
    seen = []

    class Recorded:
        name = "recorded"

        def __init__(self, strength):
            self.strength = strength

        def prepared(self, traits, workers):
            return Recorded(0.5)

        def __call__(self, image, sigma):
            seen.append(self.strength)
            return image / (1 + self.strength * sigma)

    model = pp.models.Deblurring(pp.kernels.box(3))
    y = camera[:16, :16]
    result = pp.restore(y, model, denoiser=Recorded(7.0), lam=1e-3, schedule=pp.Monotone(rho0=0.1, gamma=1.5))
    seen.clear()
    pp.certify(result, model.data_term(y), "recorded")
    assert set(seen) == {0.5}


def test_steps_that_did_not_converge_are_told():
    """Two samples of a wide blur hardly determine anything, and rho is tiny."""
    rng = np.random.default_rng(1)
    mask = np.zeros((24, 24), bool)
    mask[::5, ::5] = True
    model = pp.models.Deblurring(rng.normal(size=(9, 9)), mask=mask, boundary="unknown")
    term = model.data_term(rng.random((24, 24)))
    steps = term.session(1e-30)
    steps.prox(term.start(), 1e-12)
    assert "conjugate gradients of 1 of 1 model steps stopped at a relative residual" in steps.warnings()[0]
    assert term.session(1e-3).warnings() == ()
