"""The HTTP interface: what `openapi` describes."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from plugplay.web import uploads
from plugplay.web.crew import WorkerLostError, WorkError
from plugplay.web.examples import EXAMPLES
from plugplay.web.jobs import Job, JobStatus, QueueFull, updates
from plugplay.web.messages import Preview, View
from plugplay.web.openapi import description
from plugplay.web.service import ROLES, Service, shown_range, with_files
from plugplay.web.store import StoredFile, display_name
from plugplay.web.task import Task, TaskError, check_kernel_words

__all__ = ["Api"]

VIEW_SECONDS = 60
ALIVE_SECONDS = 10.0
Endpoint = Callable[[Request], Awaitable[Response]]


class Refused(Exception):  # noqa: N818 - an answer, not a fault
    """A request that is answered with an error."""

    def __init__(self, status: int, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.status, self.field = status, field


class Api:
    """The endpoints, on top of a `Service`."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._previews: dict[str, asyncio.Task[Any]] = {}

    def routes(self) -> list[Route]:
        """Return the routes below ``/api``."""
        table: list[tuple[str, str, Endpoint]] = [
            ("GET", "/api", self.about),
            ("GET", "/api/openapi.json", self.openapi),
            ("POST", "/api/files", self.upload),
            ("GET", "/api/files/{id}", self.file),
            ("DELETE", "/api/files/{id}", self.remove_file),
            ("GET", "/api/files/{id}/view", self.view_file),
            ("POST", "/api/examples/{name}", self.example),
            ("GET", "/api/kernel", self.kernel),
            ("POST", "/api/preview", self.preview),
            ("POST", "/api/jobs", self.submit),
            ("GET", "/api/jobs/{id}", self.job),
            ("DELETE", "/api/jobs/{id}", self.end_job),
            ("POST", "/api/jobs/{id}/cancel", self.cancel_job),
            ("GET", "/api/jobs/{id}/events", self.events),
            ("GET", "/api/jobs/{id}/preview", self.job_preview),
            ("GET", "/api/jobs/{id}/before", self.job_before),
            ("GET", "/api/jobs/{id}/after", self.job_after),
            ("GET", "/api/jobs/{id}/result", self.job_result),
            ("GET", "/api/jobs/{id}/parameters", self.job_parameters),
        ]
        return [Route(path, _answering(endpoint), methods=[method]) for method, path, endpoint in table]

    async def about(self, _: Request) -> Response:
        """Tell what the page can offer."""
        from plugplay import __version__, denoisers

        names = {name: info.summary for name, info in denoisers.available().items() if info.extra is None}
        examples = [{"name": e.name, "title": e.title, "text": e.text} for e in EXAMPLES]
        return JSONResponse({"version": __version__, "denoisers": names, "examples": examples})

    async def openapi(self, _: Request) -> Response:
        """Describe this interface."""
        return JSONResponse(description())

    async def upload(self, request: Request) -> Response:
        """Take a file."""
        role = request.query_params.get("role", "image")
        if role not in ROLES:
            raise Refused(422, f"The role of a file is one of {', '.join(ROLES)}.", "role")
        received, _ = await self._received(request, only=role)
        return JSONResponse(received[role].to_dict(), 201)

    async def file(self, request: Request) -> Response:
        """Tell what is known about a file."""
        return JSONResponse(self._file(request).to_dict())

    async def remove_file(self, request: Request) -> Response:
        """Remove a file that no job needs."""
        stored = self._file(request)
        if stored.id in self._service.jobs.files_in_use():
            raise Refused(409, "A job needs this file: remove the job first.")
        self._service.files.remove(stored.id)
        return Response(status_code=204)

    async def view_file(self, request: Request) -> Response:
        """Show a page of a file; that of a photon cube depends on the task."""
        stored = self._file(request)
        given = request.query_params.get("task")
        task = None if given is None else Task.parse(_json(given.encode()))
        return await self._view(stored, _page(request), task)

    async def example(self, request: Request) -> Response:
        """Make one of the examples; it is a file like any other."""
        example = next((e for e in EXAMPLES if e.name == request.path_params["name"]), None)
        if example is None:
            raise Refused(404, "There is no such example.")
        if self._service.files.room() < 2**25:
            raise Refused(507, "The server has no room for more files.")
        files = self._service.files
        targets = {role: files.target(name) for role, name in example.names.items()}
        try:
            await run_in_threadpool(example.write, targets)
        except BaseException:
            for path in targets.values():
                files.discard(path)
            raise
        stored = {role: await self._service.take(path, example.names[role], role) for role, path in targets.items()}
        task = with_files(Task.parse(example.task), stored)
        return JSONResponse({"file": stored["image"].to_dict(), "task": task.to_dict()}, 201)

    async def kernel(self, request: Request) -> Response:
        """Show a kernel: one in words, or that of a file."""
        identifier = request.query_params.get("file")
        if identifier is not None:
            stored = self._service.stored(identifier, "kernel", "kernel_file")
            assert stored is not None  # it was named
            asked = View(stored.path, kernel=True, names={str(stored.path): stored.name})
            picture, _ = await self._service.quick.ask(asked, seconds=VIEW_SECONDS)
        else:
            words = check_kernel_words(request.query_params.get("words"))
            picture = await run_in_threadpool(_kernel_picture, words)
        return _picture(picture, cached=True)

    async def preview(self, request: Request) -> Response:
        """Restore a part of a page; a newer question from the same client takes the place of an older one."""
        asked = await self._json_body(request)
        if not isinstance(asked, dict):
            raise Refused(400, "A JSON object is needed.")
        stored = self._named(asked.get("file"))
        task = Task.parse(asked.get("task"))
        client, page, centre = asked.get("client"), asked.get("page", 0), asked.get("centre")
        if not isinstance(client, str) or not 0 < len(client) <= 64:
            raise Refused(422, "The client names itself by a string.", "client")
        if not isinstance(page, int) or isinstance(page, bool):
            raise Refused(422, "The page is a whole number.", "page")
        if not isinstance(centre, list) or len(centre) != 2 or not all(map(_is_share, centre)):
            raise Refused(422, "The centre is two numbers between 0 and 1.", "centre")
        sources, names, _ = self._service.companions(stored, task)
        place = (float(centre[0]), float(centre[1]))
        question = Preview(task, sources, page, place, shown_range(stored), names=names)
        older = self._previews.pop(client, None)
        if older is not None:
            older.cancel()
        job = asyncio.create_task(self._service.quick.ask(question, seconds=VIEW_SECONDS))
        self._previews[client] = job
        try:
            picture, (top, left, height, width) = await job
        except asyncio.CancelledError:
            if job.cancelled() and self._previews.get(client) is not job:
                raise Refused(409, "A newer preview took the place of this one.") from None
            raise
        finally:
            if self._previews.get(client) is job:
                del self._previews[client]
        box = json.dumps({"top": top, "left": left, "height": height, "width": width})
        return Response(picture, media_type="image/png", headers={"x-crop": box, "cache-control": "no-store"})

    async def submit(self, request: Request) -> Response:
        """Queue a restoration: of a file that is there, or of one that comes along."""
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        received: dict[str, StoredFile] = {}
        try:
            if kind == "application/json":
                asked = await self._json_body(request)
                if not isinstance(asked, dict):
                    raise Refused(400, "A JSON object is needed.")
                image, task = self._named(asked.get("file")), Task.parse(asked.get("task"))
            elif kind == "multipart/form-data":
                received, text = await self._received(request)
                image, task = received["image"], with_files(Task.parse(_json(text.encode())), received)
            else:
                raise Refused(415, "Send JSON, or a form (multipart/form-data) with the fields image and task.")
            if image.role != "image":
                raise Refused(422, f"This file was dropped as {image.role}, not as image.", "file")
            job = self._service.submit(image, task)
        except BaseException as error:
            for stored in received.values():
                self._service.files.remove(stored.id)
            if isinstance(error, QueueFull):
                raise Refused(429, "Too many jobs are waiting: try again later.") from None
            raise
        return JSONResponse(self._service.describe(job), 201, {"location": f"/api/jobs/{job.id}"})

    async def job(self, request: Request) -> Response:
        """Tell where a job stands."""
        return JSONResponse(self._service.describe(self._job(request)))

    async def end_job(self, request: Request) -> Response:
        """Cancel a job, or remove one that has ended."""
        job = self._job(request)
        if not job.status.ended:
            return await self.cancel_job(request)
        self._service.jobs.forget(job)
        return Response(status_code=204)

    async def cancel_job(self, request: Request) -> Response:
        """Cancel a job; one that has just ended is left as it is."""
        job = self._job(request)
        self._service.jobs.cancel(job)
        while self._service.jobs.is_active(job):
            await job.wait(1.0)
        return JSONResponse(self._service.describe(job))

    async def events(self, request: Request) -> Response:
        """Tell whenever a job has changed, as server-sent events."""
        job = self._job(request)

        async def stream() -> AsyncIterator[bytes]:
            async for changed in updates(job, alive_seconds=min(ALIVE_SECONDS, 1.0)):
                if self._service.closing.is_set():
                    return
                record = json.dumps(self._service.describe(job)) if changed else ""
                yield f"event: job\ndata: {record}\n\n".encode() if changed else b": alive\n\n"

        return StreamingResponse(stream(), media_type="text/event-stream", headers={"cache-control": "no-store"})

    async def job_preview(self, request: Request) -> Response:
        """Show what a running job has reached."""
        job = self._job(request)
        if job.preview is None:
            raise Refused(409, "There is nothing to be seen yet.")
        return _picture(job.preview)

    async def job_before(self, request: Request) -> Response:
        """Show a page before the restoration."""
        job = self._job(request)
        stored = self._service.files.get(job.image)
        if stored is None:
            raise Refused(404, "The file is no longer there.")
        return await self._view(stored, _page(request), job.task if job.task.kind == "photon" else None)

    async def job_after(self, request: Request) -> Response:
        """Show a page after the restoration."""
        job = self._finished(request)
        path = job.request.output
        shown = (0.0, 65535.0) if job.task.kind == "photon" else job.request.shown
        asked = View(path, _page(request), shown, names={str(path): job.about["output"]})
        picture, _ = await self._service.quick.ask(asked, seconds=VIEW_SECONDS)
        return _picture(picture, cached=True)

    async def job_result(self, request: Request) -> Response:
        """Give the restored file."""
        job = self._finished(request)
        return FileResponse(
            job.request.output, media_type="application/octet-stream", headers=_download(job.about["output"])
        )

    async def job_parameters(self, request: Request) -> Response:
        """Give everything that was used."""
        job = self._finished(request)
        text = json.dumps(self._service.parameters(job), indent=2, allow_nan=False)
        return Response(text, media_type="application/json", headers=_download(f"{job.about['output']}.json"))

    async def _view(self, stored: StoredFile, page: int, task: Task | None) -> Response:
        names = {str(stored.path): stored.name}
        if stored.role == "kernel":
            asked = View(stored.path, kernel=True, names=names)
        elif task is not None and task.kind == "photon":
            sources, names, _ = self._service.companions(stored, task)
            asked = View(stored.path, page, None, task=task, sources=sources, names=names)
        elif "shown" not in stored.info:
            raise Refused(409, "What a photon cube shows depends on the task: choose “single photons”.")
        else:
            asked = View(stored.path, page, shown_range(stored), names=names)
        picture, _ = await self._service.quick.ask(asked, seconds=VIEW_SECONDS)
        return _picture(picture, cached=True)

    async def _received(self, request: Request, only: str | None = None) -> tuple[dict[str, StoredFile], str]:
        """Return the files of a form by role, and its task; with `only`, the one file in the field ``file``."""
        service = self._service
        received: dict[str, StoredFile] = {}
        try:
            async with uploads.form(request, service.limits, service.files.room()) as fields:
                wanted = {only: "file"} if only is not None else {role: role for role in ROLES}
                for role, field in wanted.items():
                    upload = fields.get(field)
                    if isinstance(upload, UploadFile):
                        received[role] = await self._kept(upload, role)
                task = fields.get("task")
        except BaseException:
            for stored in received.values():
                service.files.remove(stored.id)
            raise
        if (only or "image") not in received:
            raise Refused(422, f"The form has no file in its field {'file' if only else 'image'}.", only or "image")
        return received, task if isinstance(task, str) else "{}"

    async def _kept(self, upload: UploadFile, role: str) -> StoredFile:
        name = display_name(upload.filename or "")
        path = self._service.files.target(name)
        try:
            await uploads.save(upload, path)
        except BaseException:
            self._service.files.discard(path)
            raise
        try:
            return await self._service.take(path, name, role)
        except WorkError as error:
            raise Refused(422, str(error), role) from None

    async def _json_body(self, request: Request) -> Any:
        return _json(await uploads.body(request, self._service.limits))

    def _file(self, request: Request) -> StoredFile:
        return self._named(request.path_params["id"])

    def _named(self, identifier: object) -> StoredFile:
        stored = self._service.files.get(identifier) if isinstance(identifier, str) else None
        if stored is None:
            raise Refused(404, "There is no such file, or no longer.", "file")
        return stored

    def _job(self, request: Request) -> Job:
        job = self._service.jobs.get(request.path_params["id"])
        if job is None:
            raise Refused(404, "There is no such job, or no longer.")
        return job

    def _finished(self, request: Request) -> Job:
        job = self._job(request)
        if job.status is not JobStatus.DONE:
            raise Refused(409, f"There is no result: the job is {job.status.value}.")
        return job


def _answering(endpoint: Endpoint) -> Endpoint:
    """Turn what goes wrong into an answer."""

    async def answer(request: Request) -> Response:
        try:
            return await endpoint(request)
        except Refused as refused:
            return _error(refused.status, str(refused), refused.field)
        except uploads.UploadError as error:
            # What is still on its way is not read: the connection ends with the answer.
            return _error(error.status, str(error), None, {"connection": "close"})
        except TaskError as error:
            return _error(422, str(error), error.field)
        except WorkerLostError as error:
            return _error(503, str(error), error.field)
        except WorkError as error:
            return _error(422, str(error), error.field)

    return answer


def _error(status: int, message: str, field: str | None, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"error": {"message": message, "field": field}}, status, headers)


def _json(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise Refused(400, "This is not JSON.") from None


def _page(request: Request) -> int:
    text = request.query_params.get("page", "0")
    if not (text.isascii() and text.isdecimal() and len(text) < 7):
        raise Refused(422, "The page is a whole number.", "page")
    return int(text)


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and 0 <= value <= 1


def _kernel_picture(words: str) -> bytes:
    from plugplay import kernels
    from plugplay.web.rendering import kernel_image, png

    return png(kernel_image(kernels.parse(words)))


def _picture(content: bytes, *, cached: bool = False) -> Response:
    control = "private, max-age=3600" if cached else "no-store"
    return Response(content, media_type="image/png", headers={"cache-control": control})


def _download(name: str) -> dict[str, str]:
    plain = "".join(c if c.isascii() and c.isprintable() and c not in '"\\' else "_" for c in name)
    return {
        "content-disposition": f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}",
        "cache-control": "no-store",
    }
