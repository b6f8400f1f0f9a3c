"""Errors as ``application/problem+json`` (RFC 9457): what is wrong, in which field, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from model.capacity.values import KEYS, PREFIXES, QuestionError

MEDIA_TYPE = "application/problem+json"
# What pydantic says beside the fault: what kind of thing the field is to Python, and that it looked.
PYDANTIC = re.compile("^(Input|List|String|Dictionary) (?=should)| after validation")

# The two forms of a response target, which are no fields: a number for every class, and one by class.
RESPONSE_TARGETS = ("(every class)", "(by class)")


class BundleRefused(ValueError):
    """A bundle must not be put in service; the message says what is wrong with it."""


class Problem(Exception):
    """A refusal with its HTTP status and whatever helps to mend the request."""

    def __init__(
        self, status: int, kind: str, detail: str, headers: Mapping[str, str] | None = None, **more: Any
    ) -> None:
        super().__init__(detail)
        self.status, self.kind, self.detail = status, kind, detail
        self.headers, self.more = headers, more


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
    if isinstance(error, Problem):
        return error
    more: dict[str, Any] = {"field": error.field, "value": error.value}
    if error.allowed:
        more["allowed"] = error.allowed
    if error.nearest is not None:
        more["nearest"] = error.nearest
    return Problem(422, "unanswerable-question", str(error), **more)


def invalid(errors_found: Sequence[Mapping[str, Any]]) -> Problem:
    """Errors of pydantic's as a problem: the first in a sentence, all of them beside it."""
    errors = list({one["field"]: one for one in map(_one, reversed(errors_found))}.values())[::-1]
    first = errors[0]
    return Problem(422, "invalid-request", _placed(first), field=first["field"], errors=errors)


def said(item: Mapping[str, Any]) -> str:
    """An error of pydantic's in one sentence: the field, and what is wrong with it."""
    return _placed(_one(item))


def _placed(error: Mapping[str, Any]) -> str:
    return f"{error['field']}: {error['message']}" if error["field"] else str(error["message"])


def _one(item: Mapping[str, Any]) -> dict[str, Any]:
    location: Sequence[Any] = item["loc"]
    reason = str(item["type"])
    path = [str(part) for part in location if part not in ("body", "query", "path", *RESPONSE_TARGETS)]
    if path[:2] == ["at", "point"]:
        return {"field": "at.point", "reason": reason, "message": "must be the name of a measured point"}
    if path[-1:] in (["str"], ["float"]) and reason in ("string_type", "float_type"):
        return {"field": ".".join(path[:-1]), "reason": "number_or_text", "message": "must be a number or a string"}
    if reason in ("model_attributes_type", "model_type"):
        message = f"{'' if path else 'the body '}must be a JSON object (got {_kind(item['input'])})"
        return {"field": ".".join(path), "reason": reason, "message": message}
    context = item.get("ctx", {})
    message = {
        "union_tag_not_found": "the field `kind` is missing",
        "union_tag_invalid": f"unknown kind {context.get('tag')!r}; allowed: {context.get('expected_tags')}",
        "extra_forbidden": f"{_unknown(path)} (see /openapi.json)",
        "missing": "this field is required",
    }.get(reason, PYDANTIC.sub("", str(item["msg"])))
    return {"field": ".".join(path), "reason": reason, "message": message}


def _unknown(path: Sequence[str]) -> str:
    """What to do with a field that is not known where it stands."""
    if len(path) == 1 and (path[0] in KEYS or path[0].startswith(PREFIXES)):
        return f'loads and changes belong in `at`: "at": {{"{path[0]}": …}}'
    return "unknown field: remove it or correct its name"


def _kind(value: Any) -> str:
    """What JSON calls a value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return "a list" if isinstance(value, list) else "a string" if isinstance(value, str) else "a number"
