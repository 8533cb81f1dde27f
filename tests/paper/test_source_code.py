"""What a stored cell depends on: what computes, and nothing else."""

import ast
from pathlib import Path

import pytest

import plugplay
import plugplay_paper
from plugplay_paper import environment
from plugplay_paper.environment import PAPER_PRESENTATION, PLUGPLAY_PRESENTATION
from plugplay_paper.source_code import computing_files, digest_of

MODULE = '''
"""What it is."""

FACTOR = 2


def twice(x):
    """Return twice x."""
    if x < 0:
        raise ValueError(f"x must be positive; got {x}")
    return FACTOR * x
'''


def digest(folder, content, name="tv.py"):
    package = folder / "package"
    package.mkdir(exist_ok=True)
    (package / name).write_text(content)
    return digest_of(computing_files(package))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("What it is.", "What it was."),
        ('"""Return twice x."""', '"""Return x, doubled.\n\n    At length.\n    """'),
        ('    """Return twice x."""\n', ""),
        ("FACTOR = 2", "# Why it is two.\nFACTOR = 2  # and not three"),
        ("x must be positive", "x must not be negative"),
        ("FACTOR * x", "(FACTOR  *  x)"),
    ],
)
def test_documentation_and_layout_do_not_matter(tmp_path, before, after):
    assert before in MODULE
    assert digest(tmp_path, MODULE) == digest(tmp_path, MODULE.replace(before, after))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("FACTOR = 2", "FACTOR = 3"),
        ("FACTOR = 2", "FACTOR = 2.0"),
        ("FACTOR * x", "FACTOR + x"),
        ("x < 0", "x <= 0"),
        ("ValueError", "TypeError"),
        ("return FACTOR * x", 'return "text"'),
    ],
)
def test_what_computes_matters(tmp_path, before, after):
    assert digest(tmp_path, MODULE) != digest(tmp_path, MODULE.replace(before, after))


def test_where_a_package_lies_does_not_matter_but_its_modules_do(tmp_path):
    (tmp_path / "other").mkdir()
    assert digest(tmp_path, MODULE) == digest(tmp_path / "other", MODULE)
    assert digest(tmp_path, MODULE) != digest(tmp_path, "x = 1", name="nlm.py")


def test_weights_matter_and_texts_do_not(tmp_path):
    first = digest(tmp_path, MODULE)
    assert digest(tmp_path, "attribution", name="NOTICE.md") == first
    second = digest(tmp_path, "weights", name="net.safetensors")
    assert second != first
    assert digest(tmp_path, "other weights", name="net.safetensors") != second


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """Both packages, copied to where they can be edited."""
    for package in (plugplay, plugplay_paper):
        source = Path(package.__file__).parent
        for path in source.rglob("*.py"):
            target = tmp_path / source.name / path.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    monkeypatch.setattr(plugplay, "__file__", str(tmp_path / "plugplay" / "__init__.py"))
    monkeypatch.setattr(environment, "__file__", str(tmp_path / "plugplay_paper" / "environment.py"))

    def edited(name, more):
        path = tmp_path / name
        path.write_text(path.read_text() + more)
        environment.code_digest.cache_clear()
        return environment.code_digest()

    yield edited
    environment.code_digest.cache_clear()


@pytest.mark.parametrize(
    "name",
    [
        "plugplay/__init__.py",
        "plugplay/cli/app.py",
        "plugplay/io/tiff.py",
        "plugplay/plots/curves.py",
        "plugplay/checks/model_check.py",
        "plugplay_paper/report/html.py",
        "plugplay_paper/experiments/super_resolution.py",
        "plugplay_paper/costs.py",
        "plugplay_paper/store.py",
    ],
)
def test_cells_survive_edits_of_files_formats_and_reports(checkout, name):
    assert checkout(name, "") == checkout(name, "\nCONSTANT = 5\n")


@pytest.mark.parametrize(
    "name",
    [
        "plugplay/denoisers/tv.py",
        "plugplay/models/super_resolution.py",
        "plugplay/checks/expansiveness.py",
        "plugplay_paper/methods.py",
        "plugplay_paper/cells/trials.py",
        "plugplay_paper/baselines/patches.py",
    ],
)
def test_cells_are_computed_again_when_what_computes_has_changed(checkout, name):
    before = checkout(name, "")
    assert checkout(name, "\n# A comment.\n") == before
    assert checkout(name, "\nCONSTANT = 5\n") != before


def test_the_digest_depends_on_libraries_and_machine(monkeypatch):
    def digest():
        environment.code_digest.cache_clear()
        return environment.code_digest()

    before = digest()
    monkeypatch.setattr(environment, "_cpu", lambda: "another one")
    other = digest()
    assert other != before
    monkeypatch.setattr(environment, "_version", lambda name: "0.0")
    assert digest() != other
    monkeypatch.undo()
    environment.code_digest.cache_clear()


def test_what_computes_uses_nothing_that_the_digest_leaves_out():
    """Records of pixels, guesses of duration and the writing of files aside."""
    package = Path(plugplay_paper.__file__).parent
    harmless = {"costs", "files", "images", "source_code"}
    excluded = {name.removesuffix(".py").rstrip("/") for name in PAPER_PRESENTATION} - harmless
    files = computing_files(package, without=PAPER_PRESENTATION)
    assert "plugplay_paper/baselines/weights/dcnn-x2.npz" in dict(files)
    for name, path in files:
        tree = ast.parse(path.read_text()) if path.suffix == ".py" else ast.Module([], [])
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("plugplay_paper"):
                parts = node.module.split(".")[1:] or [alias.name for alias in node.names]
                assert parts[0] not in excluded, f"{name} imports {node.module}"


def test_what_is_left_out_exists():
    """A module that was renamed must not come back into the digest, or out of it, unnoticed."""
    paper = Path(plugplay_paper.__file__).parent
    assert all((paper / name).exists() for name in PAPER_PRESENTATION)
    core = Path(plugplay.__file__).parent
    assert all((core / name).exists() for name in PLUGPLAY_PRESENTATION if name.startswith("checks/"))
