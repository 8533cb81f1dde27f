"""The installed command, as users run it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

SOURCE = Path(__file__).parents[2] / "src"


@pytest.fixture(scope="session")
def command():
    """The words that start plugplay: the installed script, or the module where it is not installed."""
    script = shutil.which("plugplay", path=str(Path(sys.executable).parent))
    return [script] if script else [sys.executable, "-m", "plugplay"]


@pytest.fixture(scope="session")
def environment():
    """This checkout first, plain text, and no warnings turned into errors."""
    return {**os.environ, "PYTHONPATH": str(SOURCE), "NO_COLOR": "1", "COLUMNS": "200", "PYTHONWARNINGS": "default"}


@pytest.fixture(scope="session")
def run(command, environment):
    """Run ``plugplay ...`` and return what came out of it."""

    def run(*arguments, cwd=None):
        words = [*command, *map(str, arguments)]
        return subprocess.run(words, capture_output=True, text=True, cwd=cwd, env=environment, timeout=300)

    return run


@pytest.fixture
def noisy():
    """A small noisy picture, float64 on [0, 1], for the colours and depths of files."""
    ramp = np.add.outer(np.arange(24), np.arange(20)) / 50
    return np.clip(ramp + np.random.default_rng(0).normal(0, 0.05, ramp.shape), 0, 1)
