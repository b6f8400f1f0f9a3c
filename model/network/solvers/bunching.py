"""What streams that are not Poisson add to the time at stations: batches, bursts, regular arrivals, varied work before.

A stream is known by its index of dispersion: the variance over the mean of the number of arrivals in a long time, 1 for
Poisson. An arrival of a stream with another index finds more customers than are there on average, or fewer. Sources:
Whitt, *Bell System Technical Journal* 62, 1983 (superposition, departures, waits at several servers); Kraemer and
Langenbach-Belz, 8th International Teletraffic Congress, 1976 (regular streams); Burke, *Operations Research* 23, 1975
(position within a batch).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from model.network.solvers.reduction import Floats, Reduced
from model.network.solvers.stations import erlang_c


def bunching(net: Reduced, throughput: Floats) -> Floats:
    """(classes, stations) seconds a transaction that arrivals which are not Poisson add to its residence.

    Args:
        net: the network.
        throughput: (classes,) transactions a second.
    """
    work = net.demand * net.pace
    out = np.zeros_like(work)
    index = net.dispersion.copy()
    batch = net.batch.copy()
    bunched = np.flatnonzero(not_poisson(net) & (throughput > 0))
    if len(bunched) == 0:
        return out
    departures = _departures(net, throughput)
    most = np.array([curve[0][-1] for curve in net.curves])
    load = throughput[:, None] * work
    opened = np.where(net.rates[:, None] > 0, load, 0.0)
    busy = np.clip(np.where(net.delay, 0.0, load.sum(axis=0) / most), 0.0, 0.999)
    found = np.zeros_like(work)
    for r in map(int, bunched):
        for k in net.order[r]:
            if net.delay[k] or work[r, k] <= 0:
                batch[r] = 1.0 if net.delay[k] else batch[r]
                continue
            visits = min(net.visits[r, k], 1.0)
            found[r, k] = _found(net, throughput, r, k, 1 + visits * (index[r] - 1), batch[r], float(busy[k]))
            share = visits * throughput[r] / float(throughput @ np.minimum(net.visits[:, k], 1.0))
            index[r] = 1 + (1 - visits * busy[k] ** 2) * (index[r] - 1) + share * busy[k] ** 2 * departures[k]
            batch[r] = 1.0
    for k in map(int, np.flatnonzero(np.any(found != 0, axis=0))):
        engines = most[k]
        queue = float(opened[:, k] @ found[:, k]) / max(engines - opened[:, k].sum(), 1e-3 * engines)
        out[:, k] = work[:, k] * (queue + found[:, k]) / engines
    return out


def not_poisson(net: Reduced) -> NDArray[np.bool_]:
    """(classes,) open classes that do not arrive as a Poisson stream everywhere: from outside, or after a station where
    work that is not exponential, or not equally long, is done in order."""
    after = np.any(net.visits[:, _varied(net)] > 0, axis=1)
    return (net.rates > 0) & ((net.dispersion != 1) | after)


def _varied(net: Reduced) -> list[int]:
    """Stations whose departures are not Poisson where arrivals are."""
    kinds = [s.scheduling in ("fcfs", "hol") for s in net.network.stations]
    return [k for k, in_order in enumerate(kinds) if in_order and not net.equal_fcfs[k]]


def _departures(net: Reduced, throughput: Floats) -> Floats:
    """(stations,) how far departures of full servers are from Poisson: the variation of the work done, less 1."""
    out = np.zeros(len(net.curves))
    for k in _varied(net):
        rates, service = throughput * net.visits[:, k], net.service[:, k] * net.pace[k]
        if rates @ service > 0:
            mean = rates @ service / rates.sum()
            variation = rates @ (service**2 * (1 + net.scv[:, k])) / rates.sum() / mean**2 - 1
            out[k] = (max(variation, 0.2) - 1) / np.sqrt(len(net.curves[k][0]))
    return out


def _found(net: Reduced, throughput: Floats, r: int, k: int, index: float, batch: float, busy: float) -> float:
    """Customers beyond the average that a visit of class ``r`` finds at station ``k``."""
    engines = len(net.curves[k][0])
    waits = erlang_c(busy * engines, engines)
    rates = throughput * np.minimum(net.visits[:, k], 1.0)
    streams = rates.sum() ** 2 / (rates @ rates)
    own = 1 / (1 + 4 * (1 - busy) ** 2 * (streams - 1))
    index = 1 + own * (index - 1)
    factor = (index + 1) / 2
    if index < 1 and busy > 0:
        factor *= np.exp(-2 * (1 - busy) * (1 - index) ** 2 / (3 * busy * (index + 1)))
    beyond = waits * (factor - 1)
    if batch > 1:
        behind = np.maximum(np.arange(round(batch)) - engines + 1, 0).mean()
        beyond = max(beyond, waits * (batch - 1) / 2 + (1 - waits) * behind)
    return float(beyond)
