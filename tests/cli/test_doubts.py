"""A result that is not good is not called good."""

import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from plugplay import io
from plugplay.cli.app import app
from plugplay.io import ImageFile
from plugplay.plan import Plan
from plugplay.pnp.results import Status

CHEAP = ("--denoiser", "tv", "--max-iter", "2", "--noise", "0.02")


@pytest.fixture
def folder(tmp_path, noisy):
    """An image, and masks of all sorts."""
    scene = (noisy * 255).astype(np.uint8)
    io.write(tmp_path / "a.png", ImageFile.of(scene))
    hole = np.full(noisy.shape, 255, np.uint8)
    hole[8:14, 8:14] = 0
    soft = hole.copy()
    soft[7, 7:15], soft[14, 7:15], soft[7:15, 7], soft[7:15, 14] = 200, 200, 120, 120
    few = np.zeros_like(hole)
    few[::4, ::4] = 255
    for name, pixels in {"hard": hole, "soft": soft, "few": few, "scene": scene}.items():
        io.write(tmp_path / f"{name}.png", ImageFile.of(pixels))
    return tmp_path


def test_soft_edges_of_masks_are_missing(run, folder):
    """The rim of a soft mask was touched: with a true rim or a ruined one, the result must be the same."""
    scene = io.read(folder / "a.png").pixels.copy()
    rim = (io.read(folder / "soft.png").pixels < 230) & (io.read(folder / "hard.png").pixels == 255)
    scene[rim] = 255
    io.write(folder / "ruined.png", ImageFile.of(scene))
    for name in ("a", "ruined"):
        done = run("inpaint", f"{name}.png", "-o", f"{name}.tif", "--mask", "soft.png", *CHEAP, cwd=folder)
        assert (done.returncode, "warning" in done.stderr) == (0, False), done.stderr
    np.testing.assert_array_equal(io.read(folder / "a.tif").pixels, io.read(folder / "ruined.tif").pixels)


@pytest.mark.parametrize(
    ("how", "mask", "words"),
    [
        ("--json", "few", "94 % of the pixels are missing by the mask"),
        ("--quiet", "scene", "does not look like a mask: "),
        ("--verbose", "scene", "does not look like a mask: "),
    ],
)
def test_odd_masks_are_questioned(run, folder, mask, words, how):
    arguments = ("inpaint", "a.png", "-o", f"{how}.png", "--mask", f"{mask}.png", *CHEAP, how)
    done = run(*arguments, cwd=folder)
    assert done.returncode == 0
    warned = [line for line in done.stderr.splitlines() if line.startswith("warning: ")]
    assert sum(words in line for line in warned) == 1
    if how == "--json":
        record = json.loads(done.stdout)
        assert record["doubtful"]
        assert any(words in text for text in record["warnings"])
    assert (done.stdout == "") == (how == "--quiet")
    assert ("DOUBTFUL" in done.stdout) == (how == "--verbose")
    if how == "--quiet":
        assert run(*arguments, "--strict", "--overwrite", cwd=folder).returncode == 3
    assert (folder / f"{how}.png").is_file()


def test_doubtful_results_and_complaints_of_the_run(folder, monkeypatch):
    """What the loop says about its result is shown, whatever else is."""
    finished = Plan._finished

    def doubted(plan, driver):
        doubtful = replace(finished(plan, driver), status=Status.DOUBTFUL)
        return replace(doubtful, warnings=(*doubtful.warnings, "the image is nearly constant"))

    monkeypatch.setattr(Plan, "_finished", doubted)
    words = ["deblur", str(folder / "a.png"), "-o", str(folder / "b.png"), "-k", "box:3", *CHEAP]
    done = CliRunner().invoke(app, [*words, "--strict"])
    assert done.exit_code == 3
    assert done.stderr.count("warning: a.png: the image is nearly constant") == 1
    assert "DOUBTFUL after 2 iterations" in done.stdout
    assert "converged" not in done.stdout
    done = CliRunner().invoke(app, [*words, "--overwrite", "--json"])
    record = json.loads(done.stdout)
    assert (done.exit_code, record["doubtful"], record["pages"][0]["result"]) == (0, True, "DOUBTFUL")
    assert record["pages"][0]["warnings"][-1] == "the image is nearly constant"


def test_denoising_does_not_speak_of_convergence(run, folder):
    done = run("denoise", "a.png", "-o", "b.png", "--denoiser", "tv", "-v", cwd=folder)
    assert "denoised, " in done.stdout
    for word in ("converge", "iteration", "settled", "tol"):
        assert word not in done.stdout.partition("used:")[0].lower(), word


def test_one_summary_for_a_stack(run, folder, noisy):
    pages = np.stack([noisy, noisy[::-1], noisy.T[:20, :20].repeat(2, 0)[:24]]) * 200
    io.write(folder / "stack.tif", ImageFile.of(pages.astype(np.uint16)))
    done = run("deblur", "stack.tif", "-o", "out.tif", "-k", "box:3", "--denoiser", "tv", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 4
    assert ", 3 pages, " in done.stdout
    # Pages of nearly empty files each have a range of their own; it is said once.
    assert sum("do not fill their range" in line for line in done.stderr.splitlines()) == 1
