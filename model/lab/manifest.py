"""The render manifest: what was published, what was constructed, what was assumed, what was left out and why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from model.lab.construct import IntervalData
from model.lab.measure import Check
from model.lab.records.common import SOFTWARE_RATING, Setting
from model.lab.records.interface import Target
from model.lab.targets import PointTargets, not_rendered, why_not_rendered
from model.published.catalogue import Figure, System, contradiction, derived_rule
from model.published.printed import decimals

SCHEMA = "etalon-lab/1"
ASSUMED = "assumed"
NO_RECORD = "no record rendered so far carries it"
FOLLOWS = "follows from other figures"
CONTRADICTED = "the paper contradicts it"
COMPARISON = "compares two systems; it follows from the points of both"
WORDS = "a statement about the measurement, not a value of a point"


@dataclass(frozen=True, slots=True)
class RenderedPoint:
    """A point as it was rendered."""

    targets: PointTargets
    intervals: tuple[IntervalData, ...]
    checks: tuple[Check, ...]


def manifest(
    system: System,
    setting: Setting,
    points: Sequence[RenderedPoint],
    written: Sequence[Target],
    seed: int,
    files: Mapping[str, str],
) -> dict[str, Any]:
    """The manifest as plain values. `written` is what writers wrote; `files` maps file names to their SHA-256."""
    plan = setting.plan
    rendered = [_point(point) for point in points]
    done = {id(figure) for point in points for figure in point.targets.figures} | {id(t.figure) for t in written}
    left = [_left_out(system, figure) for figure in system.figures if id(figure) not in done]
    values = [value for point in rendered for value in point["values"]]
    return {
        "schema": SCHEMA,
        "system": system.id,
        "title": system.title,
        "study": system.study,
        "seed": seed,
        "smf_sid": plan.smf_sid,
        "sysplex": plan.sysplex,
        "engines": plan.engines,
        "service_units_per_s": _service_rate(setting),
        "files": dict(files),
        "summary": {
            "points": len({point.targets.point.id for point in points} | {target.point for target in written}),
            "values": len(values),
            "equal": sum(value["status"] == "equal" for value in values),
            "excepted": sum(value["status"] == "excepted" for value in values),
            "assumed": sum(len(point["assumed"]) for point in rendered),
            "written": len(written),
            "not_rendered": len(left),
        },
        "assumptions": [*plan.assumptions, *_rate_assumption(setting)],
        "points": rendered,
        "written": [_written(target) for target in written if target.figure.kind != ASSUMED],
        "written_assumed": [_written(target) for target in written if target.figure.kind == ASSUMED],
        "points_not_rendered": [
            {"point": point.id, "condition": point.condition, "reason": reason}
            for point, reason in not_rendered(system)
        ],
        "not_rendered": left,
    }


def _point(point: RenderedPoint) -> dict[str, Any]:
    targets, intervals = point.targets, point.intervals
    return {
        "point": targets.point.id,
        "title": targets.point.title,
        "condition": targets.point.condition,
        "start_utc": iso(intervals[0].start),
        "end_utc": iso(intervals[-1].end),
        "intervals": len(intervals),
        "values": [_value(check) for check in point.checks],
        "assumed": [
            {
                "metric": entry.metric,
                "value": entry.value,
                "unit": entry.unit,
                "basis": entry.basis,
                "status": "assumed",
            }
            for entry in targets.assumptions
        ],
        "groups_unknown": [name for name, cpu in targets.groups.items() if cpu is None],
    }


def _value(check: Check) -> dict[str, Any]:
    figure = check.figure
    return {
        "metric": figure.metric,
        "condition": figure.condition,
        "source": figure.source,
        "unit": figure.unit,
        "kind": figure.kind,
        "confidence": figure.confidence,
        "published": figure.value,
        "digits": decimals(figure.value),
        "constructed": check.constructed,
        "by_record": check.by_record,
        "reading": check.reading,
        "status": check.status,
        "note": check.note,
    }


def _left_out(system: System, figure: Figure) -> dict[str, Any]:
    if figure.kind == "statement":
        reason = WORDS
    elif figure.conditions.get("quantity", "value") != "value":
        reason = COMPARISON
    elif contradiction(system, figure) is not None:
        reason = CONTRADICTED
    elif derived_rule(system, figure) is not None:
        reason = FOLLOWS
    else:
        reason = NO_RECORD
        for point in system.lab.points if system.lab is not None else ():
            if figure in system.select(point.table, point.condition, figure.metric):
                reason = why_not_rendered(system, point) or reason
    return {
        "metric": figure.metric,
        "condition": figure.condition,
        "source": figure.source,
        "unit": figure.unit,
        "published": figure.value,
        "reason": reason,
    }


def _written(target: Target) -> dict[str, Any]:
    """A figure that a writer wrote into records or collector files, and where it has to come out of the marts."""
    figure = target.figure
    return {
        "point": target.point,
        "subject": target.subject,
        "mart_metric": target.metric,
        "factor": target.factor,
        "metric": figure.metric,
        "condition": figure.condition,
        "source": figure.source,
        "unit": figure.unit,
        "published": figure.value,
    }


def _service_rate(setting: Setting) -> float | None:
    if setting.machine is None and setting.plan.service_rate is None:
        return None
    return setting.rate.su_per_s


def _rate_assumption(setting: Setting) -> list[str]:
    if _service_rate(setting) is None:
        return []
    software = f"MSU: an engine is rated for software at {SOFTWARE_RATING:.2f} of its service units per second."
    rate = setting.rate
    if rate.confidence == "high":
        return [software]
    title = setting.machine.title if setting.machine is not None else "the machine"
    return [f"Service units per second of {title} with {setting.plan.engines} engines: {rate.source}.", software]


def iso(moment: datetime) -> str:
    """A UTC time as text."""
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"
