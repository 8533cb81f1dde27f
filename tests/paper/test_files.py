"""Files that are there completely or not at all, and fingerprints that mean the same in every process."""

import os
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest

from plugplay_paper.files import MAX_AGE, remove_leftovers, write_atomically
from plugplay_paper.fingerprints import Fingerprinted


@dataclass(frozen=True, eq=False)
class Holding(Fingerprinted):
    value: object


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    target = tmp_path / "cell.json"
    write_atomically(target, b"old")

    def full(descriptor):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space"):
        write_atomically(target, b"new")
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def test_only_old_leftovers_are_removed(tmp_path):
    old, recent, cell = (tmp_path / name for name in (".a.json.00.tmp", ".b.json.00.tmp", "a.json"))
    for path in (old, recent, cell):
        path.write_text("content")
    past = old.stat().st_mtime - 2 * MAX_AGE
    os.utime(old, (past, past))
    os.utime(cell, (past, past))
    remove_leftovers(tmp_path)
    assert set(tmp_path.iterdir()) == {recent, cell}
    remove_leftovers(tmp_path / "nothing")


def test_fingerprints_tell_values_apart():
    values = [None, 1, 1.0, True, "1", (1,), (1, 1), ((1,), 1), np.array([1]), np.array([1.0]), np.array([[1]])]
    values += [np.float64(1), Holding(1)]
    assert len({Holding(value).fingerprint() for value in values}) == len(values)
    assert Holding(np.arange(3)).fingerprint() == Holding(np.arange(6)[:3]).fingerprint()


def test_what_has_no_content_to_tell_apart_is_refused():
    """An object's default text has its address in it."""
    with pytest.raises(TypeError, match="a fingerprint needs dataclasses"):
        Holding(object()).fingerprint()


def test_fingerprints_are_the_same_in_another_process(environment):
    code = (
        "from plugplay_paper.problems import Degraded\n"
        "from plugplay_paper.cells.trials import Trial\n"
        "from plugplay_paper.images import TestImage\n"
        "from plugplay_paper.methods import FirstGuess\n"
        "import numpy as np, plugplay as pp\n"
        "problem = Degraded('blur', pp.models.Deblurring(pp.kernels.box(3)), 0.01)\n"
        "image = TestImage('a', np.full((8, 8), 0.5))\n"
        "print(Trial(image=image, problem=problem, method=FirstGuess(), seed=0).fingerprint())"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**environment, **seed}
        ).stdout
        for seed in ({"PYTHONHASHSEED": "1"}, {"PYTHONHASHSEED": "2"})
    }
    assert len(seen) == 1
