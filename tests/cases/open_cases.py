"""Cases of open networks."""

from __future__ import annotations

from typing import Any

import numpy as np

from model.network import Go, Network, Visit
from tests.cases.answer import Answer, Check
from tests.cases.build import Exp, Run, opened, station, visits_route
from tests.cases.inputs import Floats, first, need, servers_of, station_names, vector, visits_service
from tests.cases.metrics import Metrics
from tests.oracles.product_form import open_product_form, traffic

Model = dict[str, Any]


def network_metrics(
    model: Model, rates: Floats, visits: Floats, service: Floats, queue: Floats, servers: Floats, single: bool
) -> Metrics:
    """Figures of an open network from its queue lengths; ``visits`` and ``service`` (classes, stations)."""
    flow = (rates[:, None] * visits).T
    with np.errstate(invalid="ignore", divide="ignore"):
        residence = np.where(rates > 0, queue / rates, 0.0)
    busy = flow * service.T / np.where(servers < 0, 1, servers)[:, None]
    names = station_names(model, len(servers))
    metrics = Metrics(queue, flow, busy, residence, rates, names, [c < 0 for c in servers], single)
    if single:
        metrics.extras = {"R_total": float(residence.sum()), "R_system": float(residence.sum())}
    return metrics


def _solve(model: Model, rates: Floats, visits: Floats, service: Floats, servers: Floats, single: bool) -> Answer:
    result = open_product_form(rates, (visits * service).T, servers)
    same = all(len(set(s[v > 0])) <= 1 for s, v in zip(service.T, visits.T, strict=True))
    names = station_names(model, len(servers))
    stations = tuple(station(n, int(c), "fcfs" if same else "ps") for n, c in zip(names, servers, strict=True))
    classes = tuple(
        opened(f"class {r + 1}", visits_route(names, visits[r], service[r]), float(rates[r])) for r in range(len(rates))
    )
    network = Network(name="open network", stations=stations, classes=classes)

    def read(run: Run) -> Metrics:
        return network_metrics(model, run.rate, visits, service, run.queue, servers, single)

    per = float(np.ceil(visits.sum(axis=1)).max())
    return Answer(
        network_metrics(model, rates, visits, service, result.queue_length, servers, single),
        method="open product form",
        check=Check(network, read, int(max(4e6 / max(per, 5), 40_000))),
    )


def solve_open_single(model: Model) -> Answer:
    """One open class: visits x service or demands."""
    rates = vector(need(model, "arrival_rate", "arrival_rates", "lambda"))
    visits, service = visits_service(model, 1)
    return _solve(model, rates, visits, service, servers_of(model, visits.shape[1]), len(rates) == 1)


def solve_open_multiclass(model: Model) -> Answer:
    """Several open classes."""
    rates = vector(need(model, "arrival_rates", "arrival_rate"))
    visits, service = visits_service(model, len(rates))
    return _solve(model, rates, visits, service, servers_of(model, visits.shape[1]), False)


def solve_open_routing(model: Model) -> Answer:
    """One open class with a routing matrix; what a row lacks leaves the network."""
    gamma = vector(need(model, "external_arrivals", "arrival_rates"))
    routing = np.asarray(need(model, "routing", "P"), dtype=float)
    rates_given = first(model, "service_rates")
    service = 1 / vector(rates_given) if rates_given is not None else vector(need(model, "service"), len(gamma))
    flow = traffic(gamma, routing)
    total = float(gamma.sum())
    visits = (flow / total)[None, :]
    servers = servers_of(model, len(gamma))
    result = open_product_form([total], (visits * service).T, servers)
    names = station_names(model, len(gamma))
    stations = tuple(station(n, int(c), "fcfs") for n, c in zip(names, servers, strict=True))
    route: list[Any] = [Go(to=tuple((f"at {n}", float(g / total)) for n, g in zip(names, gamma, strict=True) if g > 0))]
    for k, n in enumerate(names):
        route.append(Visit(station=n, service=Exp(float(service[k])), label=f"at {n}"))
        onward = tuple((f"at {names[j]}", float(p)) for j, p in enumerate(routing[k]) if p > 0)
        left = 1.0 - sum(p for _, p in onward)
        route.append(Go(to=(*onward, ("end", left)) if left > 1e-12 else onward))
    network = Network(name="routing", stations=stations, classes=(opened("jobs", tuple(route), total),))

    def read(run: Run) -> Metrics:
        return network_metrics(model, run.rate, visits, service[None, :], run.queue, servers, True)

    return Answer(
        network_metrics(model, np.array([total]), visits, service[None, :], result.queue_length, servers, True),
        method="Jackson",
        check=Check(network, read),
    )
