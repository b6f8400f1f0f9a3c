"""SMF 30 subtype 4: batch steps, one record each.

It writes `elapsed_s` (from the start of the first step to the end of the last), `excps` and `cpu_s` of all steps
together. Options: `jobs` (how many, one step each), `parallel` (how many at a time), `prefix` (of the job names),
`program` and `start_after_s`.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from model.lab.errors import LabError
from model.lab.records.common import Setting
from model.lab.records.smf30 import step
from model.lab.samples import spread_total
from model.lab.writers.interface import Output, Target, Window

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
    program = str(options["program"])
    return Output(
        records=[
            step(setting, _job(options, number), program, number, start, end, excps[number], cpu[number])
            for end, number, start in sorted(steps)
        ]
    )


def _room(window: Window) -> int:
    """Elapsed time in 1/100 s of steps of which it is not known: most of the point."""
    return round((window.seconds - 2 * START_AFTER_S) * HUNDREDTHS)


def _job(options: Mapping[str, Any], number: int) -> str:
    prefix = str(options["prefix"])
    return prefix if int(options.get("jobs", 1)) == 1 else f"{prefix}{number + 1:0{8 - len(prefix)}d}"
