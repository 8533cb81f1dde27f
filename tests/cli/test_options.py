"""What options mean: the same as in Python."""

import json
import re
import subprocess

import numpy as np
import pytest
from PIL import Image

import plugplay as pp
from plugplay import io
from plugplay.io import ImageFile

TV = ("--denoiser", "tv", "--noise", "0.02")


@pytest.mark.parametrize("dtype", [np.int16, np.uint32, np.float32])
def test_files_mean_what_arrays_mean(run, tmp_path, noisy, dtype):
    """Counts in a corner of their type, and fluxes: the same pixels as the Python call gives."""
    pixels = (noisy * 400 + 90).astype(dtype)
    io.write(tmp_path / "a.tif", ImageFile.of(pixels))
    done = run("deblur", "a.tif", "-o", "b.tif", "-k", "box:3", "--denoiser", "tv", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    result = pp.deblur(pixels, "box:3", denoiser="tv")
    expected = result.image
    if np.dtype(dtype).kind != "f":
        limits = np.iinfo(dtype)
        expected = expected.astype(np.float64) * (float(limits.max) - limits.min) + limits.min
    rounding = 0.0 if dtype == np.float32 else 0.51
    np.testing.assert_allclose(io.read(tmp_path / "b.tif").pixels, expected, rtol=0, atol=rounding)
    record = json.loads(done.stdout)
    assert record["pages"][0]["parameters"]["working_range"] == pytest.approx(result.parameters.working_range)
    assert record["pages"][0]["warnings"] == list(result.warnings)


def test_crop_strength_iteration_and_tuning(run, tmp_path, camera):
    blurred = pp.models.Deblurring(pp.kernels.box(3)).simulate(camera, noise=0.02, rng=0)
    pixels = (np.clip(blurred, 0, 1) * 255).round().astype(np.uint8)
    io.write(tmp_path / "a.png", ImageFile.of(pixels))
    io.write(tmp_path / "true.png", ImageFile.of((camera * 255).round().astype(np.uint8)))
    part = ("--crop", "10,20,40,30", "--reference", "true.png", "--json")
    hqs = ("--strength", "2", "--iteration", "hqs", "--max-iter", "5", "--tol", "0")
    done = run("deblur", "a.png", "-o", "b.png", "-k", "box:3", *TV, *hqs, *part, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    crop = pixels[20:50, 10:50]
    options = {"denoiser": "tv", "noise": 0.02, "strength": 2.0, "iteration": "hqs", "max_iter": 5, "tol": 0.0}
    expected = pp.deblur(crop, "box:3", transfer="srgb", **options)  # a PNG file is not in proportion to light
    np.testing.assert_array_equal(io.read(tmp_path / "b.png").pixels, np.rint(np.clip(expected.image, 0, 1) * 255))
    page = json.loads(done.stdout)["pages"][0]
    truth = np.rint(camera[20:50, 10:50] * 255) / 255
    assert page["psnr"] == pytest.approx(pp.psnr(expected.image, truth), abs=1e-3)
    assert page["parameters"]["iteration"] == "hqs"
    tuned = ("--tune", "sure", "--seed", "3", "--max-iter", "3", "--crop", "0,0,32,32")
    done = run("deblur", "a.png", "-o", "c.png", "-k", "box:3", "--json", *TV, *tuned, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    options = {"denoiser": "tv", "noise": 0.02, "tune": "sure", "rng": 3, "max_iter": 3, "transfer": "srgb"}
    same = pp.deblur(pixels[:32, :32], "box:3", **options)
    assert json.loads(done.stdout)["pages"][0]["parameters"]["lam"] == same.parameters.lam


def test_weights_go_to_the_denoiser(command, environment, tmp_path, noisy):
    """A plug-in stands for the learned denoisers, which need PyTorch."""
    (tmp_path / "plug-1.0.dist-info").mkdir()
    (tmp_path / "plug-1.0.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: plug\nVersion: 1.0\n")
    (tmp_path / "plug-1.0.dist-info/entry_points.txt").write_text("[plugplay.denoisers]\nplug = plug:Plug\n")
    (tmp_path / "plug.py").write_text(
        "import pathlib\n"
        "class Plug:\n"
        "    def __init__(self, weights):\n"
        "        self.value = float(pathlib.Path(weights).read_text())\n"
        "    def __call__(self, image, sigma):\n"
        "        return image * 0 + self.value\n"
    )
    io.write(tmp_path / "a.png", ImageFile.of((noisy * 255).astype(np.uint8)))
    environment = {**environment, "PYTHONPATH": f"{environment['PYTHONPATH']}:{tmp_path}"}
    for value in (51, 102):  # other weights in the same file are another recipe
        (tmp_path / "w.txt").write_text(f"{value / 255:.3f}" + "0" * (value - 50))
        words = [*command, "denoise", "a.png", "-o", "b.png", "--denoiser", "plug", "--weights", "w.txt"]
        done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, env=environment)
        assert done.returncode == 0, done.stderr
        assert (io.read(tmp_path / "b.png").pixels == value).all()


def test_errors_of_parameters_name_the_option(run, tmp_path, noisy):
    io.write(tmp_path / "a.png", ImageFile.of((noisy * 255).astype(np.uint8)))
    done = run("denoise", "a.png", "-o", "b.png", "--denoiser", "tv", "--noise", "5", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("plugplay: a.png: --noise must be below the width of the image's range")
    assert "on the scale from 0 (black, 0) to 1 (white, 255)" in done.stderr
    assert done.stderr.rstrip().endswith("if 5 is meant in those, write 5/255")
    io.write(tmp_path / "line.png", ImageFile.of(np.full((2, 40), 99, np.uint8)))
    done = run("upscale", "line.png", "-o", "b.png", "-f", "2", cwd=tmp_path)
    assert done.returncode == 1
    assert (
        "image of 2 x 40 pixels is too small to be enlarged by 2: along each axis at least 4 are needed" in done.stderr
    )
    assert "kernel" not in done.stderr
    done = run("deblur", "line.png", "-o", "b.png", "-k", "box:5", "--boundary", "circular", cwd=tmp_path)
    assert "larger than the image, of shape (2, 40): crop it" in done.stderr


def test_a_contact_sheet(run, tmp_path, camera):
    io.write(tmp_path / "a.png", ImageFile.of((camera * 255).astype(np.uint8)))
    sheet = ("--contact-sheet", "sheet.png", "--crop", "0,0,32,32", "--max-iter", "3")
    done = run("deblur", "a.png", "-k", "motion:8,30", *sheet, *TV, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "5 kernels, 3 strengths each" in done.stdout
    tried = re.findall(r"trying --kernel (\S+) --strength (\S+)", done.stderr)
    assert len(set(tried)) == 15
    assert {("motion:6,30", "0.5"), ("motion:8,30", "1"), ("motion:8,45", "2")} <= set(tried)
    with Image.open(tmp_path / "sheet.png") as drawn:
        assert drawn.size[1] > 1.5 * drawn.size[0]
    # It is no image to restore.
    done = run("denoise", tmp_path, "-o", tmp_path / "out", "--dry-run", *TV)
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [words[2] for words in lines if words[0] == "would"] == [str(tmp_path / "a.png")]
