"""The web application: the page, the interface behind it, and the guard before both."""

from __future__ import annotations

import hashlib
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from plugplay.web.api import api_routes
from plugplay.web.guard import Guard
from plugplay.web.service import Service
from plugplay.web.uploads import Limits

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from starlette.requests import Request

__all__ = ["assets", "create_app", "loopback_hosts"]

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


def create_app(*, hosts: frozenset[str] | None, token: str | None = None, limits: Limits | None = None) -> Starlette:
    """Return the application; its workers start with its lifespan and end with it.

    Parameters
    ----------
    hosts : frozenset of str, optional
        Allowed values of the ``Host`` header, with the port; None for any, which needs a token.
    token : str, optional
        The token that clients must send.
    limits : Limits, optional
        Limits of uploads and jobs.
    """

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        service = Service(limits or Limits())
        app.state.service = service
        app.router.routes.extend(api_routes(service))
        service.start()
        try:
            yield
        finally:
            await service.close()

    return Starlette(
        routes=_pages(),
        lifespan=lifespan,
        middleware=[Middleware(Guard, hosts=hosts, token=token)],
        exception_handlers={HTTPException: _refused, Exception: _failed},
    )


def loopback_hosts(port: int) -> frozenset[str]:
    """Return the loopback names of this machine.

    Examples
    --------
    >>> "localhost:8000" in loopback_hosts(8000)
    True
    """
    return frozenset(f"{name}:{port}" for name in ("localhost", "127.0.0.1", "[::1]"))


def assets() -> dict[str, bytes]:
    """Return the files of the page by name."""
    folder = files("plugplay.web") / "static"
    return {item.name: item.read_bytes() for item in folder.iterdir() if item.name[item.name.rfind(".") :] in _TYPES}


def _pages() -> list[Route]:
    """Return a fixed route for each file, so that clients cannot traverse paths."""
    return [
        Route("/" if name == "index.html" else f"/static/{name}", _asset(name, content), methods=["GET"], name=name)
        for name, content in assets().items()
    ]


def _asset(name: str, content: bytes) -> Callable[[Request], Awaitable[Response]]:
    kind, tag = _TYPES[name[name.rfind(".") :]], f'"{hashlib.sha256(content).hexdigest()[:16]}"'

    async def answer(request: Request) -> Response:
        headers = {"etag": tag, "cache-control": "no-cache"}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(content, media_type=kind, headers=headers)

    return answer


async def _refused(_: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    message = {404: "There is nothing at this address.", 405: "This method is not supported at this address."}
    return JSONResponse(
        {"error": {"message": message.get(status, "This request cannot be answered."), "field": None}}, status
    )


async def _failed(_: Request, __: Exception) -> Response:
    message = "Internal error; the terminal shows the details."
    return JSONResponse({"error": {"message": message, "field": None}}, 500)
