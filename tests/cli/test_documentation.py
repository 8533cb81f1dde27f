"""The examples of the documentation and of --help are understood as they stand."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from plugplay.cli import contact_sheet, image_commands, photon_command
from plugplay.cli.app import app
from plugplay.io import ImageFile, write

DOCS = Path(__file__).parents[2] / "docs"
COMMANDS = ("denoise", "deblur", "inpaint", "upscale", "photon")


def examples():
    text = (DOCS / "command-line.md").read_text()
    yield from (line for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) for line in block.splitlines())
    for name in COMMANDS:
        told = CliRunner().invoke(app, [name, "--help"], env={"COLUMNS": "200", "NO_COLOR": "1"}).output
        yield from re.findall(rf"^ *(plugplay {name} .*?) *$", told, re.MULTILINE)


@pytest.mark.parametrize("line", sorted(set(examples())))
def test_example(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("psf.fits", ImageFile.of(np.ones((3, 3), np.float32)))
    started = []
    for module in (image_commands, photon_command):
        monkeypatch.setattr(module, "run", lambda common, verb, **options: started.append(common))
    monkeypatch.setattr(contact_sheet, "write_contact_sheet", lambda common, *_, **__: started.append(common))
    words = shlex.split(re.split("[<>|]", line)[0])
    done = CliRunner().invoke(app, words[1:])
    assert done.exit_code == 0, done.output
    assert len(started) == 1
    assert started[0].inputs


def test_there_are_examples_for_every_command():
    assert {line.split()[1] for line in examples()} == set(COMMANDS)
    assert len(set(examples())) > 15
