"""Cases of hardware effects and limits, whose Markov chains docs/oracles.md derives."""

from __future__ import annotations

from typing import Any

import numpy as np

from model.network import Acquire, Cec, CfRequest, LparShare, Network, Release, Resource, Smt, Station, Visit
from tests.cases.answer import Answer, Check, extras_only
from tests.cases.build import Exp, Run, opened
from tests.cases.inputs import need
from tests.cases.metrics import Metrics
from tests.oracles import hardware_chains

Model = dict[str, Any]


def solve_smt(model: Model) -> Answer:
    """An open pool of SMT-2 cores."""
    rate, service = float(need(model, "arrival_rate")), float(need(model, "service_rate"))
    cores, gain, packing = int(need(model, "cores")), float(need(model, "gain")), model.get("packing", "spread")
    exact = hardware_chains.smt_birth_death(rate, service, cores, gain, packing)
    pool = Station(
        name="pool", servers=cores, scheduling="ps", smt=Smt(gain=gain, packing=packing), source="the case file"
    )
    network = Network(
        name="smt",
        stations=(pool,),
        classes=(opened("jobs", (Visit(station="pool", service=Exp(1 / service)),), rate),),
    )

    def read(run: Run) -> Metrics:
        density = run.result.stations["pool"].thread_density
        return extras_only(
            {
                "L": float(run.queue[0, 0]),
                "R": float(run.response[0]),
                "U": float(run.utilisation[0]),
                "thread_density": density.value if density is not None else 1.0,
            }
        )

    values = {"L": exact.length, "R": exact.response_s, "U": exact.utilization, "thread_density": exact.thread_density}
    return Answer(extras_only(values), method="birth-death chain of the cores", check=Check(network, read))


def solve_lpars(model: Model) -> Answer:
    """LPARs that share a machine by weight."""
    engines = float(need(model, "engines"))
    logical, weights = need(model, "logical"), need(model, "weights")
    rates, services = need(model, "arrival_rates"), need(model, "service_rates")
    capped = model.get("capped", [False] * len(logical))
    exact = hardware_chains.weighted_lpars(engines, logical, weights, rates, services, capped, longest=100)
    names = [f"LPAR {i + 1}" for i in range(len(logical))]
    stations = tuple(
        Station(
            name=name,
            servers=int(n),
            scheduling="ps",
            lpar=LparShare(cec="machine", weight=float(w), cap="share" if cap else "none"),
        )
        for name, n, w, cap in zip(names, logical, weights, capped, strict=True)
    )
    classes = tuple(
        opened(name, (Visit(station=name, service=Exp(1 / float(mu))),), float(rate))
        for name, rate, mu in zip(names, rates, services, strict=True)
    )
    network = Network(name="lpars", stations=stations, classes=classes, cecs=(Cec(name="machine", engines=engines),))

    def read(run: Run) -> Metrics:
        used = run.utilisation * np.array(logical)
        return extras_only(
            {
                "L": np.diag(run.queue),
                "R": run.response,
                "engines_used": used,
                "U_machine": run.result.machines["machine"].value,
            }
        )

    values = {
        "L": exact.length,
        "R": exact.response_s,
        "engines_used": exact.engines_used,
        "U_machine": exact.machine_utilization,
    }
    return Answer(extras_only(values), method="Markov chain of the LPARs", check=Check(network, read))


def solve_limit(model: Model) -> Answer:
    """A limited number of transactions around engines and I/O."""
    rate, units, engines = float(need(model, "arrival_rate")), int(need(model, "units")), int(need(model, "engines"))
    service, io = float(need(model, "service_rate")), float(need(model, "io_rate"))
    exact = hardware_chains.passive_resource(rate, units, engines, service, io)
    route = (
        Acquire(resource="limit"),
        Visit(station="cp", service=Exp(1 / service)),
        Visit(station="io", service=Exp(1 / io)),
        Release(resource="limit"),
    )
    network = Network(
        name="limit",
        stations=(Station(name="cp", servers=engines), Station(name="io", scheduling="delay")),
        resources=(Resource(name="limit", capacity=units),),
        classes=(opened("jobs", route, rate),),
    )

    def read(run: Run) -> Metrics:
        limit = run.result.resources["limit"]
        return extras_only(
            {
                "R": float(run.response[0]),
                "wait": limit.wait_s.value,
                "in_use": limit.in_use.value,
                "Pw": limit.waited_share.value,
                "U": float(run.utilisation[0]),
            }
        )

    values = {
        "R": exact.response_s,
        "wait": exact.wait_s,
        "in_use": exact.in_use,
        "Pw": exact.waited_share,
        "U": exact.utilization,
    }
    return Answer(extras_only(values), method="Markov chain of the limit", check=Check(network, read, 800_000))


def solve_sync_cf(model: Model) -> Answer:
    """Requests that hold their engine until the coupling facility has answered."""
    rate, engines = float(need(model, "arrival_rate")), int(need(model, "engines"))
    issue, facility = float(need(model, "issue_rate")), float(need(model, "facility_rate"))
    sharing = model.get("scheduling", "fcfs") == "ps"
    exact = hardware_chains.sync_cf(rate, engines, issue, facility)
    request = CfRequest(station="cf", engine="cp", service=Exp(1 / facility), issue=Exp(1 / issue))
    network = Network(
        name="sync cf",
        stations=(
            Station(name="cp", servers=engines, scheduling="ps" if sharing else "fcfs"),
            Station(name="cf"),
        ),
        classes=(opened("jobs", (request,), rate),),
    )

    def read(run: Run) -> Metrics:
        return extras_only(
            {
                "R": float(run.response[0]),
                "U": float(run.utilisation[0]),
                "U_spin": run.result.stations["cp"].spin_utilization,
                "U_cf": float(run.utilisation[1]),
            }
        )

    values = {
        "R": exact.response_s,
        "U": exact.utilization,
        "U_spin": exact.spin_utilization,
        "U_cf": exact.facility_utilization,
    }
    return Answer(extras_only(values), method="Markov chain of the requests", check=Check(network, read))


HARDWARE = {
    "smt_birth_death": solve_smt,
    "weighted_lpars": solve_lpars,
    "passive_resource": solve_limit,
    "sync_cf": solve_sync_cf,
}
