"""The package stands on plugplay's public names, as any other package would."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import plugplay_paper

PUBLIC = ("plugplay", "plugplay.denoisers", "plugplay.io", "plugplay.kernels", "plugplay.models", "plugplay.scale")
SOURCES = sorted(Path(plugplay_paper.__file__).parent.rglob("*.py"))


def imported(path):
    """Return what a module imports of plugplay, anywhere: pairs of a module and a name in it, or None."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [(alias.name, None) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            found += [(node.module, alias.name) for alias in node.names]
    return [(module, name) for module, name in found if module.split(".")[0] == "plugplay"]


def test_the_search_finds_imports():
    assert len(SOURCES) > 30
    assert sum(len(imported(path)) for path in SOURCES) > 30


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_only_public_names_are_imported(path):
    for module, name in imported(path):
        assert module in PUBLIC, f"{path.name} imports {module}"
        if name is not None:
            names = [*importlib.import_module(module).__all__, "__version__"]
            assert name in names, f"{path.name} imports {name} from {module}, which does not list it"


def test_the_command_loads_nothing_heavy(environment):
    """The command line imports it for every command, and asks for its help."""
    code = (
        "import sys, typer\n"
        "from plugplay_paper.command import reproduce\n"
        "app = typer.Typer()\n"
        "app.command()(reproduce)\n"
        "app(['--help'], standalone_mode=False)\n"
        "heavy = {'numpy', 'scipy', 'numba', 'skimage', 'matplotlib', 'plugplay_paper.reproduction'}\n"
        "print('loaded:', *sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.stderr == ""
    assert "--realisations" in done.stdout
    assert done.stdout.splitlines()[-1].split() == ["loaded:"]
