"""``plugplay reproduce``, as users run it: a smaller form of the quick run, interrupted and gone on with."""

import csv
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from skimage import data


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One tiny image, named like one of the paper's."""
    place = tmp_path_factory.mktemp("images")
    gray = data.astronaut()[100:148, 200:248].mean(axis=-1)
    Image.fromarray(np.round(gray).astype(np.uint8)).save(place / "07_house.png")
    return place


@pytest.fixture(scope="module")
def report(run, folder, tmp_path_factory):
    out = tmp_path_factory.mktemp("report")
    done = run("reproduce", "all", "--quick", "--images", folder, "--out", out)
    assert done.returncode == 0, done.stderr
    return out, done


def test_a_quick_run_writes_a_complete_report(report):
    out, done = report
    assert done.stdout.strip() == f"wrote {out / 'index.html'}"
    # The estimate comes first.
    assert "cells, 0 already done; about" in done.stderr.splitlines()[0]
    summary = json.loads((out / "report.json").read_text())
    assert summary["run"]["missing"] == 0
    assert summary["run"]["failures"] == []
    assert summary["run"]["quick"] is True
    assert all(section["done"] == section["planned"] for section in summary["sections"])
    for name in ("tolerance", "rho0-curves", "rho0-final", "starts", "runtime", "images", "expansiveness"):
        assert (out / "figures" / f"{name}.png").exists()
    for name in ("colour-super-resolution", "colour-single-photon"):
        assert (out / "figures" / f"{name}.png").exists()
    assert ">not run<" not in (out / "index.html").read_text(encoding="utf-8")


def test_the_numbers_are_measurements(report):
    """Restored images are better than where they started; a house of another size is not the paper's."""
    out, _ = report
    with (out / "tables" / "super-resolution-1.csv").open(newline="") as stream:
        rows = {row["method"]: row for row in csv.DictReader(stream) if row["column"] == "house"}
    assert rows["Ours-M"]["paper"] == ""
    better = float(rows["bicubic interpolation"]["measured"])
    assert all(float(rows[name]["measured"]) > better for name in ("Ours-M", "Ours-A", "automatic"))
    assert all(float(rows[name]["measured"]) > better for name in ("GPR", "SR", "DCNN", "SPSR", "TSE"))


def test_a_second_run_computes_nothing(report, run, folder):
    out, _ = report
    again = run("reproduce", "all", "--quick", "--images", folder, "--out", out)
    total = again.stderr.split()[0]
    assert again.stderr.startswith(f"{total} cells, {total} already done; about 0 s")
    assert json.loads((out / "report.json").read_text())["run"]["computed"] == 0


def test_without_images_the_columns_of_the_paper_stay_empty(run, tmp_path):
    done = run("reproduce", "images", "--quick", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    with (tmp_path / "tables" / "super-resolution-1.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert {row["paper"] for row in rows} == {""}
    assert {row["note"] for row in rows if row["method"] == "Ours-M"} == {"not run", ""}


def test_an_estimate_runs_nothing(run, folder, tmp_path):
    done = run("reproduce", "tables", "--images", folder, "--out", tmp_path / "report", "--estimate", "--json")
    assert done.returncode == 0
    # Of one image: twelve rows of two configurations, 13 of two more five times, six of four sensors eight times.
    assert json.loads(done.stdout)["cells"] == 12 * 2 + 13 * 2 * 5 + 6 * 4 * 8
    assert "0 already done" in done.stderr
    assert not (tmp_path / "report").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["everything"], "unknown experiment 'everything'; available: all, tables, figures"),
        (["all", "--images", "nowhere"], "nowhere is not a folder"),
        (
            ["all", "--estimate", "--out", __file__],
            f"cannot write the report to {__file__}: {__file__} is not a folder",
        ),
    ],
)
def test_mistakes_are_told_in_one_line(run, tmp_path, arguments, message):
    done = run("reproduce", "--out", "report", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_the_help_names_every_experiment(run):
    from plugplay_paper.experiments import EXPERIMENTS

    told = " ".join(run("reproduce", "--help").stdout.replace("│", " ").split())
    assert all(experiment.name in told for experiment in EXPERIMENTS)


def living(group):
    """Return the processes of a group that have not ended; those that nobody has waited for have."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, process_group = path.read_text().rpartition(")")[2].split()[:3]
        except OSError:  # it has just ended
            continue
        if int(process_group) == group and state not in "ZX":
            found.append(int(path.parent.name))
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up in /proc")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_workers_end_with_the_command(command, environment, folder, tmp_path, number):
    words = ["reproduce", "inpainting", "deblurring", "--quick", "--images", str(folder), "--out", str(tmp_path)]
    with subprocess.Popen(
        [*command, *words], stderr=subprocess.DEVNULL, env=environment, start_new_session=True
    ) as process:
        cells = tmp_path / "cells"
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and not list(cells.glob("*.json")):
            time.sleep(0.05)
        assert len(living(process.pid)) > 1  # the command and its workers
        os.kill(process.pid, number)
        process.wait(timeout=60)
    deadline = time.monotonic() + 30
    while living(process.pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert living(process.pid) == []


@pytest.mark.skipif(os.name == "nt", reason="interrupts are sent in another way there")
def test_an_interrupted_run_reports_and_goes_on(command, environment, run, folder, tmp_path):
    words = ["reproduce", "inpainting", "--quick", "--images", str(folder), "--out", str(tmp_path)]
    # A group of its own: the interrupt key of a terminal reaches all processes of the group.
    with subprocess.Popen(
        [*command, *words], stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
    ) as process:
        cells = tmp_path / "cells"
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and len(list(cells.glob("*.json"))) < 3:
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted; rerun to resume" in errors
    assert "Traceback" not in errors
    first = json.loads((tmp_path / "report.json").read_text())["run"]
    assert first["computed"] >= 3
    assert first["missing"] > 0
    done = run(*words)
    assert done.returncode == 0, done.stderr
    second = json.loads((tmp_path / "report.json").read_text())["run"]
    assert second["earlier"] >= first["computed"]
    assert second["computed"] + second["earlier"] == 10 * 3  # ten rows and three masks
