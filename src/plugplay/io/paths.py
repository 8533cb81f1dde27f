"""Checks of users' paths: what may be opened, and what must not be overwritten."""

from __future__ import annotations

import errno
import itertools
import os
import stat
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING

from plugplay.io.errors import ImageFileError, printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    AnyPath = str | os.PathLike[str]

__all__ = ["check_regular", "check_targets", "same_file"]

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def check_regular(path: AnyPath) -> int:
    """Return the size of a regular file; refuse everything else, because opening a pipe would block.

    Examples
    --------
    >>> check_regular("/")
    Traceback (most recent call last):
        ...
    plugplay.io.errors.ImageFileError: /: it is a folder, not a file
    """
    name = printable(path)
    try:
        status = os.stat(path)  # noqa: PTH116  # a name with a null character raises here, too
    except FileNotFoundError:
        raise ImageFileError(f"{name}: there is no such file") from None
    except OSError as error:
        what = "it is a link to itself" if error.errno == errno.ELOOP else error.strerror or str(error)
        raise ImageFileError(f"{name}: cannot be read ({what})") from None
    except ValueError as error:
        raise ImageFileError(f"{name}: cannot be read ({error})") from None
    if not stat.S_ISREG(status.st_mode):
        kind = next((text for is_kind, text in _KINDS if is_kind(status.st_mode)), "something else")
        raise ImageFileError(f"{name}: it is {kind}, not a file")
    return status.st_size


def same_file(first: AnyPath, second: AnyPath) -> bool:
    """Tell whether two names are, or would be, the same file; links are followed, and case is ignored.

    Names of files that both do not exist yet count as the same if they differ in case only, since on some disks they
    are.

    Examples
    --------
    >>> same_file("missing/a.png", "missing/../missing/A.png"), same_file("missing/a.png", "missing/b.png")
    (True, False)
    """
    try:
        return Path(first).samefile(second)
    except (OSError, ValueError):  # at least one is not there
        pass
    try:
        one, other = os.path.realpath(first), os.path.realpath(second)
        if os.path.lexists(one) or os.path.lexists(other):
            return one == other
    except (OSError, ValueError):
        return os.fspath(first) == os.fspath(second)
    return _folded(one) == _folded(other)


def check_targets(targets: Mapping[str, AnyPath], sources: Mapping[str, AnyPath]) -> None:
    """Refuse to write over a file that is read, or to write two things into one file.

    Parameters
    ----------
    targets, sources : mappings
        What is written and what is read: the words for each ("the result", "--plot") and its path.

    Examples
    --------
    >>> check_targets({"--plot": "a.png"}, {"the input": "a.png"})
    Traceback (most recent call last):
        ...
    plugplay.io.errors.ImageFileError: --plot is the same file as the input, a.png: choose another name
    """
    pairs = itertools.chain(
        itertools.product(targets.items(), sources.items()), itertools.combinations(targets.items(), 2)
    )
    for (what, target), (other, path) in pairs:
        if same_file(target, path):
            raise ImageFileError(f"{what} is the same file as {other}, {printable(path)}: choose another name")


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()
