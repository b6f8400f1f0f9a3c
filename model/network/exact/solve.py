"""The exact steady state of a network at one load or several, or the reasons why there is none."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from model.network.arrays import Arrays, Floats, as_arrays
from model.network.description import Network
from model.network.errors import NetworkError, UnsupportedError
from model.network.exact.methods import METHODS
from model.network.exact.solution import Figures, Solution
from model.network.limits import Limit, limits, most_work, overloaded_by_arrivals, share_with_overflow, unwaited_holding

SIMULATE = "Estimate it with `etalon simulate MODEL.toml`"


def solve(network: Network) -> Solution:
    """Exact steady state of a network.

    Parameters
    ----------
    network
        Any description; the first of the exact methods that supports all of it answers.

    Returns
    -------
    Solution
        Its ``method`` says which one it was.

    Raises
    ------
    NetworkError
        No exact method applies (the message has the reason of each), a station or resource is overloaded, or
        transactions come to wait for each other without end.
    """
    net = as_arrays(network)
    overloaded = overloaded_by_arrivals(net)
    # Who is turned away by a limit is no load to what is behind it.
    if overloaded and all(resource.queue_limit is None for resource in network.resources):
        raise NetworkError(_overload(network, overloaded))
    methods: dict[str, list[str]] = {}
    for method in METHODS:
        try:
            return _solution(net, method.figures(net))
        except UnsupportedError as reason:
            methods.setdefault(str(reason), []).append(method.name)
    reasons = "; ".join(f"{reason} ({', '.join(names)})" for reason, names in methods.items())
    raise NetworkError(f"network {network.name!r} has no exact solution: {reasons}. {SIMULATE}")


def _overload(network: Network, overloaded: dict[str, float]) -> str:
    loads = ", ".join(f"{name} by {100 * part:.4g} % of what it can do" for name, part in overloaded.items())
    return (
        f"network {network.name!r} has no steady state: arrivals load {loads}. Lower the rates or add capacity; "
        "`etalon simulate MODEL.toml` shows which classes keep their response"
    )


def _solution(net: Arrays, figures: Figures) -> Solution:
    network, throughput = net.network, figures.throughput
    response = figures.residence.sum(axis=1) + figures.wait.sum(axis=1)
    # Sums that should be nothing leave rounding behind.
    least = 1e-9 * np.where(np.isfinite(response), response, 0.0)[:, None]
    with np.errstate(invalid="ignore"):
        queue = np.where(throughput[:, None] > 0, throughput[:, None] * figures.residence, 0.0)
        population = np.where(throughput > 0, throughput * response, 0.0)
    return Solution(
        network=network.name,
        classes=network.class_names,
        stations=network.station_names,
        resources=network.resource_names,
        throughput_per_s=throughput,
        response_s=response,
        population=population,
        utilisation=figures.busy / np.where(net.delay, 1, net.servers),
        residence_s=figures.residence,
        service_s=figures.using,
        queue_length=queue,
        wait_s=np.where(figures.wait < least, 0.0, figures.wait),
        held=figures.held,
        method=figures.method,
        limits=_limits(net, figures),
    )


def _limits(net: Arrays, figures: Figures) -> tuple[Limit, ...]:
    network, throughput = net.network, figures.throughput
    queueing = np.flatnonzero(~net.delay).tolist()
    names = [(network.stations[k].name, network.stations[k].component or "station") for k in queueing]
    names += [(r.name, r.kind or "resource") for r in network.resources]
    names += [(cec.name, "machine") for cec in network.cecs]
    units = np.array([r.capacity * r.instances for r in network.resources], dtype=float)
    shares = np.zeros(len(network.stations))
    shares[queueing] = [_share_of_limit(net, figures, k) for k in queueing]
    busy = figures.busy.sum(axis=0)
    of_machines = [
        sum(busy[k] for k, s in enumerate(network.stations) if s.lpar is not None and s.lpar.cec == cec.name)
        / cec.engines
        for cec in network.cecs
    ]
    unwaited = unwaited_holding(net, throughput, throughput @ figures.using) / units
    needed = [share_with_overflow(net, shares, k) for k in queueing]
    used: list[float] = [*shares[queueing], *(figures.held.sum(axis=0) / units), *of_machines]
    return limits(names, used, [*needed, *unwaited, *of_machines], float(throughput.sum()))


def _share_of_limit(net: Arrays, figures: Figures, k: int) -> float:
    """Work done at a station over the most it can do."""
    station, most = net.network.stations[k], float(net.curves[k][0][-1])
    if station.lpar is not None:
        return float(figures.busy[:, k].sum() / most_work(net, np.zeros(len(net.curves)))[k])
    if net.is_plain(k):
        return float(figures.busy[:, k].sum() / most)
    alone: Floats = net.work[:, k] if len(set(station.speeds)) > 1 else figures.using[:, k]
    return float(figures.throughput @ alone / most)


@dataclass(frozen=True)
class SweepPoint:
    """The network with its rates and users multiplied by ``factor``: its solution, or why it has none (``refused``)."""

    factor: float
    solution: Solution | None
    refused: str = ""


def sweep_load(network: Network, factors: Iterable[float]) -> list[SweepPoint]:
    """Solve the network with arrival rates and numbers of users multiplied by each factor; users are rounded.

    Raises
    ------
    ValueError
        A factor is not positive.
    NetworkError
        No point has an exact solution.
    """
    points = [_point(network, float(factor)) for factor in factors]
    if all(point.solution is None for point in points):
        raise NetworkError(points[0].refused)
    return points


def _point(network: Network, factor: float) -> SweepPoint:
    if not factor > 0:
        raise ValueError(f"factors of a load sweep must be positive, got {factor}")
    classes = []
    for cls in network.classes:
        arrivals = cls.arrivals
        if arrivals is not None:
            arrivals = replace(arrivals, interarrival=arrivals.interarrival.scaled(1 / factor))
        classes.append(replace(cls, arrivals=arrivals, users=round(cls.users * factor)))
    try:
        return SweepPoint(factor, solve(replace(network, classes=tuple(classes))))
    except NetworkError as reason:
        return SweepPoint(factor, None, str(reason))
