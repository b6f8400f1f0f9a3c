"""A described network over many loads: rates and users multiplied by each of a list of factors."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from model.network import Network
from model.network.solvers.exact_network import in_product_form
from model.network.solvers.network_solver import known_error, solve
from model.network.solvers.reduction import Floats, reduce
from model.network.solvers.sweep import sweep


@dataclass(frozen=True)
class LoadSweep:
    """Figures by point: ``throughput_per_s`` and ``response_s`` (points, classes), ``utilisation`` (points, stations)
    as busy share of the servers (busy servers at a delay). A response is infinite where an open class is saturated.

    Networks in product form go through compiled code, which is exact where all classes are open; others through one
    :func:`model.network.solvers.solve` a point. ``method``, ``exact``, ``known_error``, ``error_note`` and
    ``approximated`` say of all points together what a solution says of one.
    """

    factors: Floats
    classes: tuple[str, ...]
    stations: tuple[str, ...]
    throughput_per_s: Floats
    response_s: Floats
    utilisation: Floats
    method: str
    exact: bool
    known_error: tuple[float, float]
    error_note: str
    approximated: tuple[str, ...]


def sweep_load(network: Network, factors: ArrayLike) -> LoadSweep:
    """The network with arrival rates and numbers of users multiplied by each factor; users are rounded.

    Raises:
        ValueError: a factor is not positive.
    """
    f = np.atleast_1d(np.asarray(factors, dtype=float))
    if np.any(~(f > 0)):
        raise ValueError("factors of a load sweep must be positive")
    net = reduce(network)
    if in_product_form(net):
        curves = {k: work for k, (work, _) in enumerate(net.curves) if not net.plain[k] and not net.delay[k]}
        opens = net.rates >= 0
        found = sweep(
            np.round(net.users * f[:, None]),
            (net.demand * net.pace).T,
            net.servers,
            net.think,
            rates=np.where(opens, net.rates * f[:, None], -1.0),
            load_dependent=curves,
        )
        response = np.where(found.converged[:, None], found.response, np.inf)
        closed = bool(np.any(net.users > 0))
        method, approximated = ("Linearizer", ("large lattice",)) if closed else ("open product form", ())
        return _labelled(network, f, found.throughput, response, found.utilisation, method, approximated)
    solutions = [solve(_at(network, float(x))) for x in f]
    return _labelled(
        network,
        f,
        np.array([s.throughput_per_s for s in solutions]),
        np.array([s.response_s for s in solutions]),
        np.array([s.station_utilisation for s in solutions]),
        " and ".join(dict.fromkeys(s.method for s in solutions)),
        tuple(dict.fromkeys(a for s in solutions for a in s.approximated)),
    )


def _labelled(
    network: Network,
    factors: Floats,
    throughput: Floats,
    response: Floats,
    busy: Floats,
    method: str,
    approximated: tuple[str, ...],
) -> LoadSweep:
    known, note = known_error(approximated)
    names = network.class_names, network.station_names
    return LoadSweep(
        factors, *names, throughput, response, busy, method, not approximated, known, note, approximated
    )  # fmt: skip


def _at(network: Network, factor: float) -> Network:
    classes = []
    for cls in network.classes:
        arrivals = cls.arrivals
        if arrivals is not None:
            arrivals = replace(arrivals, interarrival=arrivals.interarrival.scaled(1 / factor))
        classes.append(replace(cls, arrivals=arrivals, users=round(cls.users * factor)))
    return replace(network, classes=tuple(classes))
