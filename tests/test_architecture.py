"""The house: imports point downward only, files have one job and a bearable length."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"
PACKAGE = SOURCE / "plugplay"
MAX_LINES = 400

# From the ground up: a module may import from its own floor and from those below it.
FLOORS = (
    ("arrays",),
    ("traits", "io", "metrics"),
    ("noise", "kernels"),
    ("denoisers", "models"),
    ("pnp",),
    ("tuning",),
    ("posing", "plan"),
    ("restoration", "checks", "plots"),
    ("scale",),
    ("cli", "web", "napari"),
)
# Names of version 0.1, and what starts the command line.
OUTSIDE = ("__init__", "__main__", "imageio", "photon_cubes")
# Results draw themselves, and kernels read files: both import what they need when they are asked to.
LAZY = {("pnp", "plots")}


def room(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def floor(name):
    return next(number for number, rooms in enumerate(FLOORS) if name in rooms)


def imported(tree):
    """Yield the rooms of plugplay that a module imports, wherever it does."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "plugplay":
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("plugplay."):
            yield node.module.split(".")[1]
        elif isinstance(node, ast.Import):
            yield from (alias.name.split(".")[1] for alias in node.names if alias.name.startswith("plugplay."))


def guarded(tree):
    """Return the tree without what only type checkers import."""
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = [ast.Pass()]
    return tree


MODULES = sorted(path for path in PACKAGE.rglob("*.py") if room(path) not in OUTSIDE)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_downward(path):
    here = room(path)
    for other in imported(guarded(ast.parse(path.read_text(encoding="utf-8")))):
        if other.startswith("__") or (here, other) in LAZY:
            continue
        assert floor(other) <= floor(here), f"{path.name} is in {here} and imports {other}"


def test_the_loop_knows_no_concrete_model_or_denoiser():
    allowed = {"plugplay.models.base", "plugplay.models.description", "plugplay.denoisers.base"}
    for path in (PACKAGE / "pnp").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
                ("plugplay.models", "plugplay.denoisers")
            ):
                assert node.module in allowed, f"{path.name} imports {node.module}"


def test_nobody_asks_a_model_what_it_is():
    """Optional members of models are looked for in one place."""
    names = ("factor", "mask", "boundary", "observes_intensity", "lower_bound", "lipschitz", "traits", "spatial_ndim")
    for path in MODULES:
        if room(path) == "models":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("getattr", "hasattr") and len(node.args) > 1:
                asked = node.args[1]
                assert not (
                    isinstance(asked, ast.Constant) and asked.value in names and "model" in ast.unparse(node)
                ), f"{path.name}: {ast.unparse(node)}"


@pytest.mark.parametrize("package", ["plugplay", "plugplay_paper"])
def test_no_module_is_too_long(package):
    long = {
        str(path.relative_to(SOURCE)): lines
        for path in (SOURCE / package).rglob("*.py")
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > MAX_LINES
    }
    assert not long
