"""What server and workers say to each other."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from plugplay.web.task import Sources, Task

__all__ = ["Cancel", "Done", "Failed", "Inspect", "Preview", "Progress", "Request", "Restore", "View"]


@dataclass(frozen=True)
class Request:
    """Work for a worker; `names` are what users call the files, for messages."""

    names: dict[str, str] = field(default_factory=dict, kw_only=True)

    def named(self, text: str) -> str:
        """Return a message in one line, with the user's names instead of our paths.

        Examples
        --------
        >>> Request(names={"/tmp/x/1/upload.png": "cat.png"}).named("/tmp/x/1/upload.png is empty")
        'cat.png is empty'
        """
        text = " ".join(text.split())
        for path in sorted(self.names, key=len, reverse=True):
            text = text.replace(path, self.names[path])
        folders = {str(Path(path).parent.parent) for path in self.names}
        # Never seen; but what cannot be translated is not told.
        return "This file cannot be used." if any(folder in text for folder in folders) else text


@dataclass(frozen=True)
class Inspect(Request):
    """Look into an uploaded file; the answer is its description."""

    path: Path
    role: str


@dataclass(frozen=True)
class View(Request):
    """Show a page of a file; the answer is a PNG file. With a `task`, that of a photon cube."""

    path: Path
    page: int = 0
    shown: tuple[float, float] | None = None
    kernel: bool = False
    task: Task | None = None
    sources: Sources | None = None


@dataclass(frozen=True)
class Preview(Request):
    """Restore a part of a page; the answer is a PNG file and where the part lies."""

    task: Task
    sources: Sources
    page: int
    centre: tuple[float, float]
    shown: tuple[float, float]


@dataclass(frozen=True)
class Restore(Request):
    """Restore a file and write the result; the answer is what is known about it."""

    task: Task
    sources: Sources
    output: Path
    shown: tuple[float, float]


@dataclass(frozen=True)
class Cancel:
    """Stop working on the request with this number."""

    number: int


@dataclass(frozen=True)
class Progress:
    """How far a restoration is, and now and then what it looks like."""

    number: int
    figures: dict[str, Any]
    preview: bytes | None = None


@dataclass(frozen=True)
class Done:
    """The answer to a request, and the highest memory that the worker has needed so far, in bytes."""

    number: int
    answer: Any
    peak: int


@dataclass(frozen=True)
class Failed:
    """Why a request was not done: in plain words, with the field of the task that is to blame, if one is."""

    number: int
    message: str
    field: str | None = None
    cancelled: bool = False
