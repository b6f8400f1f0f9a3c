"""SMF 72 subtype 3: one record for every interval and service class or report class, of studies and twins.

Records of twins also have the response distribution and state samples. Functions that make columns take one value, or
an array of one for each record.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from model.lab.construct import Cpu, IntervalData
from model.lab.records.common import Column, Record, Row, Setting, Timed, rmf_record
from model.lab.records.tables import Columns, Frame
from model.published.plan import Region, ServiceClass

if TYPE_CHECKING:
    from model.lab.twin.measured import Measured
    from model.network import Network


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
BUCKET_LIMITS_PCT = (50, 60, 70, 80, 90, 100, 110, 120, 130, 140, 150, 200, 400)
"""Upper limits of the buckets of response times, in percent of the goal; a last bucket has none."""


def study_workload_activity(setting: Setting, interval: IntervalData) -> Iterator[Record]:
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


SRB_SHARE, INTERRUPT_SHARE = 0.08, 0.02
"""Parts of a class's CP time that are accounted as SRB and I/O interrupt time; the rest is TCB time."""
IO_UNIT_US = 128
NO_LIMIT_PCT = 2**31 - 1
BEGIN_TO_END = 0x80
QUEUE_KINDS = ("region", "initiator")
NAMED_DELAYS, DELAY_NAME_LENGTH = 15, 16


@dataclass(frozen=True, slots=True)
class States:
    """Samples of work states: every 250 ms each transaction inside is found in one."""

    random: np.random.Generator

    def __call__(self, seconds: np.ndarray) -> np.ndarray:
        """Samples that find work in a state in which it spends `seconds` in all."""
        return self.random.poisson(np.maximum(seconds, 0) * 1000 / STATE_SAMPLING_MS)


def workload_activity(
    columns: Columns, frame: Frame, record: np.ndarray, network: Network, m: Measured, random: np.random.Generator
) -> None:
    """One record of each interval and class; `record` (I, C) says where."""
    rate = frame.setting.rate
    cp, ziip = network.station(m.lpar.cp), network.station(m.lpar.ziip) if m.lpar.ziip else None
    faster = round(SPEED_ONE * ziip.speeds[0] / cp.speeds[0]) if ziip is not None else SPEED_ONE
    gain = ziip.smt.gain if ziip is not None and ziip.smt is not None else 1.0
    shape, at = record.shape, record.ravel()
    frame.header(columns, "smf72_3", "smf72", (72, 3), record)

    def tiled(values: tuple[object, ...]) -> list[object]:
        return list(values) * shape[0]

    control = class_control(
        frame.setting, frame.spans[0].length_ms, tiled(m.service_classes),
        workload=tiled(tuple(w.upper() for w in m.workloads)), policy_description="Policy of the twin",
        ziip_speed=faster,
    )  # fmt: skip
    columns.add("smf72_3_control", at, control | {"r723mcfs": round(RATIO_ONE * gain)})
    units = {
        "ziip": m.ziip_s * rate.su_per_s,
        "on_cp": m.ziip_on_cp_s * rate.su_per_s,
        "srb": m.cp_s * SRB_SHARE * rate.su_per_s,
        "tcb": m.cp_s * (1 - SRB_SHARE - INTERRUPT_SHARE) * rate.su_per_s,
    }
    cpu = units["tcb"] + units["ziip"] * faster / SPEED_ONE
    queued = _waiting(network, m, QUEUE_KINDS)
    states = tuple(int(subsystem != "") for subsystem in m.subsystems)
    period = {
        "r723cper": 1, "r723crtx": 1, "r723cwmx": tiled(states), "r723cwmn": tiled(states),
        **response_goal(tiled(m.goals_ms), tiled(m.importances)), "r723rtdm": tiled(m.goals_ms),
        **service_units(cpu, units["srb"]), "r723csup": units["ziip"],
        "r723csuc": units["on_cp"], "r723ciit": m.cp_s * INTERRUPT_SHARE * 1e6,
        **ended_times(m.ended, m.elapsed_s * 1e6, m.squares_s2 * 1e12), **residency(m.elapsed_s * 1e6),
        "r723cqdtx": queued * 1e6, "r723cqdt": np.rint(queued * 1e6 / UNIT_US), "r723circ": np.rint(m.ios),
        "r723cict": m.io_using_s * 1e6 / IO_UNIT_US, "r723ciot": m.io_waiting_s * 1e6 / IO_UNIT_US,
        **_states(m, queued, States(random)),
    }  # fmt: skip
    flat = {name: value.ravel() if isinstance(value, np.ndarray) else value for name, value in period.items()}
    columns.add("smf72_3_period", at, flat)
    limits = [*BUCKET_LIMITS_PCT, NO_LIMIT_PCT]
    columns.add("smf72_3_response_distribution", at, {"r723trdb": _lists(np.tile(limits, (len(at), 1)))}, 0)
    counts = m.buckets.reshape(len(at), -1)
    columns.add("smf72_3_response_distribution", at, {"r723trdb": _lists(counts)}, 1)
    for c, subsystem in enumerate(m.subsystems):
        if subsystem:
            _reported(columns, record[:, c], c, m, States(random))


def _states(m: Measured, queued: np.ndarray, samples: States) -> dict[str, np.ndarray]:
    """Samples of the period section: using and delay by engine type and I/O, idle users, and their sums."""
    using = {
        "r723ccus": samples(m.cp_s), "r723supu": samples(m.ziip_s), "r723sucu": samples(m.ziip_on_cp_s),
        "r723ciou": samples(m.io_using_s),
    }  # fmt: skip
    delay = {
        "r723ccde": samples(m.cp_waiting_s), "r723supd": samples(m.ziip_waiting_s), "r723ciod": samples(m.io_waiting_s),
        "r723cq": samples(queued),
    }  # fmt: skip
    all_using = using["r723ccus"] + using["r723supu"] + using["r723ciou"]
    all_delay = sum(delay.values())
    unknown, idle = samples(m.elsewhere_s), samples(m.idle_s)
    return {
        **using, **delay, "r723ctou": all_using, "r723ctot": all_delay, "r723ctdq": all_delay, "r723cunk": unknown,
        "r723cidl": idle, "r723ctsa": (all_using + all_delay + unknown + idle).astype(float),
    }  # fmt: skip


def _reported(columns: Columns, at: np.ndarray, c: int, m: Measured, samples: States) -> None:
    """What its transaction manager says of a class's states: working, ready, and waiting for I/O or a limit by name.

    A subsystem names its limits in the records of all its classes; work of others has no such sections.
    """
    working, ready = samples(m.working_s[:, c]), samples(m.ready_s[:, c])
    io, other = samples(m.io_states_s[:, c]), samples(m.elsewhere_s[:, c])
    named = np.flatnonzero(m.names[c])[:NAMED_DELAYS]
    waits = [samples(m.resource_waiting_s[:, c, r]) for r in named]
    kind = m.subsystems[c]
    states = {
        "r723rtyp": kind, "r723rflg": BEGIN_TO_END, "r723ress": sum(waits, working + ready + io + other),
        "r723ract": working, "r723rrdy": ready, "r723rwio": io, "r723rwo": other,
        "r723rdnx": int(len(named) > 0), "r723rdnn": len(named),
        **{f"r723rw{i + 1:02d}": waited for i, waited in enumerate(waits)},
    }  # fmt: skip
    columns.add("smf72_3_resource_state", at, states)
    for i, r in enumerate(named):
        name = m.resources[r][:DELAY_NAME_LENGTH]
        columns.add("smf72_3_delay_name", at, {"r723dnst": kind, "r723dnnu": i + 1, "r723dnde": name}, i)


def _waiting(network: Network, m: Measured, kinds: tuple[str, ...]) -> np.ndarray:
    """Seconds of waiting for resources of these kinds, (I, C)."""
    chosen = [r for r, resource in enumerate(network.resources) if resource.kind in kinds]
    return m.resource_waiting_s[:, :, chosen].sum(axis=2)


def _lists(values: np.ndarray) -> pa.Array:
    flat = pa.array(values.ravel().astype(np.uint32))
    return pa.FixedSizeListArray.from_arrays(flat, values.shape[1])
