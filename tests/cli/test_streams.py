"""Standard input and output, closed pipes, and names that no terminal should see as they are."""

import io as streams
import subprocess

import numpy as np
import pytest

import plugplay as pp
from plugplay import io
from plugplay.io import ImageFile

CHEAP = ("--denoiser", "tv", "--noise", "0.02")


@pytest.mark.parametrize(("source", "format_", "magic"), [("a.png", None, b"\x89PNG"), ("a.npy", "tif", b"II*\0")])
def test_from_standard_input_to_standard_output(command, environment, tmp_path, noisy, source, format_, magic):
    io.write(tmp_path / source, ImageFile.of((noisy * 255).astype(np.uint8)))
    words = [*command, "denoise", "-", "-o", "-", *CHEAP, *(() if format_ is None else ("--format", format_))]
    given = (tmp_path / source).read_bytes()
    done = subprocess.run(words, input=given, capture_output=True, env=environment, cwd=tmp_path, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(magic)
    (tmp_path / "out").write_bytes(done.stdout)
    restored = io.read(tmp_path / "out").pixels
    assert (restored.shape, restored.dtype) == (noisy.shape, np.uint8)
    assert b"standard input -> standard output" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == [source, "out"]


def test_nothing_on_standard_input_fails_in_one_line(command, environment, tmp_path):
    words = [*command, "denoise", "-", "-o", "b.png", *CHEAP]
    done = subprocess.run(words, input=b"", capture_output=True, env=environment, cwd=tmp_path, timeout=300)
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert b"is empty" in done.stderr


def test_a_closed_pipe_does_not_end_the_work(started, command, environment, tmp_path, noisy):
    (tmp_path / "in").mkdir()
    for number in range(5):
        io.write(tmp_path / f"in/{number}.png", ImageFile.of((noisy * 255).astype(np.uint8)))
    words = [*command, "denoise", tmp_path / "in", "-o", tmp_path / "out", *CHEAP]
    process = started(words, environment)
    assert isinstance(process.stdout, streams.TextIOWrapper)
    assert process.stdout.readline().endswith("0.png\n")
    process.stdout.close()
    told = process.stderr.read()
    process.stderr.close()
    assert process.wait(120) == 0
    assert "Broken" not in told
    assert len(list((tmp_path / "out").glob("*.png"))) == 5


def test_names_that_cannot_be_shown(command, environment, tmp_path, noisy):
    """Line breaks, escape sequences and bytes that are no text: escaped everywhere, fatal nowhere."""
    folder = tmp_path / "in"
    folder.mkdir()
    names = ["new\nline.png", "\x1b[31mred.png", "\udcff\udcfe.png", "[bold]x.png"]
    for name in names:
        io.write(folder / name, ImageFile.of((noisy * 255).astype(np.uint8)))
    (folder / "bad\x07.png").write_bytes(b"rubbish")
    for extra in ({}, {"PYTHONIOENCODING": "ascii", "LC_ALL": "C"}):
        words = [*command, "denoise", folder, "-o", tmp_path / "out", *CHEAP, "--overwrite"]
        done = subprocess.run(words, capture_output=True, env={**environment, **extra}, timeout=300)
        assert done.returncode == 1
        for stream in (done.stdout, done.stderr):
            assert not {b"\x1b"[0], b"\x07"[0]} & set(stream)
            assert b"Traceback" not in stream
        assert b"4 restored, 0 skipped, 1 failed" in done.stdout
        assert b"new\\nline.png" in done.stdout
        assert b"bad\\x07.png" in done.stderr
    assert {path.name for path in (tmp_path / "out").glob("*.png")} == set(names)


def test_odd_files_do_not_stop_those_beside_them(run, tmp_path, noisy):
    import os

    folder = tmp_path / "in"
    folder.mkdir()
    io.write(folder / "good.png", ImageFile.of((noisy * 255).astype(np.uint8)))
    (folder / "loop.png").symlink_to(folder / "loop.png")
    os.mkfifo(folder / "pipe.png")
    done = run("denoise", folder, "-o", tmp_path / "out", *CHEAP, "--quiet")
    assert done.returncode == 1
    assert done.stdout == ""
    failed = [line for line in done.stderr.splitlines() if line.startswith("failed: ")]
    assert [("link to itself" in line, "a pipe" in line) for line in failed] == [(True, False), (False, True)]
    assert (tmp_path / "out/good.png").is_file()


def test_images_with_nothing_in_them_are_restored(run, tmp_path):
    """Black frames, white ones and shutters that stayed closed come out as they went in."""
    (tmp_path / "in").mkdir()
    for name, value in {"black": 0, "gray": 128, "white": 255}.items():
        io.write(tmp_path / f"in/{name}.png", ImageFile.of(np.full((32, 24), value, np.uint8)))
    for command in (("denoise",), ("deblur", "-k", "box:3"), ("upscale", "-f", "2")):
        out = tmp_path / command[0]
        done = run(*command, tmp_path / "in", "-o", out)
        assert done.returncode == 0, done.stderr
        assert "invalid value" not in done.stderr
        for name, value in {"black": 0, "gray": 128, "white": 255}.items():
            assert np.abs(io.read(out / f"{name}.png").pixels.astype(int) - value).max() <= 1


def test_floats_below_zero_are_not_cut_off(run, tmp_path, camera):
    """A difference of exposures, or an image whose mean was subtracted."""
    blur = pp.models.Deblurring(pp.kernels.gaussian(7, sigma=1.0))
    light = blur.simulate(camera[:72, :72] - 0.5, noise=0.01, rng=0)[4:-4, 4:-4].astype(np.float32)
    io.write(tmp_path / "a.tif", ImageFile.of(light))
    arguments = ("a.tif", "-o", "b.tif", "-k", "gaussian:1", "--strict", "--denoiser", "tv")
    done = run("deblur", *arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "are not between 0 and 1" in done.stderr
    assert io.read(tmp_path / "b.tif").pixels.min() < light.min() + 0.05
