"""Images that many tests use, and the installed command, as users run it."""

import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from skimage import data

SOURCE = Path(__file__).parents[1] / "src"

# A shell's background jobs, and all they start, ignore Ctrl-C; the commands under test shall hear it all the same.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)


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


@pytest.fixture(scope="session")
def camera():
    """A photograph, 128 x 128, float64 on [0, 1]."""
    return data.camera()[100:356:2, 150:406:2].astype(np.float64) / 255


@pytest.fixture(scope="session")
def astronaut():
    """A colour photograph, 64 x 64 x 3, float64 on [0, 1]."""
    return data.astronaut()[:256:4, 100:356:4].astype(np.float64) / 255
