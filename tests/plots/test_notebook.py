"""A result in a notebook, its progress there, and saving it like the file it came from."""

import base64
import io
import re
import sys
import types

import numpy as np
import pytest
from PIL import Image
from skimage import data

import plugplay as pp

IMAGE = (np.add.outer(np.arange(40), np.arange(60)) % 20 / 20).astype(np.float32)
BLURRED = pp.models.Deblurring(pp.kernels.box(3)).simulate(IMAGE, noise=0.01, rng=0)


def shown(result):
    """Return the pictures of the fragment, as arrays."""
    found = re.findall(r'alt="(\w+)" src="data:image/png;base64,([^"]+)"', result._repr_html_())
    return {name: np.asarray(Image.open(io.BytesIO(base64.b64decode(text)))) for name, text in found}


def restored(y=BLURRED, **options):
    return pp.deblur(y, pp.kernels.box(3), denoiser="tv", noise=0.01, lam=1e-4, max_iter=3, **options)


def test_before_and_after_are_shown_in_the_same_window():
    counts = np.rint(np.clip(BLURRED, 0, 1) * 65535).astype(np.uint16)
    for y in (BLURRED, counts):
        result = restored(y)
        planes = shown(result)
        assert list(planes) == ["before", "after"]
        np.testing.assert_allclose(planes["before"] / 255, np.clip(BLURRED, 0, 1), atol=0.003)
        np.testing.assert_allclose(planes["after"] / 255, np.clip(result.image, 0, 1), atol=0.003)


def test_colour_channels_first_volumes_and_large_images():
    colour = np.stack([BLURRED, BLURRED, BLURRED])
    assert shown(restored(colour, channel_axis=0))["after"].shape == (40, 60, 3)
    volume = np.stack([BLURRED[:12, :12]] * 5)
    result = pp.denoise(volume, denoiser="gaussian", noise=0.1, spatial_ndim=3)
    assert shown(result)["before"].shape == (12, 12)
    large = pp.denoise(np.tile(BLURRED, (12, 10)), denoiser="gaussian", noise=0.01)
    assert max(shown(large)["before"].shape) <= 384


def test_a_plan_has_an_after_only_and_the_text_is_escaped():
    plan = pp.prepare(BLURRED, pp.models.Deblurring(pp.kernels.box(3)), denoiser="tv", noise=0.01, max_iter=3)
    result = plan.run()
    assert list(shown(result)) == ["after"]
    assert "<script" not in pp.Result._repr_html_(result)
    fragment = result._repr_html_()
    assert "tv" in fragment
    assert "lam" in fragment
    assert "(automatic)" in fragment
    assert "<svg" in fragment


def test_numbers_are_short():
    result = restored(schedule=pp.Monotone(rho0=0.0123456789, gamma=1.3))
    assert "Monotone(rho0=0.01235, gamma=1.3)" in result._repr_html_()


def test_the_preview_is_no_part_of_the_fingerprint():
    result = restored()
    plan = pp.prepare(
        BLURRED,
        pp.models.Deblurring(pp.kernels.box(3), boundary="unknown"),
        denoiser="tv",
        noise=0.01,
        lam=1e-4,
        max_iter=3,
    )
    assert result.image.tobytes() == plan.run().image.tobytes()
    assert "preview" not in repr(result)


class Handle:
    def __init__(self, shown):
        self.shown = shown

    def update(self, fragment):
        self.shown.append(fragment.data)


@pytest.fixture
def notebook(monkeypatch):
    """A kernel's display, as IPython offers it; returns what was displayed."""
    texts = []

    def display(fragment, display_id):
        assert display_id
        texts.append(fragment.data)
        return Handle(texts)

    kernel = types.SimpleNamespace(kernel=object())
    ipython = types.ModuleType("IPython")
    ipython.get_ipython = lambda: kernel
    module = types.ModuleType("IPython.display")
    module.HTML = lambda text: types.SimpleNamespace(data=text)
    module.display = display
    ipython.display = module
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    monkeypatch.setattr("plugplay.plots.progress.PAUSE", 0.0)
    return texts


def test_progress_in_a_notebook(notebook):
    restored(callback=pp.ProgressBar())
    values = [float(re.search(r'value="([\d.]+)"', text)[1]) for text in notebook]
    assert values == sorted(values)
    assert values[-1] == 1
    assert "iteration 1, sigma" in "".join(notebook)
    assert "3 iterations" in notebook[-1]


def test_a_bar_does_not_go_back_when_the_forecast_becomes_longer(notebook, monkeypatch):
    left = iter([1e-9, 1e3, 1e6])
    monkeypatch.setattr("plugplay.plots.progress.seconds_left", lambda *_: next(left))
    monkeypatch.setattr("plugplay.plots.progress.PAUSE", 0.0)
    restored(callback=pp.ProgressBar())
    values = [float(re.search(r'value="([\d.]+)"', text)[1]) for text in notebook]
    assert values == sorted(values)
    assert values[0] > 0.9


def test_progress_elsewhere_is_silent(capsys):
    restored(callback=pp.ProgressBar())
    assert capsys.readouterr() == ("", "")


def test_progress_on_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("plugplay.plots.progress.PAUSE", 0.0)
    restored(callback=pp.ProgressBar())
    assert "[########################] 3 iterations\n" in capsys.readouterr().err


def test_save_keeps_depth_and_metadata(tmp_path):
    counts = np.rint(np.clip(BLURRED, 0, 1) * 4095).astype(np.uint16)
    metadata = pp.io.Metadata(resolution=pp.io.Resolution(300, 300))
    pp.io.write(tmp_path / "in.tif", pp.io.ImageFile.of(counts, metadata=metadata))
    result = restored(pp.io.read(tmp_path / "in.tif").pixels)
    result.save(tmp_path / "out.tif", like=tmp_path / "in.tif")
    written = pp.io.read(tmp_path / "out.tif")
    assert written.pixels.dtype == np.uint16
    assert written.metadata.resolution == metadata.resolution
    # The nearest level, up to the single precision of the image.
    levels = np.clip(result.image.astype(float), 0, 1) * 65535
    assert np.abs(written.pixels - levels).max() <= 0.5 + 65535 * np.finfo(np.float32).eps


def test_save_enlarged_without_like_and_refused(tmp_path):
    small = np.rint(np.clip(IMAGE, 0, 1) * 255).astype(np.uint8)
    pp.io.write(tmp_path / "in.png", pp.io.ImageFile.of(small))
    large = pp.super_resolve(small, 2, denoiser="tv", noise=0.01, max_iter=2)
    large.save(tmp_path / "out.png", like=tmp_path / "in.png")
    assert pp.io.read(tmp_path / "out.png").pixels.shape == (80, 120)
    large.save(tmp_path / "out.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), large.image)
    pp.io.write(tmp_path / "other.png", pp.io.ImageFile.of(small[:31]))
    with pytest.raises(pp.io.ImageFileError, match="whole factor"):
        large.save(tmp_path / "no.png", like=tmp_path / "other.png")
    assert not (tmp_path / "no.png").exists()


def test_progress_tells_that_a_run_is_repeated(notebook):
    """More noise than was told: the first run shows it, and another follows."""
    model = pp.models.Deblurring(pp.kernels.box(5))
    y = model.simulate(data.camera()[100:148, 200:248] / 255, noise=0.02, rng=0)
    pp.restore(y, model, denoiser="tv", noise=0.01, callback=pp.ProgressBar())
    first = next(number for number, text in enumerate(notebook) if "repeated with other noise, iteration 1," in text)
    assert first > 5
    assert all("repeated with other noise" in text for text in notebook[first:-1])
