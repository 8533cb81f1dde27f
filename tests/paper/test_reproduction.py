"""The function, as Python users call it."""

import json

import pytest

from plugplay_paper import Reproduction, reproduce


def test_reproduce_writes_a_report_and_goes_on(folder, tmp_path):
    out = tmp_path / "report"
    page = reproduce("inpainting", "images", images=folder, out=out, quick=True, workers=2)
    assert page == out / "index.html"
    run = json.loads((out / "report.json").read_text())["run"]
    assert run["computed"] == 30  # ten rows, three masks, one image
    assert run["command"] == "reproduce inpainting images"
    assert len(Reproduction.of(["inpainting"], out=out, images=folder, quick=True).waiting) == 0


def test_failures_are_not_silent(folder, tmp_path, monkeypatch):
    """A cell's process cannot be reached from here, so that the failure is put into its place."""
    from plugplay_paper import reproduction
    from plugplay_paper.runner import Failure

    failure = Failure("a cell", "ValueError: broken")
    monkeypatch.setattr(reproduction, "run", lambda *cells, failures, **options: failures.append(failure))
    with pytest.warns(UserWarning, match="1 cells failed, the first with ValueError: broken"):
        page = reproduce("inpainting", images=folder, out=tmp_path, quick=True)
    assert "a cell: ValueError: broken" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("options", [{"realisations": 0}, {"workers": 0}])
def test_amounts_are_checked(folder, tmp_path, options):
    [name] = options
    with pytest.raises(ValueError, match=name):
        reproduce("inpainting", images=folder, out=tmp_path, quick=True, **options)


def test_long_cells_come_first_and_processes_do_not_outnumber_cores(folder, tmp_path):
    import os

    planned = Reproduction.of(["inpainting"], out=tmp_path, images=folder, workers=1000)
    assert planned.workers <= (os.cpu_count() or 1)
    costs = [cell.cost for cell in planned.waiting]
    assert costs == sorted(costs, reverse=True)
    assert planned.seconds == pytest.approx(sum(costs) / planned.workers)
