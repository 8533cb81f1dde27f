"""Jobs: restorations in a queue, with their status and the clients that follow them."""

from __future__ import annotations

import asyncio
import secrets
import time
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from plugplay.web.crew import Crewman, WorkError
from plugplay.web.messages import Progress, Restore

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from plugplay.web.task import Task

__all__ = ["Job", "JobQueue", "JobStatus", "QueueFull"]

KEPT_SECONDS = 24 * 3600
UPDATE_SECONDS = 0.1
"""Watchers hear of a job at most this often."""


class JobStatus(StrEnum):
    """The status of a job."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def ended(self) -> bool:
        """Whether the job has ended."""
        return self not in (JobStatus.QUEUED, JobStatus.RUNNING)


class QueueFull(Exception):  # noqa: N818 - the client is told to come back later
    """Too many jobs are waiting already."""


@dataclass
class Job:
    """One restoration.

    Attributes
    ----------
    id : str
        32 hexadecimal digits.
    task : Task
        The task.
    request : Restore
        The request for the worker.
    image : str
        Identifier of the image.
    about : dict
        Further information for clients: names, recipes.
    owned : set of str
        Uploads that belong to the job and are removed with it.
    """

    task: Task
    request: Restore
    image: str
    about: dict[str, Any]
    owned: set[str] = field(default_factory=set)
    id: str = field(default_factory=lambda: secrets.token_hex(16))
    status: JobStatus = JobStatus.QUEUED
    created: float = field(default_factory=time.time)
    began: float | None = None
    ended: float | None = None
    progress: dict[str, Any] = field(default_factory=dict)
    curve: list[tuple[float, float]] = field(default_factory=list)
    preview: bytes | None = None
    previews: int = 0
    outcome: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def files(self) -> set[str]:
        """Identifiers of the uploads that it needs."""
        task = self.task
        return {f for f in (self.image, task.kernel_file, task.mask_file, task.reference_file) if f is not None}

    def changed(self) -> None:
        """Notify clients that follow the job."""
        event, self._changed = self._changed, asyncio.Event()
        event.set()

    async def wait(self, seconds: float) -> bool:
        """Return whether something has changed within this time."""
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            return False
        return True


class JobQueue:
    """Runs the jobs one after another, in the order in which they came.

    Parameters
    ----------
    worker : Crewman
        The worker process.
    max_waiting : int
        Limit of waiting jobs.
    max_kept : int
        Limit of ended jobs that are kept.
    forgotten : callable
        Called with every job that is removed.
    """

    def __init__(self, worker: Crewman, *, max_waiting: int, max_kept: int, forgotten: Callable[[Job], object]) -> None:
        self._worker, self._max_waiting, self._max_kept = worker, max_waiting, max_kept
        self._forgotten = forgotten
        self._jobs: dict[str, Job] = {}
        self._waiting: list[Job] = []
        self._arrived = asyncio.Event()
        self._running: asyncio.Task[None] | None = None

    def submit(self, job: Job) -> Job:
        """Put a job at the end of the queue."""
        if len(self._waiting) >= self._max_waiting:
            raise QueueFull
        self._jobs[job.id] = job
        self._waiting.append(job)
        self._arrived.set()
        return job

    def get(self, identifier: str) -> Job | None:
        """Return a job, or None."""
        return self._jobs.get(identifier)

    def is_active(self, job: Job) -> bool:
        """Tell whether a job waits or runs."""
        return not job.status.ended

    def position(self, job: Job) -> int | None:
        """Return the position of a job in the queue, counted from 1; None once it has started."""
        return self._waiting.index(job) + 1 if job in self._waiting else None

    def cancel(self, job: Job) -> None:
        """Stop a job that waits or runs."""
        if job in self._waiting:
            self._waiting.remove(job)
            self._end(job, JobStatus.CANCELLED)
            for other in self._waiting:
                other.changed()
        elif job.status is JobStatus.RUNNING and self._running is not None:
            self._running.cancel()

    def forget(self, job: Job) -> None:
        """Remove a job that has ended, with its result."""
        self._jobs.pop(job.id, None)
        self._forgotten(job)

    def files_in_use(self) -> set[str]:
        """Return the identifiers of the uploads that jobs still need."""
        return {identifier for job in self._jobs.values() for identifier in job.files}

    def sweep(self, now: float) -> None:
        """Remove jobs that ended a day ago, and the oldest if there are too many."""
        ended = sorted((job for job in self._jobs.values() if job.status.ended), key=lambda job: job.ended or 0.0)
        surplus = max(0, len(ended) - self._max_kept)
        for number, job in enumerate(ended):
            if number < surplus or now - (job.ended or now) > KEPT_SECONDS:
                self.forget(job)

    async def run(self) -> None:
        """Do the jobs until cancelled."""
        while True:
            while not self._waiting:
                self._arrived.clear()
                await self._arrived.wait()
            job = self._waiting.pop(0)
            for other in self._waiting:
                other.changed()
            self._running = asyncio.create_task(self._run(job))
            try:
                await asyncio.wait({self._running})
            except asyncio.CancelledError:
                self._running.cancel()
                raise
            self._running = None
            self.sweep(time.time())

    async def _run(self, job: Job) -> None:
        def hear(progress: Progress) -> None:
            figures = progress.figures
            before = job.progress
            if figures["page"] != before.get("page") or figures["iteration"] <= before["iteration"]:
                job.curve = []
            job.progress = figures
            job.curve.append((figures["sigma"], figures["delta"]))
            if progress.preview is not None:
                job.preview = progress.preview
                job.previews += 1
            job.changed()

        job.status, job.began = JobStatus.RUNNING, time.time()
        job.changed()
        try:
            job.outcome = await self._worker.ask(job.request, hear)
        except asyncio.CancelledError:
            self._end(job, JobStatus.CANCELLED)
        except WorkError as error:
            job.error = {"message": str(error), "field": error.field}
            self._end(job, JobStatus.FAILED)
        else:
            self._end(job, JobStatus.DONE)

    def _end(self, job: Job, status: JobStatus) -> None:
        job.status, job.ended, job.preview = status, time.time(), None
        if status is not JobStatus.DONE:
            job.request.output.unlink(missing_ok=True)
        job.changed()


async def updates(job: Job, *, alive_seconds: float) -> AsyncIterator[bool]:
    """Yield True whenever a job has changed, and False when it is time for a sign of life; ends with the job."""
    yield True
    while not job.status.ended:
        if await job.wait(alive_seconds):
            if not job.status.ended:
                await asyncio.sleep(UPDATE_SECONDS)
            yield True
        else:
            yield False
