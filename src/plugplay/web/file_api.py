"""Files over HTTP: upload, look, preview."""

from __future__ import annotations

import asyncio
import json
import math
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from plugplay.web import uploads
from plugplay.web.answers import Refused, image_answer, page_of, parsed_json
from plugplay.web.crew import WorkError
from plugplay.web.examples import EXAMPLES
from plugplay.web.messages import Preview, View
from plugplay.web.service import ROLES, Service, shown_range, with_files
from plugplay.web.store import StoredFile, display_name
from plugplay.web.task import Task, check_kernel_words

__all__ = ["FileEndpoints"]

VIEW_SECONDS = 60


class FileEndpoints:
    """The endpoints that need no job; the base class of those with jobs."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._previews: dict[str, asyncio.Task[Any]] = {}

    async def about(self, _: Request) -> Response:
        """Tell what the page can offer."""
        from plugplay import __version__, denoisers

        names = {name: info.summary for name, info in denoisers.available().items() if info.extra is None}
        examples = [{"name": e.name, "title": e.title, "text": e.text} for e in EXAMPLES]
        return JSONResponse({"version": __version__, "denoisers": names, "examples": examples})

    async def upload(self, request: Request) -> Response:
        """Take a file."""
        role = request.query_params.get("role", "image")
        if role not in ROLES:
            raise Refused(422, f"The role of a file is one of {', '.join(ROLES)}.", "role")
        received, _ = await self.received_files(request, only=role)
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
        task = None if given is None else Task.parse(parsed_json(given.encode()))
        return await self.shown(stored, page_of(request), task)

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
            rendered, _ = await self._service.quick.ask(asked, seconds=VIEW_SECONDS)
        else:
            words = check_kernel_words(request.query_params.get("words"))
            rendered = await run_in_threadpool(_kernel_png, words)
        return image_answer(rendered, cached=True)

    async def preview(self, request: Request) -> Response:
        """Restore a part of a page; a newer question from the same client takes the place of an older one."""
        asked = await self.json_body(request)
        if not isinstance(asked, dict):
            raise Refused(400, "A JSON object is needed.")
        stored = self.named(asked.get("file"))
        task = Task.parse(asked.get("task"))
        client, page, centre = asked.get("client"), asked.get("page", 0), asked.get("centre")
        if not isinstance(client, str) or not 0 < len(client) <= 64:
            raise Refused(422, "The client is given by a string.", "client")
        if not isinstance(page, int) or isinstance(page, bool):
            raise Refused(422, "The page is a whole number.", "page")
        if not isinstance(centre, list) or len(centre) != 2 or not all(map(_is_share, centre)):
            raise Refused(422, "The centre must be two numbers between 0 and 1.", "centre")
        sources, names, _ = self._service.companions(stored, task)
        place = (float(centre[0]), float(centre[1]))
        question = Preview(task, sources, page, place, shown_range(stored), names=names)
        older = self._previews.pop(client, None)
        if older is not None:
            older.cancel()
        job = asyncio.create_task(self._service.quick.ask(question, seconds=VIEW_SECONDS))
        self._previews[client] = job
        try:
            rendered, (top, left, height, width) = await job
        except asyncio.CancelledError:
            if job.cancelled() and self._previews.get(client) is not job:
                raise Refused(409, "A newer preview has replaced this one.") from None
            raise
        finally:
            if self._previews.get(client) is job:
                del self._previews[client]
        box = json.dumps({"top": top, "left": left, "height": height, "width": width})
        return Response(rendered, media_type="image/png", headers={"x-crop": box, "cache-control": "no-store"})

    async def shown(self, stored: StoredFile, page: int, task: Task | None) -> Response:
        """Show a page of a file."""
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
        rendered, _ = await self._service.quick.ask(asked, seconds=VIEW_SECONDS)
        return image_answer(rendered, cached=True)

    async def received_files(self, request: Request, only: str | None = None) -> tuple[dict[str, StoredFile], str]:
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
            if (only or "image") not in received:
                field = "file" if only else "image"
                raise Refused(422, f"The form has no file in its field {field}.", only or "image")
        except BaseException:
            for stored in received.values():
                service.files.remove(stored.id)
            raise
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

    async def json_body(self, request: Request) -> Any:
        """Return what a client sent as JSON."""
        return parsed_json(await uploads.body(request, self._service.limits))

    def _file(self, request: Request) -> StoredFile:
        return self.named(request.path_params["id"])

    def named(self, identifier: object) -> StoredFile:
        """Return the file with this identifier."""
        stored = self._service.files.get(identifier) if isinstance(identifier, str) else None
        if stored is None:
            raise Refused(404, "There is no such file, or no longer.", "file")
        return stored


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and 0 <= value <= 1


def _kernel_png(words: str) -> bytes:
    from plugplay import kernels
    from plugplay.web.rendering import kernel_image, png

    return png(kernel_image(kernels.parse(words)))
