"""The service behind the HTTP interface: files, two workers, and the queue of jobs."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from plugplay import __version__, denoisers, io
from plugplay.web.crew import Crewman
from plugplay.web.jobs import Job, JobQueue
from plugplay.web.messages import Inspect, Restore
from plugplay.web.recipes import Names, command_line, python_snippet
from plugplay.web.store import FileStore, StoredFile
from plugplay.web.task import Sources, Task, TaskError

if TYPE_CHECKING:
    from pathlib import Path

    from plugplay.web.uploads import Limits

__all__ = ["ROLES", "Service"]

ROLES = ("image", "kernel", "mask", "reference")
SWEEP_SECONDS = 600
INSPECT_SECONDS = 120
HEAD_START_SECONDS = 0.5


class Service:
    """Everything behind the HTTP interface.

    There are two processes: one restores, the other answers quickly (inspects files, shows them, restores crops), so
    that the page stays responsive while jobs run.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.files = FileStore(max_bytes=limits.stored_bytes, max_files=limits.stored_files)
        self.quick = Crewman(warm=True)
        self.steady = Crewman(warm=True)
        self.jobs = JobQueue(
            self.steady,
            max_waiting=limits.waiting_jobs,
            max_kept=limits.kept_jobs,
            forgotten=self._remove_files_of,
        )
        self.closing = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        """Start the workers and the periodic clean-up, without waiting for them."""
        for coroutine in (self._start_workers(), self.jobs.run(), self._sweep()):
            self._tasks.add(asyncio.create_task(coroutine))

    async def close(self) -> None:
        """End the workers and remove all files."""
        self.closing.set()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(self.quick.close(), self.steady.close())
        self.files.close()

    async def take(self, path: Path, name: str, role: str) -> StoredFile:
        """Look into a file that has arrived and keep it; one that cannot be used is removed."""
        try:
            request = Inspect(path, role, names={str(path): "This file"})
            info = await self.quick.ask(request, seconds=INSPECT_SECONDS)
        except BaseException:
            self.files.discard(path)
            raise
        return self.files.add(path, name, role, info)

    def stored(self, identifier: str | None, role: str, field: str) -> StoredFile | None:
        """Return an upload that a task names, or raise."""
        if identifier is None:
            return None
        found = self.files.get(identifier)
        if found is None:
            raise TaskError(field, "This file is no longer there: drop it again.")
        if found.role != role:
            raise TaskError(field, f"This file was dropped as {found.role}, not as {role}.")
        return found

    def companions(self, image: StoredFile, task: Task) -> tuple[Sources, dict[str, str], Names]:
        """Return the files of a task, their names in messages, and the user's names."""
        known = denoisers.available()
        if task.denoiser not in known:
            usable = ", ".join(name for name, info in known.items() if info.extra is None)
            raise TaskError("denoiser", f"Unknown denoiser {task.denoiser!r}; available: {usable}.")
        kernel = self.stored(task.kernel_file, "kernel", "kernel_file")
        mask = self.stored(task.mask_file, "mask", "mask_file")
        reference = self.stored(task.reference_file, "reference", "reference_file")
        if image.info.get("kind") == "photons" and image.path.suffix in (".mat", ".bin") and task.kind != "photon":
            raise TaskError("kind", "This is a photon cube: choose “single photons”.")
        if task.kind == "photon" and image.path.suffix not in (".npy", ".mat", ".bin"):
            raise TaskError("kind", "Single photons come in NPY, MAT or BIN files: this is an image.")
        sources = Sources(*(None if f is None else f.path for f in (image, kernel, mask, reference)))  # type: ignore[arg-type]
        words = {"image": image, "the kernel": kernel, "the mask": mask, "the reference": reference}
        names = {str(file.path): what if what != "image" else image.name for what, file in words.items() if file}
        called = Names(
            image=image.name,
            suffix=_result_suffix(image, task),
            kernel="kernel.png" if kernel is None else kernel.name,
            mask="mask.png" if mask is None else mask.name,
            missing=bool(image.info.get("missing")),
        )
        return sources, names, called

    def submit(self, image: StoredFile, task: Task, *, owned: set[str] | None = None) -> Job:
        """Queue a restoration; uploads in `owned` are removed with the job."""
        sources, messages, names = self.companions(image, task)
        folder = self.files.new_folder()
        output = folder / f"result{names.suffix}"
        request = Restore(task, sources, output, shown_range(image), names={**messages, str(output): names.output})
        about = {
            "file": image.to_dict(),
            "output": names.output,
            "command": command_line(task, names),
            "python": python_snippet(task, names),
        }
        try:
            return self.jobs.submit(Job(task, request, image.id, about, owned or set()))
        except BaseException:
            self.files.discard(folder)
            raise

    def describe(self, job: Job) -> dict[str, Any]:
        """Return the description of a job for clients."""
        outcome = job.outcome or {}
        return {
            "id": job.id,
            "status": job.status.value,
            "position": self.jobs.position(job),
            "created": job.created,
            "seconds": round((job.ended or time.time()) - job.began, 2) if job.began else None,
            "task": job.task.to_dict(),
            "progress": job.progress,
            "curve": job.curve,
            "preview": job.previews,
            "error": job.error,
            **job.about,
            **{key: outcome[key] for key in ("width", "height", "pages", "warnings") if key in outcome},
        }

    def parameters(self, job: Job) -> dict[str, Any]:
        """Return all parameters, for the file that is downloaded."""
        outcome = job.outcome or {}
        return {
            "plugplay": __version__,
            "input": job.about["file"]["name"],
            "output": job.about["output"],
            "task": job.task.to_dict(),
            "command": job.about["command"],
            "python": job.about["python"],
            "seconds": outcome.get("seconds"),
            "warnings": outcome.get("warnings", []),
            "pages": [{k: v for k, v in page.items() if k != "curve"} for page in outcome.get("pages", ())],
        }

    def _remove_files_of(self, job: Job) -> None:
        self.files.discard(job.request.output)
        for identifier in job.owned - self.jobs.files_in_use():
            self.files.remove(identifier)

    async def _start_workers(self) -> None:
        # The page comes first; whoever asks for a worker earlier gets it earlier.
        await asyncio.sleep(HEAD_START_SECONDS)
        await self.quick.start()
        await self.steady.start()

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            now = time.time()
            self.jobs.sweep(now)
            with suppress(OSError):
                self.files.sweep(now, self.jobs.files_in_use())


def shown_range(image: StoredFile) -> tuple[float, float]:
    """Return the values that are shown as black and white."""
    low, high = image.info.get("shown", (0.0, 1.0))
    return float(low), float(high)


def with_files(task: Task, uploads: dict[str, StoredFile]) -> Task:
    """Return a task that names the files which came along with it."""
    given = {f"{role}_file": file.id for role, file in uploads.items() if role != "image"}
    return replace(task, **given)  # type: ignore[arg-type]


def _result_suffix(image: StoredFile, task: Task) -> str:
    """Return the ending of the result: that of the input, or of a format that holds everything."""
    if task.kind == "photon":
        return ".png"
    suffix = image.path.suffix
    return suffix if io.is_image_name(f"a{suffix}") else ".tif"
