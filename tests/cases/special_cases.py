"""Cases that are not networks of queues alone: bounds, fork-join, blocking, traces, scaling laws."""

from __future__ import annotations

from typing import Any

import numpy as np

from model.network import Fork, Go, Network, Visit
from tests.cases.answer import Answer, Check, extras_only
from tests.cases.build import Exp, Run, closed, opened, station
from tests.cases.closed_cases import product_network
from tests.cases.inputs import CaseError, first, need, servers_of, vector, visits_service
from tests.cases.metrics import Metrics
from tests.oracles.blocking import closed_blocking, closed_blocking_approximate, cyclic
from tests.oracles.bounds import Bounds, asymptotic, balanced_job, proportional
from tests.oracles.fork_join import fork_join_closed, fork_join_open
from tests.oracles.processor_sharing_trace import share_processor
from tests.oracles.product_form import visit_ratios
from tests.oracles.usl import fit_usl

Model = dict[str, Any]
#: How often a user goes round before a route ends: a transaction of such a network is hundreds of visits.
LEAVES = 1e-2


def _bounds(model: Model, expected: dict[str, Any], kind: str) -> Answer:
    demands = (np.prod(np.stack(visits_service(model, 1)), axis=0))[0]
    think = float(vector(first(model, "think_time", "think", "Z", default=0.0))[0])
    given = first(model, "population", "populations", "N", default=expected.get("N"))
    if given is None:
        raise CaseError("bounds need a population")
    several = np.ndim(given) > 0
    populations = [int(n) for n in vector(given)]
    servers = servers_of(model, len(demands))

    def at(n: int) -> Bounds:
        if kind == "aba":
            return asymptotic(n, demands, think, servers)
        return (balanced_job if kind == "bjb" else proportional)(n, demands, think)

    rows = [at(n) for n in populations]
    values: dict[str, Any] = {"N": populations if several else populations[0]}
    for name, key in (
        ("X_lower", "throughput_lower"), ("X_upper", "throughput_upper"), ("R_lower", "response_lower"),
        ("R_upper", "response_upper"),
    ):  # fmt: skip
        column = [getattr(b, key) for b in rows]
        values[name] = column if several else column[0]
    middle = len(populations) // 2
    n = populations[middle]
    network = product_network(
        [f"station {k + 1}" for k in range(len(demands))],
        servers,
        np.ones((1, len(demands))),
        demands[None, :],
        np.array([n]),
        np.array([think]),
    )

    def read(run: Run) -> Metrics:
        x = float(run.rate[0])
        bound = rows[middle]
        between = {
            "X": (bound.throughput_lower, x, bound.throughput_upper),
            "R": (bound.response_lower, n / x - think, bound.response_upper),
        }
        return extras_only({"between": between})

    return Answer(extras_only(values), method=f"bounds ({kind})", check=Check(network, read))


def solve_bounds_aba(model: Model, expected: dict[str, Any]) -> Answer:
    """Asymptotic bounds."""
    return _bounds(model, expected, "aba")


def solve_bounds_bjb(model: Model, expected: dict[str, Any]) -> Answer:
    """Balanced-job bounds."""
    return _bounds(model, expected, "bjb")


def solve_bounds_pb(model: Model, expected: dict[str, Any]) -> Answer:
    """Proportional bounds."""
    return _bounds(model, expected, "pb")


def _join_values(response: float, branch: Any, throughput: float) -> dict[str, Any]:
    branch = np.asarray(branch, dtype=float)
    sync = response - float(branch.mean())
    return {
        "R_fj": response, "R_forkjoin": response, "R": response, "R_branch": branch, "sync": sync, "X": throughput,
        "R_max": response, "W_sync": sync,
    }  # fmt: skip


def solve_fork_join_open(model: Model) -> Answer:
    """Poisson jobs over parallel branches."""
    rate = float(need(model, "arrival_rate", "lambda"))
    mu = _branch_rates(model)
    discipline = str(first(model, "discipline", "scheduling", default="fcfs")).lower()
    result = fork_join_open(rate, mu)
    names = [f"branch {i + 1}" for i in range(len(mu))]
    fork = Fork(branches=tuple((Visit(station=n, service=Exp(1 / m)),) for n, m in zip(names, mu, strict=True)))
    network = Network(
        name="fork-join",
        stations=tuple(station(n, 1, discipline) for n in names),
        classes=(opened("jobs", (fork,), rate),),
    )

    def read(run: Run) -> Metrics:
        branch = run.queue[:, 0] / run.flow[:, 0]
        return extras_only(_join_values(float(run.response[0]), branch, float(run.rate[0])))

    return Answer(
        extras_only(_join_values(result.response, result.branch_response, rate)),
        exact=result.exact and discipline == "fcfs",
        method="longest queue of the branches" if result.exact else "Nelson-Tantawi scaled to unequal branches",
        check=Check(network, read, 2_000_000),
    )


def _branch_rates(model: Model) -> np.ndarray:
    rates = first(model, "service_rates", "rates")
    return vector(rates) if rates is not None else 1 / vector(need(model, "service", "demands", "service_rates"))


def solve_fork_join_closed(model: Model) -> Answer:
    """Users that alternate between a delay and a fork-join."""
    users = int(need(model, "population", "N"))
    delay = float(need(model, "delay", "think_time", "think"))
    mu = _branch_rates(model)
    discipline = str(first(model, "discipline", "scheduling", default="ps")).lower()
    result = fork_join_closed(users, delay, mu, discipline)
    names = [f"branch {i + 1}" for i in range(len(mu))]
    fork = Fork(branches=tuple((Visit(station=n, service=Exp(1 / m)),) for n, m in zip(names, mu, strict=True)))
    network = Network(
        name="fork-join",
        stations=tuple(station(n, 1, discipline) for n in names),
        classes=(closed("jobs", (fork,), users, delay),),
    )

    def read(run: Run) -> Metrics:
        branch = run.queue[:, 0] / run.flow[:, 0]
        return extras_only(_join_values(float(run.response[0]), branch, float(run.rate[0])))

    values = _join_values(result.response, result.branch_response, result.throughput)
    return Answer(
        extras_only(values), method=f"Markov chain of {discipline} branches", check=Check(network, read, 2_000_000)
    )


def solve_blocking(model: Model) -> Answer:
    """A closed network with finite capacities, blocking after service."""
    users = int(need(model, "population", "N"))
    capacities = vector(need(model, "capacities", "capacity")).astype(int)
    service = visits_service(model, 1)[1][0]
    routing = first(model, "routing", default="cyclic")
    matrix = cyclic(len(service)) if isinstance(routing, str) else np.asarray(routing, dtype=float)
    servers = servers_of(model, len(service))
    result = closed_blocking(users, service, capacities, matrix, servers)
    rough = closed_blocking_approximate(users, service, capacities, matrix) if np.all(servers == 1) else None
    visits = visit_ratios(matrix)
    names = [f"station {k + 1}" for k in range(len(service))]
    values = {
        "R": result.response, "Q": result.queue_length, "X": result.throughput, "U": result.utilisation,
        "residence": result.response * visits,
    }  # fmt: skip
    stations = tuple(
        station(n, int(m), "fcfs", capacity=int(c), when_full="block")
        if 0 < c < users and m > 0
        else station(n, int(m), "fcfs")
        for n, m, c in zip(names, servers, capacities, strict=True)
    )
    route: list[Any] = []
    for k, name in enumerate(names):
        route.append(Visit(station=name, service=Exp(float(service[k])), label=f"at {name}"))
        # Users go round for ever; a route has to end, so now and then one does where it goes back to the first station,
        # which it enters again at once.
        onward = [
            (f"at {names[j]}", float(p) * (1 - LEAVES if j == 0 else 1)) for j, p in enumerate(matrix[k]) if p > 0
        ]
        if matrix[k, 0] > 0:
            onward.append(("end", float(matrix[k, 0]) * LEAVES))
        route.append(Go(to=tuple(onward)))
    network = Network(name="blocking", stations=stations, classes=(closed("jobs", tuple(route), users),))

    def read(run: Run) -> Metrics:
        queue, flow = run.queue[:, 0], run.flow[:, 0]
        return extras_only(
            {"R": queue / flow, "Q": queue, "X": flow, "U": flow * service, "residence": queue / flow * visits}
        )

    note = "" if rough is None else f"Akyildiz's approximation gives R = {np.round(rough.response, 4).tolist()}"
    return Answer(extras_only(values), method="Markov chain", note=note, check=Check(network, read, 3_000))


def solve_ps_trace(model: Model, expected: dict[str, Any]) -> Answer:
    """Processor sharing of a given trace."""
    servers = int(first(model, "servers", default=1))
    arrivals, service = need(model, "arrivals"), need(model, "service")
    service = vector(service, len(arrivals))
    instants = {
        key: float(key.removeprefix("time_left_at_").replace("_", "."))
        for key in expected
        if key.startswith("time_left_at_")
    }
    result = share_processor(arrivals, service, servers, sorted(instants.values()))
    at = {t: i for i, t in enumerate(sorted(instants.values()))}
    values: dict[str, Any] = {
        "departure": result.departure, "departures": result.departure,
        "response": result.departure - np.asarray(arrivals), "R": result.departure - np.asarray(arrivals),
    }  # fmt: skip
    for key, instant in instants.items():
        values[key] = [None if np.isnan(x) else float(x) for x in result.time_left[at[instant]]]
    return Answer(extras_only(values), method="event by event")


def solve_usl(model: Model) -> Answer:
    """Coefficients of the universal scalability law."""
    gamma = first(model, "gamma")
    fit = fit_usl(need(model, "load", "x"), need(model, "throughput", "y"), None if gamma is None else float(gamma))
    values = {
        "alpha": fit.alpha, "beta": fit.beta, "gamma": fit.gamma, "sigma": fit.alpha, "kappa": fit.beta,
        "lambda": fit.gamma, "N_peak": fit.peak_load, "N_max": fit.peak_load, "peak_load": fit.peak_load,
        "X_peak": float(fit.throughput(fit.peak_load)) if np.isfinite(fit.peak_load) else np.inf,
    }  # fmt: skip
    return Answer(extras_only(values), method="least squares")
