"""Networks in product form: Jackson and BCMP, open, closed and mixed, with several servers or load-dependent stations.

Sources: Jackson, *Management Science* 10, 1963; Baskett, Chandy, Muntz and Palacios, *J. ACM* 22, 1975.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from model.network.arrays import Arrays, Floats, Ints
from model.network.errors import NetworkError
from model.network.exact.convolution import Convolution, lattice_size
from model.network.exact.mixed import mixed_product_form
from model.network.exact.solution import Figures
from model.network.exact.support import UnsupportedError
from model.network.flows import flows
from model.queueing.load_dependent import open_load_dependent

LATTICE_WORK = 4e6
"""Most steps over the lattice of populations that a closed network may take."""


def product_form(net: Arrays) -> Figures:
    """Exact figures of a network in product form.

    Raises
    ------
    UnsupportedError
        The network has no product form, or too many populations.
    NetworkError
        Users of a class never let time pass.
    """
    _check(net)
    opened, closed = np.flatnonzero(net.rates > 0), np.flatnonzero(net.users > 0)
    if len(closed) == 0:
        return _open(net, opened)
    if np.any(net.think[closed] + net.work[closed].sum(axis=1) <= 0):
        raise NetworkError("users of a closed class who neither think nor are served would never let time pass")
    # Stations whose capacity is not one of so many servers for each customer.
    special = {k: net.curves[k][0] for k in np.flatnonzero(~net.delay).tolist() if not net.is_plain(k)}
    population = net.users[closed].astype(np.int64)
    many = [k for k, servers in enumerate(net.servers) if servers > 1 or k in special]
    customers = int(population.sum())
    degree = sum(customers if k in special else min(customers, int(net.servers[k])) for k in many)
    if lattice_size(population) * (len(net.servers) + degree * (1 + len(many))) * len(closed) > LATTICE_WORK:
        raise UnsupportedError(f"{lattice_size(population):.3g} populations of its classes are too many")
    return _mixed(net, opened, closed, special) if len(opened) else _closed(net, closed, special)


def _check(net: Arrays) -> None:
    network = net.network
    for cls in network.classes:
        if cls.arrivals is not None and not cls.arrivals.is_poisson:
            raise UnsupportedError(f"class {cls.name!r} has arrivals that are not Poisson")
    for rho, resource in enumerate(network.resources):
        if np.any(net.acquires[:, rho] > 0):
            raise UnsupportedError(f"transactions may wait for {resource.name!r}")
    switches = any(op.kind == "switch" for op in flows(network).ops)
    active = (net.rates > 0) | (net.users > 0)
    for k, station in enumerate(network.stations):
        here = np.flatnonzero(active & (net.visits[:, k] > 0))
        if len(here) == 0 or net.delay[k]:
            continue
        where = f"station {station.name!r}"
        if len(set(station.speeds)) > 1:
            raise UnsupportedError(f"{where} has unequal engines")
        if station.capacity is not None and not (
            np.all(net.rates[here] <= 0) and net.users[here].sum() <= station.capacity
        ):
            raise UnsupportedError(f"{where} may be full")
        if station.discipline.ranked and (switches or len({net.priority[r] for r in here}) > 1):
            raise UnsupportedError(f"{where} serves several priorities")
        # Beyond two threads a core, transactions wait in order of arrival.
        in_order = not station.discipline.shares or station.smt is not None
        if in_order and not equal_exponential(net, k):
            raise UnsupportedError(f"{where} serves work in order that is not exponential with one mean for all")
        if station.discipline.lane_by_weight and (switches or len({net.weight[r] for r in here}) > 1):
            raise UnsupportedError(f"{where} shares by different weights")


def equal_exponential(net: Arrays, k: int) -> bool:
    """Whether all visits to station ``k`` take exponential times of one mean."""
    flow, means = flows(net.network), set()
    name = net.network.station_names[k]
    for row in np.flatnonzero((net.rates > 0) | (net.users > 0)):
        for at in flow.visited(int(row)):
            op = flow.ops[at]
            if op.kind == "visit" and op.name == name and op.service is not None:
                if op.extra is not None or op.service.kind != "exponential" or op.service.offset > 0:
                    return False
                means.add(round(op.service.mean, 15))
    return len(means) <= 1


def _open(net: Arrays, opened: Ints) -> Figures:
    """Open classes alone: every station by itself."""
    work = net.work
    throughput, residence, busy = np.zeros(len(net.rates)), np.zeros_like(work), np.zeros_like(work)
    throughput[opened] = net.rates[opened]
    for k, delay in enumerate(net.delay):
        load = float(net.rates[opened] @ work[opened, k])
        if load == 0:
            continue
        state = None if delay else open_load_dependent(load, *net.curves[k])
        residence[opened, k] = work[opened, k] * (state.queue_length / load if state else 1.0)
        busy[opened, k] = net.rates[opened] * work[opened, k] * (state.busy / load if state else 1.0)
    return Figures.without_waits(net, throughput, residence, busy, "open product form")


def _closed(net: Arrays, closed: Ints, special: Mapping[int, Floats]) -> Figures:
    work, population = net.work, net.users[closed].astype(np.int64)
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
    return Figures.without_waits(net, throughput, residence, busy, "convolution")


def _mixed(net: Arrays, opened: Ints, closed: Ints, special: Mapping[int, Floats]) -> Figures:
    work, population = net.work, net.users[closed].astype(np.int64)
    both = mixed_product_form(
        net.rates[opened],
        work[opened].T,
        population,
        work[closed].T,
        net.servers,
        net.think[closed],
        {k: net.curves[k] for k in special},
    )
    throughput, residence = np.zeros(len(net.rates)), np.zeros_like(work)
    throughput[opened], throughput[closed] = net.rates[opened], both.closed_throughput
    residence[opened], residence[closed] = both.open_residence.T, both.closed_residence.T
    alone = work * throughput[:, None]
    total = alone.sum(axis=0)
    busy = alone * np.divide(both.busy, total, out=np.ones_like(total), where=total > 0)
    return Figures.without_waits(net, throughput, residence, busy, "mixed product form")


def _levels(curve: Floats, customers: int) -> Floats:
    """A curve over 1..customers at least, its last value beyond."""
    return np.concatenate((curve, np.full(max(customers - len(curve), 0), curve[-1])))
