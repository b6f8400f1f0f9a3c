"""Calibration and validation of ten LPARs of a machine with a month of intervals: seconds and peak memory.

`python -m benchmarks.calibration [LPARS] [DAYS] [CLASSES]` makes the marts' rows of LPARs with that many service
classes, in intervals of 15 minutes, and times what `etalon fit` does with them: histories, calibration, validation.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Sequence

import numpy as np
import pandas as pd

from model.calibration.intervals import histories
from model.calibration.systems import calibrate
from model.capacity import ask, bundle
from model.queueing.multiserver import limit_wait, slowdown
from model.validation import validate

SECONDS, ENGINES, CAPTURED = 900.0, 8.0, 0.94


def rows(lpars: int, days: int, classes: int) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Rows of utilization, classes, systems and machines, as the marts have them."""
    made = [_lpar(f"P{number:03}", days, classes, number) for number in range(lpars)]
    busy, work = (pd.concat([lpar[i] for lpar in made], ignore_index=True) for i in (0, 1))
    machines = busy.assign(
        machine="M1",
        lpar_name=busy["smf_sid"],
        dispatch_s=busy["busy_s"],
        is_dedicated=False,
        weight=100.0,
        is_initially_capped=False,
        cap_engines=np.nan,
        logical_processors=ENGINES,
        shared_engines=lpars * ENGINES * 0.7,
        physical_engines=lpars * ENGINES * 0.7,
    )
    names = sorted(busy["system_id"].unique())
    systems = pd.DataFrame({"system_id": names, "smf_sid": names, "cpc_type": "3931"})
    return busy, work, systems, machines


def _lpar(name: str, days: int, classes: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    random = np.random.default_rng(seed)
    count = days * 96
    starts = pd.Timestamp("2026-09-07") + pd.to_timedelta(np.arange(count) * SECONDS, unit="s")
    hour = (np.arange(count) % 96) / 4.0
    office = 0.25 + np.exp(-0.5 * ((hour - 11.0) / 3.0) ** 2)
    night = 0.25 + np.exp(-0.5 * ((hour - 2.0) / 3.0) ** 2)
    shapes = np.column_stack([office if c % 3 else night for c in range(classes)])
    demand_s = random.uniform(0.002, 0.02, classes)
    rates = random.uniform(0.3, 1.0, classes) / demand_s
    rates *= 0.55 * ENGINES / float(rates @ demand_s)
    ended = random.poisson(shapes * rates * SECONDS * random.normal(1.0, 0.05, (count, classes)))
    cpu = demand_s * (ended + np.sqrt(ended) * random.standard_normal(ended.shape))
    used = cpu.sum(axis=1) / CAPTURED + 0.1 * SECONDS
    response = demand_s * slowdown(used / SECONDS, ENGINES)[:, None] + random.uniform(0.001, 0.02, classes)
    # Every tenth class queues for a resource of one place.
    latch_s = np.where(np.arange(classes) % 10 == 4, 0.8 / (ended / SECONDS).max(axis=0), 0.0)
    response = (response + limit_wait(ended / SECONDS, latch_s, 1.0, 1.0)) * random.normal(1.0, 0.02, ended.shape)
    keys = np.array([f"{name}-{i}" for i in range(count)])
    busy = pd.DataFrame(
        {
            "interval_key": keys, "system_id": name, "smf_sid": name, "interval_start_utc": starts,
            "interval_start_local": starts, "interval_s": SECONDS, "engine_type": "CP", "engines": ENGINES,
            "busy_s": used, "thread_density": np.nan,
        }
    )  # fmt: skip
    labels = [f"CLASS{c:02}" for c in range(classes)]
    work = pd.DataFrame(
        {
            "interval_key": np.repeat(keys, classes), "interval_s": SECONDS, "class_kind": "service_class",
            "class_name": np.tile(labels, count), "workload": np.tile([f"WORK{c % 5}" for c in range(classes)], count),
            "importance": np.tile([float(1 + c % 5) for c in range(classes)], count), "goal_kind": "average response",
            "transactions_ended": ended.ravel().astype(float), "response_ms": 1e3 * response.ravel(),
            "response_p90_estimate_ms": 2.2e3 * response.ravel(), "cp_s": cpu.ravel(), "appl_ziip_pct": 0.0,
            "appl_ziip_on_cp_pct": 0.0, "ios_per_tran": np.nan, "mean_idle": 0.0,
        }
    )  # fmt: skip
    return busy, work


def main(arguments: Sequence[str]) -> None:
    """Print seconds of each step, peak memory, and seconds of one question."""
    lpars, days, classes = (int(a) for a in (*arguments, *("10", "30", "30")[len(arguments) :]))
    tables = rows(lpars, days, classes)
    print(f"{lpars} LPARs, {days} days, {classes} classes: {len(tables[1]):,} rows of classes; {os.cpu_count()} cores")
    at = time.monotonic(), time.process_time()

    def step(name: str) -> None:
        nonlocal at
        now = time.monotonic(), time.process_time()
        print(f"{name:<12} {now[0] - at[0]:7.1f} s, {now[1] - at[1]:7.1f} s of the processor", flush=True)
        at = now

    recorded = histories(*tables)
    step("histories")
    fitted = calibrate(pd.DataFrame({"system_id": [], "point": [], "etr_tps": []}), recorded)
    step("calibration")
    validation = validate(fitted.points, {}, recorded)
    step("validation")
    model = bundle.build(dict(fitted.systems), data={}, validation={})
    ask.predict(model, "P000", {"growth_pct": 10})
    begun = time.process_time()
    ask.predict(model, "P000", {"growth_pct": 20})
    print(f"one answer   {1e3 * (time.process_time() - begun):7.1f} ms of the processor")
    errors = validation.histories.groupby(["scheme", "metric"])[["median_abs_error_pct", "coverage", "baseline_pct"]]
    print(errors.median().round(2).to_string())
    print(f"peak memory  {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:7.2f} GB")


if __name__ == "__main__":
    main(sys.argv[1:])
