"""SMF 72 subtype 3: one record for every interval and service class or report class.

The sections' columns are made here for studies, printed figures and twins alike; those of twins are arrays.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from model.lab.construct import Cpu, IntervalData
from model.lab.records.common import Column, Record, Row, Setting, Timed, rmf_record
from model.published.plan import Region, ServiceClass

REPORT_CLASS = 0x80
POLICY = "LABPOL"
COEFFICIENT_ONE = 10_000
STATE_SAMPLING_MS = 250
GOAL_IN_MS = 0x80
AVERAGE_RESPONSE, VELOCITY, SYSTEM_GOAL = 0x40, 0x20, 0x08
US_PER_HUNDREDTH = 10_000
UNIT_US = 1024
SPEED_ONE, RATIO_ONE = 256, 1024
NOTHING = Cpu(0, 0, 0)


def workload_activity(setting: Setting, interval: IntervalData) -> Iterator[Record]:
    """The records of an interval of a study: service classes, then report classes.

    A group whose CPU is not published has no report class; the service class that holds its regions carries it.
    """
    plan = setting.plan
    groups = [group for group in plan.groups if group.name in interval.regions]
    for service in plan.service_classes:
        mine = [entry.report_class for entry in plan.transactions if entry.service_class == service.name]
        spaces = sum(_spaces(group.regions) for group in plan.groups if group.service_class == service.name)
        period = {
            **_goal(service),
            **_cpu(setting, interval.class_cpu(plan, service.name)),
            **_transactions(interval, mine),
            **_resident_spaces(interval, spaces),
        }
        yield class_record(setting, interval, service.name, service.workload, service.description, period)
    for entry in plan.transactions:
        period = _transactions(interval, [entry.report_class])
        yield class_record(
            setting, interval, entry.report_class, "", "Transactions", period, contributor=entry.service_class
        )
    for group in groups:
        period = {
            **_cpu(setting, interval.group_cpu(group) or NOTHING),
            **_resident_spaces(interval, _spaces(group.regions)),
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
    period: Row,
    contributor: str = "",
    policy: str = POLICY,
) -> Record:
    """The record of a class with one period; a class with a `contributor` is a report class."""
    control = class_control(
        setting, interval.length_ms, name, workload=workload, description=description, contributor=contributor,
        policy=policy,
    )  # fmt: skip
    return rmf_record(
        setting,
        "smf72_3",
        3,
        interval,
        control=[control],
        period=[{"r723cper": 1, "r723plsc": contributor, **period}],
    )


def class_control(
    setting: Setting,
    length_ms: int,
    name: Column,
    *,
    workload: Column = "",
    description: str = "",
    contributor: str = "",
    policy: str = POLICY,
    policy_description: str = "Policy of the rendered system",
    ziip_speed: int = SPEED_ONE,
) -> dict[str, Column]:
    """The control section of a class, or of many: each column one value, or one for each record."""
    adjustment = setting.rate.adjustment
    return {
        "r723mscf": REPORT_CLASS if contributor else 0,
        "r723mnsp": policy,
        "r723mdsp": policy_description,
        "r723mcpu": COEFFICIENT_ONE,
        "r723msrb": COEFFICIENT_ONE,
        "r723mtvl": STATE_SAMPLING_MS,
        "r723mtv_n": length_ms // STATE_SAMPLING_MS,
        "r723mwnm": workload,
        "r723mcnm": name,
        "r723mcde": description,
        "r723mcpg": 1,
        "r723madj": adjustment,
        "r723nadj": adjustment,
        "r723clsc": contributor,
        "r723nffi": SPEED_ONE,
        "r723nffs": ziip_speed,
        "r723mcf": RATIO_ONE,
        "r723cpa_actual": setting.software_adjustment,
        "r723cpa_scaling_factor": 1,
    }


def response_goal(goal_ms: Column, importance: Column) -> dict[str, Column]:
    """A goal of an average response."""
    return {"r723crgf": AVERAGE_RESPONSE, "r723crtf": GOAL_IN_MS, "r723cval": goal_ms, "r723cimp": importance}


def service_units(tcb: Column, srb: Column) -> dict[str, Column]:
    """Service units of CPU by kind, and their sum."""
    return {"r723ccpu": tcb, "r723csrb": srb, "r723csrv": tcb + srb}


def ended_times(ended: Column, elapsed_us: Column, squares_us2: Column) -> dict[str, Column]:
    """Ended transactions with the sums of their elapsed times and of the squares of these."""
    return {
        "r723crcp": ended,
        "r723ctetx": elapsed_us,
        "r723ctet": np.rint(elapsed_us / UNIT_US),
        "r723cetsx": np.rint(squares_us2),
        "r723cets": np.rint(squares_us2 / UNIT_US**2),
    }


def residency(time_us: Column) -> dict[str, Column]:
    """Time in storage, all of it active."""
    units = np.rint(time_us / UNIT_US)
    return {"r723ctrr": units, "r723ctat": units}


def _goal(service: ServiceClass) -> dict[str, Any]:
    goal = service.goal
    if "velocity" in goal:
        return {"r723crgf": VELOCITY, "r723cval": goal["velocity"], "r723cimp": service.importance}
    if "response_ms" in goal:
        return response_goal(goal["response_ms"], service.importance)
    return {"r723crgf": SYSTEM_GOAL}


def _cpu(setting: Setting, cpu: Cpu) -> dict[str, Any]:
    units = service_units(float(setting.service_units(cpu.tcb)), float(setting.service_units(cpu.srb)))
    return units | {"r723ciit": float(cpu.interrupt * US_PER_HUNDREDTH)}


def _transactions(interval: IntervalData, report_classes: list[str]) -> dict[str, Any]:
    """Ended transactions, and their elapsed times where all classes have one: sums, and squares as if exponential."""
    if not report_classes:
        return {}
    ended = sum(interval.ended[name] for name in report_classes)
    if ended and all(name in interval.elapsed_us for name in report_classes):
        elapsed_us = float(sum(interval.elapsed_us[name] for name in report_classes))
        return ended_times(ended, elapsed_us, 2.0 * elapsed_us * elapsed_us / ended)
    return {"r723crcp": ended}


def _resident_spaces(interval: IntervalData, spaces: int) -> dict[str, Any]:
    """Address spaces in storage and active all through the interval."""
    if not spaces:
        return {}
    return residency(spaces * interval.length_ms * 1000)


def _spaces(regions: tuple[Region, ...]) -> int:
    return sum(region.count for region in regions)
