"""Use and responses as the described work has them: without the chance of a simulation where that is known."""

from dataclasses import replace

import numpy as np

from model.network import Acquire, Network, Release, Station, TransactionClass, Visit, demands
from model.network.arrays import as_arrays
from model.network.overload import most_work
from model.network.simulator.result import ClassResult, SimulationResult, StationResult
from model.network.simulator.statistics import Estimate

KEEPING_UP = 0.98
"""Part of what arrives of a class that must get through for it to have a steady response."""
PLAINLY = 2.0
"""Half-widths of the 95 % interval that are no chance, however many classes there are."""


def with_known_use(network: Network, result: SimulationResult) -> SimulationResult:
    """The result with the utilisation of its stations and machines, and the work in its responses, as far as the
    description tells them.

    A class that arrives by itself uses rate times demand of a station, where that is all of it. Where something is
    overloaded, work is held back: of that, all there is to get is used, and of the rest what was simulated.
    """
    limited = result.overloaded or any(
        behind(result, c.name, rate_of(network, result, c.name)) for c in network.classes
    )
    work = {} if limited else _known_work(network, result)
    stations = {
        station.name: replace(result.stations[station.name], utilization=_used(network, station, result, work))
        for station in network.stations
    }
    members = {
        cec.name: [s for s in network.stations if s.lpar is not None and s.lpar.cec == cec.name] for cec in network.cecs
    }
    engines = {cec.name: cec.engines for cec in network.cecs}
    machines = {
        name: Estimate.total([stations[s.name].utilization.scaled(s.servers / engines[name]) for s in pools])
        for name, pools in members.items()
    }
    machines = {name: Estimate(min(estimate.value, 1.0), estimate.half_width) for name, estimate in machines.items()}
    before = {name: estimate.utilization.value for name, estimate in result.stations.items()}
    before |= {name: estimate.value for name, estimate in result.machines.items()}
    now = {name: estimate.utilization.value for name, estimate in stations.items()}
    now |= {name: estimate.value for name, estimate in machines.items()}
    limits = tuple(
        limit._replace(utilisation=limit.utilisation * now[limit.name] / before[limit.name])
        if before.get(limit.name)
        else limit
        for limit in result.limits
    )
    classes = {c.name: _with_known_work(network, c, result.classes[c.name], work) for c in network.classes}
    return replace(result, classes=classes, stations=stations, machines=machines, limits=limits)


def _with_known_work(
    network: Network, c: TransactionClass, of_class: ClassResult, work: dict[tuple[str, str], float]
) -> ClassResult:
    """The responses of a class as if its simulated transactions had done the work described, rather than what they
    happened to do: where engines are shared, waits go with the work that waits."""
    if c.arrivals is None or not all(isinstance(step, Visit | Acquire | Release) for step in c.route):
        return of_class
    longer_s = 0.0
    for s in network.stations:
        part, used = of_class.parts.get(s.name), work.get((c.name, s.name))
        if part is not None and used is not None and part.using_s > 0:
            stretch = 1.0 + part.waiting_s / part.using_s if s.discipline.shares else 1.0
            longer_s += (used / c.arrivals.rate_per_s - part.using_s) * stretch
    factor = 1.0 + longer_s / of_class.response_s.value if longer_s else 1.0
    percentiles = {percent: time.scaled(factor) for percent, time in of_class.percentiles_s.items()}
    return replace(of_class, response_s=of_class.response_s.scaled(factor), percentiles_s=percentiles)


def rate_of(network: Network, result: SimulationResult, name: str) -> Estimate:
    """Transactions/s of a class: as many as arrive and are not turned away; of users, as many as they sent."""
    arrivals, through = next(c.arrivals for c in network.classes if c.name == name), result.classes[name]
    if arrivals is None:
        return through.throughput_per_s
    lost = through.lost_per_s
    return Estimate(arrivals.rate_per_s - lost.value, float(np.nan_to_num(lost.half_width)))


def behind(result: SimulationResult, name: str, rate: Estimate) -> bool:
    """Whether fewer transactions of a class get through than come."""
    done = result.classes[name].throughput_per_s
    unsure = PLAINLY * float(np.nan_to_num(done.half_width))
    return rate.value - done.value > max((1.0 - KEEPING_UP) * rate.value, unsure)


def held_back(network: Network) -> dict[str, float]:
    """Part of its engines that each pool can get at most, for its cap and beside the other LPARs of its machine."""
    net = as_arrays(network)
    most = most_work(net, net.rates.clip(0) @ net.work)
    return {s.name: float(most[k] / net.curves[k][0][-1]) for k, s in enumerate(network.stations)}


def _known_work(network: Network, result: SimulationResult) -> dict[tuple[str, str], float]:
    """Engines that a class uses of a pool, by class and station, where rate times demand is all of it."""
    seconds, work = demands(network), {}
    for k, c in enumerate(network.classes):
        operations = network.operations(c.name)
        # Engines that are kept until a coupling facility answers.
        spinning = {op.name for op in operations if op.keep}
        if (
            c.arrivals is None
            or any(op.kind == "switch" for op in operations)
            or result.classes[c.name].lost_per_s.value > 0
        ):
            continue
        visited = [s for j, s in enumerate(network.stations) if seconds.visits[k, j] > 0]
        receiving = {s.overflow.to for s in visited if s.overflow is not None}
        for j, s in enumerate(network.stations):
            if _plain(s) and s.overflow is None and s.name not in receiving | spinning:
                work[c.name, s.name] = c.arrivals.rate_per_s * float(seconds.demand_s[k, j]) / s.speeds[0]
    return work


def _plain(station: Station) -> bool:
    """Whether work takes as long at a station however many others are there."""
    alike = len(set(station.speeds)) == 1 and not station.cost_by_busy and station.smt is None
    return alike and station.capacity is None and (station.lpar is None or station.lpar.low_cost == 1)


def _used(network: Network, station: Station, result: SimulationResult, work: dict[tuple[str, str], float]) -> Estimate:
    simulated = result.stations[station.name]
    if station.name in result.overloaded:
        return _all_there_is(network, station, simulated)
    if not station.discipline.queues:
        return simulated.utilization
    by_class = simulated.utilization_by_class
    exact = {c: used / station.servers for (c, where), used in work.items() if where == station.name}
    unsure = any(used > 0 for c, used in by_class.items() if c not in exact)
    total = sum(exact.values()) + sum(used for c, used in by_class.items() if c not in exact)
    used = Estimate(min(total, 1.0), simulated.utilization.half_width if unsure else 0.0)
    return used if exact else simulated.utilization


def _all_there_is(network: Network, station: Station, simulated: StationResult) -> Estimate:
    """All engines that an overloaded pool gets, if its work reached it and only its queue had yet to fill; beside other
    LPARs what these left it from moment to moment."""
    most = held_back(network)[station.name]
    machine = station.lpar and station.lpar.cec
    alone = machine is None or sum(s.lpar is not None and s.lpar.cec == machine for s in network.stations) == 1
    return Estimate(most, 0.0) if alone and simulated.utilization.value > 0.9 * most else simulated.utilization
