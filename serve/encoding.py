"""Answers as JSON."""

from __future__ import annotations

from typing import Any

import orjson


def as_json(value: Any) -> bytes:
    """Plain values, dataclasses and NumPy numbers as JSON; what is not finite is null."""
    return orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)
