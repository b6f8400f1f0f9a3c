"""Networks with product form: open with routing (Jackson), of many classes (BCMP), mixed with a limit on open classes.

Exact where the network has product form: Poisson arrivals; first come, first served stations with one exponential
service time for all classes; processor sharing, last come preemptive or delay stations with any service time.
Sources: Jackson 1963; Baskett, Chandy, Muntz, Palacios, *J. ACM* 22, 1975.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from model.network.exact.convolution import Convolution
from model.network.exact.product_form import MixedResult
from tests.oracles.erlang import StationResult, erlang_c, mmc_response

Floats = NDArray[np.float64]


class OpenResult(NamedTuple):
    """Stations x classes: ``utilisation`` per server (busy servers at a delay), ``residence`` per passage of the
    network.
    """

    utilisation: Floats
    residence: Floats
    queue_length: Floats
    response: Floats


def traffic(external: ArrayLike, routing: ArrayLike) -> Floats:
    """Arrival rate at every station: solves x = external + routing' x.

    Raises:
        ValueError: some station is never left (the routing matrix keeps all work inside).
    """
    gamma = np.asarray(external, dtype=float)
    matrix = np.eye(len(gamma)) - np.asarray(routing, dtype=float).T
    if np.linalg.matrix_rank(matrix) < len(gamma):
        raise ValueError("routing keeps work inside the network: every station must lead out")
    return np.linalg.solve(matrix, gamma)


def visit_ratios(routing: ArrayLike, reference: int = 0) -> Floats:
    """Visits per visit to ``reference`` in a closed network with a stochastic routing matrix."""
    p = np.asarray(routing, dtype=float)
    n = len(p)
    matrix = np.eye(n) - p.T
    matrix[reference] = 0.0
    matrix[reference, reference] = 1.0
    right = np.zeros(n)
    right[reference] = 1.0
    return np.linalg.solve(matrix, right)


def open_product_form(rates: ArrayLike, demands: ArrayLike, servers: ArrayLike) -> OpenResult:
    """Open multi-class network from demands.

    Args:
        rates: (classes,) arrivals per unit time.
        demands: (stations, classes) service per passage of the network (visits x service).
        servers: (stations,) identical servers, -1 for a delay.

    Returns:
        Infinity in the residence of a saturated station.
    """
    x = np.asarray(rates, dtype=float)
    d = np.asarray(demands, dtype=float)
    m = np.asarray(servers, dtype=np.int64)
    stretch = np.array([mmc_response(float(busy), 1.0, int(c)) for busy, c in zip(d @ x, m, strict=True)])
    with np.errstate(invalid="ignore"):
        residence = np.where(d > 0, d * stretch[:, None], 0.0)
        queue = np.where(x > 0, x * residence, 0.0)
    utilisation = d * x / np.where(m < 0, 1, m)[:, None]
    return OpenResult(utilisation, residence, queue, residence.sum(axis=0))


def truncated_product_form(
    open_rates: ArrayLike,
    open_demands: ArrayLike,
    populations: ArrayLike,
    closed_demands: ArrayLike,
    servers: ArrayLike,
    limits: ArrayLike,
    think_times: ArrayLike | None = None,
) -> MixedResult:
    """A mixed network that turns an open arrival away while ``limits`` (open classes,) of its class are inside.

    Exact for that network, and what a Markov chain with a cut-off computes for the network without one. Residences are
    those of the open customers let in. Arguments as for ``mixed_product_form``.
    """
    x = np.asarray(open_rates, dtype=float)
    d_open = np.atleast_2d(np.asarray(open_demands, dtype=float))
    n = np.atleast_1d(np.asarray(populations, dtype=np.int64))
    d_closed = np.atleast_2d(np.asarray(closed_demands, dtype=float))
    most = np.asarray(limits, dtype=np.int64)
    m = np.asarray(servers, dtype=np.int64)
    z = np.zeros(len(n)) if think_times is None else np.asarray(think_times, dtype=float)
    demands, think = np.hstack((d_closed, d_open)), np.concatenate((z, np.zeros(len(x))))
    weights, queues, rates, inside = [], [], [], []
    for counts in np.ndindex(*(most + 1)):
        network = Convolution(np.concatenate((n, counts)), demands, m, think)
        result = network.solve()
        weights.append(float(np.dot(counts, np.log(x))) + float(network.log_g[-1]))
        queues.append(result.queue_length)
        rates.append(result.throughput[: len(n)])
        inside.append(counts)
    p = np.exp(np.array(weights) - max(weights))
    p /= p.sum()
    queue = np.tensordot(p, np.array(queues), 1)
    closed_rate = p @ np.array(rates)
    admitted = x * (1 - np.array([p[np.array(inside)[:, r] == most[r]].sum() for r in range(len(x))]))
    return MixedResult(
        closed_rate,
        queue[:, len(n) :],
        queue[:, : len(n)],
        queue[:, len(n) :] / admitted,
        queue[:, : len(n)] / closed_rate,
        d_open @ admitted + d_closed @ closed_rate,
    )


def mmc(arrival_rate: float, service: float, servers: int) -> StationResult:
    """M/M/c, or M/M/infinity where ``servers`` is -1.

    Raises:
        ValueError: the offered load reaches the number of servers.
    """
    offered = arrival_rate * service
    if servers < 0:
        return StationResult(offered, arrival_rate, 0.0, 0.0, service, 0.0, offered, float(np.exp(-offered)), 0.0)
    if offered >= servers:
        raise ValueError(f"unstable station: offered load {offered:g} on {servers} server(s)")
    waits = float(erlang_c(offered, servers))
    wait = waits * service / (servers - offered)
    # pi(c) = C (1 - rho), and pi(0) = pi(c) c!/a^c
    log_terms = servers * np.log(offered) - float(np.log(np.arange(1, servers + 1)).sum()) if offered > 0 else -np.inf
    empty = float(np.exp(np.log(waits * (1 - offered / servers)) - log_terms)) if offered > 0 else 1.0
    response = service + wait
    return StationResult(
        offered / servers, arrival_rate, waits, wait, response, arrival_rate * wait, arrival_rate * response, empty, 0.0
    )
