"""How the kernels of denoisers are compiled, and where the compiled code is kept.

Importing this module imports Numba, so only modules that have kernels do.

Numba compiles a kernel when it is first called and keeps the machine code on disk. What this module adds:

* The cache is keyed by the sources of *all* denoisers, not only of the file a kernel is in, since a kernel
  contains the helpers of the other modules.
* Where nothing can be written, the kernels are compiled in memory; a broken cache file counts as none.
* The first compilation for a denoiser says what it is doing, as a warning of the logger ``plugplay``, which goes to
  stderr unless logging is configured. Silence it with ``logging.getLogger("plugplay").setLevel("ERROR")``.

The directory is Numba's choice: ``NUMBA_CACHE_DIR`` if set, else ``__pycache__`` beside the sources, else, for a
read-only installation, the user's cache directory (``XDG_CACHE_HOME``, ``~/.cache``).
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import llvmlite
import numba
import numpy as np
from numba.core.caching import FunctionCache, IndexDataCacheFile, NullCache

__all__ = ["inline", "kernel"]

Function = TypeVar("Function", bound=Callable[..., Any])

_log = logging.getLogger(__name__)
_announced: set[str] = set()
_lock = threading.Lock()


def kernel(function: Function) -> Function:
    """Compile `function` on its first call, or load it from the disk; it runs without the interpreter lock."""
    dispatcher: Any = numba.njit(nogil=True, error_model="numpy")(function)
    try:
        dispatcher._cache = _PackageCache(function)
    except (RuntimeError, OSError):  # no directory can be written
        dispatcher._cache = _NoCache(function)
    return cast("Function", dispatcher)


def inline(function: Function) -> Function:
    """Make `function` callable from kernels, which take it in whole."""
    return cast("Function", numba.njit(nogil=True, error_model="numpy", forceinline=True)(function))


def _announce(function: Callable[..., Any], circumstance: str = "") -> None:
    """Say that the kernels of a denoiser are being compiled, when the first of them is."""
    module = function.__module__.removeprefix("plugplay.denoisers.").partition(".")[0]
    denoiser = "shared kernels" if module.startswith("_") else module
    with _lock:
        first = denoiser not in _announced
        _announced.add(denoiser)
    if first:
        duration = "about 10 s" if denoiser == "bm3d" else "a few seconds"
        _log.warning("compiling %s once, %s%s", denoiser, duration, circumstance)


class _NoCache(NullCache):
    """For installations that have nowhere to keep compiled code."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def load_overload(self, sig: Any, target_context: Any) -> None:  # noqa: ARG002
        _announce(self._function, " in every process: set NUMBA_CACHE_DIR to a directory that can be written")


class _PackageCache(FunctionCache):
    """Numba's cache of one kernel, valid for one state of the package."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._function = function
        self._cache_file = IndexDataCacheFile(self._cache_path, self._impl.filename_base, fingerprint())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            found = super().load_overload(sig, target_context)
        except Exception as error:  # what unpickling damaged files raises cannot be listed
            _log.info("compiled code could not be read: %s", error)
            found = None
            self._forget()
        if found is None:
            _announce(self._function)
        return found

    def _forget(self) -> None:
        with contextlib.suppress(OSError):
            self.flush()

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except OSError as error:
            _log.info("compiled code could not be kept: %s", error)


@functools.cache
def fingerprint() -> str:
    """Return a hash of everything the machine code depends on, apart from the CPU, which Numba looks at."""
    digest = hashlib.sha256(f"{numba.__version__} {llvmlite.__version__} {np.__version__}".encode())
    for source in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(source.name.encode())
        digest.update(source.read_bytes())
    return digest.hexdigest()
