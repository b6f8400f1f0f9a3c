"""Answers and refusals as responses, whatever refuses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from serve.encoding import as_json
from serve.problems import MEDIA_TYPE, Problem, document, invalid


class JsonResponse(Response):
    """A response whose body is JSON already: an answer, or a problem document."""

    def init_headers(self, headers: Mapping[str, str] | None = None) -> None:
        """Headers as they are sent; those of an answer are always the same but for its length."""
        given = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in (headers or {}).items()]
        kind = b"application/json" if self.status_code < 400 else MEDIA_TYPE.encode()
        self.raw_headers = [*given, (b"content-length", b"%d" % len(self.body)), (b"content-type", kind)]


def json_response(body: bytes, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A response whose body is JSON already: an answer, or a problem document."""
    return JsonResponse(body, status, headers)


def respond(problem: Problem) -> Response:
    """The problem as a response."""
    return json_response(as_json(document(problem)), problem.status, dict(problem.headers or {}))


def install(app: FastAPI) -> None:
    """Make every error of `app` a problem document."""
    app.add_exception_handler(Problem, lambda _, error: respond(_as(Problem, error)))
    app.add_exception_handler(
        RequestValidationError, lambda _, error: respond(invalid(_as(RequestValidationError, error).errors()))
    )
    app.add_exception_handler(HTTPException, _http)


def _as(kind: type[Any], error: Exception) -> Any:
    assert isinstance(error, kind)
    return error


def _http(request: Request, error: Exception) -> Response:
    http: HTTPException = _as(HTTPException, error)
    path, headers = request.url.path, dict(http.headers or {})
    if http.status_code == 404:
        return respond(Problem(404, "not-found", f"unknown address {path}; /openapi.json lists all addresses"))
    if http.status_code == 405:
        # The router names the methods of the first route at the address alone.
        template = getattr(request.scope.get("route"), "path_format", "")
        described = request.app.openapi()["paths"].get(template, {})
        allowed = [method.upper() for method in described] or headers.get("Allow", "").split(", ")
        # Whatever is answered to GET is answered to HEAD, see `guard.Boundary`.
        allowed += ["HEAD"] * ("GET" in allowed and "HEAD" not in allowed)
        headers["Allow"] = ", ".join(allowed)
        message = f"{request.method} is not supported at {path}; use {' or '.join(allowed)}"
        return respond(Problem(405, "method-not-allowed", message, headers))
    return respond(Problem(http.status_code, "http", str(http.detail), headers))
