"""SMF 30 subtype 4: batch steps, one record each.

It writes `elapsed_s` (from the start of the first step to the end of the last), `excps` and `cpu_s` of all steps
together. Options: `jobs` (how many, one step each), `parallel` (how many at a time), `prefix` (of the job names),
`program` and `start_after_s`.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from model.lab.errors import LabError
from model.lab.records.common import SYSTEM_FLAGS, Record, Setting
from model.lab.samples import spread_total
from model.lab.writers.interface import Output, Target, Window

STEP_TOTAL = 4
HUNDREDTHS = 100
JOB_SPREAD = 0.08
START_AFTER_S = 10
TEN_MS = timedelta(milliseconds=10)


def render(setting: Setting, window: Window, targets: Sequence[Target], random: np.random.Generator) -> Output:
    """A record for every step; those of one initiator follow each other without a gap."""
    wanted = {target.metric: target for target in targets}
    if not set(wanted) <= {"elapsed_s", "excps", "cpu_s"}:
        raise LabError(f"batch steps cannot write {', '.join(wanted)}")
    options = targets[0].options
    jobs, parallel = int(options.get("jobs", 1)), int(options.get("parallel", 1))
    elapsed = round(wanted["elapsed_s"].value * HUNDREDTHS) if "elapsed_s" in wanted else _room(window)
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
    return Output(
        records=[
            _record(setting, options, number, start, end, excps[number], cpu[number])
            for end, number, start in sorted(steps)
        ]
    )


def _room(window: Window) -> int:
    """Elapsed time in 1/100 s of steps of which it is not known: most of the point."""
    return round((window.seconds - 2 * START_AFTER_S) * HUNDREDTHS)


def _record(
    setting: Setting, options: Any, number: int, start: datetime, end: datetime, excps: int, cpu: int
) -> Record:
    clock, plan = setting.clock, setting.plan
    prefix = str(options["prefix"])
    job = prefix if int(options.get("jobs", 1)) == 1 else f"{prefix}{number + 1:0{8 - len(prefix)}d}"
    header = {
        "smf30flg": SYSTEM_FLAGS,
        "smf30rty": 30,
        "smf30tme": clock.hundredths(end),
        "smf30dte": clock.day(end),
        "smf30sid": plan.smf_sid,
        "smf30wid": "JES2",
        "smf30stp": STEP_TOTAL,
    }
    subsystem = {
        "smf30typ": STEP_TOTAL,
        "smf30rvn": "05",
        "smf30pnm": "SMF",
        "smf30syn": plan.system_name,
        "smf30syp": plan.sysplex,
    }
    identification = {
        "smf30jbn": job,
        "smf30pgm": str(options["program"]),
        "smf30stm": "STEP1",
        "smf30jnm": f"JOB{number + 1:05d}",
        "smf30stn": 1,
        "smf30sit": clock.hundredths(start),
        "smf30std": clock.day(start),
        "smf30rst": clock.hundredths(start),
        "smf30rsd": clock.day(start),
    }
    sections: dict[str, Any] = {
        "header": [header],
        "subsystem": [subsystem],
        "identification": [identification],
        "io": [{"smf30tep": excps, "smf30tex": excps}],
        "completion": [{"smf30scc": 0}],
        "cpu": [{"smf30cpt": cpu, "smf30ist": clock.hundredths(start), "smf30idt": clock.day(start)}],
    }
    return Record("smf30", sections)
