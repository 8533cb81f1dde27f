"""What pyproject.toml declares is what the package imports."""

import ast
import importlib.util
import re
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PACKAGES = ("plugplay", "plugplay_paper")
# Distributions whose modules are called otherwise.
MODULES = {"scikit-image": "skimage", "pillow": "PIL", "lazy-loader": "lazy_loader"}
# llvmlite is Numba's own, and comes with it in the version that it needs; qtpy is how napari finds its Qt.
BROUGHT_ALONG = {"llvmlite": "numba", "qtpy": "napari"}
# Extras that are not for users: what they bring is no part of the package.
FOR_DEVELOPERS = ("test", "dev", "bench", "docs", "browser")
# Where it matters, it is there: in a notebook.
FROM_OUTSIDE = {"IPython"}
# Starlette reads forms with it, and does not install it.
USED_BY_OTHERS = {"python-multipart"}


def declared(requirements):
    names = (re.match(r"[A-Za-z0-9._-]+", requirement)[0] for requirement in requirements)
    return {MODULES.get(name, name) for name in names if name != "plugplay"}


def module_names(tree):
    """Yield what a module imports, by statement or by a name that is given to a function that imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            name = ast.unparse(node.func).rpartition(".")[2]
            if name in ("import_module", "require"):
                yield str(node.args[0].value)


def imported():
    found = set()
    for package in PACKAGES:
        for path in (ROOT / "src" / package).rglob("*.py"):
            names = module_names(ast.parse(path.read_text(encoding="utf-8")))
            found |= {name.split(".")[0] for name in names}
    return {name for name in found if name not in sys.stdlib_module_names and name not in PACKAGES}


CORE = declared(PROJECT["dependencies"])
EXTRAS = {name: words for name, words in PROJECT["optional-dependencies"].items() if name not in FOR_DEVELOPERS}
OPTIONAL = {name for words in EXTRAS.values() for name in declared(words)}


def test_what_is_imported_is_declared():
    assert imported() - CORE - OPTIONAL - set(BROUGHT_ALONG) - FROM_OUTSIDE == set()


def test_what_is_declared_is_imported():
    assert CORE - imported() == set()
    assert OPTIONAL - imported() == USED_BY_OTHERS


@pytest.mark.parametrize("requirement", PROJECT["dependencies"])
def test_every_dependency_says_its_least_version(requirement):
    specification = importlib.util.spec_from_file_location("minimum_versions", ROOT / ".ci" / "minimum_versions.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    name, _, version = requirement.partition(">=")
    assert f"{name}=={version}" in module.minima()
