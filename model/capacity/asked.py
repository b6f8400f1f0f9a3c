"""A question and the system it is about, ready to be evaluated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from model.capacity.class_moves import with_classes
from model.capacity.derived import derived
from model.capacity.ensemble import System
from model.capacity.loads import Load, understand
from model.capacity.offload import with_ziips
from model.capacity.questions import QuestionError


def compiled(entry: Mapping[str, Any], at: Mapping[str, Any] | None = None) -> System:
    """The system as arrays, with the zIIPs and the work on them that a question asks for; kept for what was asked."""
    found = with_ziips(_with_classes(entry, at), at) if at else entry
    return derived(found, "system", lambda: System(found))


def _with_classes(entry: Mapping[str, Any], at: Mapping[str, Any]) -> Mapping[str, Any]:
    """The system with the classes that a question moves to it; a refusal names its field as ``at.KEY``."""
    try:
        return with_classes(entry, at)
    except QuestionError as error:
        error.field = f"at.{error.field}"
        raise


def understood(ready: System, at: Mapping[str, Any] | None, side: str = "at") -> Load:
    """The load that ``at`` describes; a refusal names its field as ``at.KEY``, or whatever ``side`` the question is."""
    try:
        return understand(ready, dict(at or {}))
    except QuestionError as error:
        error.field = f"{side}.{error.field}"
        raise
