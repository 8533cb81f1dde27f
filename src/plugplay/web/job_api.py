"""Jobs over HTTP: submit, watch, cancel, take away."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse

from plugplay.web.answers import Refused, download_headers, image_answer, page_of, parsed_json
from plugplay.web.file_api import VIEW_SECONDS, FileEndpoints
from plugplay.web.jobs import Job, JobStatus, QueueFull, updates
from plugplay.web.messages import View
from plugplay.web.service import Service, with_files
from plugplay.web.store import StoredFile
from plugplay.web.task import Task

__all__ = ["JobEndpoints"]

ALIVE_SECONDS = 1.0


class JobEndpoints:
    """The endpoints below ``/api/jobs``."""

    def __init__(self, service: Service, files: FileEndpoints) -> None:
        self._service, self._files = service, files

    async def submit(self, request: Request) -> Response:
        """Queue a restoration: of a file that is there, or of one that comes along."""
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        received: dict[str, StoredFile] = {}
        try:
            if kind == "application/json":
                asked = await self._files.json_body(request)
                if not isinstance(asked, dict):
                    raise Refused(400, "A JSON object is needed.")
                image, task = self._files.named(asked.get("file")), Task.parse(asked.get("task"))
            elif kind == "multipart/form-data":
                received, text = await self._files.received_files(request)
                image, task = received["image"], with_files(Task.parse(parsed_json(text.encode())), received)
            else:
                raise Refused(415, "Send JSON, or a form (multipart/form-data) with the fields image and task.")
            if image.role != "image":
                raise Refused(422, f"This file was dropped as {image.role}, not as image.", "file")
            job = self._service.submit(image, task, owned={stored.id for stored in received.values()})
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

    async def end(self, request: Request) -> Response:
        """Cancel a job, or remove one that has ended."""
        job = self._job(request)
        if not job.status.ended:
            return await self.cancel(request)
        self._service.jobs.forget(job)
        return Response(status_code=204)

    async def cancel(self, request: Request) -> Response:
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
            async for changed in updates(job, alive_seconds=ALIVE_SECONDS):
                if self._service.closing.is_set():
                    return
                record = json.dumps(self._service.describe(job)) if changed else ""
                yield f"event: job\ndata: {record}\n\n".encode() if changed else b": alive\n\n"

        return StreamingResponse(stream(), media_type="text/event-stream", headers={"cache-control": "no-store"})

    async def preview(self, request: Request) -> Response:
        """Show what a running job has reached."""
        job = self._job(request)
        if job.preview is None:
            raise Refused(409, "There is nothing to be seen yet.")
        return image_answer(job.preview)

    async def before(self, request: Request) -> Response:
        """Show a page before the restoration."""
        job = self._job(request)
        stored = self._service.files.get(job.image)
        if stored is None:
            raise Refused(404, "The file is no longer there.")
        return await self._files.shown(stored, page_of(request), job.task if job.task.kind == "photon" else None)

    async def after(self, request: Request) -> Response:
        """Show a page after the restoration."""
        job = self._finished(request)
        path = job.request.output
        shown = (0.0, 65535.0) if job.task.kind == "photon" else job.request.shown
        asked = View(path, page_of(request), shown, names={str(path): job.about["output"]})
        rendered, _ = await self._service.quick.ask(asked, seconds=VIEW_SECONDS)
        return image_answer(rendered, cached=True)

    async def result(self, request: Request) -> Response:
        """Give the restored file."""
        job = self._finished(request)
        return FileResponse(
            job.request.output, media_type="application/octet-stream", headers=download_headers(job.about["output"])
        )

    async def parameters(self, request: Request) -> Response:
        """Give everything that was used."""
        job = self._finished(request)
        text = json.dumps(self._service.parameters(job), indent=2, allow_nan=False)
        return Response(text, media_type="application/json", headers=download_headers(f"{job.about['output']}.json"))

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
