"""Open networks with one queue, passed once, and delays around it."""

from __future__ import annotations

import numpy as np

from model.network.arrays import Arrays, Ints
from model.network.errors import UnsupportedError
from model.network.exact.product_form import equal_exponential
from model.network.exact.solution import Figures
from model.network.flows import flows
from model.queueing.stations import birth_death, mg1_fcfs, mg1_head_of_line, mg1_preemptive_resume


def one_poisson_queue(net: Arrays) -> Figures:
    """M/G/1 in order or with priorities, or M/M/c/K; ``UnsupportedError`` elsewhere."""
    network = net.network
    for cls in network.classes:
        if cls.arrivals is not None and not cls.arrivals.is_poisson:
            raise UnsupportedError(f"class {cls.name!r} has arrivals that are not Poisson")
    rows, k = _one_queue(net)
    station, visits = network.stations[k], net.visits[rows, k]
    service = np.nan_to_num(net.service[rows, k]) * net.pace[k]
    rates = net.rates[rows] * visits
    throughput, residence = net.rates.clip(0), np.where(net.delay, net.demand, 0.0)
    busy = net.rates.clip(0)[:, None] * residence
    if station.capacity is not None:
        alone = len(network.stations) == 1 and np.allclose(visits, 1) and len(set(station.speeds)) == 1
        if not (alone and station.scheduling == "fcfs" and equal_exponential(net, k)):
            raise UnsupportedError(f"station {station.name!r} turns work away and is not a single M/M/c/K queue")
        work = float(rates.sum() * service[0])
        full = birth_death(work, np.arange(1.0, station.servers + 1), places=station.capacity)
        throughput = throughput * (1 - full.loss_probability)
        residence[rows, k] = full.queue_length / throughput[rows].sum()
        busy[rows, k] = throughput[rows] * service
        return Figures.without_waits(net, throughput, residence, busy, "M/M/c/K")
    if station.servers != 1:
        raise UnsupportedError(f"station {station.name!r} has several servers")
    second = service**2 * (1 + net.scv[rows, k])
    if station.scheduling == "fcfs":
        response = mg1_fcfs(rates, service, second)
    else:
        formula = {"hol": mg1_head_of_line, "preemptive": mg1_preemptive_resume}[station.scheduling]
        response = formula(rates, service, second, net.priority[rows])
    residence[rows, k] = visits * response
    busy[rows, k] = rates * service
    return Figures.without_waits(net, throughput, residence, busy, f"M/G/1 {station.scheduling}")


def _one_queue(net: Arrays) -> tuple[Ints, int]:
    """Rows of the open classes and the one station where they queue."""
    if np.any(net.users > 0) or np.any(net.acquires > 0):
        raise UnsupportedError("it has users or resources to wait for")
    rows = np.flatnonzero(net.rates > 0)
    queues = np.flatnonzero(~net.delay & np.any(net.visits[rows] > 0, axis=0))
    if len(queues) != 1:
        raise UnsupportedError(f"transactions queue at {len(queues)} stations")
    k = int(queues[0])
    if not _is_passed_once(net, rows, k):
        raise UnsupportedError(f"transactions may come to station {net.network.station_names[k]!r} more than once")
    return rows, k


def _is_passed_once(net: Arrays, rows: Ints, k: int) -> bool:
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
