"""In which depth results are written, through the installed command: peaks beyond integers, few counts, floats."""

import json

import numpy as np
import pytest
import tifffile
from scipy import ndimage

import plugplay as pp
from plugplay import io

BACKGROUND = 100


@pytest.fixture(scope="module")
def beads():
    """Points of light behind a blur, in 16 bits: the blurred ones fit, restored ones do not."""
    rng = np.random.default_rng(0)
    points = np.zeros((64, 64))
    points[rng.integers(8, 56, 8), rng.integers(8, 56, 8)] = 4e5
    return np.rint(rng.poisson(ndimage.gaussian_filter(points, 2) + BACKGROUND)).astype(np.uint16)


def flux(pixels):
    return float(np.sum(np.asarray(pixels, np.float64) - BACKGROUND))


def warned(done):
    return [line for line in done.stderr.splitlines() if line.startswith("warning: ") and "stretch" not in line]


@pytest.mark.parametrize("ending", ["tif", "fits", "npy"])
def test_peaks_beyond_the_integers_keep_their_flux(ending, beads, tmp_path, run):
    assert beads.max() < 40_000
    source, out, plot = (tmp_path / name for name in (f"beads.{ending}", f"out.{ending}", "plot.png"))
    io.write(source, io.ImageFile.of(beads))
    done = run("deblur", source, "-o", out, "-k", "gaussian:2", "--json", "--plot", plot)
    assert done.returncode == 0, done.stderr
    restored = io.read(out).pixels
    assert restored.dtype == np.float32
    assert json.loads(done.stdout)["dtype"] == "float32"
    assert restored.max() > 2 * 65535
    assert flux(restored) == pytest.approx(flux(beads), rel=0.01)
    (text,) = warned(done)
    assert "beyond the 0 to 65535 of uint16" in text
    assert "written as float32, in the units of the file" in text
    # Who asks for integers, or for a format that holds nothing else, is told what it costs.
    for words in (("-o", tmp_path / "int.tif", "--depth", "16"), ("-o", tmp_path / "int.png")):
        done = run("deblur", source, *words, "-k", "gaussian:2")
        assert done.returncode == 0, done.stderr
        (text,) = warned(done)
        assert "pixels were clipped; --depth float with a TIFF, FITS or NPY file keeps them" in text
        clipped = io.read(words[1]).pixels
        assert clipped.dtype == np.uint16
        assert f"{np.count_nonzero(clipped == 65535)} pixels" in text


def test_peaks_in_python_and_in_stacks(beads, tmp_path, run):
    flat = np.full_like(beads, BACKGROUND)
    flat[::7, ::5] += 60
    tifffile.imwrite(tmp_path / "stack.tif", np.stack([flat, beads]))
    result = pp.deblur(beads, "gaussian:2", denoiser="tv", noise=1e-4, max_iter=20)
    io.write(tmp_path / "beads.tif", io.ImageFile.of(beads))
    with pytest.warns(io.ImageLossWarning, match="written as float32, in the units of the file"):
        result.save(tmp_path / "out.tif", like=tmp_path / "beads.tif")
    written = io.read(tmp_path / "out.tif").pixels
    np.testing.assert_allclose(written, result.image * 65535.0, rtol=1e-6)
    done = run("deblur", tmp_path / "stack.tif", "-o", tmp_path / "sharp.tif", "-k", "gaussian:2", "--denoiser", "tv")
    assert done.returncode == 0, done.stderr
    pages = io.read(tmp_path / "sharp.tif").pixels
    assert (pages.dtype, pages.shape) == (np.float32, (2, 64, 64))
    assert pages[0].mean() == pytest.approx(flat.mean(), rel=0.01)  # what was stored before is in the same numbers


def test_parts_say_what_they_clip(beads, tmp_path, run):
    tifffile.imwrite(tmp_path / "stack.tif", np.stack([beads, beads[::-1]]))
    words = ("deblur", tmp_path / "stack.tif", "-k", "gaussian:2", "--denoiser", "tv", "--shared-parameters")
    done = run(*words, "-o", tmp_path / "int.tif")
    assert done.returncode == 0, done.stderr
    assert "were clipped; --depth float with a TIFF, FITS or NPY file keeps them" in done.stderr


@pytest.mark.parametrize("bits", [8, 16])
def test_photographs_end_at_white(bits, camera, tmp_path, run):
    """Also as 16 gray bits, whose numbers count as light: white that was white already is white."""
    light = np.clip(ndimage.gaussian_filter(camera[:64, :64] * 1.5, 1.5), 0, 1)
    photograph = np.rint(light * (2**bits - 1)).astype(f"u{bits // 8}")
    assert np.mean(photograph == 2**bits - 1) > 0.05
    io.write(tmp_path / "photo.tif", io.ImageFile.of(photograph))
    words = ("deblur", tmp_path / "photo.tif", "-o", tmp_path / "out.tif", "-k", "gaussian:1.5", "--denoiser", "tv")
    done = run(*words, "--noise", "0.002")
    assert done.returncode == 0, done.stderr
    assert io.read(tmp_path / "out.tif").pixels.dtype == photograph.dtype
    assert "clipped" not in done.stderr


def test_few_counts_are_not_rounded(tmp_path, run):
    rng = np.random.default_rng(2)
    rows, columns = np.mgrid[:64, :64]
    light = 104 + 14 * np.exp(-((rows - 30) ** 2 + (columns - 34) ** 2) / 300)
    counts = np.rint(2.0 * rng.poisson(light / 2)).astype(np.uint16)
    tifffile.imwrite(tmp_path / "few.tif", counts)
    done = run("denoise", tmp_path / "few.tif", "-o", tmp_path / "out.tif")
    assert done.returncode == 0, done.stderr
    restored = io.read(tmp_path / "out.tif").pixels
    assert restored.dtype == np.float32
    assert np.unique(restored).size > 1000
    error, rounded = (np.mean(np.square(image - light)) for image in (restored, np.rint(restored)))
    assert error < rounded
    assert "levels of uint16, so few that rounding shows: the pixels are written as float32" in done.stderr
    # Labels are whole numbers, restored or not.
    io.write(
        tmp_path / "labels.npy", io.ImageFile.of(np.kron(np.arange(16).reshape(4, 4), np.ones((16, 16))).astype("u2"))
    )
    done = run(
        "denoise", tmp_path / "labels.npy", "-o", tmp_path / "same.npy", "--denoiser", "median", "--noise", "1e-9"
    )
    assert io.read(tmp_path / "same.npy").pixels.dtype == np.uint16, done.stderr


@pytest.mark.parametrize("words", [(), ("--shared-parameters",)])
def test_floats_of_measurements_keep_the_units_of_the_file(words, tmp_path, run):
    rng = np.random.default_rng(4)
    for name, top in (("corner", 900), ("full", 60_000)):
        ramp = np.add.outer(np.linspace(0.1, 0.9, 64), np.linspace(0, 0.1, 64)) * top
        stack = np.rint(rng.normal(ramp, top / 100, (2, 64, 64))).astype(np.uint16)
        tifffile.imwrite(tmp_path / f"{name}.tif", stack)
        images = []
        for depth in ("same", "float"):
            out = tmp_path / f"{name}-{depth}.tif"
            done = run("denoise", tmp_path / f"{name}.tif", "-o", out, "--depth", depth, "--denoiser", "tv", *words)
            assert done.returncode == 0, done.stderr
            images.append(io.read(out).pixels)
        assert [image.dtype for image in images] == [np.uint16, np.float32]
        assert np.abs(images[0] - images[1]).max() <= 0.51  # the same numbers, not rounded
        assert images[1].mean() == pytest.approx(stack.mean(), rel=0.01)


def test_floats_of_photographs_are_light(camera, tmp_path, run):
    io.write(tmp_path / "photo.png", io.ImageFile.of(np.rint(camera[:32, :32] * 255).astype(np.uint8)))
    words = ("denoise", tmp_path / "photo.png", "--denoiser", "tv", "--noise", "0.001")
    for name, depth in (("a.tif", "float"), ("a.png", "float"), ("b.png", "16")):
        assert run(*words, "-o", tmp_path / name, "--depth", depth).returncode == 0
    light = io.linearise(io.read(tmp_path / "b.png").pixels / 65535, "srgb")
    np.testing.assert_allclose(io.read(tmp_path / "a.tif").pixels, light, atol=1e-4)
    # A format without floats gets what it holds, with the same black and white.
    np.testing.assert_array_equal(io.read(tmp_path / "a.png").pixels, io.read(tmp_path / "b.png").pixels)


def test_floats_of_counts_in_a_format_without_them(beads, tmp_path, run):
    dim = (beads // 300).astype(np.uint16) + 40
    io.write(tmp_path / "dim.tif", io.ImageFile.of(dim))
    words = ("denoise", tmp_path / "dim.tif", "-o", tmp_path / "out.png", "--depth", "float", "--denoiser", "tv")
    done = run(*words)
    assert done.returncode == 0, done.stderr
    assert "PNG cannot hold float32" in done.stderr
    assert io.read(tmp_path / "out.png").pixels.mean() == pytest.approx(dim.mean(), rel=0.02)
