"""How often the simulator's intervals hold the truth: ``python -m benchmarks.coverage [--json] [--seeds 20]``.

Each of ten systems with known answers is simulated with each seed; of the nominal 95 % intervals of mean response, the
share that holds the exact value is counted (190 ± 6 of 200 when the intervals are right).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import Any

from model.network import (
    Acquire,
    Arrivals,
    Cec,
    CfRequest,
    Distribution,
    LparShare,
    Network,
    Release,
    Resource,
    Smt,
    Station,
    TransactionClass,
    Visit,
)
from model.network.simulator import SimulationResult, simulate
from tests.oracles import hardware_chains

EXP = Distribution.exponential
HYPER = Distribution.with_scv(1.0, 4.0)
System = tuple[str, Network, Callable[[SimulationResult], Any], float]


def _visit(station: str, service: Distribution) -> Visit:
    return Visit(station=station, service=service)


def _open(name: str, rate: float, *route: Any, **more: Any) -> TransactionClass:
    return TransactionClass(name=name, arrivals=Arrivals.poisson(rate), route=route, **more)


def _network(stations: tuple[Station, ...], *classes: TransactionClass, **more: Any) -> Network:
    return Network(name="coverage", stations=stations, classes=classes, **more)


def _response(name: str) -> Callable[[SimulationResult], Any]:
    return lambda result: result.classes[name].response_s


def _erlang_response(servers: int, load: float) -> float:
    blocked = 1.0
    for n in range(1, servers + 1):
        blocked = load * blocked / (n + load * blocked)
    return 1 + blocked / (1 - load / servers * (1 - blocked)) / (servers - load)


def systems() -> list[System]:
    """Name, network, what to read of the result, the exact value."""
    one = _visit("s", EXP(1.0))
    out: list[System] = []
    for servers, load in ((1, 0.5), (1, 0.8), (18, 14.4)):
        station = Station(name="s", servers=servers)
        truth = _erlang_response(servers, load)
        out.append(
            (
                f"M/M/{servers} at {load / servers:.0%}",
                _network((station,), _open("a", load, one)),
                _response("a"),
                truth,
            )
        )
    in_order = _network((Station(name="s"),), _open("a", 0.6, _visit("s", HYPER)))
    out.append(("M/H2/1 in order", in_order, _response("a"), 1 + 0.6 * HYPER.second_moment / 2 / 0.4))
    shared = _network((Station(name="s", scheduling="ps"),), _open("a", 0.7, _visit("s", HYPER)))
    out.append(("M/H2/1 shared", shared, _response("a"), 1 / 0.3))
    first = _open("high", 0.3, one, priority=1)
    levels = _network((Station(name="s", scheduling="hol"),), first, _open("low", 0.4, one))
    out.append(("lower class behind a priority", levels, _response("low"), 1 + 0.7 / 0.7 / 0.3))
    smt = Station(name="s", servers=3, scheduling="ps", smt=Smt(gain=1.3), source="made up for the study")
    truth = hardware_chains.smt_birth_death(2.6, 1.0, 3, 1.3).response_s
    out.append(("SMT-2 cores", _network((smt,), _open("a", 2.6, one)), _response("a"), truth))
    lpars = tuple(
        Station(name=n, servers=m, scheduling="ps", lpar=LparShare(cec="m", weight=w))
        for n, m, w in (("A", 2, 1.0), ("B", 3, 2.0))
    )
    classes = (_open("a", 0.6, _visit("A", EXP(1.0))), _open("b", 1.5, _visit("B", EXP(1.0))))
    exact = hardware_chains.weighted_lpars(3, [2, 3], [1, 2], [0.6, 1.5], [1.0, 1.0], longest=80)
    machine = _network(lpars, *classes, cecs=(Cec(name="m", engines=3),))
    out.append(("weighted LPARs", machine, _response("b"), float(exact.response_s[1])))
    route = (Acquire(resource="mxt"), _visit("cp", EXP(1.0)), _visit("io", EXP(2.0)), Release(resource="mxt"))
    stations = (Station(name="cp", servers=2), Station(name="io", scheduling="delay"))
    limited = _network(stations, _open("a", 1.2, *route), resources=(Resource(name="mxt", capacity=6),))
    truth = hardware_chains.passive_resource(1.2, 6, 2, 1.0, 0.5).response_s
    out.append(("a limit around engines and I/O", limited, _response("a"), truth))
    request = CfRequest(station="cf", engine="cp", service=EXP(0.5), issue=EXP(1.0))
    facility = _network((Station(name="cp", servers=3), Station(name="cf")), _open("a", 1.2, request))
    truth = hardware_chains.sync_cf(1.2, 3, 1.0, 2.0).response_s
    out.append(("synchronous coupling facility", facility, _response("a"), truth))
    return out


def measure(seeds: int = 20, horizon: int = 200_000) -> dict[str, Any]:
    """Intervals that hold the truth, by system and in all."""
    held = {}
    for name, network, read, truth in systems():
        estimates = [read(simulate(network, seed=1000 + seed, horizon=horizon)) for seed in range(seeds)]
        held[name] = sum(e.low <= truth <= e.high for e in estimates)
    return {"intervals": seeds * len(held), "held": sum(held.values()), "by_system": held, "seeds": seeds}


def main() -> None:
    """Print the counts as a table or as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--seeds", type=int, default=20, help="runs of each system")
    options = parser.parse_args()
    counts = measure(options.seeds)
    if options.json:
        print(json.dumps(counts, indent=1))
        return
    for name, n in counts["by_system"].items():
        print(f"{name:34s} {n:3d} of {counts['seeds']}")
    print(f"{'all':34s} {counts['held']:3d} of {counts['intervals']}")


if __name__ == "__main__":
    main()
