"""``plugplay check-denoiser``."""

import json
import re
import sys

import numpy as np
import pytest

import plugplay as pp
from plugplay.cli import main

MODULE = """
def shrink(image, sigma):
    return image / (1 + sigma)

def broken(image, sigma):
    return image[1:]

class Strong:
    def __call__(self, image, sigma):
        return image / (1 + 2 * sigma)

number = 3
"""


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run the command in a folder with a module, and return exit code, output and errors."""
    (tmp_path / "my_denoisers.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["plugplay", "check-denoiser", "--size", "16", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        output, errors = capsys.readouterr()
        return ended.value.code, output, errors

    yield call
    sys.modules.pop("my_denoisers", None)


def test_a_function_in_the_current_directory(run, tmp_path):
    code, output, errors = run("my_denoisers:shrink", "--json", "--save", "pair.npz")
    assert code == 0, errors
    report = json.loads(output)
    assert report["passed"]
    assert report["boundedness"]["bounded"]
    with np.load(tmp_path / "pair.npz") as saved:
        assert saved["x"].shape == (16, 16)
    code, output, errors = run("my_denoisers:Strong")
    assert code == 0, errors
    assert "check_denoiser(Strong): passed" in output
    assert "Theorem 1 applies" in output
    assert str(tmp_path) not in sys.path


@pytest.mark.parametrize("name", ["my_denoisers.py", "./my_denoisers.py", "deep/own.py", "absolute"])
def test_a_function_in_a_file(run, tmp_path, name):
    deep = tmp_path / "deep"
    deep.mkdir()
    (deep / "beside.py").write_text(MODULE)
    (deep / "own.py").write_text("from beside import shrink")
    code, output, errors = run(f"{deep / 'own.py' if name == 'absolute' else name}:shrink")
    assert code == 0, errors
    assert "check_denoiser(shrink): passed" in output
    assert not {str(tmp_path), str(deep)} & set(sys.path)
    for module in ("own", "beside"):
        sys.modules.pop(module, None)


def test_progress_of_slow_denoisers(run, tmp_path):
    """How many of about how many calls, and the time that is left, on standard error."""
    (tmp_path / "slow.py").write_text(
        "import time\n\ndef slow(image, sigma):\n    time.sleep(0.01)\n    return image * 1.0\n"
    )
    code, output, errors = run("slow.py:slow", "--json")
    assert code == 0
    assert json.loads(output)["passed"]
    lines = errors.splitlines()
    assert len(lines) >= 2
    assert all(re.fullmatch(r"checking slow.py:slow, \d+ of 610 calls, about \d+ s left", line) for line in lines)
    done = [int(line.split(", ")[1].split()[0]) for line in lines]
    assert done == sorted(set(done))
    assert run("slow.py:slow", "--quiet")[2] == ""
    sys.modules.pop("slow", None)


def test_progress_in_python():
    seen = []
    report = pp.check_denoiser(
        lambda image, sigma: image / (1 + sigma), size=16, progress=lambda *now: seen.append(now)
    )
    assert [calls for calls, _ in seen] == list(range(report.calls))
    assert {expected for _, expected in seen} == {610}
    assert abs(report.calls - 610) < 61


def test_failures_have_the_exit_code_1(run):
    code, output, _ = run("my_denoisers:broken")
    assert code == 1
    assert "FAILED shape and dtype: returned the shape (15, 16)" in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["my_denoisers:nosuch"], "cannot be imported"),
        (["./my_denoisers.py:nosuch"], "cannot be imported"),
        (["nosuch.py:f"], "cannot be imported: there is no file nosuch.py"),
        (["nosuch_module:f"], "cannot be imported: No module named 'nosuch_module'"),
        (["my_denoisers:number"], "a callable (image, sigma) -> image is needed"),
        (["nosuch"], "unknown denoiser 'nosuch'"),
        (["my_denoisers:shrink", "--weights", "w.pth"], "--weights goes with a learned denoiser's name"),
    ],
)
def test_mistakes_are_one_line(run, arguments, message):
    code, output, errors = run(*arguments)
    assert code == 1
    assert message in errors
    assert output == ""
    assert errors.count("\n") == 1
