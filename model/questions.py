"""Checking a capacity question before answering it, with messages a planner can act on."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping
from typing import Any

KEYS = ("etr_tps", "cpu_busy_pct", "engines", "point")
LOADS = ("etr_tps", "cpu_busy_pct", "point")
MOST_ENGINES = 256


class QuestionError(ValueError):
    """A question that cannot be answered: ``field`` and ``value`` say where, ``allowed`` and ``nearest`` what would

    do.
    """

    def __init__(self, field: str, value: Any, message: str, allowed: Iterable[str] = ()) -> None:
        self.field = field
        self.value = value
        self.allowed = sorted(map(str, allowed))
        close = difflib.get_close_matches(str(value), self.allowed, n=1, cutoff=0.5)
        self.nearest = close[0] if close else None
        self.message = message
        if self.nearest:
            self.message += f"; did you mean {self.nearest}?"
        if self.allowed:
            self.message += f" (allowed: {', '.join(self.allowed)})"
        super().__init__(self.message)


def system_entry(bundle: Mapping[str, Any], system: str) -> Mapping[str, Any]:
    """The system's part of the bundle."""
    systems = bundle["systems"]
    if system not in systems:
        raise QuestionError("system", system, f"system: {system!r} is not in model {bundle['model_version']}", systems)
    return systems[system]


def positive(field: str, value: Any, most: float = math.inf) -> float:
    """A finite number above zero and at most ``most``."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise QuestionError(field, value, f"{field}: {value!r} is no number") from None
    if not math.isfinite(number) or number <= 0 or number > most:
        limit = f" and at most {most:g}" if math.isfinite(most) else ""
        raise QuestionError(field, value, f"{field}: {value!r} must be above 0{limit}")
    return number


def whole(field: str, value: Any) -> int:
    """A whole number of engines from 1 to 256."""
    number = positive(field, value, MOST_ENGINES)
    if number != int(number):
        raise QuestionError(field, value, f"{field}: {value!r} is no whole number")
    return int(number)


def check_keys(at: Mapping[str, Any]) -> None:
    """Refuse unknown keys and more than one way of saying the load."""
    for key in at:
        if key not in KEYS:
            raise QuestionError(key, key, f"at: {key!r} is not understood", KEYS)
    given = [key for key in LOADS if key in at]
    if len(given) > 1:
        raise QuestionError(given[1], at[given[1]], f"at: {' and '.join(given)} say the load twice; give one of them")


def point_entry(entry: Mapping[str, Any], value: Any) -> Mapping[str, Any]:
    """The measured point of that name; 5, 5.0 and "5" are the same name."""
    text = str(int(value)) if isinstance(value, float) and value == int(value) else str(value)
    for point in entry["points"]:
        if point["point"] == text:
            return point
    raise QuestionError("point", text, f"point: {text!r} was not measured", [p["point"] for p in entry["points"]])


def as_text(value: float) -> str:
    """A number as it was asked: 5 for 5.0, 110560.9 for 110560.9."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
