"""Atomic writing: a file appears completely or not at all.

The new content is written to a temporary file beside the target, flushed to the disk, and renamed to the target in one
step. A killed process leaves at most a temporary file, whose name contains the process id, so that the next run removes
it.
"""

from __future__ import annotations

import errno
import functools
import hashlib
import os
import platform
import re
import secrets
import stat
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["atomic", "sweep"]

# Seconds after which a temporary file of a process on another machine is removed.
MAX_AGE_ELSEWHERE = 3600.0
# The same for a process that seems alive: by then, its id has been given to another process.
MAX_AGE = 86400.0

_OURS = re.compile(r"\.plugplay-(?P<host>[0-9a-f]{8})-(?P<process>\d+)-[0-9a-f]{12}(\..*)?")


@contextmanager
def atomic(target: str | os.PathLike[str], *, mode: int | None = None) -> Iterator[Path]:
    """Yield a temporary path beside `target`, which is renamed to the target on success and removed on errors.

    The content is flushed to the disk before the file is renamed. The file gets the permissions `mode`; by default
    those of the file that it replaces, or those of the umask. Leftovers of killed processes in the folder are removed.
    A folder, pipe or device is not replaced: `FileExistsError`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> with atomic(folder / "note.txt") as temporary:
    ...     _ = temporary.write_text("complete")
    >>> [path.name for path in folder.iterdir()]
    ['note.txt']
    """
    target = Path(target)
    if target.exists() and not target.is_file():  # renaming over /dev/null would make it a file
        raise FileExistsError(errno.EEXIST, "it exists and is not a file", str(target))
    _sweep_once(target.parent)
    # The ending stays, because libraries choose a format by it; nothing else of the name, which may be of any length.
    # Not tempfile.mkstemp: its files are private, whereas an output gets the permissions that the umask asks for.
    ending = target.suffix if len(os.fsencode(target.suffix)) <= 16 else ""
    temporary = target.with_name(f".plugplay-{_host()}-{os.getpid()}-{secrets.token_hex(6)}{ending}")
    os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666 if mode is None else mode))
    try:
        yield temporary
        with suppress(FileNotFoundError):
            temporary.chmod(stat.S_IMODE(target.stat().st_mode) & 0o777 if mode is None else mode)
        _flush(temporary, os.O_RDWR)
        temporary.replace(target)
        if os.name == "posix":
            with suppress(OSError):  # some network file systems cannot do it for folders
                _flush(target.parent, os.O_RDONLY)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def sweep(folder: str | os.PathLike[str]) -> list[Path]:
    """Remove the temporary files that killed processes left in a folder, and return their paths.

    Examples
    --------
    >>> import tempfile
    >>> sweep(tempfile.mkdtemp())
    []
    """
    removed = []
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            found = _OURS.fullmatch(entry.name)
            if found is None:
                continue
            with suppress(OSError):  # another process may be faster
                age = time.time() - entry.stat(follow_symlinks=False).st_mtime
                if _is_left_over(found["host"], int(found["process"]), age):
                    Path(entry.path).unlink()
                    removed.append(Path(entry.path))
    return removed


@functools.lru_cache(maxsize=256)
def _sweep_once(folder: Path) -> None:
    """Sweep a folder, but not again for every file that is written into it."""
    sweep(folder)


def _is_left_over(host: str, process: int, age: float) -> bool:
    if host != _host():
        return age > MAX_AGE_ELSEWHERE
    return age > MAX_AGE or not _is_alive(process)


def _is_alive(process: int) -> bool:
    if os.name != "posix":  # elsewhere, signal 0 would end it
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # it belongs to somebody else
        return True
    return True


@functools.cache
def _host() -> str:
    return hashlib.sha256(platform.node().encode()).hexdigest()[:8]


def _flush(path: Path, flags: int) -> None:
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
