"""Cases of closed and mixed networks with product form."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from model.network import Distribution, Network
from model.network.exact.convolution import Convolution
from model.network.exact.product_form import mixed_product_form
from tests.cases.answer import Answer, Check, extras_only
from tests.cases.build import Run, closed, opened, station, visits_route
from tests.cases.inputs import CaseError, Floats, first, need, servers_of, station_names, vector, visits_service
from tests.cases.metrics import Metrics
from tests.oracles.product_form import truncated_product_form

Model = dict[str, Any]


def closed_metrics(
    model: Model, rate: Floats, visits: Floats, service: Floats, queue: Floats, servers: Floats, single: bool
) -> Metrics:
    """Figures of a closed network from throughputs (classes,) and queue lengths (stations, classes)."""
    flow = (rate[:, None] * visits).T
    with np.errstate(invalid="ignore", divide="ignore"):
        residence = np.where(rate > 0, queue / rate, 0.0)
    busy = flow * service.T / np.where(servers < 0, 1, servers)[:, None]
    return Metrics(
        queue, flow, busy, residence, rate, station_names(model, len(servers)), [c < 0 for c in servers], single
    )


def product_network(
    names: list[str], servers: Floats, visits: Floats, service: Floats, users: Floats, think: Floats
) -> Network:
    """A closed network for the simulator: first come, first served where classes are alike, else shared."""
    same = [len(set(s[v > 0])) <= 1 for s, v in zip(service.T, visits.T, strict=True)]
    stations = tuple(station(n, int(c), "fcfs" if s else "ps") for n, c, s in zip(names, servers, same, strict=True))
    classes = tuple(
        closed(f"class {r + 1}", visits_route(names, visits[r], service[r]), int(users[r]), float(think[r]))
        for r in range(len(users))
    )
    return Network(name="closed network", stations=stations, classes=classes)


def _closed(model: Model, users: Floats, visits: Floats, service: Floats, servers: Floats, single: bool) -> Answer:
    think = vector(first(model, "think_times", "think_time", "think", "Z", default=0.0), len(users))
    d = (visits * service).T
    result = Convolution(users, d, servers, think).solve()
    names = station_names(model, len(servers))
    metrics = closed_metrics(model, result.throughput, visits, service, result.queue_length, servers, single)
    network = product_network(names, servers, visits, service, users, think)

    def read(run: Run) -> Metrics:
        return closed_metrics(model, run.rate, visits, service, run.queue, servers, single)

    per = float(np.ceil(visits.sum(axis=1)).max())
    return Answer(metrics, method="convolution", check=Check(network, read, int(max(4e6 / max(per, 5), 40_000))))


def solve_closed_single(model: Model) -> Answer:
    """One closed class; a list of populations gives vectors by population."""
    populations = first(model, "populations")
    if populations is not None and "population" not in model:
        return solve_closed_populations(model)
    users = vector(need(model, "population", "N")).astype(int)
    visits, service = visits_service(model, 1)
    return _closed(model, users, visits, service, servers_of(model, visits.shape[1]), True)


def solve_closed_multiclass(model: Model) -> Answer:
    """Several closed classes."""
    users = vector(need(model, "populations", "population")).astype(int)
    visits, service = visits_service(model, len(users))
    return _closed(model, users, visits, service, servers_of(model, visits.shape[1]), False)


def solve_closed_populations(model: Model) -> Answer:
    """One class at several populations: throughput and response by population."""
    populations = [int(n) for n in vector(need(model, "populations", "population"))]
    visits, service = visits_service(model, 1)
    servers = servers_of(model, visits.shape[1])
    think = float(vector(first(model, "think_time", "think_times", "think", default=0.0))[0])
    largest = max(populations)
    x = Convolution([largest], (visits * service).T, servers, [think]).throughput_by_population()
    throughput = np.array([x[n - 1] for n in populations])
    response = np.array(populations) / throughput - think
    busy = throughput[:, None] * (visits * service)[0] / np.where(servers < 0, 1, servers)
    values = {"X": throughput, "R": response, "N": populations, "U": busy[:, 0] if busy.shape[1] == 1 else busy}
    names = station_names(model, len(servers))
    # One population is simulated: where waiting sets in.
    knee = int(np.argmin(np.abs(response - 1.05 * response.min())))
    at = populations[knee]
    network = product_network(names, servers, visits, service, np.array([at]), np.array([think]))

    def read(run: Run) -> Metrics:
        rate = float(run.rate[0])
        return extras_only({"X": {knee: rate}, "R": {knee: at / rate - think}})

    return Answer(extras_only(values), method="convolution", check=Check(network, read))


def _noted(note: str) -> dict[tuple[str, str], Distribution]:
    """(station, class) -> distribution from a note such as "delay closed Erlang(rate 3,2 phases); queue open
    Exp(1)"."""
    out: dict[tuple[str, str], Distribution] = {}
    for part in note.split(";"):
        match = re.match(r"\s*(\w+)\s+(\w+)\s+(\w+)\s*\(([^)]*)\)", part)
        if match is None:
            continue
        where, kind, shape, inside = match.groups()
        numbers = [float(x) for x in re.findall(r"[-+.\deE]*\d[-+.\deE]*", inside)]
        shape = shape.lower()
        if shape.startswith("erlang"):
            dist = Distribution.erlang(numbers[1] / numbers[0], int(numbers[1]))
        elif shape.startswith("hyper"):
            chance, fast, slow = numbers[:3]
            dist = Distribution.hyperexponential((1 / fast, 1 / slow), (chance, 1 - chance))
        elif shape.startswith(("exp", "m")):
            dist = Distribution.exponential(1 / numbers[0])
        elif shape.startswith("det"):
            dist = Distribution.deterministic(numbers[0])
        else:
            raise CaseError(f"unknown distribution {shape!r} in service_note")
        out[where.lower(), kind.lower()] = dist
    return out


@dataclass
class _Mixed:
    """A mixed case: open classes first, (classes, stations)."""

    rates: Floats
    users: Floats
    think: Floats
    servers: Floats
    names: list[str]
    visits: Floats
    service: Floats
    distributions: dict[tuple[int, int], Distribution]
    closed_first: bool

    def figures(self, model: Model, rate: Floats, queue: Floats) -> Metrics:
        """Metrics in the order of the case's classes."""
        opens = list(range(len(self.rates)))
        order = list(range(len(rate)))
        if self.closed_first:
            order = [*range(len(opens), len(rate)), *opens]
            opens = list(range(len(self.users), len(rate)))
        metrics = closed_metrics(
            model, rate[order], self.visits[order], self.service[order], queue[:, order], self.servers, False
        )
        metrics.open_classes = opens
        return metrics

    @property
    def demands(self) -> tuple[Floats, Floats]:
        """(stations, classes) of the open and the closed classes."""
        d = (self.visits * self.service).T
        return d[:, : len(self.rates)], d[:, len(self.rates) :]


def _read_mixed(model: Model) -> _Mixed:
    rates = vector(need(model, "open_rates", "arrival_rates", "arrival_rate"))
    users = vector(need(model, "populations", "population")).astype(int)
    think = vector(first(model, "think_times", "think_time", "think", default=0.0), len(users))
    note = model.get("service_note")
    distributions: dict[tuple[int, int], Distribution] = {}
    order_closed_first = False
    if note is not None and not any(k in model for k in ("service_open", "demands_open")):
        names = station_names(model, len(need(model, "stations")))
        known = _noted(note)
        table = {}
        for kind, count in (("open", len(rates)), ("closed", len(users))):
            rows = np.zeros((count, len(names)))
            for k, name in enumerate(names):
                for r in range(count):
                    stem = re.sub(r"[^a-z].*", "", name.lower())
                    found = next(
                        (
                            d
                            for (w, c), d in known.items()
                            if (w == stem or name.lower().startswith(w)) and c.startswith(kind)
                        ),
                        None,
                    )
                    if found is None:
                        raise CaseError(f"service_note says nothing of {kind} work at {name!r}")
                    rows[r, k] = found.mean
                    distributions[r if kind == "open" else len(rates) + r, k] = found
            table[kind] = rows
        v_open, s_open = np.ones_like(table["open"]), table["open"]
        v_closed, s_closed = np.ones_like(table["closed"]), table["closed"]
        order_closed_first = note.lower().find("closed") < note.lower().find("open")
    else:
        v_open, s_open = visits_service(model, len(rates), "_open")
        v_closed, s_closed = visits_service(model, len(users), "_closed")
    servers = servers_of(model, v_open.shape[1])
    names = station_names(model, len(servers))
    visits, service = np.vstack((v_open, v_closed)), np.vstack((s_open, s_closed))
    return _Mixed(rates, users, think, servers, names, visits, service, distributions, order_closed_first)


def solve_mixed(model: Model) -> Answer:
    """Open and closed classes together."""
    case = _read_mixed(model)
    d_open, d_closed = case.demands
    result = mixed_product_form(case.rates, d_open, case.users, d_closed, case.servers, case.think)
    queue = np.hstack((result.open_queue, result.closed_queue))
    rate = np.concatenate((case.rates, result.closed_throughput))
    opens = len(case.rates)
    stations = tuple(station(n, int(c), "ps") for n, c in zip(case.names, case.servers, strict=True))
    routes = [
        visits_route(
            case.names,
            case.visits[r],
            [case.distributions.get((r, k), float(case.service[r, k])) for k in range(len(case.names))],
        )
        for r in range(len(rate))
    ]
    classes = tuple(
        opened(f"open {r + 1}", routes[r], float(case.rates[r]))
        if r < opens
        else closed(f"closed {r + 1}", routes[r], int(case.users[r - opens]), float(case.think[r - opens]))
        for r in range(len(rate))
    )
    network = Network(name="mixed network", stations=stations, classes=classes)
    return Answer(
        case.figures(model, rate, queue),
        method="mixed product form",
        check=Check(network, lambda run: case.figures(model, run.rate, run.queue), 2_000_000),
    )


def solve_mixed_truncated(model: Model, note: str) -> Answer:
    """A mixed case computed by its source on a truncated state space.

    The cut-off of the open classes is ``cutoff`` in the model, or follows from a note such as "util .0997 instead of
    .1": it is the one that loses that share of the arrivals. Without either, the answer is the untruncated one.
    """
    answer = solve_mixed(model)
    case = _read_mixed(model)
    d_open, d_closed = case.demands
    said = re.search(r"util\w*\s+(\d*\.\d+)\s+instead of\s+(\d*\.\d+)", note)
    if "cutoff" in model:
        tried = [int(vector(model["cutoff"])[0])]
    elif said is not None:
        tried = list(range(1, 13 if len(case.rates) == 1 else 5))
    else:
        return answer
    best, result = np.inf, None
    for limit in tried:
        limits = np.full(len(case.rates), limit)
        solved = truncated_product_form(case.rates, d_open, case.users, d_closed, case.servers, limits, case.think)
        with np.errstate(invalid="ignore", divide="ignore"):
            admitted = float(np.nanmean(solved.open_queue / solved.open_residence, axis=0) @ np.ones(len(case.rates)))
        wanted = float(said[1]) / float(said[2]) if said is not None else 1.0
        gap = abs(admitted / float(case.rates.sum()) - wanted)
        if gap < best:
            best, result, cut = gap, solved, limit
    assert result is not None
    admitted_rates = np.nanmax(result.open_queue / result.open_residence, axis=0)
    queue = np.hstack((result.open_queue, result.closed_queue))
    answer.untruncated = answer.metrics
    answer.metrics = case.figures(model, np.concatenate((admitted_rates, result.closed_throughput)), queue)
    answer.method = "mixed product form, truncated"
    answer.note = f"open classes are cut off at {cut} customers, as the case's source did; simulated without a cut-off"
    return answer
