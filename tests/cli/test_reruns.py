"""Runs after runs: what is the same is skipped, what is not is done again, what is not ours is left alone."""

import re
import shutil

import numpy as np
import pytest

from plugplay import io
from plugplay.io import ImageFile

TV = ("--denoiser", "tv", "--noise", "0.02")


@pytest.fixture
def folder(tmp_path, noisy):
    """One image."""
    io.write(tmp_path / "a.png", ImageFile.of((noisy * 255).astype(np.uint8)))
    return tmp_path


def test_the_same_is_skipped_and_anything_else_is_not(run, folder, noisy):
    def denoise(*options):
        done = run("denoise", "a.png", "-o", "b.png", *options, cwd=folder)
        return done.returncode, "b.png: exists, skipped" in done.stdout, (folder / "b.png").read_bytes()

    first = denoise(*TV)
    assert first[:2] == (0, False)
    assert denoise(*TV, "--workers", "1", "--verbose") == (0, True, first[2])  # has no influence on the result
    other = denoise("--denoiser", "tv", "--noise", "0.1")
    assert other[:2] == (0, False)
    assert other[2] != first[2]
    assert denoise(*TV) == first  # back again
    assert denoise(*TV, "--depth", "16")[:2] == (0, False)
    io.write(folder / "a.png", ImageFile.of((noisy[::-1] * 255).astype(np.uint8)))
    changed = denoise(*TV)
    assert changed[:2] == (0, False)
    assert changed[2] != first[2]


def test_files_of_others_are_left_alone(run, folder):
    shutil.copy(folder / "a.png", folder / "b.png")
    mine = (folder / "b.png").read_bytes()
    done = run("denoise", "a.png", "-o", "b.png", *TV, cwd=folder)
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "plugplay: a.png: b.png exists, and was not made by plugplay or has been changed since; --overwrite replaces it"
    ]
    assert (folder / "b.png").read_bytes() == mine
    assert run("denoise", "a.png", "-o", "b.png", *TV, "--overwrite", cwd=folder).returncode == 0
    ours = (folder / "b.png").read_bytes()
    assert ours != mine
    (folder / "b.png").write_bytes(mine)  # retouched by hand
    assert run("denoise", "a.png", "-o", "b.png", *TV, cwd=folder).returncode == 1
    assert (folder / "b.png").read_bytes() == mine


def test_a_dry_run_writes_nothing(run, folder, noisy):
    (folder / "in").mkdir()
    io.write(folder / "in/stack.tif", ImageFile.of(np.stack([(noisy * 60000).astype(np.uint16)] * 5)))
    (folder / "in/bad.png").write_bytes(b"rubbish")
    done = run("upscale", "in", "-o", "out", "-f", 3, "--dry-run", *TV, cwd=folder)
    assert done.returncode == 0
    assert "would restore in/stack.tif -> out/stack.tif, 60 x 72, uint16, 5 pages" in done.stdout
    assert "would fail: in/bad.png" in done.stdout
    assert re.search(r"^\d to restore, about .* on \d+ cores?$", done.stdout, re.MULTILINE)
    assert not (folder / "out").exists()


def test_plots_in_the_input_folder_are_not_restored(run, folder):
    for options in ((), ("--overwrite",)):
        done = run("denoise", folder, "-o", folder / "out", "--plot", folder / "plots", *TV, *options)
        assert done.returncode == 0, done.stderr
    assert (folder / "plots/a.png").is_file()
    assert sorted(path.name for path in (folder / "out").iterdir()) == [".plugplay-manifest.jsonl", "a.png"]
    # A plot that is asked for and missing is no finished result.
    (folder / "plots/a.png").unlink()
    assert run("denoise", folder, "-o", folder / "out", "--plot", folder / "plots", *TV).returncode == 0
    assert (folder / "plots/a.png").is_file()


def test_two_runs_at_once(started, command, environment, tmp_path, noisy):
    (tmp_path / "in").mkdir()
    for number in range(8):
        io.write(tmp_path / f"in/{number}.png", ImageFile.of((noisy * 255).astype(np.uint8)))
    words = [*command, "denoise", tmp_path / "in", "-o", tmp_path / "out", *TV]
    processes = [started(words, environment) for _ in range(2)]
    assert [(process.wait(120), process.communicate()[1].count("failed")) for process in processes] == [(0, 0)] * 2
    again = started(words, environment)
    assert "0 restored, 8 skipped, 0 failed" in again.communicate()[0]
    assert len([path for path in (tmp_path / "out").iterdir() if not path.name.startswith(".")]) == 8
