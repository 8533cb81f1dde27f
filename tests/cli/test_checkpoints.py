"""A long restoration that is killed goes on where it stopped, and ends with the same bits."""

import re
import signal
import time

import numpy as np
import pytest
from skimage import data

import plugplay as pp
from plugplay import io
from plugplay.cli.checkpoints import Checkpoint, remove_checkpoints
from plugplay.io import ImageFile
from plugplay.pnp.iterations import first_state

# Nothing in this restoration has a memory, so that the bits can be compared.
SLOW = ("-k", "motion:15,30", "--boundary", "circular", "--noise", "0.02", "--denoiser", "tv", "--max-iter", "9")


def write_scene(folder):
    """Write an image that takes its time."""
    scene = np.kron(data.camera(), np.ones((2, 2))) / 255
    blurred = pp.models.Deblurring(pp.kernels.motion(15, 30)).simulate(scene, noise=0.02, rng=0)
    io.write(folder / "a.png", ImageFile.of((np.clip(blurred, 0, 1) * 255).round().astype(np.uint8)))


@pytest.fixture(scope="module")
def straight(tmp_path_factory, run):
    """The result of a run without interruption."""
    folder = tmp_path_factory.mktemp("straight")
    write_scene(folder)
    done = run("deblur", "a.png", "-o", "b.tif", "--depth", "float", *SLOW, cwd=folder)
    assert done.returncode == 0, done.stderr
    return io.read(folder / "b.tif").pixels


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_restoration_goes_on(started, run, command, environment, tmp_path, straight, sent):
    write_scene(tmp_path)
    arguments = ("deblur", "a.png", "-o", "b.tif", "--depth", "float", *SLOW)
    process = started([*command, *arguments], environment, cwd=tmp_path)
    while not list(tmp_path.glob(".plugplay-checkpoint-*.npz")):
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(sent)
    _, told = process.communicate(timeout=120)
    assert process.returncode == (130 if sent == signal.SIGINT else -sent)
    assert ("0 of 1 done; rerun to resume" in told) == (sent == signal.SIGINT)
    assert not (tmp_path / "b.tif").exists()
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    resumed = re.search(r"resuming after iteration (\d+)", done.stderr)
    assert resumed is not None
    assert int(resumed[1]) >= 1
    np.testing.assert_array_equal(io.read(tmp_path / "b.tif").pixels, straight)
    assert not list(tmp_path.glob(".plugplay-checkpoint-*"))


def test_checkpoints_take_little_of_the_time(tmp_path, monkeypatch):
    """On a clock of our own: a state that takes a second to save is saved every fifty."""
    now = [0.0]
    saved = []

    class SlowState:
        x = np.zeros(4)

        def save(self, path):
            now[0] += 1.0
            saved.append(now[0])

    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    checkpoint = Checkpoint(tmp_path / "a.png", "recipe", 0)
    for _ in range(1000):
        now[0] += 0.5
        checkpoint.update(SlowState())
    assert 9 <= len(saved) <= 11
    assert len(saved) / now[0] <= 0.021
    assert Checkpoint(None, "recipe", 0).load() is None


def test_only_the_same_recipe_finds_a_checkpoint(tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    target = tmp_path / ("long" * 60 + ".png")
    checkpoint = Checkpoint(target, "recipe", 0)
    now[0] = 10.0
    checkpoint.save(first_state(np.zeros((3, 4)), 0.5))
    assert Checkpoint(target, "recipe", 0).load().rho == 0.5
    assert Checkpoint(target, "another", 0).load() is None
    assert Checkpoint(target, "recipe", 1).load() is None
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:100])
    assert Checkpoint(target, "recipe", 0).load() is None  # cut short
    remove_checkpoints(tmp_path / "other.png")
    assert path.exists()
    remove_checkpoints(target)
    assert not path.exists()
