"""What a denoiser may offer besides being callable, and how a restoration asks for it."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

import plugplay as pp
from plugplay.denoisers import base
from plugplay.denoisers.base import min_sigma_of, name_of, open_session, per_channel, prepare_denoiser, sliced

IMAGE = SimpleNamespace(leaves="white", spatial_ndim=2)
VOLUME = SimpleNamespace(leaves="white", spatial_ndim=3)
THREADED = ("tv", "nlm", "dsg-nlm", "wavelet", "recursive", "bilateral", "median", "gaussian")
VOLUMETRIC = ("tv", "wavelet", "median", "gaussian")


def smooth(image, sigma):
    """Not symmetric and not linear, so that mixed up slices, axes or sigmas show."""
    return image + sigma * np.sin(3 * np.roll(image, 1, axis=0) + 5 * np.roll(image, 1, axis=1))


class CancelledError(Exception):
    pass


class Remembers:
    """Counts its calls; each session adds what it has seen before."""

    min_sigma = 0.02
    name = "remembers"

    def __init__(self):
        self.sessions = []

    def __call__(self, image, sigma):
        return self.session()(image, sigma)

    def session(self, progress=None):
        seen = []
        self.sessions.append(seen)

        def denoise(image, sigma):
            for share in (0.5, 1.0):
                if progress is not None:
                    progress(share)
            seen.append(image.copy())
            return smooth(image, sigma) + 0.1 * sum(seen[:-1], np.zeros_like(image))

        return denoise


class OldSession:
    """A third party's, from before sessions could report."""

    def __call__(self, image, sigma):
        return image

    def session(self):
        return lambda image, sigma: image + 1


# Sessions


def test_a_session_is_opened_if_there_is_one():
    shares = []
    image = np.zeros((2, 2))
    assert open_session(smooth) is smooth
    assert open_session(smooth, shares.append) is smooth
    assert open_session(OldSession(), shares.append)(image, 0.1).sum() == 4
    assert not shares
    open_session(Remembers(), shares.append)(image, 0.1)
    assert shares == [0.5, 1.0]


def test_sessions_of_every_signature():
    told = []

    @dataclass
    class Any:
        session: object

        def __call__(self, image, sigma):
            return image

    def keywords(**options):
        told.append(options)
        return smooth

    def positional(progress):
        told.append(progress)
        return smooth

    for session in (keywords, positional):
        assert open_session(Any(session), print) is smooth
    assert told == [{"progress": print}, print]
    assert open_session(Any(None), print).session is None


def test_what_progress_raises_comes_through():
    def cancel(share):
        raise CancelledError

    for denoiser, shape in ((Remembers(), (4, 4)), (per_channel(Remembers()), (4, 4, 2)), (sliced(smooth), (3, 4, 5))):
        with pytest.raises(CancelledError):
            open_session(denoiser, cancel)(np.zeros(shape), 0.1)


# min_sigma and names


def test_min_sigma():
    assert min_sigma_of(smooth) == 0.0
    for denoiser in (Remembers(), per_channel(Remembers()), sliced(Remembers())):
        assert min_sigma_of(denoiser) == 0.02
    for wrong, error in ((-0.1, ValueError), (2, ValueError), ("small", TypeError)):
        with pytest.raises(error, match="min_sigma of 'SimpleNamespace' must be"):
            min_sigma_of(SimpleNamespace(min_sigma=wrong))


def test_names():
    assert name_of("tv") == "tv"
    assert name_of(smooth) == "smooth"
    assert name_of(OldSession()) == "OldSession"
    for wrap in (per_channel, sliced):
        assert name_of(wrap(Remembers())) == "remembers"
        assert name_of(wrap(pp.denoisers.get("nlm"))) == "nlm"


# Preparing


@pytest.mark.parametrize("name", THREADED)
def test_built_ins_are_prepared_by_name_and_as_objects(name):
    for denoiser in (name, pp.denoisers.get(name)):
        made = prepare_denoiser(denoiser, IMAGE, 3)
        assert made == pp.denoisers.get(name, workers=3)
    assert prepare_denoiser(pp.denoisers.get(name, workers=1), IMAGE, 3).workers == 1  # what was asked for stays
    volume = prepare_denoiser(name, VOLUME, 3)
    if name in VOLUMETRIC:
        assert volume == pp.denoisers.get(name, workers=3, spatial_ndim=3)
        assert prepare_denoiser(volume, IMAGE, 3) == pp.denoisers.get(name, workers=3)
    else:
        assert volume == sliced(pp.denoisers.get(name, workers=3))
    assert volume(np.random.default_rng(0).random((4, 5, 6)), 0.1).shape == (4, 5, 6)


def test_options_stay_when_a_denoiser_is_prepared():
    made = prepare_denoiser(pp.denoisers.get("wavelet", levels=2), VOLUME, 3)
    assert made == pp.denoisers.get("wavelet", levels=2, workers=3, spatial_ndim=3)


class Fits:
    def __init__(self, *, axes=(2,), told=None):
        self.spatial_ndims, self.told = axes, told

    def __call__(self, image, sigma):
        return image

    def prepared(self, traits, workers):
        return Fits(axes=self.spatial_ndims, told=(traits.leaves, traits.spatial_ndim, workers))


def test_third_parties_are_prepared_as_well():
    assert prepare_denoiser(smooth, IMAGE, 2) is smooth
    assert prepare_denoiser(Fits(), IMAGE, 2).told == ("white", 2, 2)
    assert prepare_denoiser(Fits(axes=(2, 3)), VOLUME, 2).told == ("white", 3, 2)
    wrapped = prepare_denoiser(Fits(), VOLUME, 2)
    assert wrapped.denoiser.told == ("white", 3, 2)
    assert type(wrapped) is type(sliced(smooth))
    assert type(prepare_denoiser(wrapped, VOLUME, 2).denoiser) is Fits  # not wrapped twice


def test_channels_of_volumes():
    volume = np.random.default_rng(0).random((4, 5, 6, 2))
    native = prepare_denoiser(per_channel(pp.denoisers.get("tv")), VOLUME, 1)
    plain = pp.denoisers.get("tv", spatial_ndim=3)
    expected = np.stack([plain(np.ascontiguousarray(volume[..., c]), 0.1) for c in range(2)], axis=-1)
    np.testing.assert_array_equal(native(volume, 0.1), expected)
    np.testing.assert_array_equal(native(volume[..., 0], 0.1), expected[..., 0])
    planar = prepare_denoiser(per_channel(smooth), VOLUME, 1)
    np.testing.assert_array_equal(planar(volume, 0.1), by_loops(per_channel(smooth), volume, 0.1))


@pytest.mark.parametrize("wrong", [3, None, pp.denoisers.get("tv").__class__])
def test_what_is_not_a_denoiser(wrong):
    with pytest.raises(TypeError, match=r"denoiser must be a name or a callable \(image, sigma\) -> image; got"):
        prepare_denoiser(wrong, IMAGE, 1)


def test_bad_names_and_bad_third_parties():
    with pytest.raises(ValueError, match="unknown denoiser 'nosuch'; available: bm3d, tv"):
        prepare_denoiser("nosuch", IMAGE, 1)

    class Wrong(Fits):
        def prepared(self, traits, workers):
            return None

    with pytest.raises(TypeError, match=r"prepared\(\) of denoiser 'Wrong' returned None, which is not callable"):
        prepare_denoiser(Wrong(), IMAGE, 1)


# Slices


def by_loops(denoise, volume, sigma):
    """Cut along each axis, denoise image by image, and take the mean of the three."""
    total = 0
    for axis in range(3):
        moved = np.moveaxis(volume, axis, 0)
        total = total + np.moveaxis(np.stack([denoise(np.ascontiguousarray(p), sigma) for p in moved]), 0, axis)
    return total / 3


@pytest.mark.parametrize("shape", [(3, 4, 5), (2, 3, 4, 3), (1, 1, 1)])
def test_slices_against_loops(shape):
    volume = np.random.default_rng(0).random(shape)
    volume.setflags(write=False)
    np.testing.assert_allclose(sliced(smooth)(volume, 0.1), by_loops(smooth, volume, 0.1), rtol=1e-15)
    single = volume.astype(np.float32)
    assert sliced(smooth)(single, 0.1).dtype == np.float32


@pytest.mark.parametrize("shape", [(12, 14, 16), (9, 10, 12, 3)])
def test_bm3d_on_slices(shape):
    volume = np.random.default_rng(0).random(shape).astype(np.float32)
    denoise = pp.denoisers.BM3D(workers=1)
    expected = by_loops(denoise, volume, 0.1)
    np.testing.assert_allclose(sliced(denoise)(volume, 0.1), expected, atol=1e-6)
    np.testing.assert_allclose(open_session(sliced(denoise))(volume, 0.1), expected, atol=1e-6)


def test_every_slice_has_a_session_of_its_own():
    denoiser = Remembers()
    session = open_session(sliced(denoiser))
    first, second = np.random.default_rng(0).random((2, 3, 4, 5))
    np.testing.assert_allclose(session(first, 0.1), by_loops(smooth, first, 0.1))
    assert len(denoiser.sessions) == 3 + 4 + 5
    # The second time, each slice adds a tenth of what it was before.
    np.testing.assert_allclose(session(second, 0.1), by_loops(smooth, second, 0.1) + 0.1 * first)
    assert len(denoiser.sessions) == 3 + 4 + 5
    assert all(len(seen) == 2 for seen in denoiser.sessions)


def test_another_shape_begins_anew():
    denoiser = Remembers()
    session = open_session(sliced(denoiser))
    volume = np.random.default_rng(0).random((4, 4, 4))
    session(volume, 0.1)
    np.testing.assert_allclose(session(volume[:3], 0.1), by_loops(smooth, volume[:3], 0.1))


def test_the_memory_of_slices_is_bounded(monkeypatch):
    """Slices are kept as long as there is room; the others are denoised without a memory."""
    monkeypatch.setattr(base._Sliced, "max_session_pixels", 3 * 20 + 2 * 15 + 5)
    denoiser = Remembers()
    session = open_session(sliced(denoiser))
    volume = np.random.default_rng(0).random((3, 4, 5))
    for _ in range(3):
        session(volume, 0.1)
    # Three of 4 x 5 across the first axis, two of 3 x 5 across the second; then one call, one session.
    calls = [len(seen) for seen in denoiser.sessions]
    assert calls.count(3) == 5
    assert calls.count(1) == 3 * (12 - 5)
    assert len(calls) == 5 + 21


@pytest.mark.parametrize("inner", [Remembers, OldSession, lambda: smooth], ids=["reports", "old", "none"])
@pytest.mark.parametrize(("wrap", "shape", "parts"), [(sliced, (2, 3, 4), 9), (per_channel, (5, 6, 4), 4)])
def test_progress_goes_through(inner, wrap, shape, parts):
    shares = []
    session = open_session(wrap(inner()), shares.append)
    for _ in range(2):
        shares.clear()
        session(np.zeros(shape), 0.1)
        assert shares == sorted(shares)
        assert shares[-1] == 1.0
        assert set(np.round(np.arange(1, parts + 1) / parts, 9)) <= set(np.round(shares, 9))
        if inner is Remembers:
            assert round(0.5 / parts, 9) in np.round(shares, 9)


@pytest.mark.parametrize("wrap", [sliced, per_channel])
@pytest.mark.parametrize("wrong", [lambda image, sigma: 0.5, lambda image, sigma: (image > 0).astype(int)])
def test_answers_that_would_be_stretched_or_cast(wrap, wrong):
    with pytest.raises(ValueError, match=r"denoiser '<lambda>' returned the shape .* floats of the same shape"):
        wrap(wrong)(np.zeros((3, 4, 5)), 0.1)


def test_images_are_not_volumes():
    with pytest.raises(
        ValueError, match=r"volumes have the shape \(D, H, W\) or \(D, H, W, C\); got the shape \(4, 5\)"
    ):
        sliced(smooth)(np.zeros((4, 5)), 0.1)
