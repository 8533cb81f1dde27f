"""Errors and warnings about files, in one printable line."""

from __future__ import annotations

import os

__all__ = ["ImageFileError", "ImageLossWarning", "printable"]


class ImageFileError(ValueError):
    """A file cannot be read or written; the message is one line."""

    def __init__(self, message: object) -> None:
        super().__init__(printable(" ".join(str(message).split())))


class ImageLossWarning(UserWarning):
    """A part of the image is lost because its format does not support it."""

    def __init__(self, message: object) -> None:
        super().__init__(printable(message))


def printable(name: object, *, encoding: str = "utf-8") -> str:
    r"""Return a name as text that can be printed: nothing in it moves the cursor, breaks the line or fails.

    Control characters, line breaks, escape sequences, marks that change the direction of writing, and bytes that are
    no text are written as Python would write them in a string; so is whatever `encoding`, that of the terminal,
    cannot hold.

    Examples
    --------
    >>> printable("scan\n\x1b[31m.png"), printable("Müller.png"), printable("Müller.png", encoding="ascii")
    ('scan\\n\\x1b[31m.png', 'Müller.png', 'M\\xfcller.png')
    """
    if isinstance(name, bytes | os.PathLike):
        name = os.fsdecode(name)
    text = "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode() for character in str(name)
    )
    return text.encode(encoding, "backslashreplace").decode(encoding)
