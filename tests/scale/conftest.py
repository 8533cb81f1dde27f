"""The command in this process, which has imported everything already: a fresh one takes seconds for that."""

import sys
import warnings
from types import SimpleNamespace

import pytest

from plugplay.cli import main


@pytest.fixture
def run(monkeypatch, capsys):
    """Run ``plugplay ...``, and return what came out of it, as in a process of its own."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["plugplay", *map(str, words)])
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            with pytest.raises(SystemExit) as end:
                main()
        said = capsys.readouterr()
        return SimpleNamespace(returncode=end.value.code or 0, stdout=said.out, stderr=said.err)

    return run
