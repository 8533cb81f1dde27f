"""Results on disk: what is kept, how it is recognised, and what happens to damaged files."""

from dataclasses import replace

import numpy as np
import pytest

import plugplay as pp
from plugplay_paper import environment
from plugplay_paper.cells.base import key
from plugplay_paper.cells.trials import Trial, TrialRecord
from plugplay_paper.images import Picture
from plugplay_paper.methods import FirstGuess, PlugAndPlay
from plugplay_paper.problems import Degraded, Missing
from plugplay_paper.store import Store

METHOD = PlugAndPlay(lam=1e-3, schedule=pp.Monotone(rho0=0.1, gamma=1.5), denoiser="tv")
BLUR = Degraded("blur", pp.models.Deblurring(pp.kernels.box(3)), 0.01)


@pytest.fixture
def cell(small):
    return Trial(picture=small, problem=BLUR, method=METHOD, seed=0)


def test_what_is_saved_comes_back(tmp_path, cell):
    image = np.arange(12, dtype=np.uint8).reshape(3, 4)
    record = TrialRecord(30.25, 1.5, 7, psnr_curve=(20.0, 30.25), delta_curve=(0.1, 0.01), image=image)
    store = Store(tmp_path / "cells")
    assert store.load(cell) is None
    store.save(cell, record)
    found = store.load(cell)
    np.testing.assert_array_equal(found.image, image)
    for name in ("psnr", "seconds", "iterations", "psnr_curve", "delta_curve"):
        assert getattr(found, name) == getattr(record, name)


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"record": {}, "arrays": []}', '{"record": {"psnr": 1}, "arrays": ["image"]}']
)
def test_a_damaged_file_counts_as_not_there(tmp_path, cell, content):
    store = Store(tmp_path)
    store.save(cell, TrialRecord(30.0, 1.0, None))
    [path] = tmp_path.glob("*.json")
    path.write_text(content)
    assert store.load(cell) is None


@pytest.mark.parametrize("damage", [lambda b: b"", lambda b: b[: len(b) // 2], lambda b: b[:60] + b"xxxx" + b[64:]])
def test_damaged_arrays_count_as_not_there(tmp_path, cell, damage):
    store = Store(tmp_path)
    store.save(cell, TrialRecord(30.0, 1.0, None, image=np.arange(100, dtype=np.uint8).reshape(10, 10)))
    [path] = tmp_path.glob("*.npz")
    path.write_bytes(damage(path.read_bytes()))
    assert store.load(cell) is None


def test_equal_cells_have_equal_keys(cell, small):
    again = Trial(
        picture=Picture("small", small.pixels.copy()),
        problem=Degraded("blur", pp.models.Deblurring(pp.kernels.box(3)), 0.01),
        method=PlugAndPlay(lam=1e-3, schedule=pp.Monotone(rho0=0.1, gamma=1.5), denoiser="tv"),
        seed=0,
    )
    assert key(again) == key(cell)


def test_everything_that_defines_a_cell_changes_its_key(cell, small):
    brighter = Picture("small", np.minimum(small.pixels + 1 / 255, 1))
    others = [
        replace(cell, picture=brighter),
        replace(cell, picture=Picture("other", small.pixels)),
        replace(cell, problem=Degraded("blur", pp.models.Deblurring(pp.kernels.box(3)), 0.02)),
        replace(cell, problem=Degraded("blur", pp.models.Deblurring(pp.kernels.box(5)), 0.01)),
        replace(cell, problem=Missing("blur", 0.5)),
        replace(cell, method=FirstGuess()),
        replace(cell, method=replace(METHOD, lam=2e-3)),
        replace(cell, method=replace(METHOD, schedule=pp.Monotone(rho0=0.1, gamma=1.6))),
        replace(cell, method=replace(METHOD, schedule=pp.Adaptive(rho0=0.1, gamma=1.5, eta=0.9))),
        replace(cell, method=replace(METHOD, denoiser="nlm")),
        replace(cell, method=replace(METHOD, random_start=1)),
        replace(cell, seed=1),
        replace(cell, border=4),
        replace(cell, curves=True),
        replace(cell, keep=True),
    ]
    keys = {key(other) for other in (cell, *others)}
    assert len(keys) == 1 + len(others)


def test_the_key_depends_on_the_code(cell, monkeypatch):
    before = key(cell)
    monkeypatch.setattr("plugplay_paper.cells.base.code_digest", lambda: "another version")
    assert key(cell) != before


def test_the_code_is_all_that_computes(tmp_path, monkeypatch):
    """A change of a denoiser counts; a change of the command line does not."""
    for name in ("denoisers/tv.py", "cli/app.py", "reproduce/report/html.py", "reproduce/methods.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x = 1\n")
    monkeypatch.setattr(environment, "__file__", str(tmp_path / "reproduce" / "environment.py"))

    def digest():
        environment.code_digest.cache_clear()
        return environment.code_digest()

    first = digest()
    for name in ("cli/app.py", "reproduce/report/html.py"):
        (tmp_path / name).write_text("x = 2\n")
        assert digest() == first
    for name in ("denoisers/tv.py", "reproduce/methods.py"):
        before = digest()
        (tmp_path / name).write_text("x = 2\n")
        assert digest() != before
    monkeypatch.undo()
    environment.code_digest.cache_clear()
