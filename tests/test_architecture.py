"""The house: imports point downward only, files have one job and a bearable length."""

import ast
from pathlib import Path

import pytest

from docs.tools.draw_architecture import DRAWING, FLOORS, drawn, journeys

SOURCE = Path(__file__).parents[1] / "src"
PACKAGE = SOURCE / "plugplay"
MAX_LINES = 400

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


def test_the_drawing_shows_what_happens():
    """Every function on the way of a file and of an array is drawn; nothing is drawn that is not on it."""
    assert DRAWING.read_text(encoding="utf-8") == drawn(*journeys()), (
        "the way has changed: run python docs/tools/draw_architecture.py, and read docs/architecture.md again"
    )


def test_an_array_goes_the_way_of_a_file():
    file, array = journeys()
    extra = {door for door in file if door not in array}
    assert {room for room, _ in extra} == {"io"}
    assert [door for door in file if door not in extra] == array
    names = [name for _, name in file]
    way = ["read", "prepare", "Axes.of", "traits_of", "Scale.of", "posed", "find_noise", "prepare_denoiser"]
    way += ["choose", "Plan.iterate", "Driver.states", "ADMM.step", "Conversion.outside", "write"]
    assert [name for name in names if name in way] == way


def test_every_room_is_on_a_floor():
    rooms = {room(path) for path in MODULES}
    assert rooms <= {name for floor in FLOORS for name in floor}
