"""What the command line understands, Python understands; what it refuses, Python refuses."""

import inspect

import numpy as np
import pytest
from PIL import Image

import plugplay as pp
from plugplay import io
from plugplay.io import ImageFile

CHEAP = {"denoiser": "tv", "max_iter": 2}


@pytest.fixture
def folder(tmp_path, camera):
    """A JPEG photograph, a mask, and a kernel."""
    y = (camera[:48, :40] * 255).round().astype(np.uint8)
    Image.fromarray(np.stack([y, y, y[::-1]], axis=-1)).save(tmp_path / "photo.jpg", quality=92)
    mask = np.full(y.shape, 255, np.uint8)
    mask[10:14, 10:20] = 0
    io.write(tmp_path / "mask.png", ImageFile.of(mask))
    np.save(tmp_path / "kernel.npy", np.ones((1, 5)))
    io.write(tmp_path / "stack.tif", ImageFile.of(np.stack([y, y])))
    return tmp_path


def test_files_as_on_the_command_line(run, folder):
    """The same numbers come out, with the file's curve, axes and rounding."""
    result = pp.deblur(folder / "photo.jpg", folder / "kernel.npy", mask=folder / "mask.png", noise="auto", **CHEAP)
    words = ("-k", "kernel.npy", "--mask", "mask.png", "--denoiser", "tv", "--max-iter", 2)
    done = run("deblur", "photo.jpg", "-o", "out.png", *words, cwd=folder)
    assert done.returncode == 0, done.stderr
    written = io.read(folder / "out.png").pixels
    np.testing.assert_array_equal(np.clip(np.rint(result.image * 255), 0, 255), written)
    assert result.parameters.transfer == "srgb"
    assert result.parameters.noise >= io.read(folder / "photo.jpg").metadata.noise_floor
    assert pp.deblur(str(folder / "photo.jpg"), "box:1,5", transfer="linear", **CHEAP).parameters.transfer == "linear"
    for restored, transfer in (
        (pp.denoise(folder / "photo.jpg", reference=folder / "photo.jpg", denoiser="tv"), "linear"),
        (pp.inpaint(folder / "photo.jpg", folder / "mask.png", **CHEAP), "linear"),
        (pp.super_resolve(folder / "photo.jpg", 2, **CHEAP), "linear"),
        (pp.super_resolve(folder / "photo.jpg", 2, "gaussian:1", **CHEAP), "srgb"),
    ):
        assert restored.parameters.transfer == transfer
        assert restored.image.shape[-1] == 3
        assert not any("channel_axis" in text for text in restored.warnings)
    with pytest.raises(ValueError, match="holds 2 images"):
        pp.denoise(folder / "stack.tif")


def test_mistakes_are_refused_or_said(camera):
    y = (camera[:32, :32] * 255).astype(np.uint8)
    with pytest.raises(ValueError, match=r"if 5 is meant in those, write 5/255"):
        pp.denoise(y, noise=5)
    plain = pp.deblur(camera[:32, :32], np.full((3, 3), 1 / 9), noise=0.01, **CHEAP)
    summed = pp.deblur(camera[:32, :32], np.full((3, 3), 7), noise=0.01, **CHEAP)
    np.testing.assert_allclose(summed.image, plain.image, atol=1e-9)
    assert summed.warnings[0] == "the kernel was divided by its sum, 63"
    assert not any("its sum" in text for text in plain.warnings)
    with pytest.raises(ValueError, match="must have a positive sum"):
        pp.deblur(y, np.array([[1.0, -1.0]]))
    few = np.zeros((32, 32), bool)
    few[::4, ::4] = True
    assert "94 % of the pixels are missing" in pp.inpaint(y, few, noise=0.01, **CHEAP).warnings[0]
    colour = np.stack([y] * 3, axis=-1)
    assert any("channel_axis" in text for text in pp.denoise(colour, denoiser="tv").warnings)
    clipped = pp.restore(camera[:32, :32], pp.models.Denoising(), clip=(0.2, 0.6), noise=0.1, **CHEAP)
    assert clipped.parameters.clip == pytest.approx((0.2, 0.6))


@pytest.mark.parametrize("verb", ["denoise", "deblur", "inpaint", "super_resolve", "single_photon"])
def test_signatures_are_explicit(verb):
    function = getattr(pp, verb)
    parameters = inspect.signature(function).parameters
    assert set(parameters) >= set(inspect.signature(pp.restore).parameters) - {"y", "model"}
    assert all(p.kind is not p.VAR_KEYWORD for p in parameters.values())
    needed = {"deblur": ["box:3"], "inpaint": [np.eye(8) > 0], "super_resolve": [2]}.get(verb, [])
    with pytest.raises(TypeError, match=rf"^{verb}.*'nois'"):
        function(np.eye(8), *needed, nois=1)


def test_completion_and_repr(camera):
    assert set(dir(pp.kernels)) == {"bicubic", "box", "disk", "from_file", "gaussian", "motion", "parse"}
    result = pp.deblur((camera[:32, :32] * 9000).astype(np.uint16), np.ones((3, 3)), **CHEAP)
    lines = repr(result).splitlines()
    assert len(lines) <= 5
    assert max(map(len, lines)) <= 130
    assert "(32, 32) float32" in lines[1]
