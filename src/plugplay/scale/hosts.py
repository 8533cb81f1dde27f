"""Locks between the processes of a host."""

from __future__ import annotations

import os
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["one_at_a_time"]

# A process that was stopped, or runs on a busy machine, must not block all others for good.
MAX_WAIT_SECONDS = 60.0
PAUSE_SECONDS = 0.05


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Lock out other processes of this user and host, for a minute at most.

    Processes that have waited longer proceed without the lock, as do all where files cannot be locked; the work inside
    is then merely done more than once.
    """
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
        end = time.monotonic() + MAX_WAIT_SECONDS
        while time.monotonic() < end:
            with suppress(BlockingIOError):
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            time.sleep(PAUSE_SECONDS)
    try:
        yield
    finally:
        if handle is not None:
            os.close(handle)
