"""Results on disk: what is kept, how it is recognised, and what happens to damaged files."""

from dataclasses import replace

import numpy as np
import pytest

import plugplay as pp
from plugplay_paper.cells.trials import Trial, TrialRecord
from plugplay_paper.images import TestImage
from plugplay_paper.methods import FirstGuess, PlugAndPlay
from plugplay_paper.problems import Degraded, Missing
from plugplay_paper.store import Store, key

METHOD = PlugAndPlay(lam=1e-3, schedule=pp.Monotone(rho0=0.1, gamma=1.5), denoiser="tv")
BLUR = Degraded("blur", pp.models.Deblurring(pp.kernels.box(3)), 0.01)


@pytest.fixture
def cell(small):
    return Trial(image=small, problem=BLUR, method=METHOD, seed=0)


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
        image=TestImage("small", small.pixels.copy()),
        problem=Degraded("blur", pp.models.Deblurring(pp.kernels.box(3)), 0.01),
        method=PlugAndPlay(lam=1e-3, schedule=pp.Monotone(rho0=0.1, gamma=1.5), denoiser="tv"),
        seed=0,
    )
    assert key(again) == key(cell)


def test_everything_that_defines_a_cell_changes_its_key(cell, small):
    brighter = TestImage("small", np.minimum(small.pixels + 1 / 255, 1))
    others = [
        replace(cell, image=brighter),
        replace(cell, image=TestImage("other", small.pixels)),
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
    monkeypatch.setattr("plugplay_paper.store.code_digest", lambda: "another version")
    assert key(cell) != before
