"""The `lab` section of a reference system: how its measurement is rendered as records.

Everything here is scenery around the measured figures: names, times, classes, goals, the split of a group's CPU over
its regions. It is kept as data so that a reader sees what was assumed; `assumptions` says it in words.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from model.published.values import (
    Assumed,
    Contradiction,
    DerivedRule,
    RuleError,
    ValueRule,
    read_rules,
)

DEFAULT_LEVEL = "ZV010800"


class PlanError(ValueError):
    """A lab section is incomplete or contradicts itself; the message says where."""


@dataclass(frozen=True, slots=True)
class Borrowed:
    """A number taken from elsewhere, with where and how sure."""

    value: float
    source: str
    confidence: str


@dataclass(frozen=True, slots=True)
class Reference:
    """The measured point whose share of workload CPU in busy time stands in where a point does not show its own."""

    system: str
    point: str


@dataclass(frozen=True, slots=True)
class Point:
    """One measured point: the figures of `table` under `condition`, and single figures of other tables (`also`).

    A point without a table has no CPU and workload activity of its own; what it holds is said by the value rules.
    `intervals` and `length_ms` (of one interval) replace those of the plan, 0 where they do not; `settings` is what
    writers have to know of it that no figure says (assumed, and explained in `assumptions`).
    """

    id: str
    table: str
    condition: str
    title: str
    also: tuple[tuple[str, str, str], ...] = ()
    intervals: int = 0
    length_ms: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ServiceClass:
    """A WLM service class. The goal is `{"velocity": %}`, `{"response_ms": ms}` or `{"system": true}`.

    `overhead_weight` is its share of the captured CPU outside the workload's groups.
    """

    name: str
    workload: str
    description: str
    importance: int
    goal: Mapping[str, Any]
    overhead_weight: float = 0.0


@dataclass(frozen=True, slots=True)
class TransactionClass:
    """A report class counting a share of the transactions.

    `response` names the figure of their response time, in ms; `name` says what they are called, and `figure` which
    figure gives their rate.
    """

    report_class: str
    service_class: str
    share: float
    source: str
    confidence: str
    name: str | None = None
    figure: str | None = None
    response: str | None = None


@dataclass(frozen=True, slots=True)
class Region:
    """Address spaces of one kind; `#` in the job name stands for the digits of their ordinal from 1."""

    jobname: str
    program: str
    weight: float
    count: int = 1

    def jobnames(self) -> tuple[str, ...]:
        """Job names of all its address spaces."""
        digits = self.jobname.count("#")
        if not digits:
            return (self.jobname,)
        return tuple(self.jobname.replace("#" * digits, f"{i:0{digits}d}") for i in range(1, self.count + 1))


@dataclass(frozen=True, slots=True)
class Group:
    """An address-space group: its regions, its classes, and the name of the figure that gives its CPU."""

    name: str
    figure: str
    workload: str
    service_class: str
    report_class: str
    report_description: str
    regions: tuple[Region, ...]


@dataclass(frozen=True, slots=True)
class Variation:
    """Relative standard deviation from interval to interval of the rate and of the CPU per transaction."""

    rate: float
    cost: float


@dataclass(frozen=True, slots=True)
class LabPlan:
    """All of the `lab` section. `reports`: whether RMF reports of the records are rendered beside them."""

    smf_sid: str
    sysplex: str
    system_name: str
    lpar_name: str
    os_level: str
    start_local: datetime
    utc_offset_hours: float
    intervals: int
    interval_s: int
    engines: int
    variation: Variation
    capture_ratio: Borrowed
    reference: Reference
    assumptions: tuple[str, ...]
    points: tuple[Point, ...]
    service_classes: tuple[ServiceClass, ...]
    transactions: tuple[TransactionClass, ...]
    groups: tuple[Group, ...]
    service_rate: Borrowed | None = None
    values: tuple[ValueRule, ...] = ()
    derived: tuple[DerivedRule, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    assumed: tuple[Assumed, ...] = ()
    reports: bool = False

    def point(self, point_id: str) -> Point:
        """The point of this identity; PlanError when there is none."""
        for point in self.points:
            if point.id == point_id:
                return point
        raise PlanError(f"no point {point_id!r}; known: {', '.join(p.id for p in self.points)}")


def read_plan(content: Mapping[str, Any]) -> LabPlan:
    """The plan a `lab` section describes; PlanError, KeyError or TypeError when it does not describe one."""
    reference = content.get("reference")
    try:
        plan = LabPlan(
            **{name: content[name] for name in ("smf_sid", "start_local", "intervals", "interval_s")},
            **{name: content.get(name, content["smf_sid"]) for name in ("sysplex", "system_name", "lpar_name")},
            os_level=content.get("os_level", DEFAULT_LEVEL),
            utc_offset_hours=content.get("utc_offset_hours", 0),
            engines=content.get("engines", 0),
            variation=Variation(**content.get("variation", {"rate": 0.0, "cost": 0.0})),
            capture_ratio=_borrowed(content, "capture_ratio") or Borrowed(1.0, "", "low"),
            reference=Reference(**reference) if reference else Reference("", ""),
            assumptions=tuple(content["assumptions"]),
            points=tuple(_point(entry) for entry in content["points"]),
            service_classes=tuple(ServiceClass(**entry) for entry in content.get("service_classes", ())),
            transactions=tuple(
                TransactionClass(**{**entry, "share": float(entry["share"])})
                for entry in content.get("transactions", ())
            ),
            groups=tuple(
                Group(**{**entry, "regions": tuple(Region(**region) for region in entry["regions"])})
                for entry in content.get("groups", ())
            ),
            service_rate=_borrowed(content, "service_rate"),
            values=read_rules(ValueRule, content.get("values", [])),
            derived=read_rules(DerivedRule, content.get("derived", [])),
            contradictions=read_rules(Contradiction, content.get("contradictions", [])),
            assumed=tuple(Assumed(**entry) for entry in content.get("assumed", ())),
            reports=bool(content.get("reports", False)),
        )
    except RuleError as error:
        raise PlanError(f"lab: {error}") from error
    _check(plan)
    return plan


def _borrowed(content: Mapping[str, Any], name: str) -> Borrowed | None:
    entry = content.get(name)
    return Borrowed(float(entry["value"]), entry["source"], entry["confidence"]) if entry else None


def _point(entry: Mapping[str, Any]) -> Point:
    also = tuple((more["table"], more["condition"], more["metric"]) for more in entry.get("also", ()))
    return Point(
        id=entry["id"],
        table=entry.get("table", ""),
        condition=entry.get("condition", ""),
        title=entry["title"],
        also=also,
        intervals=entry.get("intervals", 0),
        length_ms=entry.get("length_ms", 0),
        settings=entry.get("settings", {}),
    )


def _check(plan: LabPlan) -> None:
    names = {service.name for service in plan.service_classes}
    used = {group.service_class for group in plan.groups} | {entry.service_class for entry in plan.transactions}
    if not used <= names:
        raise PlanError(f"lab: no service class {', '.join(sorted(used - names))}")
    if plan.transactions and abs(sum(entry.share for entry in plan.transactions) - 1) > 1e-9:
        raise PlanError("lab: the shares of the transaction classes do not add up to 1")
    if len(plan.smf_sid) != 4:
        raise PlanError(f"lab: smf_sid {plan.smf_sid!r} is not of 4 characters")
    jobs = [job for group in plan.groups for region in group.regions for job in region.jobnames()]
    if len(jobs) != len(set(jobs)) or any(len(job) > 8 for job in jobs):
        raise PlanError("lab: job names repeat or are longer than 8 characters")
    described = [entry.description for entry in plan.service_classes] + [g.report_description for g in plan.groups]
    if any(len(text) > 32 for text in described):
        raise PlanError("lab: a class description is longer than 32 characters")
    if len({point.id for point in plan.points}) != len(plan.points):
        raise PlanError("lab: point identities repeat")
