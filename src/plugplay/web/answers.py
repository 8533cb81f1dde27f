"""Answers of the HTTP interface: errors in plain words, images, downloads."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from plugplay.web.crew import WorkerLostError, WorkError
from plugplay.web.task import TaskError
from plugplay.web.uploads import UploadError

__all__ = ["Endpoint", "Refused", "answering", "download_headers", "image_answer", "page_of", "parsed_json"]

Endpoint = Callable[[Request], Awaitable[Response]]


class Refused(Exception):  # noqa: N818 - an answer, not a fault
    """A request that is answered with an error."""

    def __init__(self, status: int, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.status, self.field = status, field


def answering(endpoint: Endpoint) -> Endpoint:
    """Turn exceptions into error responses."""

    async def answer(request: Request) -> Response:
        try:
            return await endpoint(request)
        except Refused as refused:
            return error_answer(refused.status, str(refused), refused.field)
        except UploadError as error:
            # What is still on its way is not read: the connection ends with the answer.
            return error_answer(error.status, str(error), None, {"connection": "close"})
        except TaskError as error:
            return error_answer(422, str(error), error.field)
        except WorkerLostError as error:
            return error_answer(503, str(error), error.field)
        except WorkError as error:
            return error_answer(422, str(error), error.field)

    return answer


def error_answer(status: int, message: str, field: str | None, headers: dict[str, str] | None = None) -> JSONResponse:
    """Return an error response that names the problem and the field."""
    return JSONResponse({"error": {"message": message, "field": field}}, status, headers)


def parsed_json(text: bytes) -> Any:
    """Return the parsed JSON body of a request."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise Refused(400, "This is not JSON.") from None


def page_of(request: Request) -> int:
    """Return the page that is asked for, counted from 0."""
    text = request.query_params.get("page", "0")
    if not (text.isascii() and text.isdecimal() and len(text) < 7):
        raise Refused(422, "The page is a whole number.", "page")
    return int(text)


def image_answer(content: bytes, *, cached: bool = False) -> Response:
    """Return a PNG file."""
    control = "private, max-age=3600" if cached else "no-store"
    return Response(content, media_type="image/png", headers={"cache-control": control})


def download_headers(name: str) -> dict[str, str]:
    """Return the headers that make a browser save an answer under this name."""
    plain = "".join(c if c.isascii() and c.isprintable() and c not in '"\\' else "_" for c in name)
    return {
        "content-disposition": f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}",
        "cache-control": "no-store",
    }
