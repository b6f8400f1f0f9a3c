"""Networks whose steady state theory gives exactly: product form, and one queue with priorities, a limit or arrivals
that are not Poisson."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from model.network import NetworkError
from model.network.flows import flows
from model.network.solvers.arrays import RANKED
from model.network.solvers.convolution import Convolution, Floats, lattice_size
from model.network.solvers.exact_mva import exact_mva
from model.network.solvers.load_dependent import open_load_dependent
from model.network.solvers.mixed import mixed_product_form
from model.network.solvers.priorities import mg1_fcfs, mg1_head_of_line, mg1_preemptive_resume
from model.network.solvers.reduction import Reduced
from model.network.solvers.stations import gmc_response, mmck

LATTICE_WORK = 4e6


class Figures(NamedTuple):
    """``throughput`` (classes,); residence and busy servers (classes, stations); resource waits and use (classes,
    resources).

    ``using`` (classes, stations) is the part of the residence that the work would take alone. ``method`` names the
    algorithm, ``fork_saving`` (classes,) is the residence that runs in parallel with more.
    """

    throughput: Floats
    residence: Floats
    busy: Floats
    using: Floats
    wait: Floats
    held: Floats
    method: str
    fork_saving: Floats


def in_product_form(net: Reduced) -> bool:
    """Whether the network has a product-form solution that this package can compute."""
    if net.product is None:
        net.product = _in_product_form(net)
    return net.product


def _in_product_form(net: Reduced) -> bool:
    if net.sync or net.forks or np.any(net.acquires > 0) or not np.all(net.poisson):
        return False
    alive = np.flatnonzero((net.rates != 0) & ((net.rates > 0) | (net.users > 0)))
    for k, station in enumerate(net.network.stations):
        here = [r for r in alive if net.demand[r, k] > 0]
        if not here or station.scheduling == "delay":
            continue
        if station.overflow or station.lpar or len(set(station.speeds)) > 1:
            return False
        if station.capacity is not None and (np.any(net.rates[here] > 0) or net.users[here].sum() > station.capacity):
            return False
        one_level = not net.switches and len({net.priority[r] for r in here}) == 1
        # Beyond two threads a core, transactions wait in order of arrival.
        if (station.scheduling in ("fcfs", "hol", "preemptive") or station.smt) and not net.equal_fcfs[k]:
            return False
        if station.scheduling in RANKED and not one_level:
            return False
        if station.scheduling == "dps" and (net.switches or len({net.weight[r] for r in here}) > 1):
            return False
    return True


def product_form(net: Reduced) -> Figures | None:
    """Exact solution, None where the lattice of populations is too large.

    Raises:
        ValueError: open classes saturate a station.
    """
    work = net.demand * net.pace
    opened, closed = np.flatnonzero(net.rates > 0), np.flatnonzero(net.users > 0)
    if len(closed) == 0:
        return _open(net, work, opened)
    if np.any(net.think[closed] + work[closed].sum(axis=1) <= 0):
        raise NetworkError("users of a closed class who neither think nor are served would never let time pass")
    # Stations whose capacity is not one of so many servers for each customer.
    special = {k: net.curves[k][0] for k in np.flatnonzero(~net.delay).tolist() if not net.plain[k]}
    population = net.users[closed].astype(np.int64)
    many = [k for k, servers in enumerate(net.servers) if servers > 1 or k in special]
    customers = int(population.sum())
    degree = sum(customers if k in special else min(customers, int(net.servers[k])) for k in many)
    if lattice_size(population) * (len(net.servers) + degree * (1 + len(many))) * len(closed) > LATTICE_WORK:
        return None
    if len(opened) > 0:
        return _mixed(net, work, opened, closed, special)
    if special or np.any(net.servers > 1):
        return _closed(net, work, closed, special)
    result = exact_mva(population, work[closed].T, net.servers, net.think[closed])
    throughput, residence = np.zeros(len(net.rates)), np.zeros_like(work)
    throughput[closed], residence[closed] = result.throughput, result.residence.T
    return _plain(net, throughput, residence, work * throughput[:, None], "exact mean value analysis")


def _open(net: Reduced, work: Floats, opened: NDArray[np.int64]) -> Figures:
    """Open classes alone: every station by itself."""
    throughput, residence, busy = np.zeros(len(net.rates)), np.zeros_like(work), np.zeros_like(work)
    throughput[opened] = net.rates[opened]
    for k, delay in enumerate(net.delay):
        load = float(net.rates[opened] @ work[opened, k])
        if load == 0:
            continue
        state = None if delay else open_load_dependent(load, *net.curves[k])
        residence[opened, k] = work[opened, k] * (state.queue_length / load if state else 1.0)
        busy[opened, k] = net.rates[opened] * work[opened, k] * (state.busy / load if state else 1.0)
    return _plain(net, throughput, residence, busy, "open product form")


def _closed(net: Reduced, work: Floats, closed: NDArray[np.int64], special: Mapping[int, Floats]) -> Figures:
    population = net.users[closed].astype(np.int64)
    customers = int(population.sum())
    rates = {k: _levels(alpha, customers) for k, alpha in special.items()}
    network = Convolution(population, work[closed].T, net.servers, net.think[closed], rates)
    solved = network.solve()
    throughput, residence = np.zeros(len(net.rates)), np.zeros_like(work)
    throughput[closed], residence[closed] = solved.throughput, solved.residence.T
    busy = work * throughput[:, None]
    for k in special:
        used = np.concatenate(([0.0], _levels(net.curves[k][1], customers)))
        total = busy[:, k].sum()
        busy[:, k] *= float(network.marginal(k) @ used[: customers + 1]) / total if total > 0 else 0.0
    return _plain(net, throughput, residence, busy, "convolution")


def _mixed(
    net: Reduced,
    work: Floats,
    opened: NDArray[np.int64],
    closed: NDArray[np.int64],
    special: Mapping[int, Floats],
) -> Figures:
    population = net.users[closed].astype(np.int64)
    both = mixed_product_form(
        net.rates[opened], work[opened].T, population, work[closed].T, net.servers, net.think[closed], special
    )
    throughput, residence = np.zeros(len(net.rates)), np.zeros_like(work)
    throughput[opened], throughput[closed] = net.rates[opened], both.closed_throughput
    residence[opened], residence[closed] = both.open_residence.T, both.closed_residence.T
    busy = engines_at_work(net, work * throughput[:, None], special)
    return _plain(net, throughput, residence, busy, "mixed product form")


def engines_at_work(net: Reduced, work: Floats, special: Iterable[int]) -> Floats:
    """(classes, stations) engines at work for ``work`` a second, at the ``special`` stations as their curves say."""
    busy = work.copy()
    for k in special:
        most, used = net.curves[k]
        total = float(work[:, k].sum())
        if total > 0:
            busy[:, k] *= np.interp(total, np.append(0.0, most), np.append(0.0, used)) / total
    return busy


def _levels(curve: Floats, customers: int) -> Floats:
    """A curve over 1..customers at least, its last value beyond."""
    return np.concatenate((curve, np.full(max(customers - len(curve), 0), curve[-1])))


def _plain(net: Reduced, throughput: Floats, residence: Floats, busy: Floats, method: str) -> Figures:
    none = np.zeros_like(net.acquires)
    return Figures(throughput, residence, busy, net.demand * net.pace, none, none, method, np.zeros(len(throughput)))


def _once_at_most(net: Reduced, rows: NDArray[np.int64], k: int) -> bool:
    """Whether no transaction can come to station ``k`` twice: those who come back are not Poisson arrivals."""
    flow = flows(net.network)
    name = net.network.station_names[k]
    for row in rows:
        visited = flow.visited(int(row))
        here = [at for at in visited if flow.ops[at].kind == "visit" and flow.ops[at].name == name]
        back = any(flow.base(at) + target <= at for at in visited for target, _ in flow.ops[at].targets)
        if len(here) > 1 or back or any(flow.ops[at].count > 1 for at in here):
            return False
    return True


def one_renewal_queue(net: Reduced) -> Figures | None:
    """Exact GI/M/c where one class of independent times between arrivals goes once through one queue first, and the
    rest only delays; else None.

    Raises:
        ValueError: the class saturates the station.
    """
    alive = np.flatnonzero(net.rates > 0)
    if len(alive) != 1 or np.any(net.users > 0) or net.sync or net.forks or np.any(net.acquires > 0) or net.switches:
        return None
    row = int(alive[0])
    arrivals, k = net.network.classes[row].arrivals, net.order[row][0]
    if arrivals is None or arrivals.transform(1.0) is None or [j for j in net.order[row] if not net.delay[j]] != [k]:
        return None
    station = net.network.stations[k]
    if not _once_at_most(net, alive, k) or net.visits[row, k] != 1 or not net.equal_fcfs[k] or not net.plain[k]:
        return None
    if station.capacity is not None or station.overflow or station.lpar or station.smt:
        return None
    transform = cast(Callable[[float], float], arrivals.transform)
    work, rate = float(net.demand[row, k] * net.pace[k]), float(net.rates[row])
    residence = np.where(net.delay, net.demand, 0.0)
    residence[row, k] = gmc_response(transform, rate, work, station.servers)
    busy = net.rates.clip(0)[:, None] * net.demand * net.pace
    return _plain(net, net.rates.clip(0), residence, busy, "GI/M/c")


def one_open_queue(net: Reduced) -> Figures | None:
    """Exact M/G/1 with or without priorities, or M/M/c/K, where the rest of an open network only delays; else None.

    Raises:
        ValueError: the classes saturate the station.
    """
    stations = net.network.stations
    alive = np.flatnonzero(net.rates > 0)
    if np.any(net.users > 0) or net.sync or net.forks or np.any(net.acquires > 0) or not np.all(net.poisson):
        return None
    queues = [k for k, s in enumerate(stations) if s.scheduling != "delay" and np.any(net.demand[alive, k] > 0)]
    if len(queues) != 1 or net.switches:
        return None
    k = queues[0]
    station = stations[k]
    visits = net.visits[alive, k]
    if not _once_at_most(net, alive, k) or station.overflow or station.lpar or station.cost_by_busy or station.smt:
        return None
    if len(set(station.speeds)) > 1:
        return None
    service = np.nan_to_num(net.service[alive, k]) * net.pace[k]
    second = service**2 * (1 + net.scv[alive, k])
    rates = net.rates[alive] * visits
    throughput, residence, busy = net.rates.copy(), np.zeros_like(net.demand), np.zeros_like(net.demand)
    throughput[throughput < 0] = 0
    for j, s in enumerate(stations):
        if s.scheduling == "delay":
            residence[alive, j] = net.demand[alive, j]
            busy[alive, j] = net.rates[alive] * net.demand[alive, j]
    if station.capacity is not None:
        if not net.equal_fcfs[k] or station.scheduling != "fcfs" or not np.allclose(visits, 1) or len(stations) > 1:
            return None
        full = mmck(float(rates.sum()), float(service[0]), station.servers, station.capacity)
        throughput[alive] *= 1 - full.loss_probability
        residence[alive, k] = full.response
        busy[alive, k] = throughput[alive] * service
        return _plain(net, throughput, residence, busy, "M/M/c/K")
    if station.servers != 1:
        return None
    formula = {"hol": mg1_head_of_line, "preemptive": mg1_preemptive_resume}
    if station.scheduling == "fcfs":
        response = mg1_fcfs(rates, service, second)
    elif station.scheduling in formula:
        response = formula[station.scheduling](rates, service, second, net.priority[alive])
    else:
        return None
    residence[alive, k] = visits * response
    busy[alive, k] = rates * service
    return _plain(net, throughput, residence, busy, f"M/G/1 {station.scheduling}")
