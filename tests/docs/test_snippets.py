"""The snippets of the documents: some are run here, all of them by ``python docs/tools/snippets.py`` in ``.ci/run``.

Here, too, every command that a document names, in a block or within a line, is asked whether it knows its options.
"""

import importlib.util
import re
import shlex
import sys
from pathlib import Path

import pytest
import typer

import plugplay as pp
from plugplay.cli.app import app

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
# Pages that take about a second.
QUICK = ("README.md", "files.md", "theory.md", "howto/own-iteration.md")


def _loaded(name):
    specification = importlib.util.spec_from_file_location(name, DOCS / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module  # the one imports the other
    specification.loader.exec_module(module)
    return module


snippets, snippet_files = _loaded("snippets"), _loaded("snippet_files")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", QUICK)
def test_blocks_run(name, folder):
    (page,) = (page for page in snippets.pages() if snippets.name_of(page) == name)
    names = snippet_files.names(name)
    for kind, block in snippets.blocks(page):
        if kind == "python":
            exec(compile(snippets.smaller(block), name, "exec"), names)


@pytest.fixture
def page(tmp_path, monkeypatch):
    monkeypatch.setattr(snippets, "DOCS", tmp_path)

    def write(text):
        (tmp_path / "page.md").write_text(text, encoding="utf-8")
        return snippets.run(tmp_path / "page.md")

    return write


def test_blocks_of_other_kinds_hide_none(page):
    report = page(
        "```{raw} html\n<p>\n```\n\n```python\nseen = 1\n```\n\n```json\n{}\n```\n\n```python\nassert seen\n```\n"
    )
    assert report.ran == 2
    assert not report.errors


def test_annotations_are_those_of_a_reader(page):
    made = "from dataclasses import dataclass\n\n@dataclass\nclass A:\n    b: int\n"
    assert not page(f"```python\n{made}\nassert A.__annotations__['b'] is int\n```\n").errors


def test_failures_are_reported(page):
    assert "ZeroDivisionError" in page("```python\n1 / 0\n```\n").errors[0]
    assert "exit code 1" in page("```sh\necho all right\nfalse\n```\n").errors[0]


def test_blocks_share_names_files_and_reasons(page):
    report = page(
        "```python\na = 1\n```\n\n"
        "```sh\npip install x && echo 1 > file  # a comment\n```\n\n"
        "```python\nimport os\nassert os.path.exists('file') and a\n```\n"
    )
    assert report.errors == []
    assert report.ran == 3
    assert report.left_out == ["pip install x: installs; .ci/run does so"]


def commands(page):
    """Yield the words of every command of plugplay's and of every benchmark that a page names."""
    text = page.read_text(encoding="utf-8")
    lines = [line for kind, block in snippets.blocks(page) if kind == "sh" for line in snippets.parts(block)]
    for line in (*lines, *(" ".join(code.split()) for code in re.findall(r"`((?:plugplay|python) [^`]+)`", text))):
        for part in re.split(r"\|", line):
            words = shlex.split(re.split(r"[<>]", part)[0])
            if len(words) > 1 and (words[0] == "plugplay" or (words[0] == "python" and sources(words))):
                yield words


def sources(words):
    """Return the files of a script or module of this repository, none for those of others."""
    name = words[2].replace(".", "/") if words[1] == "-m" else words[1].removesuffix(".py")
    return [path for path in (ROOT / f"{name}.py", *(ROOT / name).glob("*.py")) if path.exists()]


def options(words):
    return {word.partition("=")[0] for word in words if re.match(r"--?[A-Za-z]", word)}


def known(words):
    """Return the options that a command knows: of plugplay's from itself, of scripts from their source."""
    if words[0] == "python":
        text = "".join(path.read_text(encoding="utf-8") for path in sources(words))
        return set(re.findall(r'"(--?[a-z][\w-]*)"', text)) | {"-m"}
    root = typer.main.get_command(app)
    context = root.make_context("plugplay", [], resilient_parsing=True)
    command = root.get_command(context, words[1]) if not words[1].startswith("-") else root
    assert command is not None or words[1].isupper(), words
    parameters = () if command is None else command.params
    return {name for parameter in parameters for name in (*parameter.opts, *parameter.secondary_opts)}


@pytest.mark.parametrize("path", snippets.pages(), ids=lambda path: path.name)
def test_commands_are_understood(path):
    for words in commands(path):
        assert options(words[1:]) <= known(words) | {"--help", "-h"}, " ".join(words)


def test_the_reference_lists_every_public_name():
    text = (DOCS / "reference" / "python.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^   ([\w.]+)$", text, re.MULTILINE))
    modules = {"denoisers", "io", "kernels", "models", "scale", "noise", "__version__"}
    assert set(pp.__all__) - modules <= listed
    assert {name for name in pp.models.__all__ if name[0].isupper()} - {"LeastSquares", "LinearGaussianModel"} <= listed
