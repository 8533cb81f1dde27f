"""Check before anything is done that no input and no result would be overwritten."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from plugplay.cli.options import UsageError

__all__ = ["check_targets"]


def check_targets(targets: Iterable[tuple[str, Path]], sources: Iterable[tuple[str, Path]]) -> None:
    """Refuse targets that are a source or another target; links are followed, and case is ignored.

    A source may be a folder, if it is a Zarr store: nothing may be written into it.

    Parameters
    ----------
    targets, sources : iterables of (what, path)
        What is written and what is read, each with the words for it: ``("--plot", path)``. The same source may be
        given any number of times.

    Examples
    --------
    >>> check_targets([("--plot", Path("a.png"))], [("an input", Path("./A.png"))])
    Traceback (most recent call last):
        ...
    plugplay.cli.options.UsageError: --plot would overwrite an input, A.png: choose another name
    """
    from plugplay.io import printable

    known = {_key(path): (what, path) for what, path in sources}
    stores = {Path(os.path.realpath(path)): what for what, path in known.values() if path.is_dir()}
    for what, path in targets:
        key = _key(path)
        for folder in Path(os.path.realpath(path)).parents if stores else ():
            if folder in stores:
                raise UsageError(f"{what} would write into {stores[folder]}, {printable(folder)}: choose another place")
        if key in known:
            other, taken = known[key]
            raise UsageError(f"{what} would overwrite {other}, {printable(taken)}: choose another name")
        known[key] = (what, path)


def _key(path: Path) -> tuple[object, ...]:
    """Return what is equal for two names of one file; names of files that do not exist yet ignore case.

    This is `plugplay.io.same_file` for many files: comparing each pair would take minutes for ten thousand.
    """
    try:
        status = path.stat()
        return (status.st_dev, status.st_ino)
    except (OSError, ValueError):
        return (unicodedata.normalize("NFC", os.path.realpath(path)).casefold(),)
