r"""Manifests: records of how each output of a folder was made, so that a rerun skips what is done.

A folder with outputs has one hidden file, ``.plugplay-manifest.jsonl``, with a line of JSON for each output that was
made there::

    {"name": "a.png", "recipe": "<digest>", "size": 4711, "time": 1780000000123456789, "content": "<digest>"}

``recipe`` is a digest of everything that determined the content: the inputs, the options and the code
(`recipe_digest`). ``size``, ``time`` (of the last change, in nanoseconds) and ``content`` (SHA-256) are those of the
output, so that a file that was put in its place is recognised. An output may be a folder, a Zarr store: then its size
is that of all files in it, its time that of the last change of any, and its content their names and sizes. What is
restored in parts keeps a journal of its own until it is complete: see `plugplay.scale.large`.

Lines are only ever appended, each by one write, so that several processes can share a manifest without locks. A line
is written when an output is complete but does not have its name yet (``plugplay.io.write(..., ready=...)``). Whenever
a process is killed, an output that is there has its line. A line that was cut short, or whose output never appeared,
does no harm: it matches nothing.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    AnyPath = str | os.PathLike[str]

__all__ = ["Finding", "Manifest", "code_digest", "content_digest", "recipe_digest", "stamp"]

FILE_NAME = ".plugplay-manifest.jsonl"

# Modules that do not affect pixels are not part of the code digest.
_NOT_CODE = ("cli", "web", "napari", "checks")
_PIECE = 1 << 20


class Finding(Enum):
    """What a manifest knows about the file under an output's name."""

    ABSENT = "there is no such file"
    SAME = "it was made by the same recipe"
    OURS = "it was made by another recipe"
    FOREIGN = "it was made by something else, or has been changed since"


@dataclass(frozen=True)
class _Entry:
    recipe: str
    size: int
    time: int
    content: str


class Manifest:
    """The manifest of one folder.

    Parameters
    ----------
    folder : path
        Where the outputs are. Neither it nor the manifest need exist.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> manifest, recipe = Manifest(folder), recipe_digest({}, {"noise": 0.1})
    >>> manifest.find("a.txt", recipe).name
    'ABSENT'
    >>> _ = (folder / "a.txt").write_text("made by us")
    >>> manifest.record("a.txt", recipe, folder / "a.txt")
    >>> manifest.find("a.txt", recipe).name, manifest.find("a.txt", recipe_digest({}, {"noise": 0.2})).name
    ('SAME', 'OURS')
    >>> _ = (folder / "a.txt").write_text("made by you")
    >>> manifest.find("a.txt", recipe).name
    'FOREIGN'
    """

    def __init__(self, folder: AnyPath) -> None:
        self._folder = Path(folder)
        self._entries: dict[str, list[_Entry]] = {}
        self._read = 0

    def find(self, name: str, recipe: str) -> Finding:
        """Return what is known about the file called `name`, given the recipe by which it would be made now."""
        path = self._folder / name
        try:
            size, changed = _measured(path)
        except OSError:
            return Finding.FOREIGN if os.path.lexists(path) else Finding.ABSENT
        self._refresh()
        sized = [entry for entry in self._entries.get(name, ()) if entry.size == size]
        matching = [entry for entry in sized if entry.time == changed]
        if sized and not matching:  # copied, perhaps, or touched
            content = content_digest(path)
            matching = [entry for entry in sized if entry.content == content]
        if not matching:
            return Finding.FOREIGN
        return Finding.SAME if matching[-1].recipe == recipe else Finding.OURS

    def record(self, name: str, recipe: str, complete: AnyPath) -> None:
        """Remember that the file `complete`, which has the name `name` or is about to get it, follows `recipe`."""
        size, changed = _measured(Path(complete))
        line = {
            "name": name,
            "recipe": recipe,
            "size": size,
            "time": changed,
            "content": content_digest(complete),
        }
        # The line break in front ends a line that a killed process has cut short.
        text = f"\n{json.dumps(line)}\n".encode()
        handle = os.open(self._folder / FILE_NAME, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            os.write(handle, text)
            os.fsync(handle)
        finally:
            os.close(handle)

    def _refresh(self) -> None:
        """Read the lines that were appended since the last time, by whomever."""
        try:
            with (self._folder / FILE_NAME).open("rb") as stream:
                stream.seek(self._read)
                added = stream.read()
        except OSError:
            return
        complete = added[: added.rfind(b"\n") + 1]
        self._read += len(complete)
        for line in complete.splitlines():
            with suppress(ValueError, KeyError, TypeError):  # cut short, or not ours
                fields = json.loads(line)
                entry = _Entry(str(fields["recipe"]), fields["size"], fields["time"], fields["content"])
                self._entries.setdefault(fields["name"], []).append(entry)


def recipe_digest(inputs: Mapping[str, Any], options: Mapping[str, Any]) -> str:
    """Return the digest of what determines an output: its inputs (see `stamp`), its options and the code.

    Both are mappings to values that JSON can hold.
    """
    recipe = {"inputs": inputs, "options": options, "code": code_digest()}
    return hashlib.sha256(json.dumps(recipe, sort_keys=True).encode()).hexdigest()


def stamp(path: AnyPath) -> dict[str, Any]:
    """Return what identifies a version of a file: its path, size and time of change.

    The content is not read: photon cubes have gigabytes. A file that is missing has the size None.
    """
    size: int | None = None
    time: int | None = None
    with suppress(OSError, ValueError):
        size, time = _measured(Path(path))
    return {"path": os.fsencode(os.path.realpath(path)).hex(), "size": size, "time": time}


def content_digest(path: AnyPath) -> str:
    """Return the SHA-256 digest of a file's content; of a folder, that of the names and sizes of its files."""
    digest = hashlib.sha256()
    if Path(path).is_dir():  # a Zarr store, which may have more bytes than can be read again
        for name, status in _files(Path(path)):
            digest.update(f"{name}\0{status.st_size}\0".encode("utf-8", "surrogateescape"))
        return digest.hexdigest()
    with Path(path).open("rb") as stream:
        while piece := stream.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()


def _measured(path: Path) -> tuple[int, int]:
    """Return the size and the last change, in nanoseconds, of a file, or of all files in a folder."""
    status = path.stat()
    if not path.is_dir():
        return status.st_size, status.st_mtime_ns
    found = [about for _, about in _files(path)]
    return sum(about.st_size for about in found), max((about.st_mtime_ns for about in found), default=0)


def _files(folder: Path) -> list[tuple[str, os.stat_result]]:
    return sorted((str(path.relative_to(folder)), path.stat()) for path in folder.rglob("*") if path.is_file())


@functools.cache
def code_digest() -> str:
    """Return a digest of the package's version and of the source code that affects pixels."""
    from plugplay import __version__

    root = Path(__file__).parents[1]
    digest = hashlib.sha256(__version__.encode())
    for path in sorted(root.rglob("*.py")):
        relative = path.relative_to(root)
        if relative.parts[0] not in _NOT_CODE:
            digest.update(f"\0{relative.as_posix()}\0".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()
