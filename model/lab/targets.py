"""Which reference systems can be rendered, and from printed figures to the values a point's records have to carry.

Published figures of a point are taken together (`model.lab.identities`). What records need beyond that is derived from
the plan's reference point and marked assumed: the busy time of a point that shows only CPU of its workload, and the CPU
of a workload that shows only its busy time, both by the workload's share of busy time at the reference point.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from model.lab.errors import LabError
from model.lab.identities import Misprint, Resolution, identities, resolve
from model.published import catalogue
from model.published.catalogue import Figure, System, targets_by_writer
from model.published.plan import Group, LabPlan, Point
from model.published.rules import ACTIVITY

BUSY = ("cpu_busy_pct", "lpar_busy_pct")
SUBSYSTEMS = "subsystems"
"""The made-up night with records of subsystems, which is no reference system."""


@dataclass(frozen=True, slots=True)
class Assumption:
    """A value no one published, and where it comes from."""

    metric: str
    value: float
    unit: str
    basis: str


@dataclass(frozen=True, slots=True)
class PointTargets:
    """What the records of one point have to add up to.

    CPU is in engines: CPU seconds per elapsed second. `groups` holds None for a group whose CPU is not published;
    `remainder` is the assumed CPU of all such groups together, by service class. `response_ms` is by report class.
    """

    point: Point
    figures: tuple[Figure, ...]
    etr: float
    busy: float
    workload: float
    overhead: float
    groups: Mapping[str, float | None]
    remainder: Mapping[str, float]
    response_ms: Mapping[str, float]
    misprints: tuple[Misprint, ...]
    assumptions: tuple[Assumption, ...]


def renderable() -> tuple[str, ...]:
    """Reference systems with at least one point that can be rendered, sorted."""
    return tuple(system_id for system_id in catalogue.systems() if has_content(catalogue.system(system_id)))


def has_content(system: System) -> bool:
    """Whether anything of a system can be rendered."""
    plan = system.lab
    return plan is not None and (
        any(why_not_rendered(system, point) is None for point in plan.points)
        or any(writer != ACTIVITY for _, _, writer in targets_by_writer(system))
    )


def point_figures(system: System, point: Point) -> tuple[Figure, ...]:
    """All figures of a point: those of its table under its condition, and the single ones named beside."""
    return system.select(point.table, point.condition) + tuple(
        figure
        for also in point.also
        for figure in system.select(also["table"], also["condition"], also["metric"])
        if figure.condition == also["condition"]
    )


def rendered_metrics(plan: LabPlan) -> frozenset[str]:
    """Metrics the lab knows how to write into records for this plan."""
    metrics = {metric for identity in identities(plan.engines) for metric in identity.metrics}
    metrics |= {group.figure for group in plan.groups}
    for entry in plan.transactions:
        metrics |= {metric for metric in (entry.response, entry.figure) if metric is not None}
    return frozenset(metrics)


def why_not_rendered(system: System, point: Point) -> str | None:
    """The reason a point cannot be rendered; None when it can."""
    plan = _plan(system)
    if not point.table:
        return "its figures are written one by one, not as CPU and workload activity"
    published = {figure.metric for figure in point_figures(system, point)}
    if "etr_tps" not in published:
        return "no rate is published for this point"
    if not published & set(BUSY) and not all(group.figure in published for group in plan.groups):
        return "only the rate of this point is known; no CPU value is"
    return None


def not_rendered(system: System) -> Iterator[tuple[Point, str]]:
    """Points of activity that cannot be rendered, with the reason."""
    for point in _plan(system).points:
        if point.table and (reason := why_not_rendered(system, point)) is not None:
            yield point, reason


def point_targets(system: System, point: Point) -> PointTargets:
    """Resolve a point. Raises LabError when it cannot be rendered or its products contradict."""
    reason = why_not_rendered(system, point)
    if reason is not None:
        raise LabError(f"{system.id} point {point.id}: {reason}")
    plan = _plan(system)
    figures = tuple(f for f in point_figures(system, point) if f.metric in rendered_metrics(plan))
    resolution = _resolved(system, point)
    values, etr = resolution.values, resolution.values["etr_tps"]
    groups = {group.name: _engines(system, group, values, etr) for group in plan.groups}
    group_cpu = sum(cpu for cpu in groups.values() if cpu is not None)
    busy, workload, assumptions = _busy_and_workload(system, values, groups)
    overhead = plan.capture_ratio.value * busy * plan.engines - workload
    if overhead < 0 or workload < group_cpu:
        raise LabError(
            f"{system.id} point {point.id}: the workload's CPU and the capture ratio do not fit its busy time"
        )
    printed = {figure.metric for figure in figures}
    assumptions += [
        Assumption(entry.figure, entry.share * etr, "tran/s", entry.source)
        for entry in plan.transactions
        if entry.figure is not None and entry.figure not in printed
    ]
    ratio = plan.capture_ratio
    return PointTargets(
        point=point,
        figures=figures,
        etr=etr,
        busy=busy,
        workload=workload,
        overhead=overhead,
        groups=groups,
        remainder=_remainder(plan, groups, workload - group_cpu),
        response_ms={
            entry.report_class: values[entry.response]
            for entry in plan.transactions
            if entry.response is not None and entry.response in values
        },
        misprints=resolution.misprints,
        assumptions=(*assumptions, Assumption("capture_ratio_pct", ratio.value * 100, "pct", ratio.source)),
    )


def reference_share(system: System) -> float:
    """The workload's share of busy time at the plan's reference point. LabError when that point does not show it."""
    reference = _plan(system).reference
    other = catalogue.system(reference.system)
    plan = _plan(other)
    values = _resolved(other, plan.point(reference.point)).values
    if "cpu_busy_pct" not in values or not all(group.figure in values for group in plan.groups):
        raise LabError(f"{system.id}: reference {reference.system} point {reference.point} lacks busy time or CPU")
    cpu = [_engines(other, group, values, values["etr_tps"]) for group in plan.groups]
    return sum(engines for engines in cpu if engines is not None) / (plan.engines * values["cpu_busy_pct"] / 100)


def cpu_in_unit(engines: float, unit: str, etr: float) -> float:
    """CPU in engines as a figure of the given unit. Raises LabError for a unit that is none of CPU."""
    if unit == "us/tran":
        return engines * 1e6 / etr
    if unit == "pct of one CP":
        return engines * 100
    raise LabError(f"no CPU unit: {unit!r}")


def _resolved(system: System, point: Point) -> Resolution:
    """The figures of a point taken together, beside those of the other points of its table."""
    plan = _plan(system)
    peers = [other for other in plan.points if other.id != point.id and other.table == point.table]
    return resolve(_printed(system, point), identities(plan.engines), [_printed(system, other) for other in peers])


def _busy_and_workload(
    system: System, values: Mapping[str, float], groups: Mapping[str, float | None]
) -> tuple[float, float, list[Assumption]]:
    """Busy time as a fraction and the workload's CPU in engines; one of them assumed where it is not published."""
    plan = _plan(system)
    where = f"{plan.reference.system} point {plan.reference.point}"
    group_cpu = sum(cpu for cpu in groups.values() if cpu is not None)
    if "cpu_busy_pct" not in values:
        busy = group_cpu / (plan.engines * reference_share(system))
        basis = f"workload CPU by its share of busy time at {where}"
        return busy, group_cpu, [Assumption("cpu_busy_pct", busy * 100, "pct", basis)]
    busy = values["cpu_busy_pct"] / 100
    if all(cpu is not None for cpu in groups.values()):
        return busy, group_cpu, []
    workload = busy * plan.engines * reference_share(system)
    basis = f"busy time by the workload's share of it at {where}"
    return busy, workload, [Assumption("workload_cpu_engines", workload, "engines", basis)]


def _engines(system: System, group: Group, values: Mapping[str, float], etr: float) -> float | None:
    """CPU of a group in engines; None when its figure neither is printed for this point nor follows from others."""
    if group.figure not in values:
        return None
    units = {figure.unit for figure in system.figures if figure.metric == group.figure}
    if len(units) != 1:
        raise LabError(f"{system.id}: {group.figure} stands in {len(units)} units")
    return values[group.figure] / cpu_in_unit(1.0, units.pop(), etr)


def _remainder(plan: LabPlan, groups: Mapping[str, float | None], engines: float) -> dict[str, float]:
    classes = {group.service_class for group in plan.groups if groups[group.name] is None}
    return {name: engines / len(classes) for name in sorted(classes)}


def _printed(system: System, point: Point) -> dict[str, str]:
    wanted = rendered_metrics(_plan(system))
    printed: dict[str, str] = {}
    for figure in point_figures(system, point):
        if figure.metric not in wanted:
            continue
        if figure.metric in printed:
            raise LabError(f"{system.id} point {point.id}: {figure.metric} is printed twice")
        printed[figure.metric] = figure.value
    return printed


def _plan(system: System) -> LabPlan:
    if system.lab is None:
        raise LabError(f"{system.id}: nothing says how to render it (no lab section)")
    return system.lab
