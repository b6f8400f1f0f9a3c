"""What calibration needs to know of a system besides its points: its relatives, and what was published."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SYSTEMS = Path(__file__).resolve().parent.parent / "systems"

# The CPU activity report's own name for what the marts call CPU busy.
ALIASES = {"cpu_busy_pct": ("cpu_busy_pct", "lpar_busy_pct")}


def condition_pairs(condition: str) -> dict[str, str]:
    """``"key=value; key=value"`` as a mapping, in order."""
    pairs = (part.split("=", 1) for part in condition.split(";") if "=" in part)
    return {key.strip(): value.strip() for key, value in pairs}


def condition_text(pairs: Mapping[str, str]) -> str:
    """The inverse of :func:`condition_pairs`."""
    return "; ".join(f"{key}={value}" for key, value in pairs.items())


@dataclass(frozen=True)
class SystemDescription:
    """A system as calibration sees it.

    ``conditions`` gives, by point and metric, the condition under which a value was published; a metric missing there
    was not published at that point. ``published`` says whether such a record exists at all: without it every value
    counts as measured.
    """

    system_id: str
    workload: str = ""
    machine: str = ""
    software: str = ""
    engines: int | None = None
    published: bool = False
    point_condition: Mapping[str, str] = field(default_factory=dict)
    conditions: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def measured(self, point: str, metric: str) -> bool:
        """Whether the metric was measured at the point, rather than assumed in rendering it."""
        if not self.published or point not in self.conditions:
            return True
        return any(name in self.conditions[point] for name in ALIASES.get(metric, (metric,)))

    def condition(self, point: str, metric: str) -> str | None:
        """The published condition of the metric at the point; None where it was not published."""
        return self.conditions.get(point, {}).get(metric)


def describe(entry: Mapping[str, Any]) -> SystemDescription:
    """A reference system's file, as read from TOML, reduced to what calibration uses."""
    lab = entry.get("lab", {})
    figures = {table["name"]: table["figures"] for table in entry.get("table", [])}
    points = lab.get("points", [])
    conditions = {point["id"]: _published_at(point, figures) for point in points if "table" in point}
    releases = [fact for fact in entry.get("facts", []) if _is_release(fact)]
    return SystemDescription(
        system_id=entry["id"],
        workload=entry.get("workload", ""),
        machine=entry.get("machine", ""),
        software="; ".join(sorted(f"{fact['component']} {fact['attribute']} {fact['value']}" for fact in releases)),
        engines=lab.get("engines"),
        published=bool(conditions),
        point_condition={point["id"]: point.get("condition", "") for point in points},
        conditions=conditions,
    )


def load_descriptions(folder: Path = SYSTEMS) -> dict[str, SystemDescription]:
    """Every reference system described under ``folder``, by id."""
    found = {}
    for path in sorted(folder.glob("*.toml")):
        with path.open("rb") as stream:
            description = describe(tomllib.load(stream))
        found[description.system_id] = description
    return found


def _is_release(fact: Mapping[str, Any]) -> bool:
    return fact["component"] == "software" or fact["attribute"] == "version"


def _published_at(point: Mapping[str, Any], figures: Mapping[str, Any]) -> dict[str, str]:
    wanted = condition_pairs(point.get("condition", "")).items()
    found = {
        figure["metric"]: figure["condition"]
        for figure in figures.get(point["table"], [])
        if wanted <= condition_pairs(figure["condition"]).items()
    }
    for extra in point.get("also", []):
        found[extra["metric"]] = extra["condition"]
    return found
