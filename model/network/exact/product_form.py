"""Networks in product form: Jackson and BCMP, open, closed and mixed, with several servers or load-dependent stations.

The open classes turn each station into a load-dependent one for the closed classes: with open load rho,
f(n) = sum_m C(n+m, m) rho^m / (alpha(1)...alpha(n+m)). For one server that is 1/(1-rho)^(n+1): the closed demands
stretch by 1/(1-rho).

Sources: Jackson, *Management Science* 10, 1963; Baskett, Chandy, Muntz and Palacios, *J. ACM* 22, 1975; Lazowska et
al., *Quantitative System Performance*, 1984, section 7.4.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from model.network.arrays import Arrays, Floats, Ints
from model.network.errors import NetworkError, UnsupportedError
from model.network.exact.convolution import Convolution, lattice_size
from model.network.exact.solution import Figures
from model.network.flows import flows
from model.network.kernel_cache import kernel
from model.queueing.stations import birth_death

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
    return _with_users(net, opened, closed, special)


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
        state = None if delay else birth_death(load, *net.curves[k])
        residence[opened, k] = work[opened, k] * (state.queue_length / load if state else 1.0)
        busy[opened, k] = net.rates[opened] * work[opened, k] * (state.busy / load if state else 1.0)
    return Figures.without_waits(net, throughput, residence, busy, "open product form")


def _with_users(net: Arrays, opened: Ints, closed: Ints, special: Mapping[int, Floats]) -> Figures:
    """Closed classes, alone or with open ones."""
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
    method = "mixed product form" if len(opened) else "convolution"
    return Figures.without_waits(net, throughput, residence, busy, method)


class MixedResult(NamedTuple):
    """``closed_throughput`` (closed classes,); queue lengths and residences (stations, classes); ``busy``
    (stations,) engines at work."""

    closed_throughput: Floats
    open_queue: Floats
    closed_queue: Floats
    open_residence: Floats
    closed_residence: Floats
    busy: Floats


def mixed_product_form(
    open_rates: ArrayLike,
    open_demands: ArrayLike,
    populations: ArrayLike,
    closed_demands: ArrayLike,
    servers: ArrayLike,
    think_times: ArrayLike | None = None,
    curves: Mapping[int, tuple[Floats, Floats]] | None = None,
) -> MixedResult:
    """Exact solution of a mixed product-form network.

    Args:
        open_rates: (open classes,) arrivals per unit time.
        open_demands: (stations, open classes).
        populations: (closed classes,).
        closed_demands: (stations, closed classes).
        servers: (stations,), -1 for a delay.
        think_times: (closed classes,).
        curves: station index -> capacity with 1, 2, ... customers in multiples of one server, and engines busy then,
            instead of ``servers``.

    Raises:
        ValueError: the open classes alone saturate a station (named by its index).
    """
    special = curves or {}
    x = np.asarray(open_rates, dtype=float)
    d_open = np.atleast_2d(np.asarray(open_demands, dtype=float))
    n = np.atleast_1d(np.asarray(populations, dtype=np.int64))
    d_closed = np.atleast_2d(np.asarray(closed_demands, dtype=float))
    m = np.asarray(servers, dtype=np.int64)
    load = d_open @ x
    capacity = {
        k: np.asarray(special[k][0], dtype=float) if k in special else np.arange(1.0, m[k] + 1)
        for k in range(len(m))
        if m[k] > 0
    }
    for k, alpha in capacity.items():
        if load[k] >= alpha[-1]:
            raise ValueError(f"open classes saturate station {k}: load {load[k]:g} on a capacity of {alpha[-1]:g}")
    customers = int(n.sum())
    folded: dict[int, Floats] = {k: capacity[k] for k in special}
    ahead: dict[int, Floats] = {}
    at_work: dict[int, Floats] = {}
    for k, alpha in capacity.items():
        used = special[k][1] if k in special else alpha
        if load[k] > 0:
            log_f, ahead[k], at_work[k] = open_folded(alpha, used, float(load[k]), customers)
            folded[k] = np.exp(log_f[:-1] - log_f[1:])
        elif k in special:
            beyond = np.full(max(customers - len(used), 0), used[-1])
            at_work[k] = np.concatenate(([0.0], used, beyond))[: customers + 1]
    network = Convolution(n, d_closed, m, think_times, folded)
    closed = network.solve()
    open_queue = np.zeros_like(d_open)
    for k in range(len(m)):
        if load[k] == 0:
            continue
        total = load[k] if m[k] < 0 else float(network.marginal(k) @ ahead[k])
        open_queue[k] = total * x * d_open[k] / load[k]
    with np.errstate(divide="ignore", invalid="ignore"):
        open_residence = np.where(x > 0, open_queue / x, 0.0)
    busy = load + d_closed @ closed.throughput
    for k in special:
        busy[k] = float(network.marginal(k) @ at_work[k])
    return MixedResult(
        closed.throughput,
        open_queue,
        closed.queue_length,
        open_residence,
        closed.residence,
        busy,
    )


@kernel()
def open_folded(capacity: Floats, used: Floats, load: float, customers: int) -> tuple[Floats, Floats, Floats]:
    """log f(n) for n = 0..customers, and the mean open customers present, and engines ``used``, with n closed ones.

    A closed class finds a capacity of f(n - 1) / f(n) with n of its own.
    """
    log_f, mean, at_work = np.empty(customers + 1), np.empty(customers + 1), np.empty(customers + 1)
    levels = len(capacity)
    log_alpha = np.log(capacity)
    log_load = np.log(load)
    beta = 0.0
    for n in range(customers + 1):
        # Terms decrease geometrically once past the mode; sum until they no longer count.
        log_term = -beta
        beta += log_alpha[min(n, levels - 1)]
        peak, total, weighted, m = log_term, 1.0, 0.0, 0
        working = used[min(n, levels) - 1] if n > 0 else 0.0
        while True:
            m += 1
            step = np.log((n + m) / m) + log_load - log_alpha[min(n + m, levels) - 1]
            log_term += step
            if log_term > peak:
                total *= np.exp(peak - log_term)
                weighted *= np.exp(peak - log_term)
                working *= np.exp(peak - log_term)
                peak = log_term
            share = np.exp(log_term - peak)
            total += share
            weighted += m * share
            working += used[min(n + m, levels) - 1] * share
            if m >= levels and step < 0 and m * share < 1e-17 * max(total, weighted) * (1 - np.exp(step)):
                break
        log_f[n] = peak + np.log(total)
        mean[n], at_work[n] = weighted / total, working / total
    return log_f, mean, at_work
