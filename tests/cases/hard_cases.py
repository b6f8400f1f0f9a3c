"""Cases of closed networks without product form: routing with weights, class-dependent or variable service,
priorities."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from model.network import Distribution, Go, Network, Visit
from model.network.exact.convolution import Convolution
from tests.cases.answer import Answer, Check
from tests.cases.build import Exp, Run, closed, random_route, station
from tests.cases.inputs import (
    CaseError,
    Floats,
    by_class,
    first,
    need,
    servers_of,
    station_names,
    vector,
    visits_service,
)
from tests.cases.metrics import Metrics
from tests.oracles.markov_network import (
    MarkovNetwork,
    MarkovResult,
    MarkovStation,
    Phases,
    cyclic_routing,
    solve_markov,
)
from tests.oracles.product_form import visit_ratios

Model = dict[str, Any]
MARKOV_LIMIT = 60_000


def _metrics(
    model: Model, queue: Floats, flow: Floats, busy: Floats, rate: Floats, servers: Floats, single: bool
) -> Metrics:
    with np.errstate(invalid="ignore", divide="ignore"):
        residence = np.where(rate > 0, queue / rate, 0.0)
    return Metrics(
        queue,
        flow,
        busy / np.where(servers < 0, 1, servers)[:, None],
        residence,
        rate,
        station_names(model, len(servers)),
        [c < 0 for c in servers],
        single,
        station_major=True,
    )


def _markov_metrics(model: Model, result: MarkovResult, visits: Floats, servers: Floats, single: bool) -> Metrics:
    reference = [int(np.argmax(v)) for v in visits]
    rate = np.array([result.throughput[k, r] / visits[r, k] for r, k in enumerate(reference)])
    return _metrics(model, result.queue_length, result.throughput, result.busy, rate, servers, single)


def _run_metrics(model: Model, run: Run, visits: Floats, service: Floats, servers: Floats, single: bool) -> Metrics:
    reference = [int(np.argmax(v)) for v in visits]
    rate = np.array([run.flow[k, r] / visits[r, k] for r, k in enumerate(reference)])
    return _metrics(model, run.queue, run.flow, run.flow * service.T, rate, servers, single)


def solve_routing(model: Model) -> Answer:
    """Several closed classes with routing, shared stations with or without weights: solved as a Markov chain."""
    users = [int(n) for n in vector(need(model, "populations"))]
    service = by_class(need(model, "service_mean", "service", "mean_service"), len(users))
    stations = service.shape[1]
    names = station_names(model, stations)
    servers = servers_of(model, stations)
    routing = _routing(model, len(users), stations)
    weights = tuple(float(w) for w in vector(first(model, "dps_weights", "weights", default=1.0), len(users)))
    kinds = _disciplines(model, names, servers)
    levels = tuple(float(p) for p in vector(first(model, "priority", default=0.0), len(users)))
    parts = tuple(
        MarkovStation(
            tuple(Phases.exponential(float(service[r, k])) if service[r, k] > 0 else None for r in range(len(users))),
            kinds[k],  # type: ignore[arg-type]
            int(servers[k]),
            weights,
        )
        for k in range(stations)
    )
    visits = np.array([visit_ratios(m) for m in routing])
    result = solve_markov(
        MarkovNetwork(parts, tuple(users), tuple(tuple(map(tuple, m)) for m in routing), levels), 200_000
    )
    described = tuple(station(n, int(c), k) for n, c, k in zip(names, servers, kinds, strict=True))
    classes = []
    for r in range(len(users)):
        route: list[Any] = []
        for k in range(stations):
            if service[r, k] <= 0:
                continue
            route.append(Visit(station=names[k], service=Exp(float(service[r, k])), label=f"at {names[k]}"))
            # A cycle ends on coming back to the first station.
            onward = [(f"at {names[j]}" if j else "end", float(p)) for j, p in enumerate(routing[r][k]) if p > 0]
            route.append(Go(to=tuple(onward)))
        classes.append(closed(f"class {r + 1}", tuple(route), users[r], weight=weights[r], priority=int(levels[r])))
    network = Network(name="routing", stations=described, classes=tuple(classes))
    return Answer(
        _markov_metrics(model, result, visits, servers, False),
        method=f"Markov chain of {result.states} states",
        check=Check(network, lambda run: _run_metrics(model, run, visits, service, servers, False)),
    )


def _disciplines(model: Model, names: list[str], servers: Floats) -> list[str]:
    given = first(model, "scheduling", "disciplines")
    out = []
    for k, name in enumerate(names):
        text = (str(given[k]) if isinstance(given, list) and len(given) == len(names) else name).lower()
        if servers[k] < 0:
            out.append("delay")
        else:
            out.append(
                next((d for d in ("dps", "fcfs", "hol", "preemptive") if re.search(rf"\b{d}\b|{d}$", text)), "ps")
            )
    return out


def _routing(model: Model, classes: int, stations: int) -> list[Floats]:
    full = first(model, "routing", "P")
    if isinstance(full, list):
        table = np.asarray(full, dtype=float)
        return [table] * classes if table.ndim == 2 else [table[r] for r in range(classes)]
    shares = by_class(need(model, "routing_from_delay", "routing_from_first"), classes)
    if shares.shape[1] != stations - 1:
        raise CaseError(f"routing_from_delay needs {stations - 1} chances a class")
    out = []
    for r in range(classes):
        matrix = np.zeros((stations, stations))
        matrix[0, 1:] = shares[r]
        matrix[1:, 0] = 1.0
        out.append(matrix)
    return out


def _random_network(
    names: list[str], servers: Floats, kinds: list[str], visits: Floats, service: list[list[Any]], users: list[int],
    levels: Floats,
) -> Network:  # fmt: skip
    stations = tuple(station(n, int(c), k) for n, c, k in zip(names, servers, kinds, strict=True))
    classes = tuple(
        closed(f"class {r + 1}", random_route(names, visits[r], service[r]), users[r], priority=int(levels[r]))
        for r in range(len(users))
    )
    return Network(name="closed network", stations=stations, classes=classes)


def solve_class_dependent(model: Model) -> Answer:
    """Closed classes with different service in one first come, first served queue."""
    users = [int(n) for n in vector(need(model, "populations", "population"))]
    visits, service = visits_service(model, len(users))
    servers = servers_of(model, visits.shape[1])
    names = station_names(model, len(servers))
    visits = np.where(service > 0, visits, 0.0)
    in_order = (servers > 0) & [_mixed(s, v) for s, v in zip(service.T, visits.T, strict=True)]
    think = vector(first(model, "think_times", "think_time", "think", default=0.0), len(users))
    if np.any(think > 0):
        names, servers = [*names, "think"], np.append(servers, -1)
        visits, service = np.column_stack((visits, think > 0)), np.column_stack((service, think))
    named = {**model, "stations": names}
    kinds = ["delay" if c < 0 else "fcfs" for c in servers]
    network = _random_network(names, servers, kinds, visits, [list(s) for s in service], users, np.zeros(len(users)))
    check = Check(network, lambda run: _run_metrics(named, run, visits, service, servers, False), 1_000_000)
    note = "each visit's station drawn independently by visit share"
    if not in_order.any():
        result = Convolution(users, (visits * service).T, servers).solve()
        flow = (result.throughput[:, None] * visits).T
        metrics = _metrics(named, result.queue_length, flow, flow * service.T, result.throughput, servers, False)
        return Answer(metrics, method="convolution", note=note, check=check)
    chain = _in_order_chain(users, visits, service, servers)
    if chain is None:
        return Answer(method="simulation", note=note, check=check)
    metrics = _markov_metrics(named, chain, np.where(visits > 0, visits, 0.0), servers, False)
    return Answer(metrics, method=f"Markov chain of {chain.states} states", note=note, check=check)


def _in_order_chain(users: list[int], visits: Floats, service: Floats, servers: Floats) -> MarkovResult | None:
    """Classes of different service in order of arrival, exactly; None where there are too many states."""
    places = [math.comb(n + int((v > 0).sum()) - 1, n) for n, v in zip(users, visits, strict=True)]
    if math.prod(places) > MARKOV_LIMIT or any(n == 0 for n in users):
        return None
    parts = tuple(
        MarkovStation(
            tuple(Phases.exponential(float(s)) if s > 0 else None for s in column),
            "delay" if c < 0 else "fcfs",
            int(c),
        )
        for c, column in zip(servers, service.T, strict=True)
    )
    routing = tuple(cyclic_routing(v) for v in visits)
    try:
        return solve_markov(MarkovNetwork(parts, tuple(users), routing), MARKOV_LIMIT)
    except ValueError:
        return None


def _mixed(service: Floats, visits: Floats) -> bool:
    return len(set(service[visits > 0])) > 1


def solve_variable_service(model: Model) -> Answer:
    """One closed class and a first come, first served processor of any variance, as a Markov chain."""
    users = int(vector(need(model, "population", "populations"))[0])
    visits, service = visits_service(model, 1)
    servers = servers_of(model, visits.shape[1])
    names = station_names(model, len(servers))
    variances = {key[: -len("_variance")]: float(v) for key, v in model.items() if key.endswith("_variance")}
    scv = np.ones(len(names))
    if "scv" in model:
        scv = vector(model["scv"], len(names))
    if "variance" in model:
        scv = vector(model["variance"], len(names)) / service[0] ** 2
    for stem, variance in variances.items():
        at = [k for k, n in enumerate(names) if n.lower().startswith(stem.lower())]
        if not at:
            raise CaseError(f"{stem}_variance names no station of {names}")
        scv[at] = variance / service[0, at] ** 2
    parts = tuple(
        MarkovStation((Phases.with_scv(float(service[0, k]), float(scv[k])),), "delay" if c < 0 else "fcfs", int(c))
        for k, c in enumerate(servers)
    )
    kinds = ["delay" if c < 0 else "fcfs" for c in servers]
    laws = [[Distribution.with_scv(float(s), float(v)) for s, v in zip(service[0], scv, strict=True)]]
    network = _random_network(names, servers, kinds, visits, laws, [users], np.zeros(1))
    check = Check(network, lambda run: _run_metrics(model, run, visits, service, servers, True), 2_000_000)
    try:
        result = solve_markov(MarkovNetwork(parts, (users,), (cyclic_routing(visits[0]),)), MARKOV_LIMIT)
    except ValueError:
        return Answer(method="simulation", check=check)
    return Answer(
        _markov_metrics(model, result, visits, servers, True),
        method=f"Markov chain of {result.states} states",
        note="hyper-exponential service with balanced means; each visit's station drawn independently by visit share",
        check=check,
    )


def solve_priority(model: Model) -> Answer:
    """Closed classes that think and queue for one prioritised station."""
    users = [int(n) for n in vector(need(model, "populations", "population"))]
    think = vector(first(model, "think", "think_times", "think_time", default=0.0), len(users))
    service = np.asarray(need(model, "service", "demands"), dtype=float)
    service = service if service.ndim == 1 else service[:, 0]
    service = np.repeat(service, len(users)) if len(service) == 1 < len(users) else service
    levels = vector(need(model, "priority", "priorities"), len(users))
    count = int(vector(first(model, "servers", default=1))[-1])
    discipline = str(model.get("discipline", "preemptive_resume")).lower()
    kind = "hol" if "non" in discipline or discipline in ("hol", "head_of_line") else "preemptive"
    names, servers = ["delay", "queue"], np.array([-1, count])
    table = np.column_stack((think, service))
    visits = np.where(table > 0, 1.0, 0.0)
    parts = (
        MarkovStation(tuple(Phases.exponential(float(z)) if z > 0 else None for z in think), "delay", -1),
        MarkovStation(tuple(Phases.exponential(float(s)) for s in service), kind, count),  # type: ignore[arg-type]
    )
    routing = tuple(((0.0, 1.0), (1.0, 0.0)) if z > 0 else ((0.0, 0.0), (0.0, 1.0)) for z in think)
    result = solve_markov(MarkovNetwork(parts, tuple(users), routing, tuple(float(p) for p in levels)), 200_000)
    named = {**model, "stations": names}
    stations = (station("delay", -1), station("queue", count, kind))
    classes = tuple(
        closed(
            f"class {r + 1}",
            tuple(Visit(station=n, service=Exp(float(t))) for n, t in zip(names, table[r], strict=True) if t > 0),
            users[r],
            priority=int(levels[r]),
        )
        for r in range(len(users))
    )
    network = Network(name="priorities", stations=stations, classes=classes)
    return Answer(
        _markov_metrics(named, result, visits, servers, False),
        method=f"Markov chain of {result.states} states",
        check=Check(network, lambda run: _run_metrics(named, run, visits, table, servers, False)),
    )
