import json
import os
import subprocess
import sys
from pathlib import Path

import plugplay as pp

# The child must run the code under test, whichever plugplay is installed.
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(pp.__file__).parents[1])}


def run(*arguments):
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=ENVIRONMENT)


def test_the_table_has_a_line_for_every_denoiser():
    lines = run("-m", "plugplay", "denoisers").stdout.splitlines()
    assert lines[0].split() == ["name", "what", "it", "is", "speed", "colour", "needs"]
    assert [line.split()[0] for line in lines[1:]] == list(pp.denoisers.available())
    tv = next(line for line in lines if line.startswith("tv "))
    for cell in ("total variation", "instant", "joint", "nothing"):
        assert cell in tv


def test_json_is_what_available_says():
    rows = json.loads(run("-m", "plugplay", "denoisers", "--json").stdout)
    assert {row["name"]: row["summary"] for row in rows} == {
        name: info.summary for name, info in pp.denoisers.available().items()
    }
    for row in rows:
        assert row["installed"] in (True, False)
        assert row["speed"] in ("instant", "fast", "slow")
        assert row["colour"] in ("joint", "per channel")


def test_an_extra_that_is_missing_is_named(monkeypatch, capsys):
    from plugplay.cli import list_denoisers as command
    from plugplay.denoisers import DenoiserInfo

    info = DenoiserInfo("net", "a network", "nowhere:Net", "slow", "joint", extra="nosuch")
    plugin = DenoiserInfo("theirs", "a plug-in", "theirs:Net", origin="their-package")
    monkeypatch.setattr("plugplay.denoisers.available", lambda: {"net": info, "theirs": plugin})
    command.denoisers()
    shown = capsys.readouterr().out
    assert "plugplay[nosuch] (not installed)" in shown
    assert "their-package (installed)" in shown
    command.denoisers(as_json=True)
    assert [row["installed"] for row in json.loads(capsys.readouterr().out)] == [False, True]


def test_listing_imports_nothing_heavy():
    code = (
        "import sys; sys.argv = ['plugplay', 'denoisers']\n"
        "from plugplay.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "assert not {'numba', 'skimage', 'scipy.ndimage'} & set(sys.modules)"
    )
    run("-c", code)
