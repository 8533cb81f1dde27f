"""Receiving uploads: sizes are checked while they arrive, and incomplete ones are removed."""

from __future__ import annotations

import asyncio
import shutil
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator
    from pathlib import Path

    from starlette.datastructures import FormData
    from starlette.requests import Request

__all__ = ["Limits", "UploadError", "body", "form", "save"]

_FORM_OVERHEAD = 2**16


@dataclass(frozen=True)
class Limits:
    """Limits of the server.

    Attributes
    ----------
    upload_bytes : int
        Size of one upload.
    stored_bytes, stored_files : int
        All files together.
    json_bytes : int
        Size of a request without files.
    waiting_jobs, kept_jobs : int
        Number of waiting jobs, and of ended ones that are kept.
    quiet_seconds : float
        How long a client may send nothing while it uploads.
    """

    upload_bytes: int = 2**30
    stored_bytes: int = 2**33
    stored_files: int = 500
    json_bytes: int = 2**16
    waiting_jobs: int = 50
    kept_jobs: int = 50
    quiet_seconds: float = 30.0


class UploadError(Exception):
    """A refused upload; `status` is the HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


async def body(request: Request, limits: Limits) -> bytes:
    """Return a small body."""
    parts = [part async for part in _measured(request, limits.json_bytes, limits.quiet_seconds)]
    return b"".join(parts)


@asynccontextmanager
async def form(request: Request, limits: Limits, room: int) -> AsyncIterator[FormData]:
    """Give the fields of a multipart form; its files lie in unnamed temporary files until the end.

    Parameters
    ----------
    request : Request
        What the client sends.
    limits : Limits
        How much is taken.
    room : int
        How much there is room for.
    """
    most = min(limits.upload_bytes, room)
    if most <= 0:
        raise UploadError(507, "The server has no room for more files: remove some, or wait a day.")
    stream = _measured(request, most + _FORM_OVERHEAD, limits.quiet_seconds)
    parser = MultiPartParser(request.headers, stream, max_files=4, max_fields=8, max_part_size=limits.json_bytes)
    try:
        received = await parser.parse()
    except MultiPartException as error:
        raise UploadError(400, f"The form cannot be read: {error.message}") from None
    except (LookupError, ValueError, AssertionError):  # an encoding that is none, no content type, …
        raise UploadError(400, "The form cannot be read.") from None
    try:
        yield received
    finally:
        await received.close()


async def save(upload: UploadFile, path: Path) -> None:
    """Copy an upload to its place."""

    def copy() -> None:
        upload.file.seek(0)
        with path.open("xb") as target:
            shutil.copyfileobj(upload.file, target, 2**20)

    await asyncio.to_thread(copy)


async def _measured(request: Request, most: int, quiet_seconds: float) -> AsyncGenerator[bytes, None]:
    """Yield the body as it arrives, and refuse one that is too large, as soon as that is known."""
    declared = request.headers.get("content-length")
    if declared is not None and (not declared.isdecimal() or int(declared) > most):
        raise UploadError(413, _too_large(most))
    received = 0
    stream = request.stream()
    while True:
        try:
            async with asyncio.timeout(quiet_seconds):
                part = await anext(stream, None)
        except TimeoutError:
            raise UploadError(408, "The upload has stopped.") from None
        except ClientDisconnect:
            raise UploadError(400, "The upload was aborted.") from None
        if part is None:
            return
        received += len(part)
        if received > most:
            raise UploadError(413, _too_large(most))
        yield part


def _too_large(most: int) -> str:
    size = f"{most / 2**20:.0f} MiB" if most >= 2**20 else f"{most / 2**10:.0f} KiB"
    return f"This is too large: at most {size} are taken."
