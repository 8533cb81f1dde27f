"""The benchmark of demosaicked photographs: its cases, and what it makes of a scene."""

from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def demosaicked(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    import demosaicked

    monkeypatch.setattr(demosaicked.photographs, "available", lambda: ("astronaut", "coffee", "rocket"))
    return demosaicked


def test_a_sample_has_as_many_of_each_file_and_demosaicking(demosaicked):
    options = Namespace(images="fit", files=tuple(demosaicked.FILES), sample=24, seed=1, white=False)
    some = list(demosaicked.cases(options))
    assert len(some) == len(set(some)) == 24
    kinds = [(case[2], case[4]) for case in some]
    assert all(kinds.count(kind) == 4 for kind in set(kinds))
    assert "nuthatch" not in {case[0] for case in some}
    options.sample = None
    every = list(demosaicked.cases(options))
    assert len(every) == len(set(every)) == 3 * 4 * 4 * 6
    assert set(some) <= set(every)


def test_images_for_finding_and_checking_are_not_the_same(demosaicked):
    names = [name for group in demosaicked.IMAGES.values() for name in group]
    assert len(names) == len(set(names))


def test_a_demosaicked_frame_has_smoother_noise_than_a_white_one(demosaicked):
    scene = np.full((80, 80, 3), 0.5)
    case = ("gray", "disk 3", "bilinear", (400, 0.01), "png")
    for white in (False, True):
        y = demosaicked.observe(scene, case, white=white) / 255
        assert y.shape == (64, 64, 3)
        steps = np.diff(y, axis=1).std() / y.std()
        assert steps == pytest.approx(np.sqrt(2), rel=0.05) if white else steps < 1
