"""Analytic against simulated answers over a random family of networks: where the approximations are weak.

``python -m benchmarks.agreement --networks 1000 --out agreement.json``; a smaller number gives a smaller sample. Each
network has a random shape and one hard feature (or none); the table gives, by feature, the median, 90th and 99th
percentile and the largest relative difference of mean response and of throughput, over classes, net of the
simulation's own half-width.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.any_network import any_network
from benchmarks.lpar_networks import lpar_network
from benchmarks.region_networks import region_network
from benchmarks.textbook_networks import textbook_network, visits_network
from model.network import (
    Acquire,
    Arrivals,
    Cec,
    CfRequest,
    Distribution,
    Fork,
    LparShare,
    Network,
    NetworkError,
    Overflow,
    Release,
    Resource,
    Smt,
    Station,
    Step,
    TransactionClass,
    Visit,
    demands,
)
from model.network.simulator import SimulationError, simulate
from model.network.solvers import solve

Exp = Distribution.exponential
FAMILIES = {
    "lpar": lpar_network,
    "regions": region_network,
    "anything": any_network,
    "textbook": textbook_network,
    "visits": visits_network,
}
SURE = 0.2
"""Half-width over mean of a simulated response beyond which it tells nothing."""
FEATURES = (
    "none",
    "large population",
    "class-dependent fcfs",
    "variable fcfs",
    "priorities",
    "weighted sharing",
    "passive resources",
    "two resources",
    "synchronous requests",
    "fork-join",
    "shared machine",
    "overflow",
    "unequal engines",
    "smt and cost",
    "full stations",
    "arrivals not Poisson",
)


def random_network(generator: np.random.Generator, feature: str) -> Network:
    """One network of the family: 2-4 stations, 1-3 open or closed classes, 20-90 % busy where open."""
    g = generator
    stations = [
        Station(name=f"s{k}", servers=int(g.choice([1, 1, 2, 4, 8])), scheduling="ps")
        for k in range(int(g.integers(2, 5)))
    ]
    kind = str(g.choice(["open", "mixed"] if feature == "arrivals not Poisson" else ["open", "closed", "mixed"]))
    several = feature in ("priorities", "weighted sharing", "shared machine", "large population")
    count = int(g.integers(2 if several else 1, 4))
    if kind == "mixed":
        count = max(count, 2)
    stations = _with_feature(stations, feature, g)
    cecs: tuple[Cec, ...] = ()
    if feature == "shared machine":
        engines = int(g.choice([2, 4]))
        cecs = (Cec(name="m", engines=engines),)
        for k in (0, 1):
            share = LparShare(cec="m", weight=float(g.integers(1, 5)))
            stations[k] = replace(stations[k], servers=engines, lpar=share)
    work = g.lognormal(0.0, 0.7, (count, len(stations)))
    if feature == "shared machine":
        for r in range(count):
            work[r, r % 2] = 0.0
    if feature in ("none", "large population", "overflow", "unequal engines", "full stations"):
        alike = [k for k, s in enumerate(stations) if s.scheduling == "fcfs"]
        work[:, alike] = work[0, alike]
    scv = float(g.choice([0.25, 4.0])) if feature == "variable fcfs" else 1.0
    resources: tuple[Resource, ...] = ()
    if feature in ("passive resources", "two resources"):
        resources = (Resource(name="limit", capacity=int(g.choice([2, 4, 8, 16]))),)
    if feature == "two resources":
        resources += (Resource(name="lock", capacity=1, instances=int(g.choice([1, 4]))),)
    classes = []
    for r in range(count):
        route = _route(stations, work[r], scv, feature, g)
        if resources:
            route = [Acquire(resource="limit"), *route, Release(resource="limit")]
        opens = kind == "open" or (kind == "mixed" and r == 0)
        classes.append(_class(r, tuple(route), opens, work[r], feature, g))
    network = Network(name=feature, stations=tuple(stations), classes=tuple(classes), resources=resources, cecs=cecs)
    network = _loaded(network, float(g.uniform(0.2, 0.9 if kind == "open" else 0.6)))
    return _uneven(network, g) if feature == "arrivals not Poisson" else network


def _with_feature(stations: list[Station], feature: str, g: np.random.Generator) -> list[Station]:
    """The stations with what the feature is about."""
    if feature in ("class-dependent fcfs", "variable fcfs", "full stations"):
        stations = [replace(s, scheduling="fcfs") for s in stations]
    if feature == "full stations":
        full = str(g.choice(["reject", "block"]))
        room = stations[1].servers + int(g.integers(1, 6))
        stations[1] = replace(stations[1], capacity=room, when_full=full)  # type: ignore[arg-type]
    elif feature == "priorities":
        stations[0] = replace(stations[0], scheduling=str(g.choice(["hol", "preemptive", "priority_ps"])))  # type: ignore[arg-type]
    elif feature == "weighted sharing":
        stations[0] = replace(stations[0], scheduling="dps")
    elif feature == "overflow":
        stations[1] = replace(stations[1], scheduling="fcfs")
        stations[0] = replace(stations[0], scheduling="fcfs", overflow=Overflow(to="s1", waiting=int(g.integers(0, 3))))
    elif feature == "unequal engines":
        n = stations[0].servers + 1
        speeds = tuple(float(x) for x in g.uniform(0.5, 1.0, n))
        stations[0] = replace(stations[0], servers=n, scheduling="fcfs", speeds=speeds, source="random")
    elif feature == "smt and cost":
        stations[0] = replace(stations[0], smt=Smt(gain=float(g.uniform(1.1, 1.5))), source="random")
        n = stations[1].servers
        stations[1] = replace(stations[1], cost_by_busy=tuple(1 + 0.3 * i / n for i in range(n)), source="random")
    elif feature == "synchronous requests":
        stations[0] = replace(stations[0], scheduling="fcfs", servers=int(g.choice([2, 4, 8])))
        stations.append(Station(name="cf", servers=int(g.choice([1, 2]))))
    return stations


def _route(
    stations: Sequence[Station], work: np.ndarray, scv: float, feature: str, g: np.random.Generator
) -> list[Step]:
    """A visit to every station with work, and what the feature is about."""
    route: list[Step] = []
    for k, s in enumerate(stations):
        if work[k] == 0 or s.name == "cf":
            continue
        law = Distribution.with_scv(float(work[k]), scv)
        holding = ("lock",) if feature == "two resources" and k == 1 else ()
        route.append(Visit(station=s.name, service=law, count=1.0, holding=holding))
    if feature == "fork-join":
        route = [*route[2:], Fork(branches=((route[0],), (route[1],)))]
    if feature == "synchronous requests":
        served, count = Exp(float(work[-1]) / 4), int(g.integers(1, 12))
        route.insert(1, CfRequest(station="cf", service=served, engine="s0", issue=Exp(0.1), count=count))
        route.insert(2, Visit(station="s0", service=Distribution.with_scv(float(work[0]) / 2, scv)))
    return route


def _class(
    r: int, route: tuple[Step, ...], opens: bool, work: np.ndarray, feature: str, g: np.random.Generator
) -> TransactionClass:
    """A class of arrivals at one a second, or of some users who think."""
    options: dict[str, Any] = {"priority": r if feature == "priorities" else 0}
    if feature == "weighted sharing":
        options["weight"] = float(g.choice([1, 2, 5]))
    if opens:
        return TransactionClass(name=f"c{r}", route=route, arrivals=Arrivals.poisson(1.0), **options)
    many = feature == "large population"
    users = int(g.integers(20, 120)) if many else int(g.integers(1, 9))
    think = float(g.uniform(0, 3) * work.sum() * (4 if many else 1))
    return TransactionClass(name=f"c{r}", route=route, users=users, think=Exp(think) if think else None, **options)


def _uneven(network: Network, g: np.random.Generator) -> Network:
    """The same rates with arrivals in batches, in bursts, or more or less regular than Poisson's."""
    how, classes = str(g.choice(["batch", "bursts", "regular", "variable"])), []
    for cls in network.classes:
        if cls.arrivals is not None:
            gap = 1 / cls.arrivals.rate_per_s
            arrivals = {
                "batch": Arrivals(interarrival=Exp(3 * gap), batch=Distribution.deterministic(3.0)),
                "bursts": Arrivals(interarrival=Exp(gap / 2), on=Exp(20 * gap), off=Exp(20 * gap)),
                "regular": Arrivals(interarrival=Distribution.erlang(gap, 4)),
                "variable": Arrivals(interarrival=Distribution.with_scv(gap, 4.0)),
            }[how]
            cls = replace(cls, arrivals=arrivals)
        classes.append(cls)
    return replace(network, classes=tuple(classes))


def _loaded(network: Network, busy: float) -> Network:
    """The network with its open rates scaled so that the busiest limit is ``busy`` busy by demand alone."""
    table = demands(network)
    opens = np.array([c.arrivals is not None for c in network.classes], dtype=float)
    if not opens.any():
        return network
    capacity = np.array([sum(s.speeds) if len(s.speeds) > 1 else s.servers for s in network.stations], dtype=float)
    if network.cecs:
        capacity[:2] = network.cecs[0].engines / 2
    load = float(np.max(opens @ table.demand_s / capacity))
    held = table.demand_s.sum(axis=1)
    for resource in network.resources:
        inside = held if resource.name == "limit" else table.demand_s[:, 1]
        load = max(load, 1.3 * float(opens @ inside) / (resource.capacity * resource.instances))
    if any(isinstance(s, CfRequest) for c in network.classes for s in c.route):
        # The engine is held for the facility as well.
        load = max(load, 1.2 * float(opens @ (table.demand_s[:, 0] + table.demand_s[:, -1])) / capacity[0])
    rate = busy / load
    classes = tuple(
        replace(c, arrivals=Arrivals.poisson(rate)) if c.arrivals is not None else c for c in network.classes
    )
    return replace(network, classes=classes)


def compare(network: Network, seed: int, horizon: int) -> list[dict[str, Any]]:
    """Per class, the analytic and simulated response and throughput."""
    started = time.perf_counter()
    solution = solve(network)
    analytic_s = time.perf_counter() - started
    result = simulate(network, seed=seed, horizon=horizon, workers=1, replications=4)
    rows = []
    comes = [n for n, rate in zip(network.class_names, solution.throughput_per_s, strict=True) if rate > 0]
    # A class of which nobody has finished may bring work that is yet to fill a station.
    settled = result.settled and not any(np.isnan(result.classes[n].response_s.value) for n in comes)
    for r, name in enumerate(network.class_names):
        here = result.classes[name]
        if not solution.throughput_per_s[r] > 0 or np.isnan(here.response_s.value):
            continue
        rows.append(
            {
                "feature": network.name,
                "exact": solution.exact,
                "approximated": list(solution.approximated),
                "stated": solution.known_error[1],
                "method": solution.method,
                "response": float(solution.response_s[r]),
                "simulated_response": here.response_s.value,
                "response_half_width": here.response_s.half_width,
                "throughput": float(solution.throughput_per_s[r]),
                "simulated_throughput": here.throughput_per_s.value,
                "throughput_half_width": here.throughput_per_s.half_width,
                "settled": settled,
                "notes": list(solution.notes),
                "analytic_s": analytic_s,
            }
        )
    return rows


def stated_too_low(rows: list[dict[str, Any]]) -> tuple[int, int]:
    """How many answers, of those to which the simulation has one, are further off than they say."""
    known = [
        r
        for r in rows
        if r["settled"] and r["simulated_response"] > 0 and r["response_half_width"] < SURE * r["simulated_response"]
    ]
    return sum(error(r, "response") > max(r["stated"], SURE / 4 if r["exact"] else 0.0) for r in known), len(known)


def error(row: dict[str, Any], what: str) -> float:
    """Relative difference beyond the simulation's half-width; none where both say saturated, infinite where one
    does."""
    simulated, half = row[f"simulated_{what}"], row[f"{what}_half_width"]
    if not np.isfinite(row["response"]) and not row["settled"]:
        return 0.0
    if not np.isfinite(row[what]) or simulated <= 0:
        return float("inf")
    return max(abs(row[what] - simulated) - (half if np.isfinite(half) else 0.0), 0.0) / simulated


def table(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Error quantiles by feature, exact answers apart."""
    out = []
    for feature in (*FEATURES, "lpar", "regions", "anything", "all"):
        for exact in (True, False):
            some = [r for r in rows if (feature in ("all", r["feature"])) and r["exact"] is exact]
            if not some:
                continue
            line: dict[str, Any] = {"feature": feature, "exact": exact, "classes": len(some)}
            for what in ("response", "throughput"):
                errors = np.array([error(r, what) for r in some])
                line |= {f"{what}_{q}": float(np.quantile(errors, q / 100, method="higher")) for q in (50, 90, 99)}
                line[f"{what}_max"] = float(errors.max())
            out.append(line)
    return out


def run(networks: int, seed: int, horizon: int, family: str = "features") -> tuple[list[dict[str, Any]], list[str]]:
    """Rows of all networks of a family, and what could not be compared."""
    generator = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    failures: list[str] = []
    for index in range(networks):
        feature = FEATURES[index % len(FEATURES)] if family == "features" else family
        try:
            network = FAMILIES[family](generator) if family in FAMILIES else random_network(generator, feature)
            rows += [row | {"network": index} for row in compare(network, seed + index, horizon)]
        except (SimulationError, NetworkError, ValueError) as problem:
            failures.append(f"{index} ({feature}): {problem}")
    return rows, failures


def main() -> None:
    """Run and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", type=int, default=140)
    parser.add_argument(
        "--family",
        choices=("features", *FAMILIES),
        default="features",
        help="one hard feature each; whole LPARs; regions as planned; all that is allowed together, extremes too",
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--horizon", type=int, default=200_000)
    parser.add_argument("--out", type=Path, help="write every row as JSON")
    options = parser.parse_args()
    rows, failures = run(options.networks, options.seed, options.horizon, options.family)
    print(
        f"{'feature':24} {'':6} {'n':>5} {'response 50%':>12} {'90%':>7} {'99%':>7} {'max':>7} {'throughput max':>15}"
    )
    for line in table(rows):
        figures = " ".join(f"{line[f'response_{q}']:7.1%}" for q in (90, 99, "max"))
        print(
            f"{line['feature']:24} {'exact' if line['exact'] else 'approx':6} {line['classes']:5} "
            f"{line['response_50']:12.1%} {figures} {line['throughput_max']:15.1%}"
        )
    low, known = stated_too_low(rows)
    print(f"{low} of {known} classes are further off than stated")
    for failure in failures:
        print("not compared:", failure)
    if options.out:
        options.out.write_text(json.dumps({"rows": rows, "table": table(rows), "failures": failures}, indent=1))


if __name__ == "__main__":
    main()
