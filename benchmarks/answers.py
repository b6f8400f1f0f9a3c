"""Answers of one large LPAR in one process: processor time of a question and of a sweep of 200 loads.

`python -m benchmarks.answers` makes an LPAR of 20 classes on 6 stations (CPs, zIIPs with two threads a core whose work
overflows, a coupling facility, three groups of volumes) with an MXT-like limit, lives through its days, calibrates it,
and asks; then the same with users in two of the classes. What is wanted of the first stands beside it.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from benchmarks.twins import history
from model.calibration.lpar import calibrate_lpar
from model.capacity import ask, bundle
from model.lab.twin import live
from model.lab.twin.description import Twin
from model.lab.twin.measured import measured
from model.network import (
    Acquire,
    Arrivals,
    CfRequest,
    Distribution,
    Network,
    Overflow,
    Release,
    Resource,
    Smt,
    Station,
    Step,
    TransactionClass,
    Visit,
)

CLASSES, LOADS, REPEATS, SEED = 20, 200, 5, 1
# CPs, the part of them that is used on average, and which classes have users.
ENGINES, USED, OF_USERS = 8, 0.25, (12, 17)
Exp = Distribution.exponential


def model(users: bool) -> Mapping[str, Any]:
    """The LPAR as calibrated on 21 days of intervals of 15 minutes."""
    lived = live(_twin(users))
    seen = [measured(lived, lpar) for lpar in lived.lpars]
    found = history(lived, seen, 0)
    return bundle.build({found.system_id: calibrate_lpar(found)}, data={}, validation={})


def _twin(users: bool) -> Twin:
    g = np.random.default_rng(SEED)
    stations = (
        Station(name="cp", component="cp", servers=ENGINES, scheduling="priority_ps"),
        Station(
            name="ziip", component="ziip", servers=2, scheduling="ps", smt=Smt(gain=1.3, packing="dense"),
            overflow=Overflow(to="cp", waiting=2), source="made up",
        ),
        Station(name="cf", component="cf", servers=2),
        *(Station(name=name, component="dasd", servers=number) for name, number in (("log", 4), ("t1", 8), ("t2", 24))),
    )  # fmt: skip
    classes, loads = [], {}
    for number in range(CLASSES):
        kind, cpu_s = number % 5, float(g.uniform(0.003, 0.012))
        cp, io = Visit(station="cp", service=Exp(cpu_s / 2)), Visit(station=f"t{1 + number % 2}", service=Exp(0.0005))
        beside: dict[int, tuple[Step, ...]] = {
            0: (Visit(station="ziip", service=Exp(0.3 * cpu_s)),),
            1: (CfRequest(station="cf", engine="cp", service=Exp(1e-5), issue=Exp(5e-6), count=8),),
            2: (),
            3: (Visit(station="log", service=Exp(0.0005), count=2),),
            4: (io,),
        }
        route: tuple[Step, ...] = (cp, *beside[kind], io, cp)
        if kind == 2:
            route = (Acquire(resource="MXT"), *route, Release(resource="MXT"))
        rate, name = USED * ENGINES / CLASSES / cpu_s, f"class{number + 1}"
        made = TransactionClass(name=name, route=route, priority=9 - kind, arrivals=Arrivals.poisson(rate))
        if users and number in OF_USERS:
            made = replace(made, arrivals=None, users=round(10.0 * rate), think=Exp(5.0))
        classes.append(made)
        loads[name] = {
            "service_class": name.upper(), "importance": 1 + kind, "workload": f"WORK{number % 4}", "rate_per_s": rate,
            "growth_pct_per_week": 1.0, "hour_of_week": "office", "noise_cv": 0.1,
        }  # fmt: skip
    limit = Resource(name="MXT", kind="mxt", capacity=60)
    network = Network(name="large", stations=stations, classes=tuple(classes), resources=(limit,))
    content = {
        "system_id": "large", "start_utc": datetime(2026, 9, 7, tzinfo=UTC), "days": 21, "interval_s": 900,
        "seed": SEED, "classes": loads, "uncaptured": {"fixed_engines": 0.1, "per_captured": 0.06},
    }  # fmt: skip
    return Twin.of(content, network)


def main() -> None:
    """Print milliseconds of a processor for each kind of question."""
    for label, users in (("no users", False), ("two classes of users", True)):
        print(label)
        _measure(model(users))


def _measure(found: Mapping[str, Any]) -> None:
    peak = ask.predict(found, "large", {"when": "peak"}).output("etr_tps")
    tps = (peak and peak.value) or 0.0
    asked: dict[str, tuple[Callable[[], Any], str]] = {
        "predict at the peak": (lambda: ask.predict(found, "large", {"when": "peak"}), "≤ 5"),
        "predict at a rate": (lambda: ask.predict(found, "large", {"etr_tps": 0.9 * tps}), "≤ 5"),
        "predict, growth of 30 %": (lambda: ask.predict(found, "large", {"growth_pct": 30, "when": "peak"}), "≤ 5"),
        "sweep of 200 rates": (lambda: _swept(found, "etr_tps", 0.2 * tps, 1.2 * tps), "≤ 100"),
        "sweep of 200 growths to 50 %": (lambda: _swept(found, "growth_pct", 0.0, 50.0), "≤ 100"),
        "sweep of 200 growths to 200 %": (lambda: _swept(found, "growth_pct", 0.0, 200.0), ""),
        "max-rate": (lambda: ask.max_rate(found, "large"), ""),
        "size": (lambda: ask.size(found, "large", {"growth_pct": 30}, max_busy_pct=80), ""),
        "headroom": (lambda: ask.headroom(found, "large"), ""),
    }
    for name, (question, wanted) in asked.items():
        print(f"  {name:32} {_ms(question):8.1f} ms {wanted:>8}", flush=True)


def _swept(found: Mapping[str, Any], key: str, first: float, last: float) -> Mapping[str, Any]:
    return ask.sweep(found, "large", key, ask.spaced(key, first, last, LOADS))


def _ms(question: Callable[[], Any]) -> float:
    """The middle of some repetitions, after one that warms up."""
    question()
    found = []
    for _ in range(REPEATS):
        begun = time.process_time()
        question()
        found.append(1e3 * (time.process_time() - begun))
    return statistics.median(found)


if __name__ == "__main__":
    main()
