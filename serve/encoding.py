"""Answers as JSON."""

from __future__ import annotations

from typing import Any

import orjson
from fastapi import Response


def as_json(value: Any) -> bytes:
    """Plain values, dataclasses and NumPy numbers as JSON; what is not finite is null."""
    return orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)


def json_response(body: bytes, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A response whose body is JSON already."""
    return Response(body, status, headers, "application/json")
