"""Nothing that is read, and no result, is overwritten by anything else."""

import os

import numpy as np
import pytest

from plugplay import io
from plugplay.cli.options import UsageError
from plugplay.cli.targets import check_targets
from plugplay.io import ImageFile

CHEAP = ("--denoiser", "tv", "--max-iter", "1")


@pytest.fixture
def folder(tmp_path, noisy):
    """Inputs of every kind, with links to them."""
    for name in ("a.png", "mask.png", "true.png", "kernel.png", "mine.png"):
        io.write(tmp_path / name, ImageFile.of((noisy * 255).astype(np.uint8)))
    (tmp_path / "link.png").symlink_to(tmp_path / "a.png")
    os.link(tmp_path / "a.png", tmp_path / "hard.png")
    (tmp_path / "loop").symlink_to(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("denoise", "a.png", "-o", "q.png", "--plot", "a.png"), "--plot would overwrite an input"),
        (("denoise", "a.png", "-o", "q.png", "--plot", "link.png"), "--plot would overwrite an input"),
        (("denoise", "a.png", "-o", "hard.png"), "--output would overwrite an input"),
        (("denoise", "link.png", "-o", "loop/a.png"), "--output would overwrite an input"),
        (("denoise", "a.png", "-o", "q.png", "--plot", "Q.PNG"), "--plot would overwrite --output"),
        (("denoise", "a.png", "-o", "q.png", "--plot", "loop/loop/q.png"), "--plot would overwrite --output"),
        (("denoise", "a.png", "-o", "true.png", "--reference", "true.png"), "overwrite the file of --reference"),
        (("inpaint", "a.png", "-o", "mask.png", "--mask", "mask.png"), "overwrite the file of --mask"),
        (("deblur", "a.png", "-o", "q.png", "-k", "kernel.png", "--plot", "kernel.png"), "the file of --kernel"),
        (("deblur", "a.png", "-k", "kernel.png", "--contact-sheet", "kernel.png"), "the file of --kernel"),
        (("deblur", "a.png", "-k", "box:3", "--contact-sheet", "link.png"), "--contact-sheet would overwrite an input"),
    ],
)
def test_refused_before_anything_is_done(run, folder, arguments, message):
    before = {path: path.read_bytes() for path in folder.glob("*.png")}
    done = run(*arguments, *CHEAP, "--overwrite", cwd=folder)
    assert (done.returncode, message in done.stderr) == (2, True), done.stderr
    assert {path: path.read_bytes() for path in folder.glob("*.png")} == before


def test_a_plot_replaces_plots_only(run, folder):
    before = (folder / "mine.png").read_bytes()
    done = run("denoise", "a.png", "-o", "q.png", "--plot", "mine.png", *CHEAP, cwd=folder)
    assert (done.returncode, "mine.png exists and is not a report" in done.stderr) == (2, True)
    assert (folder / "mine.png").read_bytes() == before
    for name in ("q.png", "r.png"):
        done = run("denoise", "a.png", "-o", name, "--plot", "plot.png", *CHEAP, cwd=folder)
        assert done.returncode == 0, done.stderr


def test_masks_and_references_of_folders_count(run, folder, noisy):
    (folder / "masks").mkdir()
    io.write(folder / "masks/a.tif", ImageFile.of(noisy > 0))
    done = run("inpaint", "a.png", "-o", "masks", "--format", "tif", "--mask", "masks", *CHEAP, cwd=folder)
    assert (done.returncode, "--output would overwrite the file of --mask" in done.stderr) == (2, True)


def test_ten_thousand_files_are_compared_at_once(tmp_path):
    sources = [("an input", tmp_path / f"{number}.png") for number in range(10_000)]
    targets = [("--output", tmp_path / "out" / f"{number}.png") for number in range(10_000)]
    check_targets(targets, sources)
    with pytest.raises(UsageError, match="--output would overwrite an input"):
        check_targets([*targets, ("--output", tmp_path / "x/../9999.png")], sources)
