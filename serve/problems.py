"""Errors as ``application/problem+json`` (RFC 9457): what is wrong, in which field, and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from model.capacity.questions import QuestionError
from serve.champion import ChampionUnavailable
from serve.snapshot import SnapshotUnavailable

MEDIA_TYPE = "application/problem+json"


class Problem(Exception):
    """A refusal with its HTTP status and whatever helps to mend the request."""

    def __init__(
        self, status: int, kind: str, detail: str, headers: Mapping[str, str] | None = None, **more: Any
    ) -> None:
        super().__init__(detail)
        self.status, self.kind, self.detail = status, kind, detail
        self.headers, self.more = headers, more


def respond(problem: Problem) -> JSONResponse:
    """The problem as a response body and status."""
    return JSONResponse(document(problem), problem.status, headers=problem.headers, media_type=MEDIA_TYPE)


def document(problem: Problem) -> dict[str, Any]:
    """The problem as RFC 9457 has it."""
    return {
        "type": f"urn:etalon:problem:{problem.kind}",
        "title": HTTPStatus(problem.status).phrase,
        "status": problem.status,
        "detail": problem.detail,
        **problem.more,
    }


def of(error: Problem | QuestionError) -> Problem:
    """A refusal of the service or the model as a problem."""
    return error if isinstance(error, Problem) else _question(error)


def install(app: FastAPI) -> None:
    """Make every error of `app` a problem document."""
    app.add_exception_handler(Problem, lambda _, error: respond(_as(Problem, error)))
    app.add_exception_handler(
        RequestValidationError, lambda _, error: respond(_validation(_as(RequestValidationError, error)))
    )
    app.add_exception_handler(QuestionError, lambda _, error: respond(_question(_as(QuestionError, error))))
    app.add_exception_handler(ChampionUnavailable, lambda _, error: respond(Problem(503, "no-champion", str(error))))
    app.add_exception_handler(SnapshotUnavailable, lambda _, error: respond(Problem(503, "no-snapshot", str(error))))
    app.add_exception_handler(HTTPException, _http)


def _as(kind: type[Any], error: Exception) -> Any:
    assert isinstance(error, kind)
    return error


def _http(request: Request, error: Exception) -> JSONResponse:
    http: HTTPException = _as(HTTPException, error)
    path, headers = request.url.path, dict(http.headers or {})
    if http.status_code == 400:
        return respond(Problem(400, "malformed-json", "the body is not JSON that can be read", headers, field=""))
    if http.status_code == 404:
        return respond(Problem(404, "not-found", f"there is nothing at {path}; /openapi.json lists what there is"))
    if http.status_code == 405:
        allowed = headers.get("Allow", "").split(", ")
        # Whatever is answered to GET is answered to HEAD, see `guard.Boundary`.
        allowed += ["HEAD"] * ("GET" in allowed and "HEAD" not in allowed)
        headers["Allow"] = ", ".join(allowed)
        told = f"{request.method} is not answered at {path}; use {' or '.join(allowed)}"
        return respond(Problem(405, "method-not-allowed", told, headers))
    return respond(Problem(http.status_code, "http", str(http.detail), headers))


def _question(error: QuestionError) -> Problem:
    more: dict[str, Any] = {"field": error.field, "value": error.value}
    if error.allowed:
        more["allowed"] = error.allowed
    if error.nearest is not None:
        more["nearest"] = error.nearest
    return Problem(422, "unanswerable-question", str(error), **more)


def _validation(error: RequestValidationError) -> Problem:
    if isinstance(error.body, bytes):
        # FastAPI parses what is declared to be JSON, and passes on anything else as it came.
        told = "a question is JSON; send it with `Content-Type: application/json`"
        return Problem(415, "not-json", told, {"Accept": "application/json"}, field="")
    errors = list({found["field"]: found for found in map(_one, reversed(error.errors()))}.values())[::-1]
    first = errors[0]
    status, kind = (400, "malformed-json") if first["reason"] == "json_invalid" else (422, "invalid-request")
    return Problem(status, kind, _placed(first), field=first["field"], errors=errors)


def said(item: Mapping[str, Any]) -> str:
    """An error of pydantic's in one sentence: the field, and what is wrong with it."""
    return _placed(_one(item))


def _placed(found: Mapping[str, Any]) -> str:
    return f"{found['field']}: {found['message']}" if found["field"] else str(found["message"])


def _one(item: Mapping[str, Any]) -> dict[str, Any]:
    location: Sequence[Any] = item["loc"]
    reason = str(item["type"])
    path = [str(part) for part in location if part not in ("body", "query", "path")]
    if path[:2] == ["at", "point"]:
        return {"field": "at.point", "reason": reason, "message": "should be the name of a measured point"}
    if reason == "json_invalid":
        message = f"the body is not JSON ({item.get('ctx', {}).get('error', 'unreadable')} at character {location[-1]})"
        return {"field": "", "reason": reason, "message": message}
    if reason in ("model_attributes_type", "model_type"):
        message = f"{'' if path else 'the body '}should be a JSON object, not {_kind(item['input'])}"
        return {"field": ".".join(path), "reason": reason, "message": message}
    context = item.get("ctx", {})
    message = {
        "union_tag_not_found": "this question has no kind",
        "union_tag_invalid": f"no kind {context.get('tag')!r}; there are {context.get('expected_tags')}",
        "extra_forbidden": "this field is not known; remove it or correct its name (see /openapi.json)",
        "missing": "this field is required" if path else "a JSON body is required",
    }.get(reason, str(item["msg"]).replace("Input should", "should"))
    return {"field": ".".join(path), "reason": reason, "message": message}


def _kind(value: Any) -> str:
    """What JSON calls a value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return "a list" if isinstance(value, list) else "a string" if isinstance(value, str) else "a number"
