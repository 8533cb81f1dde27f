"""A long restoration that is killed goes on where it stopped, and ends with the same bits."""

import re
import signal
import time

import numpy as np
import pytest

import plugplay as pp
from plugplay import io
from plugplay.cli.checkpoints import Checkpoint, remove_checkpoints
from plugplay.io import ImageFile
from plugplay.pnp.iterations import first_state

# Slow by itself, whatever the machine; and without a memory, so that the bits can be compared.
PLUGIN = """
import time
import scipy.ndimage

def make():
    return denoise

def denoise(image, sigma):
    time.sleep(0.5)
    return scipy.ndimage.gaussian_filter(image, 5 * sigma)
"""
DEBLUR = ("deblur", "a.png", "-o", "b.tif", "-k", "motion:5,30", "--boundary", "circular", "--noise", "0.02")
OPTIONS = ("--denoiser", "slow", "--depth", "float", "--max-iter", "12", "--tol", "0")


@pytest.fixture(scope="module")
def slow(tmp_path_factory, environment):
    """An environment with a denoiser that takes its time."""
    folder = tmp_path_factory.mktemp("plugin")
    (folder / "slow.py").write_text(PLUGIN)
    (folder / "slow-1.0.dist-info").mkdir()
    (folder / "slow-1.0.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: slow\nVersion: 1.0\n")
    (folder / "slow-1.0.dist-info/entry_points.txt").write_text("[plugplay.denoisers]\nslow = slow:make\n")
    return {**environment, "PYTHONPATH": f"{environment['PYTHONPATH']}:{folder}"}


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_restoration_goes_on(started, command, slow, tmp_path, camera, sent):
    blurred = pp.models.Deblurring(pp.kernels.motion(5, 30)).simulate(camera, noise=0.02, rng=0)
    pixels = (np.clip(blurred, 0, 1) * 255).round().astype(np.uint8)
    for folder in ("straight", "interrupted"):
        (tmp_path / folder).mkdir()
        io.write(tmp_path / folder / "a.png", ImageFile.of(pixels))
    words = [*command, *DEBLUR, *OPTIONS]
    straight = started(words, slow, cwd=tmp_path / "straight")
    folder = tmp_path / "interrupted"
    process = started(words, slow, cwd=folder)
    while not list(folder.glob(".plugplay-checkpoint-*.npz")):
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(sent)
    _, told = process.communicate(timeout=120)
    assert process.returncode == (130 if sent == signal.SIGINT else -sent)
    assert ("0 of 1 done; rerun to resume" in told) == (sent == signal.SIGINT)
    assert not (folder / "b.tif").exists()
    again = started(words, slow, cwd=folder)
    _, told = again.communicate(timeout=120)
    assert again.returncode == 0, told
    resumed = re.search(r"resuming after iteration (\d+)", told)
    assert resumed is not None
    assert int(resumed[1]) >= 1
    _, told = straight.communicate(timeout=120)
    assert straight.returncode == 0, told
    assert "resuming" not in told
    np.testing.assert_array_equal(io.read(folder / "b.tif").pixels, io.read(tmp_path / "straight/b.tif").pixels)
    assert not list(folder.glob(".plugplay-checkpoint-*"))


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
