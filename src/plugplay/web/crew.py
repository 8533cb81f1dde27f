"""Worker processes on the side of the server: requests, progress and cancelling."""

from __future__ import annotations

import asyncio
import itertools
import multiprocessing
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from plugplay.web.messages import Cancel, Done, Failed, Progress, Request
from plugplay.web.worker import work

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

__all__ = ["Crewman", "WorkError", "WorkerLostError"]

PATIENCE = 0.6
"""How long a worker may take to notice that it was cancelled, in seconds; then its process is ended."""
MAX_PEAK = 2**30
"""A process that has needed more memory than this is replaced after its work, so that the memory is given back."""


class WorkError(Exception):
    """A request could not be done; the message is for the user."""

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


class WorkerLostError(WorkError):
    """The process ended while it worked."""


class Crewman:
    """One worker process, started when it is needed, which does one request at a time.

    Cancelling the coroutine that waits for `ask` cancels the request. A process that does not respond is killed and
    replaced, so that cancelling takes less than a second whatever a decoder or a denoiser is doing.
    """

    def __init__(self, *, warm: bool) -> None:
        self._warm = warm
        self._turn = asyncio.Lock()
        self._numbers = itertools.count(1)
        self._process: BaseProcess | None = None
        self._connection: Connection | None = None
        self._inbox: asyncio.Queue[Any] = asyncio.Queue()
        self._closed = False

    @property
    def pid(self) -> int | None:
        """The process id, if a process is running."""
        return None if self._process is None else self._process.pid

    async def start(self) -> None:
        """Start the process before it is needed."""
        async with self._turn:
            await self._ensure_process()

    async def ask(
        self, request: Request, on_progress: Callable[[Progress], None] | None = None, *, seconds: float | None = None
    ) -> Any:
        """Return the answer to a request.

        Parameters
        ----------
        request : Request
            What to do.
        on_progress : callable, optional
            Hears how it goes.
        seconds : float, optional
            When to give up.
        """
        async with self._turn:
            await self._ensure_process()
            number = next(self._numbers)
            try:
                async with asyncio.timeout(seconds):
                    return await self._answer(number, request, on_progress)
            except TimeoutError:
                await self._call_off(number)
                raise WorkError("This takes too long: the file is too large for the page.") from None
            except asyncio.CancelledError:
                await asyncio.shield(self._call_off(number))
                raise

    async def close(self) -> None:
        """End the process."""
        self._closed = True
        await asyncio.to_thread(self._end)

    async def _answer(self, number: int, request: Request, on_progress: Callable[[Progress], None] | None) -> Any:
        assert self._connection is not None  # it was made sure of
        with suppress(OSError):  # a process that is gone is noticed by the listener as well
            self._connection.send((number, request))
        while True:
            message = await self._inbox.get()
            if message is None:
                await asyncio.to_thread(self._end)
                raise WorkerLostError("The worker ended unexpectedly, possibly out of memory.")
            if message.number != number:
                continue  # from a request that was called off
            if isinstance(message, Progress):
                if on_progress is not None:
                    on_progress(message)
            elif isinstance(message, Failed):
                raise WorkError(message.message, message.field)
            elif isinstance(message, Done):
                if message.peak > MAX_PEAK:
                    await asyncio.to_thread(self._end)
                return message.answer

    async def _call_off(self, number: int) -> None:
        """Cancel a request, gently first."""
        connection = self._connection
        if connection is None:
            return
        try:
            connection.send(Cancel(number))
            async with asyncio.timeout(PATIENCE):
                while True:
                    message = await self._inbox.get()
                    if message is None:
                        break
                    if message.number == number and not isinstance(message, Progress):
                        return
        except (TimeoutError, OSError):
            pass
        await asyncio.to_thread(self._end)

    async def _ensure_process(self) -> None:
        if self._closed:
            raise WorkerLostError("The server is closing.")
        if self._process is not None and self._process.is_alive():
            return
        self._inbox = asyncio.Queue()
        await asyncio.to_thread(self._launch, asyncio.get_running_loop(), self._inbox)

    def _launch(self, loop: asyncio.AbstractEventLoop, inbox: asyncio.Queue[Any]) -> None:
        # A fresh interpreter, because a fork of a process with threads may hang.
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=work, args=(theirs, self._warm), name="plugplay-worker", daemon=True)
        process.start()
        theirs.close()
        self._process, self._connection = process, ours
        threading.Thread(target=_listen, args=(ours, loop, inbox), name="worker-listener", daemon=True).start()

    def _end(self) -> None:
        process, self._process, self._connection = self._process, None, None
        if process is None:
            return
        process.kill()
        process.join(5)


def _listen(connection: Connection, loop: asyncio.AbstractEventLoop, inbox: asyncio.Queue[Any]) -> None:
    """Pass messages to the event loop; None means that the process is gone."""
    message: Any = ...
    while message is not None:
        try:
            message = connection.recv()
        except (EOFError, OSError):
            message = None
        try:
            loop.call_soon_threadsafe(inbox.put_nowait, message)
        except RuntimeError:  # the loop is closed, and nobody waits any more
            message = None
    connection.close()
