"""A denoiser, a model and an iteration take one new file and one line each: those of CONTRIBUTING.md, in a copy."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"```python\n# (src/\S+)\n(.*?)```", TEXT, re.DOTALL))
LINES = re.findall(r"```diff\n (src/\S+)\n (.*)\n\+(.*)\n```", TEXT)

PROGRAM = """
import numpy as np, plugplay as pp

def error(image):
    return float(np.sqrt(np.mean((image - truth) ** 2)))

rows, columns = np.indices((24, 32))
truth = 0.5 + 0.3 * np.sin(rows / 4) * np.cos(columns / 5)
t = 1 - 0.5 * rows / 24
assert "average" in pp.denoisers.available()
assert "Transmission" in pp.models.__all__
model = pp.models.Transmission(t)
pp.check_model(model, truth).raise_if_failed()
y = model.simulate(truth, noise=0.05, rng=0)

plain = pp.restore(y, model, denoiser="average", noise=0.05)
assert plain.parameters.chosen == ("lam", "schedule", "tol", "max_iter"), plain.parameters.chosen
assert plain.parameters.denoiser == "average"
assert error(plain.image) < error(y / t)

damped = pp.restore(y, model, denoiser="average", noise=0.05, iteration="damped")
assert damped.parameters.iteration == "damped"
assert error(damped.image) < error(y)
print("all three at work")
"""


def test_one_file_and_one_line_each():
    assert [Path(name).parent.name for name in FILES] == ["denoisers", "models", "pnp"]
    assert [Path(name).parent.name for name, _, _ in LINES] == ["denoisers", "models", "pnp"]
    assert not any((ROOT / name).exists() for name in FILES)


def test_they_work(tmp_path):
    package = tmp_path / "src" / "plugplay"
    shutil.copytree(ROOT / "src" / "plugplay", package, ignore=shutil.ignore_patterns("__pycache__"))
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    for name, neighbour, line in LINES:
        before = (tmp_path / name).read_text(encoding="utf-8")
        assert before.count(neighbour + "\n") == 1
        (tmp_path / name).write_text(before.replace(neighbour + "\n", f"{neighbour}\n{line}\n"), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(package.parent), "PYTHONWARNINGS": "error"}
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
    )
    assert ran.returncode == 0, ran.stderr
    assert "all three at work" in ran.stdout


@pytest.mark.parametrize("name", FILES)
def test_they_are_short(name):
    assert len(FILES[name].splitlines()) <= 65
