"""Files that are there completely or not at all."""

from __future__ import annotations

import os
import secrets
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["remove_leftovers", "write_atomically"]

# A temporary file that is older than this many seconds was left behind by a process that was killed.
MAX_AGE = 3600.0


def write_atomically(target: Path, content: bytes) -> None:
    """Write a file under another name and rename it when it is on the disk.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> write_atomically(folder / "note.txt", b"complete")
    >>> [path.name for path in folder.iterdir()]
    ['note.txt']
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    # Not tempfile.mkstemp: its files are private, whereas these should get the permissions of the user's umask.
    temporary = target.with_name(f".{target.name[:80]}.{secrets.token_hex(6)}.tmp")
    try:
        with temporary.open("xb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def remove_leftovers(folder: Path) -> None:
    """Remove the temporary files of earlier runs that were killed; a run of today may still write its own."""
    for path in folder.glob(".*.tmp"):
        try:
            if time.time() - path.stat().st_mtime > MAX_AGE:
                path.unlink()
        except OSError:  # another run was faster
            continue
