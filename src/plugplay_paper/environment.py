"""Where and with what a report was computed."""

from __future__ import annotations

import functools
import hashlib
import os
import platform
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import plugplay
from plugplay_paper.source_code import computing_files, digest_of

__all__ = ["Environment", "available_cores", "code_digest"]

# What the numbers depend on.
LIBRARIES = ("numpy", "scipy", "numba", "scikit-image", "PyWavelets")
# What they do not depend on, given the pixels and the parameters, which each cell brings with it: commands, files,
# displays, checks that no cell calls, and here the plan of the experiments and the report.
PLUGPLAY_PRESENTATION = (
    "cli/",
    "io/",
    "napari/",
    "scale/",
    "web/",
    "__init__.py",
    "__main__.py",
    "imageio.py",
    "photon_cubes.py",
    "plots/",
    "checks/assumptions.py",
    "checks/certificate.py",
    "checks/certification.py",
    "checks/model_check.py",
)
PAPER_PRESENTATION = (
    "experiments/",
    "report/",
    "__init__.py",
    "command.py",
    "costs.py",
    "environment.py",
    "files.py",
    "images.py",
    "paper.py",
    "progress.py",
    "reproduction.py",
    "results.py",
    "runner.py",
    "source_code.py",
    "store.py",
)


@dataclass(frozen=True)
class Environment:
    """Versions and the machine.

    Attributes
    ----------
    plugplay, python, system, cpu : str
        Versions, operating system and processor.
    libraries : tuple of (str, str)
        Names and versions of the libraries that compute.
    cores : int
        Cores this process may use.
    code : str
        Digest of the code, the versions and the processor; cells of another digest are computed anew.
    """

    plugplay: str
    python: str
    system: str
    cpu: str
    libraries: tuple[tuple[str, str], ...]
    cores: int
    code: str

    @classmethod
    def here(cls) -> Environment:
        """Return this process's."""
        return cls(
            plugplay=plugplay.__version__,
            python=platform.python_version(),
            system=platform.platform(),
            cpu=_cpu(),
            libraries=tuple((name, _version(name)) for name in LIBRARIES),
            cores=available_cores(),
            code=code_digest()[:12],
        )


@functools.cache
def code_digest() -> str:
    """Return a digest of all that computes: the code without its documentation, libraries, machine.

    The machine counts because seconds are measured too.
    """
    core, here = Path(plugplay.__file__).parent, Path(__file__).parent
    files = computing_files(core, without=PLUGPLAY_PRESENTATION) + computing_files(here, without=PAPER_PRESENTATION)
    versions = "".join(f"{name} {_version(name)}\n" for name in LIBRARIES)
    machine = f"{platform.python_version()} {_cpu()}"
    return hashlib.sha256(f"{digest_of(files)}\n{versions}{machine}".encode()).hexdigest()


def available_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _cpu() -> str:
    """Return the processor's name; platform.processor says little or nothing on Linux."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or platform.machine() or os.name
