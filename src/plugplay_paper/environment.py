"""Where and with what a report was computed."""

from __future__ import annotations

import functools
import hashlib
import os
import platform
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from plugplay.arrays.checks import check_workers

__all__ = ["Environment", "code_digest"]

# What the numbers depend on.
LIBRARIES = ("numpy", "scipy", "numba", "scikit-image", "PyWavelets")
# What they do not depend on: how a report is asked for and written.
PRESENTATION = ("cli/", "reproduce/report/", "reproduce/experiments/")


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
        from plugplay import __version__

        return cls(
            plugplay=__version__,
            python=platform.python_version(),
            system=platform.platform(),
            cpu=_cpu(),
            libraries=tuple((name, _version(name)) for name in LIBRARIES),
            cores=check_workers(None),
            code=code_digest()[:12],
        )


@functools.cache
def code_digest() -> str:
    """Return a digest of all that computes: the package without its command line and reports, libraries, machine.

    The machine counts because seconds are measured too.
    """
    package = Path(__file__).parent.parent
    digest = hashlib.sha256()
    for source in sorted(package.rglob("*.py")):
        place = source.relative_to(package).as_posix()
        if not place.startswith(PRESENTATION):
            digest.update(f"{place}\n".encode())
            digest.update(source.read_bytes())
    for name in LIBRARIES:
        digest.update(f"{name} {_version(name)}\n".encode())
    digest.update(f"{platform.python_version()} {_cpu()}".encode())
    return digest.hexdigest()


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
