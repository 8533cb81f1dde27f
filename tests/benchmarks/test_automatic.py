"""The benchmark of automatic parameters runs, resumes, and degrades images as it says."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def degradations(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    import degradations

    return degradations


@pytest.fixture
def report(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    import automatic_report

    return automatic_report


def moments(kernel):
    """The centre of mass and the covariance of a kernel, in pixels."""
    rows, columns = np.indices(kernel.shape) - np.array(kernel.shape)[:, None, None] // 2
    places = np.stack([rows.ravel(), columns.ravel()])
    centre = places @ kernel.ravel()
    return centre, (places - centre[:, None]) * kernel.ravel() @ (places - centre[:, None]).T


def test_told_kernels_are_stretched_turned_and_shifted(degradations):
    variants = degradations.VARIANTS
    for name in degradations.KERNELS:
        centre, spread = moments(degradations.taps(name))
        wide_centre, wide = moments(degradations.taps(name, variants["kernel 10% wide"]))
        shifted, same = moments(degradations.taps(name, variants["kernel shifted 0.5"]))
        _, turned = moments(degradations.taps(name, variants["kernel turned 5°"]))
        assert degradations.taps(name).sum() == pytest.approx(1)
        # A pixel's own width adds 1/12 to the variance along each axis, and is not stretched,
        # except where an edge lies between pixels.
        assert np.trace(wide) - 1 / 6 == pytest.approx(1.21 * (np.trace(spread) - 1 / 6), rel=0.12)
        np.testing.assert_allclose(wide_centre, 1.1 * centre, atol=0.02)
        np.testing.assert_allclose(shifted - centre, [0, 0.5], atol=0.02)
        assert np.trace(same) == pytest.approx(np.trace(spread), rel=0.08)
        assert np.trace(turned) == pytest.approx(np.trace(spread), rel=0.08)


def test_turning_a_path_turns_its_main_axis_by_five_degrees(degradations):
    angles = []
    for variant in ("matched", "kernel turned 5°"):
        axis = np.linalg.eigh(moments(degradations.taps("motion 15", degradations.VARIANTS[variant]))[1])[1][:, -1]
        angles.append(np.degrees(np.arctan2(axis[0], axis[1])))
    assert abs(angles[1] - angles[0]) % 180 == pytest.approx(5, abs=0.5)


def test_registration_undoes_half_a_pixel(degradations, camera):
    smooth = np.fft.ifft2(np.fft.fft2(camera) * np.exp(-60 * np.add.outer(*[np.fft.fftfreq(128) ** 2] * 2))).real
    off = degradations.moved(smooth, np.array([0, 0.5]))
    assert degradations.psnr(off, smooth, registered=True) > degradations.psnr(off, smooth) + 10


def test_files_lose_what_they_should(degradations, camera):
    files = {
        name: degradations.observe(camera, "gaussian 1", 0.02, degradations.VARIANTS[name], seed=0)
        for name in ("matched", "image 8 bit", "jpeg 92", "gamma")
    }
    plain = files.pop("matched")
    assert plain.dtype == np.float64
    assert all(stored.dtype == np.uint8 and stored.shape == plain.shape for stored in files.values())
    np.testing.assert_array_equal(files["image 8 bit"], np.round(255 * np.clip(plain, 0, 1)))
    assert (files["jpeg 92"] != files["image 8 bit"]).mean() > 0.1


def test_only_what_is_well_below_its_input_is_a_failure(report):
    rows = [{"gain": gain} for gain in (1.0, -0.05, -0.2, -3.0)]
    assert [row["gain"] for row in report.failures(rows)] == [-3.0, -0.2]


def test_a_small_run_reports_and_resumes(tmp_path, environment):
    def run():
        words = [sys.executable, str(FOLDER / "automatic.py"), "--images", "camera", "--kernels", "gaussian 1"]
        words += ["--noise", "10", "--variants", "matched", "--size", "48", "--no-download"]
        words += ["--store", str(tmp_path / "store.jsonl"), "--json", str(tmp_path / "out.json")]
        words += ["--plot", str(tmp_path / "map.png")]
        return subprocess.run(words, capture_output=True, text=True, env=environment, timeout=600)

    first = run()
    assert first.returncode == 0, first.stderr
    assert "0 of 1 cases are worse than their input" in first.stdout
    (row,) = json.loads((tmp_path / "out.json").read_text())["rows"]
    assert len(row["sweep"]) >= 9
    assert row["gap"] == pytest.approx(max(row["sweep"]) - row["automatic"])
    assert row["automatic"] > row["input"]
    assert (tmp_path / "map.png").stat().st_size > 1000
    stored = (tmp_path / "store.jsonl").read_text()
    assert run().stdout == first.stdout
    assert (tmp_path / "store.jsonl").read_text() == stored
