"""A described network over many loads: rates and users multiplied by each of a list of factors."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from model.network import Network, NetworkError
from model.network.solvers.exact_network import in_product_form
from model.network.solvers.known_errors import known_error
from model.network.solvers.network_solver import solve
from model.network.solvers.reduction import Floats, reduce
from model.network.solvers.solution import Solution
from model.network.solvers.sweep import sweep


@dataclass(frozen=True)
class LoadSweep:
    """Figures by point: ``throughput_per_s`` and ``response_s`` (points, classes), ``utilisation`` (points, stations)
    as busy share of the servers (busy servers at a delay). A response is infinite where an open class is saturated.
    All figures of a point that is beyond the solver are NaN, and ``refused`` (points,) says why; '' elsewhere.

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
    refused: tuple[str, ...]


def sweep_load(network: Network, factors: ArrayLike) -> LoadSweep:
    """The network with arrival rates and numbers of users multiplied by each factor; users are rounded.

    Raises:
        ValueError: a factor is not positive.
        NetworkError: the solver refuses every point.
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
        known, note = known_error(approximated, closed)
        figures = found.throughput, response, found.utilisation
        names, refused = (network.class_names, network.station_names), ("",) * len(f)
        return LoadSweep(f, *names, *figures, method, not closed, known, note, approximated, refused)
    return _one_by_one(network, f)


def _one_by_one(network: Network, factors: Floats) -> LoadSweep:
    """A solution a point; what is not exact at one load is not tried to be at more, which would have more states."""
    solutions: list[Solution | None] = [None] * len(factors)
    refused = [""] * len(factors)
    exact = True
    for i in np.argsort(factors):
        try:
            solution = solve(_at(network, float(factors[i])), "auto" if exact else "approximate")
        except NetworkError as reason:
            refused[i] = str(reason)
            continue
        solutions[i], exact = solution, solution.exact
    found = [s for s in solutions if s is not None]
    if not found:
        raise NetworkError(refused[0])
    nothing = np.full(len(network.classes), np.nan), np.full(len(network.stations), np.nan)
    least_sure = max(found, key=lambda s: s.known_error[1])
    return LoadSweep(
        factors,
        network.class_names,
        network.station_names,
        np.array([nothing[0] if s is None else s.throughput_per_s for s in solutions]),
        np.array([nothing[0] if s is None else s.response_s for s in solutions]),
        np.array([nothing[1] if s is None else s.station_utilisation for s in solutions]),
        " and ".join(dict.fromkeys(s.method for s in found)),
        all(s.exact for s in found),
        least_sure.known_error,
        least_sure.error_note,
        tuple(dict.fromkeys(a for s in found for a in s.approximated)),
        tuple(refused),
    )


def _at(network: Network, factor: float) -> Network:
    classes = []
    for cls in network.classes:
        arrivals = cls.arrivals
        if arrivals is not None:
            arrivals = replace(arrivals, interarrival=arrivals.interarrival.scaled(1 / factor))
        classes.append(replace(cls, arrivals=arrivals, users=round(cls.users * factor)))
    return replace(network, classes=tuple(classes))
