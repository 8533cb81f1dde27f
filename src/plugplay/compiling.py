"""How the kernels of denoisers and models are compiled, and where the compiled code is kept.

Importing this module imports Numba, so only modules that have kernels do.

Numba compiles a kernel when it is first called. Its own cache on disk keeps an index and numbered files of machine
code, which a kill or two processes at once can bring out of step: then old code runs, or none. The cache here has no
index. Each compiled signature is one file, and its name is a hash of everything the code depends on: the sources of
*all* denoisers, or of all models (a kernel contains the helpers of other modules), the versions of Numba, llvmlite and
NumPy, the CPU and the types of the arguments. So a file is right or it is not found:

* It appears in one step when it is complete, and whoever writes it writes the same.
* It begins with a checksum and the signature; damaged files and those of another signature count as none.
* Machine code is executed and comes as a pickle, so neither folders nor files that belong to others or that others
  can write are used; a warning says so.
* Where nothing can be written, the kernels are compiled in memory.

The folder is ``NUMBA_CACHE_DIR`` if set, else ``__pycache__`` beside the sources, else the user's cache directory.
The first compilation for a denoiser or for models says what it is doing, as a warning of the logger ``plugplay``,
which goes to stderr unless logging is configured. Silence it with ``logging.getLogger("plugplay").setLevel("ERROR")``.
"""

from __future__ import annotations

import functools
import hashlib
import logging
import os
import pickle
import stat
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import llvmlite
import numba
import numpy as np
import platformdirs
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.options import DefaultOptions
from numba.core.serialize import dumps
from numba.core.sigutils import normalize_signature

from plugplay.io.atomic import atomic

__all__ = ["inline", "kernel", "summing_kernel"]

Function = TypeVar("Function", bound=Callable[..., Any])

# An option of Numba that is not documented, and may disappear.
_UNCOUNTED: dict[str, Any] = {"_nrt": False} if hasattr(DefaultOptions, "_nrt") else {}

_log = logging.getLogger(__name__)
_announced: set[str] = set()
_lock = threading.Lock()


def kernel(function: Function) -> Function:
    """Compile `function` on its first call, or load it from the disk; it runs without the interpreter lock."""
    return _compiled(function, fastmath=False)


def summing_kernel(function: Function) -> Function:
    """Do what `kernel` does, and let the compiler add up sums in several parts, which depend on the loop alone."""
    return _compiled(function, fastmath={"reassoc"})


def _compiled(function: Function, *, fastmath: bool | set[str]) -> Function:
    dispatcher: Any = numba.njit(nogil=True, error_model="numpy", fastmath=fastmath)(function)
    dispatcher._cache = _KernelCache(function)
    return cast("Function", dispatcher)


def inline(function: Function) -> Function:
    """Make `function` callable from kernels, which take it in whole. It must not allocate arrays.

    Numba counts the references to arrays that a function is called with, by atomic operations. Functions that own
    none need not: without counting, the search of BM3D takes a twentieth less time.
    """
    return cast("Function", numba.njit(nogil=True, error_model="numpy", forceinline=True, **_UNCOUNTED)(function))


class _KernelCache(NullCache):
    """The compiled signatures of one kernel, each in a file of its own."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        code = function.__code__
        self._folder, self._refusals = _cache_folder(Path(code.co_filename).parent)
        module = Path(code.co_filename).stem
        version = f"py{sys.version_info.major}{sys.version_info.minor}{getattr(sys, 'abiflags', '')}"
        self._stem = f"{module}.{function.__qualname__.replace('<', '').replace('>', '')}-{version}"

    @property
    def _fingerprint(self) -> str:
        package, _, rest = self._function.__module__.partition(".")
        return fingerprint(rest.partition(".")[0] if package == "plugplay" else "denoisers")

    @property
    def cache_path(self) -> str | None:
        return None if self._folder is None else str(self._folder)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        target_context.refresh()
        found = None
        if self._folder is not None:
            wanted = self._signature(sig)
            try:
                found = self._loaded(self._path(wanted, target_context.codegen()), wanted, target_context)
            except FileNotFoundError:
                pass
            except Exception as error:  # what unpickling damaged files raises cannot be listed
                _log.info("compiled code could not be read: %s", error)
        if found is None:
            self._announce()
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        # Code with pointers into this process is of no use to another.
        if self._folder is None or data.library.has_dynamic_globals or data.lifted:
            return
        signature = self._signature(sig)
        path = self._path(signature, data.codegen)
        body = dumps((signature, data._reduce()))
        try:
            with atomic(path, mode=0o600) as temporary:
                temporary.write_bytes(hashlib.sha256(body).digest() + body)
            self._forget_others()
        except OSError as error:
            _log.info("compiled code could not be kept: %s", error)

    def _loaded(self, path: Path, wanted: str, target_context: Any) -> Any:
        with path.open("rb") as stream:
            reason = _refusal(os.fstat(stream.fileno()))
            if reason is not None:
                raise PermissionError(f"{path} {reason}")
            content = stream.read()
        digest, body = content[:32], content[32:]
        if hashlib.sha256(body).digest() != digest:
            raise ValueError(f"{path} is damaged")
        signature, reduced = pickle.loads(body)
        if signature != wanted:
            raise ValueError(f"{path} was compiled for {signature}, not for {wanted}")
        return CompileResult._rebuild(target_context, *reduced)

    def _path(self, signature: str, codegen: Any) -> Path:
        cells = tuple(cell.cell_contents for cell in self._function.__closure__ or ())
        code = self._function.__code__
        own = hashlib.sha256(Path(code.co_filename).read_bytes()).hexdigest()  # it may be outside this package
        depends = (self._fingerprint, own, code.co_firstlineno, signature, codegen.magic_tuple())
        key = hashlib.sha256(repr(depends).encode() + (dumps(cells) if cells else b"")).hexdigest()
        assert self._folder is not None
        return self._folder / f"{self._stem}.{self._fingerprint[:16]}.{key[:32]}.nbc"

    @staticmethod
    def _signature(sig: Any) -> str:
        arguments, _ = normalize_signature(sig)
        return ", ".join(map(str, arguments))

    def _forget_others(self) -> None:
        """Remove this kernel's code of other states of the package, and what version 0.1 kept."""
        assert self._folder is not None
        for suffix in ("nbc", "nbi"):
            for old in self._folder.glob(f"{self._stem.rpartition('-')[0]}-*.{suffix}"):
                version = self._stem.rpartition("-")[2]
                if self._fingerprint[:16] not in old.name and version in old.name:
                    old.unlink(missing_ok=True)

    def _announce(self) -> None:
        """Say that the kernels of a denoiser are being compiled, when the first of them is."""
        room, _, module = self._function.__module__.removeprefix("plugplay.").partition(".")
        module = module.partition(".")[0]
        denoiser = "shared kernels" if module.startswith("_") else module
        what = denoiser if room == "denoisers" else room
        duration = "about 15 s" if what == "bm3d" else "a few seconds"
        nowhere = " in every process: set NUMBA_CACHE_DIR to a directory that can be written"
        texts = [*self._refusals, f"compiling {what} once, {duration}{'' if self._folder else nowhere}"]
        with _lock:
            new = [text for text in texts if text not in _announced]
            _announced.update(new)
        for text in new:
            _log.warning("%s", text)


@functools.cache
def fingerprint(room: str) -> str:
    """Return a hash of everything that machine code depends on, apart from the CPU and the types of the arguments.

    Parameters
    ----------
    room : str
        The part of the package whose helpers it may contain: ``"denoisers"`` or ``"models"``.
    """
    digest = hashlib.sha256(f"{numba.__version__} {llvmlite.__version__} {np.__version__}".encode())
    here = Path(__file__)
    for source in (here, *sorted((here.parent / room).rglob("*.py"))):
        digest.update(source.name.encode())
        digest.update(source.read_bytes())
    return digest.hexdigest()


@functools.cache
def _cache_folder(sources: Path) -> tuple[Path | None, tuple[str, ...]]:
    """Return the folder for the code of the modules in `sources`, if there is one, and why others were not taken."""
    apart = f"{sources.name}_{hashlib.sha256(str(sources).encode()).hexdigest()[:16]}"
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    roots = [(Path(chosen).absolute(), apart)] if chosen else []
    roots.append((sources / "__pycache__", ""))
    roots.append((platformdirs.user_cache_path("plugplay", appauthor=False) / "kernels", apart))
    refusals = []
    for root, name in roots:
        if not root.is_absolute():  # without a home, "~" stays what it is
            continue
        try:
            for folder in (root, root / name):
                folder.mkdir(parents=True, exist_ok=True, mode=0o755)
                reason = _refusal(folder.stat())
                if reason is not None:
                    refusals.append(f"compiled code is neither read from nor kept in {folder}, which {reason}")
                    break
            else:
                if os.access(root / name, os.W_OK | os.X_OK):
                    return root / name, tuple(refusals)
        except OSError:
            continue
    return None, tuple(refusals)


def _refusal(status: os.stat_result) -> str | None:
    """Return why machine code from a file or folder must not be run; None if it may."""
    if os.name != "posix":  # elsewhere, neither owner nor mode say who can write
        return None
    if status.st_uid != os.geteuid():
        return "belongs to another user"
    if stat.S_IMODE(status.st_mode) & (stat.S_IWGRP | stat.S_IWOTH):
        return "other users can write"
    return None
