"""What kind of quantity a value of a CICS statistics listing is, and its number in a base unit.

Kinds decide how collections are put together: totals add up, peaks are the highest, levels, limits and counts since the
start of the region the last; percentages, rates and averages are means. Labels say the kind (CICS TS for z/OS,
Performance Guide, "CICS statistics reports").
"""

import re
from typing import NamedTuple

from ingest.formats.tables.tabular import number

_SINCE_START = re.compile(r"\s*\(not reset\)\s*$", re.IGNORECASE)
_DURATION = re.compile(
    r"(?:(?P<days>\d{1,5})-)?(?P<hours>\d{1,5}):(?P<minutes>[0-5]\d):(?P<seconds>[0-5]\d(?:\.\d{1,9})?)"
)
_WITH_UNIT = re.compile(r"(?P<number>[\d,]*\.?\d+)\s*(?P<unit>%|[a-zA-Zµ]{1,5})")
_UNITS = {
    "%": ("pct", 1.0), "us": ("s", 1e-6), "µs": ("s", 1e-6), "ms": ("s", 1e-3), "s": ("s", 1.0), "sec": ("s", 1.0),
    "secs": ("s", 1.0), "k": ("bytes", 1024.0), "kb": ("bytes", 1024.0), "m": ("bytes", 1024.0**2),
    "mb": ("bytes", 1024.0**2), "g": ("bytes", 1024.0**3), "gb": ("bytes", 1024.0**3),
}  # fmt: skip

_KINDS = tuple(
    (kind, re.compile(pattern, re.IGNORECASE))
    for kind, pattern in (
        ("moment", r"start time|last reset|reset time|local time|time of day|time and date|date and time"),
        ("percentage", r"%|\bpercent|\bpct\b|ratio$"),
        ("rate", r"\brate\b|per second"),
        ("average", r"^average\b|^mean\b|\bavg\b"),
        ("peak", r"\bpeak\b|\bhighest\b|high[- ]?water"),
        ("cumulative", r"\bso far\b|since start|\(not reset\)"),
        ("level", r"^current\b|\bcurrent$|\bcurrently\b"),
        ("limit", r"^max(?:imum)?\b|\blimit(?: \(\w+\))?$|\ballowed\b"),
    )
)
_COUNTS = re.compile(r"^(?:times|number|total|requests|transactions)\b", re.IGNORECASE)


class Quantity(NamedTuple):
    """A value's kind, its number, and the unit of that: `s`, `pct`, `bytes`, `1/s`, or `count` for what has none."""

    kind: str
    number: float | None
    unit: str | None


def quantity(label: str, text: str | None) -> Quantity:
    """Kind, number and unit of a printed value; moments and text have no number."""
    plain = _SINCE_START.sub("", text or "")
    kind = _kind(label)
    if kind == "total" and plain != (text or ""):
        kind = "cumulative"
    value, unit = _parsed(plain)
    if unit == "pct":
        kind = "percentage"
    if value is None or kind == "moment":
        return Quantity(kind, None, None)
    if unit == "count":
        unit = {"percentage": "pct", "rate": "1/s"}.get(kind, "s" if label.lower().endswith(" time") else unit)
    return Quantity(kind, value, unit)


def _kind(label: str) -> str:
    """The kind that a label says; what is counted at a limit is no limit."""
    for kind, pattern in _KINDS:
        if pattern.search(label) and not (kind == "limit" and _COUNTS.match(label)):
            return kind
    return "total"


def _parsed(text: str) -> tuple[float | None, str]:
    if (value := number(text)) is not None:
        return value, "count"
    if match := _DURATION.fullmatch(text):
        days, hours, minutes = (int(match[part] or 0) for part in ("days", "hours", "minutes"))
        return days * 86_400 + hours * 3_600 + minutes * 60 + float(match["seconds"]), "s"
    if (match := _WITH_UNIT.fullmatch(text)) and (unit := _UNITS.get(match["unit"].lower())):
        value = number(match["number"])
        return (None if value is None else value * unit[1]), unit[0]
    return None, ""
