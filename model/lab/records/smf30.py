"""SMF 30 subtype 2 of an interval: one record for every address space of the workload."""

from collections.abc import Iterator
from typing import Any

from model.lab.construct import Cpu, IntervalData
from model.lab.records.clock import tod
from model.lab.records.common import SYSTEM_FLAGS, WRITTEN_AFTER, Record, Setting
from model.published.plan import Group, Region

INTERVAL = 2
FIRST_ASID = 0x40
FIRST_JOB_NUMBER = 1001
COEFFICIENT_ONE = 10
UNIT_US = 1024


def address_spaces(setting: Setting, interval: IntervalData) -> Iterator[Record]:
    """The records of an interval, in the order of the plan.

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
    plan, clock = setting.plan, setting.clock
    written = interval.end + WRITTEN_AFTER
    initiated = clock.utc(plan.start_local.replace(hour=6, minute=0, second=0))
    header = {
        "smf30flg": SYSTEM_FLAGS,
        "smf30rty": 30,
        "smf30tme": clock.hundredths(written),
        "smf30dte": clock.day(written),
        "smf30sid": plan.smf_sid,
        "smf30wid": "STC",
        "smf30stp": INTERVAL,
    }
    subsystem = {
        "smf30typ": INTERVAL,
        "smf30rvn": "05",
        "smf30pnm": "SMF",
        "smf30osl": f"SP7.{plan.os_level[3]}.{plan.os_level[5]}",
        "smf30syn": plan.system_name,
        "smf30syp": plan.sysplex,
    }
    identification = {
        "smf30jbn": job,
        "smf30pgm": region.program,
        "smf30stm": job,
        "smf30jnm": f"STC{FIRST_JOB_NUMBER + number:05d}",
        "smf30stn": 1,
        "smf30sit": clock.hundredths(initiated),
        "smf30std": clock.day(initiated),
        "smf30rst": clock.hundredths(initiated),
        "smf30rsd": clock.day(initiated),
        "smf30iss_raw": tod(interval.start),
        "smf30iet_raw": tod(interval.end),
        "smf30asi": FIRST_ASID + number,
    }
    sections: dict[str, Any] = {"header": [header], "subsystem": [subsystem], "identification": [identification]}
    if cpu is not None:
        sections["cpu"] = [_processor(setting, interval, cpu)]
        sections["performance"] = [_performance(setting, interval, group, cpu)]
    return Record("smf30", sections)


def _processor(setting: Setting, interval: IntervalData, cpu: Cpu) -> dict[str, Any]:
    return {
        "smf30cpt": cpu.tcb,
        "smf30cps": cpu.srb,
        "smf30iip": cpu.interrupt,
        "smf30ist": setting.clock.hundredths(interval.start),
        "smf30idt": setting.clock.day(interval.start),
    }


def _performance(setting: Setting, interval: IntervalData, group: Group, cpu: Cpu) -> dict[str, Any]:
    tcb, srb = setting.service_units(cpu.tcb), setting.service_units(cpu.srb)
    resident = round(interval.length_ms * 1000 / UNIT_US)
    return {
        "smf30srv": tcb + srb,
        "smf30csu": tcb,
        "smf30srb": srb,
        "smf30srv_l": tcb + srb,
        "smf30csu_l": tcb,
        "smf30srb_l": srb,
        "smf30tat": resident,
        "smf30res": resident,
        "smf30sus": setting.rate.adjustment,
        "smf30wlm": group.workload,
        "smf30scn": group.service_class,
        "smf30rcn": group.report_class,
        "smf30cpc": COEFFICIENT_ONE,
        "smf30src": COEFFICIENT_ONE,
        "smf30snf": 256,
    }
