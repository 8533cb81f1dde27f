"""Every snippet of the documentation runs, as a reader would type it: page by page, one after the other.

Blocks of Python are executed. Commands are executed on the pages of "Start here"; on the others, the command line is
asked whether it knows their options. Pages with a test of their own are left to it.
"""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
import typer
from skimage import data
from typer.testing import CliRunner

import plugplay as pp
from plugplay.cli.app import app

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(
    path for path in DOCS.rglob("*.md") if not {"gallery", "project", "_build"} & set(path.relative_to(DOCS).parts)
)
# The blocks of these pages are run by tests that also check what the page says about them.
ELSEWHERE = {"bring-your-own-denoiser.md", "own-model.md"}
# Names that a page takes for granted, as a reader has them.
GIVEN = {
    "index.md": """
kernel = pp.kernels.gaussian(5, sigma=1.0)
y = pp.models.Deblurring(kernel).simulate(camera, noise=0.01, rng=0)
""",
    "files.md": """
works = np.ones((16, 16), bool)
pp.io.write("scan.tif", pp.io.ImageFile.of(np.full((8, 8), 900, np.uint16)))
pp.io.write("photo.jpg", pp.io.ImageFile.of(np.full((32, 32), 90, np.uint8)))
np.save("spad.npy", np.packbits(np.random.default_rng(0).random((4, 16, 16)) < 0.3, axis=2))
""",
    "noise.md": """
y = camera + 0.02 * np.random.default_rng(0).standard_normal(camera.shape)
counts = np.random.default_rng(0).poisson(200 * camera).astype(float)
basis = np.eye(8)
""",
    "scale.md": """
import zarr
zarr.create_array("slide.zarr", data=camera.astype(np.float32)[:64, :64], chunks=(32, 32))
""",
    "training.md": """
import torch
noisy, y, kernel, batch = camera, camera, pp.kernels.box(3), torch.rand(1, 1, 32, 32)
""",
    "bm3d.md": "noisy, sigma = camera + 0.1 * np.random.default_rng(0).standard_normal(camera.shape), 0.1",
}
# Extras without which a page cannot be run.
NEEDS = {
    "training.md": ("onnxruntime", "torch"),
    "howto/clusters.md": ("dask.array",),
    "scale.md": ("dask.array", "zarr"),
    "start/astronomer.md": ("astropy",),
}
# What a snippet needs that the tests do not have: weights, a folder of the paper's images, minutes.
LEFT_OUT = ("# needs", "from plugplay_paper import reproduce")


def blocks(page):
    return re.findall(r"^```(python|sh)\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def commands(block):
    """Yield the words of each command of plugplay's in a block, comments, variables and redirections left out."""
    for line in block.replace("\\\n", " ").splitlines():
        for part in re.split(r"&&|\|", line.partition(" #")[0]):
            words = shlex.split(part.partition(">")[0])
            if words[:1] == ["plugplay"]:
                yield words[1:]


def name_of(page):
    return page.relative_to(DOCS).as_posix()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


WITH_PYTHON = [
    page for page in PAGES if page.name not in ELSEWHERE and any(kind == "python" for kind, _ in blocks(page))
]


@pytest.mark.parametrize("page", WITH_PYTHON, ids=name_of)
def test_blocks_run(page, folder):
    for module in NEEDS.get(name_of(page), ()):
        pytest.importorskip(module)
    camera = data.camera()[100:164, 150:214] / 255
    names = {"__name__": "page", "np": np, "pp": pp, "camera": camera}
    exec(GIVEN.get(name_of(page), ""), names)
    for kind, block in blocks(page):
        if kind == "python" and not block.startswith(LEFT_OUT):
            exec(compile(block, str(page), "exec"), names)
        elif kind == "sh" and page.parent.name == "start":
            for words in commands(block):
                ran = CliRunner().invoke(app, [*words, "--quiet"] if "--json" not in words else words)
                assert ran.exit_code == 0, f"plugplay {' '.join(words)}: {ran.output}"


WITH_COMMANDS = [page for page in PAGES if any(kind == "sh" and list(commands(block)) for kind, block in blocks(page))]


@pytest.mark.parametrize("page", [*WITH_COMMANDS, DOCS.parent / "README.md"], ids=lambda page: page.name)
def test_commands_are_understood(page, folder):
    root = typer.main.get_command(app)
    for kind, block in blocks(page):
        for words in commands(block) if kind == "sh" else ():
            context = root.make_context("plugplay", [], resilient_parsing=True)
            command = root.get_command(context, words[0])
            assert command is not None, words
            known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
            options = {word.partition("=")[0] for word in words[1:] if re.match(r"--?[A-Za-z]", word)}
            assert options <= known | {"--help", "-h"}, f"plugplay {' '.join(words)}"


def test_the_reference_lists_every_public_name():
    text = (DOCS / "reference" / "python.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^   ([\w.]+)$", text, re.MULTILINE))
    modules = {"denoisers", "io", "kernels", "models", "scale", "noise", "__version__"}
    assert set(pp.__all__) - modules <= listed
    assert {name for name in pp.models.__all__ if name[0].isupper()} - {"LeastSquares", "LinearGaussianModel"} <= listed
