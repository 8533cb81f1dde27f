"""Messages between the server and its workers."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from plugplay.web.task import Sources, Task

__all__ = ["Cancel", "Done", "Failed", "Inspect", "Preview", "Progress", "Request", "Restore", "View"]


@dataclass(frozen=True)
class Request:
    """A request for a worker; `names` are the users' names of the files, for messages."""

    names: dict[str, str] = field(default_factory=dict, kw_only=True)

    def named(self, text: str) -> str:
        """Return a message in one line, with the user's file names instead of internal paths.

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
    """Inspect an uploaded file; the answer is its description."""

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
    """Restore a part of a page; the answer is a PNG file and the position of the part."""

    task: Task
    sources: Sources
    page: int
    centre: tuple[float, float]
    shown: tuple[float, float]


@dataclass(frozen=True)
class Restore(Request):
    """Restore a file and write the result; the answer describes it."""

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
    """Progress of a restoration, sometimes with a preview."""

    number: int
    figures: dict[str, Any]
    preview: bytes | None = None


@dataclass(frozen=True)
class Done:
    """The answer to a request, and the peak memory of the worker so far, in bytes."""

    number: int
    answer: Any
    peak: int


@dataclass(frozen=True)
class Failed:
    """An error message for the user, with the field of the task that caused it, if any."""

    number: int
    message: str
    field: str | None = None
    cancelled: bool = False
