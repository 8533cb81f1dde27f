import subprocess
import sys

import numpy as np
import pytest

import plugplay as pp
from plugplay.denoisers.base import BUILT_IN

CLASSICAL = ("tv", "nlm", "dsg-nlm", "wavelet", "recursive", "bilateral", "median", "gaussian")

PLUGIN = """
class Halve:
    def __init__(self, *, strength=2.0):
        self.strength = strength
    def __call__(self, image, sigma):
        return image / self.strength

not_callable = 3
"""
METADATA = "Metadata-Version: 2.1\nName: plugplay-halve\nVersion: 1.0\n"
ENTRY_POINTS = """[plugplay.denoisers]
halve = plugplay_halve:Halve
tv = plugplay_halve:Halve
broken = plugplay_halve:not_callable
"""


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """A third-party package with entry points, as an installer would leave it."""
    (tmp_path / "plugplay_halve.py").write_text(PLUGIN)
    info = tmp_path / "plugplay_halve-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(METADATA)
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.syspath_prepend(tmp_path)


def test_plugins_are_found_by_name(plugin):
    assert pp.denoisers.available()["halve"].origin == "plugplay-halve"
    assert "plugplay_halve" not in sys.modules  # looking does not load
    image = np.ones((3, 3))
    np.testing.assert_array_equal(pp.denoisers.get("halve", strength=4.0)(image, 0.1), image / 4)
    sys.modules.pop("plugplay_halve")


def test_plugins_cannot_shadow_a_built_in(plugin):
    assert type(pp.denoisers.get("tv")).__module__ == "plugplay.denoisers.tv"
    assert pp.denoisers.available()["tv"].origin == "plugplay"


def test_broken_plugins_are_reported(plugin):
    with pytest.raises(TypeError, match="the entry point of denoiser 'broken' names 3, which is not callable"):
        pp.denoisers.get("broken")
    sys.modules.pop("plugplay_halve")


def test_unknown_names_and_options():
    with pytest.raises(ValueError, match="unknown denoiser 'nosuch'; available: .*tv"):
        pp.denoisers.get("nosuch")
    with pytest.raises(TypeError, match="denoiser 'tv': .*'iterations'.*its options are: max_iterations"):
        pp.denoisers.get("tv", iterations=3)
    with pytest.raises(TypeError, match="a denoiser's name is a string; got 3"):
        pp.denoisers.get(3)


def test_looking_imports_nothing():
    code = "import sys, plugplay as pp; pp.denoisers.available(); assert not {'numba', 'skimage'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_per_channel_gives_every_channel_a_session_of_its_own():
    class Counting:
        name = "counting"

        def __call__(self, image, sigma):
            return image

        def session(self):
            calls = []

            def denoise(image, sigma):
                calls.append(float(image.mean()))
                assert len(set(calls)) == 1, "a session has seen two channels"
                return image

            return denoise

    denoiser = pp.denoisers.per_channel(Counting())
    image = np.stack([np.full((4, 4), value) for value in (0.1, 0.2, 0.3)], axis=-1)
    session = denoiser.session()
    for _ in range(2):
        np.testing.assert_array_equal(session(image, 0.1), image)
    np.testing.assert_array_equal(denoiser(image, 0.1), image)


# Subsampled images have too much fine detail for a Gaussian at low noise; test_calibration has others.
@pytest.mark.parametrize("name", [name for name in CLASSICAL if name != "gaussian"])
@pytest.mark.parametrize("colour", [False, True], ids=["gray", "colour"])
def test_built_ins_denoise(name, colour, camera, astronaut):
    x = astronaut if colour else camera
    denoise = pp.denoisers.get(name)
    for sigma in (10 / 255, 25 / 255):
        y = np.clip(x + sigma * np.random.default_rng(0).normal(size=x.shape), 0, 1)
        for dtype in (np.float32, np.float64):
            given = y.astype(dtype)
            clean = denoise(given, sigma)
            assert clean.dtype == dtype
            np.testing.assert_array_equal(given, y.astype(dtype))
            assert pp.psnr(clean, x) > pp.psnr(y, x) + 1.0
    np.testing.assert_array_equal(denoise(y, 0.0), y)
    for sigma in (1e-4, 3.0):
        assert np.isfinite(denoise(y, sigma)).all()


@pytest.mark.parametrize("name", CLASSICAL)
@pytest.mark.parametrize(
    ("image", "sigma", "message"),
    [
        (np.full((8, 8), np.nan), 0.1, "NaN or infinite"),
        (np.zeros((8, 8), np.uint8), 0.1, "floats on the scale"),
        (np.zeros(8), 0.1, "must have the shape"),
        (np.zeros((8, 8)), -0.1, "sigma must be >= 0"),
        (np.zeros((8, 8)), float("nan"), "sigma must be finite and >= 0"),
        (np.zeros((8, 8)), "0.1", "sigma must be a number"),
    ],
)
def test_built_ins_refuse_bad_input(name, image, sigma, message):
    with pytest.raises((ValueError, TypeError), match=message):
        pp.denoisers.get(name)(image, sigma)


def test_what_is_said_about_the_built_ins():
    for name in CLASSICAL:
        info = pp.denoisers.available()[name]
        assert info == BUILT_IN[name]
        assert info.name == name == pp.denoisers.get(name).name
        assert info.summary
        assert info.extra is None
        assert info.speed in ("instant", "fast", "slow")
        assert info.colour in ("joint", "per channel")


def test_nothing_is_known_about_the_speed_and_the_colours_of_plugins(plugin):
    info = pp.denoisers.available()["halve"]
    assert (info.speed, info.colour, info.extra) == (None, None, None)
