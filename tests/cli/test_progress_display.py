"""What is shown while a restoration runs, on a terminal that is none."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from skimage import data

import plugplay as pp
from plugplay.cli import progress_display
from plugplay.cli.progress_display import Display

BLUR = pp.models.Deblurring(pp.kernels.box(5))


@pytest.fixture
def lines(monkeypatch, capsys):
    """Show all states of a plan; return the lines that were written."""
    monkeypatch.setattr(progress_display, "PAUSE", 0.0)

    def shown(plan, pixels=200_000, share=None):
        with Display("a.png", plan.parameters, pixels=pixels) as display:
            for state in plan.iterate():
                display.update(state)
                if share is not None:
                    display.share(share)
        return capsys.readouterr().err.splitlines()

    return shown


def test_megapixels_iteration_sigma_and_the_time_left(lines, camera):
    y = BLUR.simulate(camera[:48, :48], noise=0.02, rng=0)
    plan = pp.prepare(y, BLUR, denoiser="tv", noise=0.02)
    told = lines(plan)
    assert told[0] == "a.png: restoring 0.2 MP"
    form = r"a\.png: restoring 0\.2 MP, iteration (\d+), sigma 0\.\d{4}(, about \d+ s left)?"
    found = [re.fullmatch(form, line) for line in told[1:]]
    assert [int(match[1]) for match in found] == list(range(1, plan.parameters.min_iter + 1))
    assert [match[2] is not None for match in found] == [False, False] + [True] * (len(found) - 2)


def test_a_run_that_is_repeated_says_so(lines):
    """More noise than was told: the first run shows it, and another follows."""
    y = BLUR.simulate(data.camera()[100:148, 200:248] / 255, noise=0.02, rng=0)
    told = lines(pp.prepare(y, BLUR, denoiser="tv", noise=0.01))
    numbers = [int(re.search(r"iteration (\d+)", line)[1]) for line in told[1:]]
    again = ["repeated with other noise, iteration" in line for line in told[1:]]
    second = numbers.index(1, 1)
    assert not any(again[:second])
    assert all(again[second:])
    assert np.diff(numbers[:second]).tolist() == [1] * (second - 1)


def test_a_long_call_says_which_iteration_it_is_a_part_of_and_the_time_left(lines, camera, monkeypatch):
    """A share alone would pass for that of the whole run."""
    monkeypatch.setattr(progress_display, "time", SimpleNamespace(monotonic=lambda: 0.0))
    y = BLUR.simulate(camera[:48, :48], noise=0.02, rng=0)
    plan = pp.prepare(y, BLUR, denoiser="tv", noise=0.02)
    form = r".*, iteration (\d+), 50 % of it(, about \d+ s left)?"
    found = [match for match in (re.fullmatch(form, line) for line in lines(plan, share=0.5)) if match]
    assert [int(match[1]) for match in found] == list(range(2, plan.parameters.min_iter + 2))
    assert [match[2] is not None for match in found[:-1]] == [False, False] + [True] * (len(found) - 3)
