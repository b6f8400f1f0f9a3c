"""SMF 72 subtype 3 of an interval: one record for every service class and report class."""

from collections.abc import Iterator, Mapping
from typing import Any

from model.lab.construct import Cpu, IntervalData
from model.lab.records.common import Record, Setting, Timed, rmf_product, standard_header
from model.published.plan import Region, ServiceClass

REPORT_CLASS = 0x80
POLICY = "LABPOL"
COEFFICIENT_ONE = 10_000
STATE_SAMPLING_MS = 250
GOAL_IN_MS = 0x80
AVERAGE_RESPONSE, VELOCITY, SYSTEM_GOAL = 0x40, 0x20, 0x08
US_PER_HUNDREDTH = 10_000
UNIT_US = 1024
NOTHING = Cpu(0, 0, 0)


def workload_activity(setting: Setting, interval: IntervalData) -> Iterator[Record]:
    """The records of an interval: service classes, then report classes.

    A group whose CPU is not published has no report class; the service class that holds its regions carries it.
    """
    plan = setting.plan
    known = [group for group in plan.groups if group.name in interval.regions]
    for service in plan.service_classes:
        mine = [entry.report_class for entry in plan.transactions if entry.service_class == service.name]
        spaces = sum(_spaces(group.regions) for group in plan.groups if group.service_class == service.name)
        period = {
            **_goal(service),
            **_cpu(setting, interval.class_cpu(plan, service.name)),
            **_transactions(interval, mine),
            **_residency(interval, spaces),
        }
        yield class_record(setting, interval, service.name, service.workload, service.description, period)
    for entry in plan.transactions:
        period = _transactions(interval, [entry.report_class])
        yield class_record(
            setting, interval, entry.report_class, "", "Transactions", period, contributor=entry.service_class
        )
    for group in known:
        period = {
            **_cpu(setting, interval.group_cpu(group) or NOTHING),
            **_residency(interval, _spaces(group.regions)),
        }
        yield class_record(
            setting, interval, group.report_class, "", group.report_description, period, contributor=group.service_class
        )


def class_record(
    setting: Setting,
    interval: Timed,
    name: str,
    workload: str,
    description: str,
    period: Mapping[str, Any],
    contributor: str = "",
    policy: str = POLICY,
) -> Record:
    """The record of a class with one period; a class with a `contributor` is a report class."""
    adjustment = setting.rate.adjustment
    control = {
        "r723mscf": REPORT_CLASS if contributor else 0,
        "r723mnsp": policy,
        "r723mdsp": "Policy of the rendered system",
        "r723mcpu": COEFFICIENT_ONE,
        "r723msrb": COEFFICIENT_ONE,
        "r723mtvl": STATE_SAMPLING_MS,
        "r723mtv_n": interval.length_ms // STATE_SAMPLING_MS,
        "r723mwnm": workload,
        "r723mcnm": name,
        "r723mcde": description,
        "r723mcpg": 1,
        "r723madj": adjustment,
        "r723nadj": adjustment,
        "r723clsc": contributor,
        "r723nffi": 256,
        "r723nffs": 256,
        "r723mcf": 1024,
        "r723cpa_actual": setting.software_adjustment,
        "r723cpa_scaling_factor": 1,
    }
    return Record(
        "smf72_3",
        {
            "header": [standard_header(setting, "smf72", 72, 3, interval.end)],
            "product": [rmf_product(setting, "smf72", interval)],
            "control": [control],
            "period": [{"r723cper": 1, "r723plsc": contributor, **period}],
        },
    )


def _goal(service: ServiceClass) -> dict[str, Any]:
    goal = service.goal
    if "velocity" in goal:
        return {"r723crgf": VELOCITY, "r723cval": goal["velocity"], "r723cimp": service.importance}
    if "response_ms" in goal:
        return {
            "r723crgf": AVERAGE_RESPONSE,
            "r723crtf": GOAL_IN_MS,
            "r723cval": goal["response_ms"],
            "r723cimp": service.importance,
        }
    return {"r723crgf": SYSTEM_GOAL}


def _cpu(setting: Setting, cpu: Cpu) -> dict[str, Any]:
    tcb, srb = setting.service_units(cpu.tcb), setting.service_units(cpu.srb)
    return {
        "r723ccpu": float(tcb),
        "r723csrb": float(srb),
        "r723csrv": float(tcb + srb),
        "r723ciit": float(cpu.interrupt * US_PER_HUNDREDTH),
    }


def _transactions(interval: IntervalData, report_classes: list[str]) -> dict[str, Any]:
    """Ended transactions, and their elapsed times where all classes have one: sums, and squares as if exponential."""
    if not report_classes:
        return {}
    ended = sum(interval.ended[name] for name in report_classes)
    row: dict[str, Any] = {"r723crcp": ended}
    if ended and all(name in interval.elapsed_us for name in report_classes):
        elapsed_us = sum(interval.elapsed_us[name] for name in report_classes)
        squares = 2.0 * elapsed_us * elapsed_us / ended
        row |= {
            "r723ctetx": float(elapsed_us),
            "r723ctet": float(round(elapsed_us / UNIT_US)),
            "r723cetsx": float(round(squares)),
            "r723cets": float(round(squares / UNIT_US**2)),
        }
    return row


def _residency(interval: IntervalData, spaces: int) -> dict[str, Any]:
    """Address spaces in storage and active all through the interval."""
    if not spaces:
        return {}
    units = float(round(spaces * interval.length_ms * 1000 / UNIT_US))
    return {"r723ctrr": units, "r723ctat": units}


def _spaces(regions: tuple[Region, ...]) -> int:
    return sum(region.count for region in regions)
