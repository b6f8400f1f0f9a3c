"""SMF 30: address spaces by interval (subtype 2), of studies and twins, and batch steps (subtype 4).

Batch steps carry `elapsed_s` (from the start of the first step to the end of the last), `excps` and `cpu_s` of all
steps together. Options: `jobs` (how many, one step each), `parallel` (how many at a time), `prefix` (of the job names),
`program` and `start_after_s`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from model.lab.construct import Cpu, IntervalData
from model.lab.errors import LabError
from model.lab.records.common import SYSTEM_FLAGS, WRITTEN_AFTER, Clock, Column, Record, Setting, tod
from model.lab.records.interface import Output, Target, Window
from model.lab.records.smf72_3 import INTERRUPT_SHARE, SRB_SHARE
from model.lab.records.tables import Columns, Frame
from model.lab.samples import spread_total
from model.published.plan import Group, Region

if TYPE_CHECKING:
    from model.lab.twin.measured import Measured


INTERVAL, STEP_TOTAL = 2, 4
FIRST_ASID = 0x40
FIRST_JOB_NUMBER = 1001
COEFFICIENT_ONE = 10
UNIT_US = 1024


def study_address_spaces(setting: Setting, interval: IntervalData) -> Iterator[Record]:
    """The records of an interval of a study, in the order of the plan.

    An address space of a group whose CPU is not published has neither a processor nor a _performance section.
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
        "header": [_header(setting, *_local_time(clock, interval.end + WRITTEN_AFTER), INTERVAL, "STC")],
        "subsystem": [_subsystem(setting, INTERVAL, os_level=f"SP7.{plan.os_level[3]}.{plan.os_level[5]}")],
        "identification": [
            {
                **_identification(job, job, region.program, _started_task(number), *_local_time(clock, initiated)),
                "smf30iss_raw": tod(interval.start),
                "smf30iet_raw": tod(interval.end),
                "smf30asi": FIRST_ASID + number,
            }
        ],
    }
    if cpu is not None:
        tcb, srb = setting.service_units(cpu.tcb), setting.service_units(cpu.srb)
        times = _processor_times(*_local_time(clock, interval.start), cpu.tcb, cpu.srb) | {"smf30iip": cpu.interrupt}
        sections["cpu"] = [times]
        sections["performance"] = [
            {
                **_performance(setting, interval.length_ms, tcb, srb, group.workload, group.service_class),
                "smf30srv": tcb + srb,
                "smf30csu": tcb,
                "smf30srb": srb,
                "smf30rcn": group.report_class,
            }
        ]
    return Record("smf30", sections)


def _step(
    setting: Setting, job: str, program: str, number: int, start: datetime, end: datetime, excps: int, cpu: int
) -> Record:
    """The record of a batch _step that ended (subtype 4); `cpu` in 1/100 s."""
    clock, job_id = setting.clock, f"JOB{number + 1:05d}"
    return Record(
        "smf30",
        {
            "header": [_header(setting, *_local_time(clock, end), STEP_TOTAL, "JES2")],
            "subsystem": [_subsystem(setting, STEP_TOTAL)],
            "identification": [_identification(job, "STEP1", program, job_id, *_local_time(clock, start))],
            "io": [{"smf30tep": excps, "smf30tex": excps}],
            "completion": [{"smf30scc": 0}],
            "cpu": [_processor_times(*_local_time(clock, start), cpu)],
        },
    )


def _header(setting: Setting, hundredths: Column, day: Column, subtype: int, work_type: str) -> dict[str, Column]:
    """The _header of a record written at a local time of day."""
    return {
        "smf30flg": SYSTEM_FLAGS,
        "smf30rty": 30,
        "smf30tme": hundredths,
        "smf30dte": day,
        "smf30sid": setting.plan.smf_sid,
        "smf30wid": work_type,
        "smf30stp": subtype,
    }


def _subsystem(setting: Setting, subtype: int, os_level: str = "") -> dict[str, Column]:
    """The _subsystem section."""
    return {
        "smf30typ": subtype,
        "smf30rvn": "05",
        "smf30pnm": "SMF",
        "smf30osl": os_level,
        "smf30syn": setting.plan.system_name,
        "smf30syp": setting.plan.sysplex,
    }


def _identification(
    job: Column, step_name: Column, program: Column, job_id: Column, hundredths: int, day: Any
) -> dict[str, Column]:
    """The _identification section of a _step that was initiated, and read in, at a local time of day."""
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


def _processor_times(hundredths: Column, day: Column, tcb: Column, srb: Column = 0) -> dict[str, Column]:
    """The processor section of an interval from a local time of day; CPU in 1/100 s."""
    return {"smf30cpt": tcb, "smf30cps": srb, "smf30ist": hundredths, "smf30idt": day}


def _performance(
    setting: Setting, length_ms: int, tcb: Column, srb: Column, workload: Column, service_class: Column
) -> dict[str, Column]:
    """The _performance section of an address space that was there all the interval; CPU in service units."""
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


def _started_task(number: int) -> str:
    """Job identifier of an address space."""
    return f"STC{FIRST_JOB_NUMBER + number:05d}"


def _local_time(clock: Clock, time: datetime) -> tuple[int, date]:
    return clock.hundredths(time), clock.day(time)


HUNDREDTHS = 100
JOB_SPREAD = 0.08
START_AFTER_S = 10
TEN_MS = timedelta(milliseconds=10)


def steps(setting: Setting, window: Window, targets: Sequence[Target], random: np.random.Generator) -> Output:
    """A record for every step; those of one initiator follow each other without a gap."""
    wanted = {target.metric: target for target in targets}
    if not set(wanted) <= {"elapsed_s", "excps", "cpu_s"}:
        raise LabError(f"batch steps cannot write {', '.join(wanted)}")
    options = targets[0].options
    jobs, parallel = int(options.get("jobs", 1)), int(options.get("parallel", 1))
    elapsed = round(wanted["elapsed_s"].value * HUNDREDTHS) if "elapsed_s" in wanted else _room_hundredths(window)
    excps = spread_total(random, round(wanted["excps"].value) if "excps" in wanted else 0, jobs, JOB_SPREAD)
    cpu = spread_total(random, round(wanted["cpu_s"].value * HUNDREDTHS) if "cpu_s" in wanted else 0, jobs, JOB_SPREAD)
    begin = window.start + timedelta(seconds=START_AFTER_S)
    if begin + elapsed * TEN_MS > window.end:
        raise LabError(f"the point is shorter than {elapsed / HUNDREDTHS} s and {START_AFTER_S} s before it")
    steps: list[tuple[datetime, int, datetime]] = []
    for initiator in range(parallel):
        numbers = range(initiator, jobs, parallel)
        start = begin
        for number, length in zip(numbers, spread_total(random, elapsed, len(numbers), JOB_SPREAD), strict=True):
            end = start + length * TEN_MS
            steps.append((end, number, start))
            start = end
    program = str(options["program"])
    return Output(
        records=[
            _step(setting, _job_name(options, number), program, number, start, end, excps[number], cpu[number])
            for end, number, start in sorted(steps)
        ]
    )


def _room_hundredths(window: Window) -> int:
    """Elapsed time in 1/100 s of steps of which it is not known: most of the point."""
    return round((window.seconds - 2 * START_AFTER_S) * HUNDREDTHS)


def _job_name(options: Mapping[str, Any], number: int) -> str:
    prefix = str(options["prefix"])
    return prefix if int(options.get("jobs", 1)) == 1 else f"{prefix}{number + 1:0{8 - len(prefix)}d}"


SHARES = (0.6, 0.4)
"""How the work of a service class divides over its address spaces."""
PROGRAMS = {"CICS": "DFHSIP", "IMS": "DFSRRC00"}
OTHER_PROGRAM = "IKJEFT01"


def job_names(m: Measured) -> list[str]:
    """Job names of an LPAR's address spaces, those of each service class one after another."""
    return [f"{name[:7]}{number + 1}" for name in m.service_classes for number in range(len(SHARES))]


def address_spaces(columns: Columns, frame: Frame, record: np.ndarray, m: Measured) -> None:
    """One record of each interval and address space; `record` (I, J) says where."""
    setting, clock = frame.setting, frame.setting.clock
    at, each = record.ravel(), record.shape[1]
    jobs = job_names(m)
    classes = [c for c in range(len(m.service_classes)) for _ in SHARES]
    starts = [span.start for span in frame.spans]
    ends = [span.end for span in frame.spans]

    def repeated(values: Sequence[object]) -> list[object]:
        """A value of each interval for every address space."""
        return [value for value in values for _ in range(each)]

    def tiled(values: Sequence[object]) -> list[object]:
        """A value of each address space for every interval."""
        return list(values) * len(starts)

    def local(times: Sequence[datetime]) -> tuple[list[object], list[object]]:
        return repeated([clock.hundredths(t) for t in times]), repeated([clock.day(t) for t in times])

    columns.add("smf30_header", at, _header(setting, *local([end + WRITTEN_AFTER for end in ends]), INTERVAL, "STC"))
    columns.add("smf30_subsystem", at, _subsystem(setting, INTERVAL, os_level="SP7.2.5"))
    programs = tiled([_program(m.workloads[c]) for c in classes])
    job_ids = tiled([_started_task(i) for i in range(each)])
    began = clock.hundredths(starts[0]), clock.day(starts[0])
    named = {
        **_identification(tiled(jobs), tiled(jobs), programs, job_ids, *began),
        "smf30iss_raw": repeated([tod(t) for t in starts]), "smf30iet_raw": repeated([tod(t) for t in ends]),
        "smf30asi": tiled([FIRST_ASID + i for i in range(each)]),
    }  # fmt: skip
    columns.add("smf30_identification", at, named)
    share = np.tile(SHARES, len(m.service_classes))

    def hundredths(seconds: np.ndarray) -> np.ndarray:
        return np.rint(100 * seconds[:, classes] * share).astype(np.int64).ravel()

    tcb, srb = hundredths(m.cp_s * (1 - SRB_SHARE - INTERRUPT_SHARE)), hundredths(m.cp_s * SRB_SHARE)
    cpu = {
        **_processor_times(*local(starts), tcb, srb), "smf30iip": hundredths(m.cp_s * INTERRUPT_SHARE),
        "smf30_time_on_ziip": hundredths(m.ziip_s), "smf30_time_ziip_on_cp": hundredths(m.ziip_on_cp_s),
    }  # fmt: skip
    columns.add("smf30_cpu", at, cpu)
    tcb_units, srb_units = (np.rint(time / 100 * setting.rate.su_per_s) for time in (tcb, srb))
    workloads = tiled([m.workloads[c].upper() for c in classes])
    service_classes = tiled([m.service_classes[c] for c in classes])
    row = _performance(setting, frame.spans[0].length_ms, tcb_units, srb_units, workloads, service_classes)
    columns.add("smf30_performance", at, row)


def _program(workload: str) -> str:
    return next((program for name, program in PROGRAMS.items() if name in workload.upper()), OTHER_PROGRAM)
