"""The OpenAPI 3.1 description of the HTTP interface."""

from __future__ import annotations

from typing import Any

from plugplay import __version__
from plugplay.web.task import KINDS

__all__ = ["description"]

_JSON = "application/json"


def description() -> dict[str, Any]:
    """Return the OpenAPI document.

    Examples
    --------
    >>> sorted(description()["paths"])[:3]
    ['/api', '/api/examples/{name}', '/api/files']
    """
    file = _ref("File")
    job = _ref("Job")
    png = {"description": "A PNG file", "content": {"image/png": {}}}
    page = _query("page", {"type": "integer", "minimum": 0, "default": 0}, "Which image of a stack, from 0.")
    paths = {
        "/api": {"get": _operation("What the page can offer", {"200": _body("Denoisers and examples", {})})},
        "/api/openapi.json": {"get": _operation("This description", {"200": _body("OpenAPI", {})})},
        "/api/files": {
            "post": _operation(
                "Upload a file",
                {"201": _body("What was found in it", file)},
                parameters=[
                    _query(
                        "role", {"enum": ["image", "kernel", "mask", "reference"], "default": "image"}, "What it is."
                    )
                ],
                request={"multipart/form-data": {"schema": _object({"file": {"type": "string", "format": "binary"}})}},
            )
        },
        "/api/files/{id}": {
            "get": _operation("What is known about a file", {"200": _body("File", file)}),
            "delete": _operation("Remove a file", {"204": {"description": "Removed"}}),
            "parameters": [_path("id")],
        },
        "/api/files/{id}/view": {
            "get": _operation(
                "Show a page of a file",
                {"200": png},
                parameters=[page, _query("task", {"type": "string"}, "Task as JSON; photon cubes need it.")],
            ),
            "parameters": [_path("id")],
        },
        "/api/examples/{name}": {
            "post": _operation("Make an example", {"201": _body("File and task", {})}),
            "parameters": [_path("name")],
        },
        "/api/kernel": {
            "get": _operation(
                "Show a kernel",
                {"200": png},
                parameters=[
                    _query("words", {"type": "string", "examples": ["motion:15,30"]}, "The kernel in words."),
                    _query("file", {"type": "string"}, "Or the identifier of an uploaded kernel."),
                ],
            )
        },
        "/api/preview": {
            "post": _operation(
                "Restore a part of a page, in about a second",
                {"200": {**png, "headers": {"X-Crop": {"description": "JSON: top, left, height, width"}}}},
                request={
                    _JSON: {
                        "schema": _object(
                            {
                                "file": {"type": "string"},
                                "task": _ref("Task"),
                                "client": {"type": "string", "maxLength": 64},
                                "page": {"type": "integer"},
                                "centre": {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2},
                            }
                        )
                    }
                },
            )
        },
        "/api/jobs": {
            "post": _operation(
                "Queue a restoration",
                {"201": _body("The job", job), "429": _problem("Too many jobs are waiting")},
                request={
                    _JSON: {"schema": _object({"file": {"type": "string"}, "task": _ref("Task")})},
                    "multipart/form-data": {
                        "schema": _object(
                            {
                                role: {"type": "string", "format": "binary"}
                                for role in ("image", "kernel", "mask", "reference")
                            }
                            | {"task": {"type": "string", "description": "Task as JSON"}}
                        )
                    },
                },
            )
        },
        "/api/jobs/{id}": {
            "get": _operation("Where a job stands", {"200": _body("The job", job)}),
            "delete": _operation(
                "Cancel a job, or remove one that has ended",
                {"200": _body("The cancelled job", job), "204": {"description": "Removed"}},
            ),
            "parameters": [_path("id")],
        },
        "/api/jobs/{id}/cancel": {
            "post": _operation("Cancel a job; never removes a result", {"200": _body("The job", job)}),
            "parameters": [_path("id")],
        },
        "/api/jobs/{id}/events": {
            "get": _operation(
                "Get every change as server-sent events of the type job; ends with the job",
                {"200": {"description": "Events", "content": {"text/event-stream": {}}}},
            ),
            "parameters": [_path("id")],
        },
        "/api/jobs/{id}/result": {
            "get": _operation(
                "The restored file",
                {
                    "200": {
                        "description": "In the input's depth and format",
                        "content": {"application/octet-stream": {}},
                    },
                    "409": _problem("The job has not ended well"),
                },
            ),
            "parameters": [_path("id")],
        },
        "/api/jobs/{id}/parameters": {
            "get": _operation("Everything that was used", {"200": _body("Parameters", {})}),
            "parameters": [_path("id")],
        },
    }
    for name, text in (
        ("preview", "What a running job has reached"),
        ("before", "A page before"),
        ("after", "A page after"),
    ):
        paths[f"/api/jobs/{{id}}/{name}"] = {
            "get": _operation(text, {"200": png}, parameters=[] if name == "preview" else [page]),
            "parameters": [_path("id")],
        }
    return {
        "openapi": "3.1.0",
        "info": {"title": "plugplay serve", "version": __version__, "summary": "Image restoration on this machine"},
        "paths": paths,
        "components": {"schemas": _schemas(), "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }


def _schemas() -> dict[str, Any]:
    identifier = {"type": "string", "pattern": "^[0-9a-f]{32}$"}
    return {
        "File": _object(
            {"id": identifier, "name": {"type": "string"}, "kind": {"enum": ["image", "photons", "kernel"]}}
        ),
        "Task": {
            **_object(
                {
                    "kind": {"enum": list(KINDS)},
                    "noise": {"type": ["string", "number"], "default": "auto"},
                    "kernel": {"type": "string", "examples": ["gaussian:1.6", "disk:5", "motion:15,30", "box:9"]},
                    "kernel_file": identifier,
                    "mask_file": identifier,
                    "reference_file": identifier,
                    "factor": {"type": "integer", "minimum": 1, "maximum": 8, "default": 2},
                    "denoiser": {"type": "string", "default": "bm3d"},
                    "max_iter": {"type": "integer", "minimum": 1},
                    "photon": {"type": "object"},
                }
            ),
            "required": ["kind"],
            "additionalProperties": False,
        },
        "Job": _object(
            {
                "id": identifier,
                "status": {"enum": ["queued", "running", "done", "failed", "cancelled"]},
                "position": {"type": ["integer", "null"]},
                "progress": {"type": "object"},
                "error": {"oneOf": [{"type": "null"}, _ref("Problem")]},
            }
        ),
        "Problem": _object({"message": {"type": "string"}, "field": {"type": ["string", "null"]}}),
    }


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def _body(text: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": text, "content": {_JSON: {"schema": schema}}}


def _problem(text: str) -> dict[str, Any]:
    return _body(text, _object({"error": _ref("Problem")}))


def _path(name: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}


def _query(name: str, schema: dict[str, Any], text: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": schema, "description": text}


def _operation(
    summary: str,
    responses: dict[str, Any],
    *,
    parameters: list[dict[str, Any]] | None = None,
    request: dict[str, Any] | None = None,
) -> dict[str, Any]:
    operation: dict[str, Any] = {"summary": summary, "responses": {**responses, "default": _problem("What is wrong")}}
    if parameters:
        operation["parameters"] = parameters
    if request is not None:
        operation["requestBody"] = {"required": True, "content": request}
    return operation
