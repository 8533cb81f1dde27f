"""``plugplay check-denoiser``."""

import json
import sys

import numpy as np
import pytest

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
