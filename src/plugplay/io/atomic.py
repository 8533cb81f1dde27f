"""Files that are there completely or not at all."""

from __future__ import annotations

import os
import secrets
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["atomic"]


@contextmanager
def atomic(target: Path) -> Iterator[Path]:
    """Give a temporary path beside `target`; it is renamed when all went well and removed when not.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> with atomic(folder / "note.txt") as temporary:
    ...     _ = temporary.write_text("complete")
    >>> [path.name for path in folder.iterdir()]
    ['note.txt']
    """
    # The suffix stays, because libraries choose a format by it. Not tempfile.mkstemp: its files are private,
    # whereas an output should get the permissions that the user's umask asks for.
    temporary = target.with_name(f".{target.stem[:80]}.{secrets.token_hex(6)}{target.suffix}")
    os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    try:
        yield temporary
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
