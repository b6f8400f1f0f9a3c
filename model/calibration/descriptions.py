"""What calibration needs to know of a system besides its points: its relatives, and what was published."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from model.published import catalogue
from model.published.catalogue import System
from model.published.plan import Point

# The CPU activity report's own name for what the marts call CPU busy.
ALIASES = {"cpu_busy_pct": ("cpu_busy_pct", "lpar_busy_pct")}


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


def describe(system: System) -> SystemDescription:
    """What calibration uses of a reference system."""
    points = system.lab.points if system.lab is not None else ()
    conditions = {point.id: _published_at(system, point) for point in points if point.table}
    releases = [fact for fact in system.facts if fact.component == "software" or fact.attribute == "version"]
    return SystemDescription(
        system_id=system.id,
        workload=system.workload.id if system.workload is not None else "",
        machine=system.machine or "",
        software="; ".join(sorted(f"{fact.component} {fact.attribute} {fact.value}" for fact in releases)),
        engines=system.lab.engines or None if system.lab is not None else None,
        published=bool(conditions),
        point_condition={point.id: point.condition for point in points},
        conditions=conditions,
    )


def load_descriptions() -> dict[str, SystemDescription]:
    """Every reference system, by id."""
    return {name: describe(catalogue.system(name)) for name in catalogue.systems()}


def _published_at(system: System, point: Point) -> dict[str, str]:
    found = {figure.metric: figure.condition for figure in system.select(point.table, point.condition)}
    return found | {metric: condition for _, condition, metric in point.also}
