"""The HTTP interface: which address leads where; `openapi` describes it."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from plugplay.web.answers import Endpoint, answering
from plugplay.web.file_api import FileEndpoints
from plugplay.web.job_api import JobEndpoints
from plugplay.web.openapi import description
from plugplay.web.service import Service

__all__ = ["api_routes"]


def api_routes(service: Service) -> list[Route]:
    """Return the routes below ``/api``."""
    files = FileEndpoints(service)
    jobs = JobEndpoints(service, files)
    table: list[tuple[str, str, Endpoint]] = [
        ("GET", "/api", files.about),
        ("GET", "/api/openapi.json", _openapi),
        ("POST", "/api/files", files.upload),
        ("GET", "/api/files/{id}", files.file),
        ("DELETE", "/api/files/{id}", files.remove_file),
        ("GET", "/api/files/{id}/view", files.view_file),
        ("POST", "/api/examples/{name}", files.example),
        ("GET", "/api/kernel", files.kernel),
        ("POST", "/api/preview", files.preview),
        ("POST", "/api/jobs", jobs.submit),
        ("GET", "/api/jobs/{id}", jobs.job),
        ("DELETE", "/api/jobs/{id}", jobs.end),
        ("POST", "/api/jobs/{id}/cancel", jobs.cancel),
        ("GET", "/api/jobs/{id}/events", jobs.events),
        ("GET", "/api/jobs/{id}/preview", jobs.preview),
        ("GET", "/api/jobs/{id}/before", jobs.before),
        ("GET", "/api/jobs/{id}/after", jobs.after),
        ("GET", "/api/jobs/{id}/result", jobs.result),
        ("GET", "/api/jobs/{id}/parameters", jobs.parameters),
    ]
    return [Route(path, answering(endpoint), methods=[method]) for method, path, endpoint in table]


async def _openapi(_: Request) -> Response:
    return JSONResponse(description())
