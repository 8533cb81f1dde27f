"""A worker process, which decodes and restores uploaded files, so that the server never has to."""

from __future__ import annotations

import logging
import os
import queue
import signal
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plugplay.web.messages import Cancel, Done, Failed, Inspect, Preview, Progress, Request, Restore, View
from plugplay.web.task import TaskError

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection

    from plugplay.io import ImageFile

__all__ = ["work"]

IDLE_SECONDS = 60
CACHED_BYTES, CACHED_IMAGES = 2**29, 3


class Worker:
    """Does one request after another; `cancelled` is checked while it works."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._inbox: queue.Queue[tuple[int, Request]] = queue.Queue()
        self._cancelled: set[int] = set()
        self._images: dict[Path, ImageFile] = {}
        self._noise: dict[object, Any] = {}

    def listen(self) -> None:
        """Receive messages until the server is gone, then exit."""
        try:
            while True:
                message = self._connection.recv()
                if isinstance(message, Cancel):
                    self._cancelled.add(message.number)
                else:
                    self._inbox.put(message)
        except (EOFError, OSError):
            os._exit(0)

    def serve(self) -> None:
        """Do the requests, and release cached images when idle."""
        while True:
            try:
                number, request = self._inbox.get(timeout=IDLE_SECONDS)
            except queue.Empty:
                self._images.clear()
                self._noise.clear()
                continue
            self._do(number, request)

    def _do(self, number: int, request: Request) -> None:
        import plugplay as pp

        def check(_share: float = 0.0) -> None:
            if number in self._cancelled:
                raise pp.Cancelled

        try:
            check()
            answer = self._answer(number, request, check)
            check()
        except pp.Cancelled:
            self._connection.send(Failed(number, "cancelled", cancelled=True))
        except Exception as error:  # decoders of strangers' files raise anything, and the next request must not suffer
            self._connection.send(Failed(number, _told(error, request), getattr(error, "field", None)))
        else:
            self._connection.send(Done(number, answer, _peak_memory()))
        self._cancelled.discard(number)

    def _answer(self, number: int, request: Request, check: Callable[[float], None]) -> Any:
        from plugplay.web import inspection, running

        match request:
            case Inspect():
                return inspection.describe(self._image, request.path, request.role)
            case View():
                return inspection.view(self._image, request)
            case Preview():
                return running.preview(self._image, self._noise, request, check)
            case Restore():

                def tell(figures: dict[str, Any], preview: bytes | None) -> None:
                    self._connection.send(Progress(number, figures, preview))

                return running.restore(request, tell, check)
        raise TypeError(f"unknown request {type(request).__name__}")

    def _image(self, path: Path) -> ImageFile:
        """Return a decoded file; a few are kept, because a slider asks for the same one many times."""
        from plugplay.web.restoring import read_image

        image = self._images.pop(path, None)
        if image is None:
            image = read_image(path)
        self._images[path] = image
        while len(self._images) > 1 and (
            len(self._images) > CACHED_IMAGES or sum(i.pixels.nbytes for i in self._images.values()) > CACHED_BYTES
        ):
            self._images.pop(next(iter(self._images)))
        return image


def work(connection: Connection, warm: bool) -> None:
    """Be a worker until the server closes the connection."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server hears it too, and decides
    logging.getLogger("tifffile").addHandler(logging.NullHandler())
    worker = Worker(connection)
    threading.Thread(target=worker.listen, name="listener", daemon=True).start()
    if warm:
        _warm_up()
    worker.serve()


def _warm_up() -> None:
    """Load and compile what the first preview needs, while the user chooses an image."""
    import numpy as np

    import plugplay as pp

    began = time.monotonic()
    for shape in ((32, 32), (32, 32, 3)):
        pp.denoisers.get("bm3d", profile="fast")(np.zeros(shape, np.float32), 0.1)
    if time.monotonic() - began > 60:
        logging.getLogger("plugplay.web").warning("compiling took %.0f s", time.monotonic() - began)


def _told(error: Exception, request: Request) -> str:
    """Return the message for the user, with the user's file names instead of internal paths."""
    known = isinstance(error, ValueError | TypeError | MemoryError)
    if not known:
        traceback.print_exception(error, file=sys.stderr)
        return f"Internal error ({type(error).__name__})."
    if isinstance(error, MemoryError):
        return "There is not enough memory for this image."
    text = request.named(str(error))
    return text[:1].upper() + text[1:] if isinstance(error, TaskError) else text


def _peak_memory() -> int:
    try:
        import resource
    except ImportError:  # Windows
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak if sys.platform == "darwin" else peak * 1024)
