"""The `lab` section of a reference system: how its measurement is rendered as records.

Nothing here was measured: names, times, classes, goals, the split of a group's CPU over its regions. It is data, so
that a reader sees what was assumed; `assumptions` lists the assumptions.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from model.published.rules import STRICT, Assumed, Contradiction, DerivedRule, ValueRule

DEFAULT_LEVEL = "ZV010800"


@dataclass(frozen=True, slots=True)
class Borrowed:
    """A number taken from elsewhere, with where and how sure."""

    __pydantic_config__ = STRICT

    value: float
    source: str
    confidence: str


@dataclass(frozen=True, slots=True)
class Reference:
    """The measured point whose share of workload CPU in busy time stands in where a point does not show its own."""

    __pydantic_config__ = STRICT

    system: str
    point: str


@dataclass(frozen=True, slots=True)
class Point:
    """One measured point: the figures of `table` under `condition`, and single figures of other tables (`also`).

    A point without a table has no CPU and workload activity of its own; what it holds is said by the value rules.
    `intervals` and `length_ms` (of one interval) replace those of the plan, 0 where they do not; `settings` is what
    writers have to know of it that no figure says (assumed, and explained in `assumptions`).
    """

    __pydantic_config__ = STRICT

    id: str
    table: str = ""
    condition: str = ""
    title: str = ""
    also: tuple[Mapping[str, str], ...] = ()
    intervals: int = 0
    length_ms: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ServiceClass:
    """A WLM service class. The goal is `{"velocity": %}`, `{"response_ms": ms}` or `{"system": true}`.

    `overhead_weight` is its share of the captured CPU outside the workload's groups.
    """

    __pydantic_config__ = STRICT

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

    __pydantic_config__ = STRICT

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

    __pydantic_config__ = STRICT

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

    __pydantic_config__ = STRICT

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

    __pydantic_config__ = STRICT

    rate: float
    cost: float


@dataclass(frozen=True, slots=True)
class LabPlan:
    """All of the `lab` section. `reports`: whether RMF reports of the records are rendered beside them."""

    __pydantic_config__ = STRICT

    smf_sid: str
    sysplex: str
    system_name: str
    lpar_name: str
    start_local: datetime
    intervals: int
    interval_s: int
    assumptions: tuple[str, ...]
    points: tuple[Point, ...]
    os_level: str = DEFAULT_LEVEL
    utc_offset_hours: float = 0.0
    engines: int = 0
    variation: Variation = field(default_factory=lambda: Variation(0.0, 0.0))
    capture_ratio: Borrowed = field(default_factory=lambda: Borrowed(1.0, "", "low"))
    reference: Reference = field(default_factory=lambda: Reference("", ""))
    service_classes: tuple[ServiceClass, ...] = ()
    transactions: tuple[TransactionClass, ...] = ()
    groups: tuple[Group, ...] = ()
    service_rate: Borrowed | None = None
    values: tuple[ValueRule, ...] = ()
    derived: tuple[DerivedRule, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    assumed: tuple[Assumed, ...] = ()
    reports: bool = False

    def point(self, point_id: str) -> Point:
        """The point of this identity; ValueError when there is none."""
        for point in self.points:
            if point.id == point_id:
                return point
        raise ValueError(f"no point {point_id!r}; there are {', '.join(point.id for point in self.points)}")

    def __post_init__(self) -> None:
        names = {service.name for service in self.service_classes}
        used = {group.service_class for group in self.groups} | {entry.service_class for entry in self.transactions}
        jobs = [job for group in self.groups for region in group.regions for job in region.jobnames()]
        described = [one.description for one in self.service_classes] + [g.report_description for g in self.groups]
        faults = {
            f"no service class {', '.join(sorted(used - names))}": not used <= names,
            "the shares of the transaction classes do not add up to 1": bool(self.transactions)
            and abs(sum(entry.share for entry in self.transactions) - 1) > 1e-9,
            f"smf_sid {self.smf_sid!r} is not of 4 characters": len(self.smf_sid) != 4,
            "job names repeat or are longer than 8 characters": len(jobs) != len(set(jobs))
            or any(len(job) > 8 for job in jobs),
            "a class description is longer than 32 characters": any(len(text) > 32 for text in described),
            "point identities repeat": len({point.id for point in self.points}) != len(self.points),
        }
        for fault, applies in faults.items():
            if applies:
                raise ValueError(f"lab: {fault}")


@cache
def _adapter() -> TypeAdapter[LabPlan]:
    return TypeAdapter(LabPlan)


def read_plan(content: Mapping[str, Any]) -> LabPlan:
    """The plan of a `lab` section; ValueError when it does not describe one."""
    names = dict.fromkeys(("sysplex", "system_name", "lpar_name"), content.get("smf_sid"))
    return _adapter().validate_python({**names, **content})
