"""The temporary folder of uploads and results, under random names."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from plugplay import io

__all__ = ["FileStore", "StoredFile", "display_name"]

_PREFIX = "plugplay-serve-"
KEPT_SECONDS = 24 * 3600
# Suffixes that readers need; all other files are recognised by their content.
_SUFFIXES = (*io.suffixes(), ".mat", ".bin")
_UNPRINTABLE = re.compile(r'[\x00-\x1f\x7f-\x9f/\\:*?"<>|\u200e\u200f\u202a-\u202e\u2066-\u2069]')
MAX_NAME = 120


@dataclass
class StoredFile:
    """A file of a client.

    Attributes
    ----------
    id : str
        32 hexadecimal digits.
    path : Path
        Its path, never sent to clients.
    name : str
        The user's name: shown and offered for downloads, never used as a path.
    role : str
        ``"image"``, ``"kernel"``, ``"mask"`` or ``"reference"``.
    used : float
        When it was last asked for.
    info : dict
        Its description.
    """

    id: str
    path: Path
    name: str
    role: str
    used: float = field(default_factory=time.time)
    info: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return what clients see."""
        return {"id": self.id, "name": self.name, "role": self.role, **self.info}


class FileStore:
    """The files of all clients, in a private temporary folder.

    Parameters
    ----------
    max_bytes : int
        Limit of the size of all files together.
    max_files : int
        Limit of the number of files.
    """

    def __init__(self, *, max_bytes: int, max_files: int) -> None:
        self._max_bytes, self._max_files = max_bytes, max_files
        _remove_leftovers()
        self.root = Path(tempfile.mkdtemp(prefix=_PREFIX))
        self._files: dict[str, StoredFile] = {}

    def new_folder(self) -> Path:
        """Make an empty folder with a random name."""
        folder = self.root / secrets.token_hex(16)
        folder.mkdir()
        return folder

    def room(self) -> int:
        """Return the number of bytes left; 0 if there are too many files."""
        if len(self._files) >= self._max_files:
            return 0
        used = sum(path.stat().st_size for path in self.root.rglob("*") if path.is_file())
        free = shutil.disk_usage(self.root).free
        return max(0, min(self._max_bytes - used, free - 2**28))

    def target(self, name: str) -> Path:
        """Return a path for a new upload; only a known suffix of the client's name is kept."""
        suffix = Path(display_name(name)).suffix.lower()
        return self.new_folder() / f"upload{suffix if suffix in _SUFFIXES else ''}"

    def add(self, path: Path, name: str, role: str, info: dict[str, Any]) -> StoredFile:
        """Register a file."""
        stored = StoredFile(path.parent.name, path, display_name(name), role, info=info)
        self._files[stored.id] = stored
        return stored

    def get(self, identifier: str) -> StoredFile | None:
        """Return a file and update its time of use, or return None."""
        stored = self._files.get(identifier)
        if stored is not None:
            stored.used = time.time()
        return stored

    def discard(self, path: Path) -> None:
        """Remove a folder that was made here, or that of a file."""
        shutil.rmtree(path if path.parent == self.root else path.parent, ignore_errors=True)

    def remove(self, identifier: str) -> None:
        """Forget a file and remove it."""
        stored = self._files.pop(identifier, None)
        if stored is not None:
            self.discard(stored.path)

    def sweep(self, now: float, in_use: set[str]) -> None:
        """Remove files that were not used for a day, and mark the folder as in use."""
        os.utime(self.root)
        for stored in list(self._files.values()):
            if now - stored.used > KEPT_SECONDS and stored.id not in in_use:
                self.remove(stored.id)

    def close(self) -> None:
        """Remove everything."""
        self._files.clear()
        shutil.rmtree(self.root, ignore_errors=True)


def display_name(name: str) -> str:
    r"""Return a client's file name in a form that can be shown and saved under.

    Examples
    --------
    >>> display_name("../../etc/passwd"), display_name("C:\\tmp\\a.png"), display_name("\x00")
    ('passwd', 'a.png', 'image')
    """
    last = re.split(r"[/\\]", name)[-1]
    clean = _UNPRINTABLE.sub("", last.encode("utf-8", "ignore").decode()).strip().strip(".").strip()
    if len(clean) > MAX_NAME:
        stem, dot, ending = clean.rpartition(".")
        clean = f"{stem[: MAX_NAME - 8]}.{ending[:6]}" if dot else clean[:MAX_NAME]
    return clean or "image"


def _remove_leftovers() -> None:
    """Remove folders that killed servers left behind more than a day ago."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        try:
            status = folder.lstat()
        except OSError:
            continue
        mine = not hasattr(os, "getuid") or status.st_uid == os.getuid()
        if mine and folder.is_dir() and not folder.is_symlink() and time.time() - status.st_mtime > KEPT_SECONDS:
            shutil.rmtree(folder, ignore_errors=True)
