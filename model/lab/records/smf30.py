"""SMF 30: address spaces by interval (subtype 2), and batch steps (subtype 4).

The sections' columns are made here for studies and twins alike; those of twins are arrays.
"""

from collections.abc import Iterator
from datetime import date, datetime
from typing import Any

from model.lab.construct import Cpu, IntervalData
from model.lab.records.clock import Clock, tod
from model.lab.records.common import SYSTEM_FLAGS, WRITTEN_AFTER, Column, Record, Setting
from model.published.plan import Group, Region

INTERVAL, STEP_TOTAL = 2, 4
FIRST_ASID = 0x40
FIRST_JOB_NUMBER = 1001
COEFFICIENT_ONE = 10
UNIT_US = 1024


def address_spaces(setting: Setting, interval: IntervalData) -> Iterator[Record]:
    """The records of an interval of a study, in the order of the plan.

    An address space of a group whose CPU is not published has neither a processor nor a performance section.
    """
    number = 0
    for group in setting.plan.groups:
        for region in group.regions:
            for job in region.jobnames():
                cpu = interval.regions[group.name][job] if group.name in interval.regions else None
                yield _record(setting, interval, group, region, job, number, cpu)
                number += 1


def _record(
    setting: Setting, interval: IntervalData, group: Group, region: Region, job: str, number: int, cpu: Cpu | None
) -> Record:
    clock, plan = setting.clock, setting.plan
    initiated = clock.utc(plan.start_local.replace(hour=6, minute=0, second=0))
    sections: dict[str, Any] = {
        "header": [header(setting, *_local(clock, interval.end + WRITTEN_AFTER), INTERVAL, "STC")],
        "subsystem": [subsystem(setting, INTERVAL, os_level=f"SP7.{plan.os_level[3]}.{plan.os_level[5]}")],
        "identification": [
            {
                **identification(job, job, region.program, started_task(number), *_local(clock, initiated)),
                "smf30iss_raw": tod(interval.start),
                "smf30iet_raw": tod(interval.end),
                "smf30asi": FIRST_ASID + number,
            }
        ],
    }
    if cpu is not None:
        tcb, srb = setting.service_units(cpu.tcb), setting.service_units(cpu.srb)
        times = processor_times(*_local(clock, interval.start), cpu.tcb, cpu.srb) | {"smf30iip": cpu.interrupt}
        sections["cpu"] = [times]
        sections["performance"] = [
            {
                **performance(setting, interval.length_ms, tcb, srb, group.workload, group.service_class),
                "smf30srv": tcb + srb,
                "smf30csu": tcb,
                "smf30srb": srb,
                "smf30rcn": group.report_class,
            }
        ]
    return Record("smf30", sections)


def step(
    setting: Setting, job: str, program: str, number: int, start: datetime, end: datetime, excps: int, cpu: int
) -> Record:
    """The record of a batch step that ended (subtype 4); `cpu` in 1/100 s."""
    clock = setting.clock
    return Record(
        "smf30",
        {
            "header": [header(setting, *_local(clock, end), STEP_TOTAL, "JES2")],
            "subsystem": [subsystem(setting, STEP_TOTAL)],
            "identification": [identification(job, "STEP1", program, f"JOB{number + 1:05d}", *_local(clock, start))],
            "io": [{"smf30tep": excps, "smf30tex": excps}],
            "completion": [{"smf30scc": 0}],
            "cpu": [processor_times(*_local(clock, start), cpu)],
        },
    )


def header(setting: Setting, hundredths: Column, day: Column, subtype: int, work_type: str) -> dict[str, Column]:
    """The header of a record written at a local time of day."""
    return {
        "smf30flg": SYSTEM_FLAGS,
        "smf30rty": 30,
        "smf30tme": hundredths,
        "smf30dte": day,
        "smf30sid": setting.plan.smf_sid,
        "smf30wid": work_type,
        "smf30stp": subtype,
    }


def subsystem(setting: Setting, subtype: int, os_level: str = "") -> dict[str, Column]:
    """The subsystem section."""
    return {
        "smf30typ": subtype,
        "smf30rvn": "05",
        "smf30pnm": "SMF",
        "smf30osl": os_level,
        "smf30syn": setting.plan.system_name,
        "smf30syp": setting.plan.sysplex,
    }


def identification(
    job: Column, step_name: Column, program: Column, job_id: Column, hundredths: int, day: Any
) -> dict[str, Column]:
    """The identification section of a step that was initiated, and read in, at a local time of day."""
    return {
        "smf30jbn": job,
        "smf30pgm": program,
        "smf30stm": step_name,
        "smf30jnm": job_id,
        "smf30stn": 1,
        "smf30sit": hundredths,
        "smf30std": day,
        "smf30rst": hundredths,
        "smf30rsd": day,
    }


def processor_times(hundredths: Column, day: Column, tcb: Column, srb: Column = 0) -> dict[str, Column]:
    """The processor section of an interval from a local time of day; CPU in 1/100 s."""
    return {"smf30cpt": tcb, "smf30cps": srb, "smf30ist": hundredths, "smf30idt": day}


def performance(
    setting: Setting, length_ms: int, tcb: Column, srb: Column, workload: Column, service_class: Column
) -> dict[str, Column]:
    """The performance section of an address space that was there all the interval; CPU in service units."""
    resident = round(length_ms * 1000 / UNIT_US)
    return {
        "smf30srv_l": tcb + srb,
        "smf30csu_l": tcb,
        "smf30srb_l": srb,
        "smf30tat": resident,
        "smf30res": resident,
        "smf30sus": setting.rate.adjustment,
        "smf30wlm": workload,
        "smf30scn": service_class,
        "smf30cpc": COEFFICIENT_ONE,
        "smf30src": COEFFICIENT_ONE,
        "smf30snf": 256,
    }


def started_task(number: int) -> str:
    """Job identifier of an address space."""
    return f"STC{FIRST_JOB_NUMBER + number:05d}"


def _local(clock: Clock, time: datetime) -> tuple[int, date]:
    return clock.hundredths(time), clock.day(time)
