"""What is said: results on standard output, all else on standard error, as text that any terminal can show.

Names of files may hold line breaks, escape sequences or bytes that are no text: all are escaped. A reader who goes
away (``| head -1``) ends the talking, not the work.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TextIO

__all__ = ["err", "out", "silence"]


def out(text: str) -> None:
    """Write a line to standard output."""
    _write(sys.stdout, text)


def err(text: str) -> None:
    """Write a line to standard error."""
    _write(sys.stderr, text)


def silence(stream: TextIO) -> None:
    """Let a stream that nobody reads any more lead nowhere."""
    with suppress(OSError, ValueError):  # a stream without a file, as in tests
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def _write(stream: TextIO, text: str) -> None:
    from plugplay.io import printable

    try:
        stream.write(printable(text, encoding=stream.encoding or "utf-8") + "\n")
        stream.flush()
    except OSError:  # a closed pipe, a full disk behind a redirection
        silence(stream)
