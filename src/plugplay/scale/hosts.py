"""What happens once for each host."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["one_at_a_time"]


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Let one process of this user and host at a time pass; where files cannot be locked, all of them."""
    try:
        import fcntl
    except ImportError:  # not a POSIX system
        yield
        return
    # In a folder that others can write to, a name may be taken; then nobody waits.
    path = Path(tempfile.gettempdir()) / f"plugplay-{os.getuid()}.lock"
    handle = None
    with suppress(OSError):
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        yield
    finally:
        if handle is not None:
            os.close(handle)
