"""Small images for the files that commands are given."""

import signal
import subprocess

import numpy as np
import pytest


@pytest.fixture
def noisy():
    """A small noisy image, float64 on [0, 1], for the colours and depths of files."""
    ramp = np.add.outer(np.arange(24), np.arange(20)) / 50
    return np.clip(ramp + np.random.default_rng(0).normal(0, 0.05, ramp.shape), 0, 1)


def _with_default_interrupt():
    # A shell's background jobs, and all they start, ignore Ctrl-C; the command under test shall not.
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
def started():
    """Start a command that can be interrupted; what is left of it at the end is killed."""
    processes = []

    def start(words, environment, **options):
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
        processes.append(
            subprocess.Popen([*map(str, words)], env=environment, preexec_fn=_with_default_interrupt, **pipes)
        )
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.__exit__(None, None, None)  # closes its pipes, and waits
