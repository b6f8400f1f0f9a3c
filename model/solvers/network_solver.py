"""One call from a network to its analytic solution: the fitting solver, and what is known about its error."""

from __future__ import annotations

from typing import Literal

import numpy as np

from model.network import Network
from model.solvers.exact_network import Figures, in_product_form, one_open_queue, product_form
from model.solvers.layers import layered
from model.solvers.reduction import Reduced, reduce
from model.solvers.region import one_region
from model.solvers.solution import Limit, Solution, limits

# Median and 99th percentile of the relative error of the mean response, by what makes a network hard; measured with
# benchmarks/agreement.py over random networks (docs/solvers.md).
KNOWN_ERRORS: dict[str, tuple[float, float]] = {
    "large lattice": (0.004, 0.08),
    "class-dependent fcfs": (0.02, 0.15),
    "variable fcfs": (0.03, 0.51),
    "priorities": (0.03, 0.25),
    "weighted sharing": (0.05, 0.25),
    "passive resources": (0.04, 0.30),
    "several resources": (0.15, 6.0),
    "synchronous requests": (0.03, 0.25),
    "fork-join": (0.04, 0.20),
    "shared machine": (0.08, 0.40),
    "overflow": (0.05, 0.30),
    "full stations": (0.05, 0.40),
    "unequal engines": (0.05, 0.30),
    "arrivals not Poisson": (0.10, 0.60),
    "class switching priorities": (0.05, 0.30),
}


BINDING = 0.7
WEAK = 0.3


def solve(network: Network, method: Literal["auto", "exact", "approximate"] = "auto") -> Solution:
    """Analytic solution of a network.

    Args:
        network: any network of ``model.network``.
        method: ``auto`` is exact where theory and size allow; ``exact`` insists; ``approximate`` forbids it.

    Returns:
        The solution, labelled exact or with its known error; an open class that overloads a station or resource has an
        infinite response and what it overloads is named in ``saturated``.

    Raises:
        ValueError: ``exact`` is asked for and there is no exact solution, or a closed class has nothing to do.
    """
    net = reduce(network)
    figures: Figures | None = None
    overloaded = _overloaded(net)
    if method != "approximate" and not overloaded:
        if in_product_form(net):
            figures = product_form(net)
        if figures is None:
            figures = one_open_queue(net)
    if figures is not None:
        return _solution(net, figures, True, [], ())
    if method == "exact":
        reason = f"{overloaded[0]} is overloaded" if overloaded else "it has no product form, or too many populations"
        raise ValueError(f"network {network.name!r} cannot be solved exactly: {reason}")
    region = None if overloaded else one_region(net)
    if region is not None and not _prefer_region(net, region):
        region = None
    figures, settled = (region, True) if region is not None else layered(net)
    hard = _hard(net) or ["large lattice"]
    notes = [] if settled else ["the layers did not settle: take the figures as rough"]
    solution = _solution(net, figures, False, hard, tuple(overloaded))
    return solution if not notes else _with_notes(solution, notes)


def _prefer_region(net: Reduced, region: Figures) -> bool:
    """Whether one flow-equivalent region does better than surrogate delays.

    It is nearly exact for one class. It lumps classes together, so with several it is kept for open ones at a limit
    that binds, where surrogate delays let too many inside.
    """
    takers = (net.acquires > 0).any(axis=1) & ((net.rates > 0) | (net.users > 0))
    if takers.sum() <= 1 and ((net.rates > 0) | (net.users > 0)).sum() <= 1:
        return True
    if not np.any(net.rates[takers] > 0):
        return False
    capacities = np.array([r.capacity for r in net.network.resources])
    return bool((region.held.sum(axis=0) / capacities).max() > BINDING)


def _with_notes(solution: Solution, notes: list[str]) -> Solution:
    from dataclasses import replace

    return replace(solution, notes=(*solution.notes, *notes))


def _overloaded(net: Reduced) -> list[str]:
    """Stations that open classes alone overload, waits left aside."""
    out = []
    load = net.rates.clip(0) @ net.demand
    for k, station in enumerate(net.network.stations):
        if station.scheduling == "delay" or station.capacity is not None or station.overflow is not None:
            continue
        if load[k] * net.pace[k] >= net.curves[k][0][-1]:
            out.append(station.name)
    for rho, resource in enumerate(net.network.resources):
        held = float(net.rates.clip(0) @ net.inside[:, rho, :].sum(axis=1))
        if held * net.largest[rho] >= resource.capacity * resource.instances:
            out.append(resource.name)
    return out


def _hard(net: Reduced) -> list[str]:
    """What of the network is only approximated."""
    out = []
    stations = net.network.stations
    used = [int(k) for k in np.flatnonzero(np.any(net.demand > 0, axis=0))]
    in_order = [k for k in used if (stations[k].scheduling == "fcfs" or stations[k].smt) and not net.equal_fcfs[k]]
    varies = np.any(np.abs(net.scv - 1) > 1e-9, axis=0)
    if not all(varies[k] for k in in_order):
        out.append("class-dependent fcfs")
    if any(varies[k] for k in in_order):
        out.append("variable fcfs")
    if any(stations[k].scheduling in ("hol", "preemptive", "priority_ps") for k in used):
        out.append("priorities")
    if any(stations[k].scheduling == "dps" for k in used):
        out.append("weighted sharing")
    if np.any(net.acquires > 0):
        out.append("passive resources" if (net.acquires > 0).any(axis=0).sum() == 1 else "several resources")
    if net.sync:
        out.append("synchronous requests")
    if net.forks:
        out.append("fork-join")
    if any(stations[k].lpar is not None for k in used):
        out.append("shared machine")
    if any(stations[k].overflow is not None for k in used):
        out.append("overflow")
    if any(stations[k].capacity is not None for k in used):
        out.append("full stations")
    if any(len(set(stations[k].speeds)) > 1 for k in used):
        out.append("unequal engines")
    if np.any(net.arrival_scv != 1):
        out.append("arrivals not Poisson")
    if net.switches and "priorities" in out:
        out.append("class switching priorities")
    return out


def _solution(net: Reduced, figures: Figures, exact: bool, hard: list[str], saturated: tuple[str, ...]) -> Solution:
    network = net.network
    stations = network.stations
    servers = np.array([1 if s.scheduling == "delay" else s.servers for s in stations], dtype=float)
    residence = figures.residence.copy()
    wait = figures.wait.copy()
    for name in saturated:
        if name in network.station_names:
            k = network.station_names.index(name)
            residence[net.demand[:, k] > 0, k] = np.inf
        else:
            rho = network.resource_names.index(name)
            wait[net.acquires[:, rho] > 0, rho] = np.inf
    open_over = [
        resource.name
        for rho, resource in enumerate(network.resources)
        if np.any((net.rates > 0) & (wait[:, rho] > 1e8)) and resource.name not in saturated
    ]
    for name in open_over:
        rho = network.resource_names.index(name)
        wait[(net.acquires[:, rho] > 0) & (wait[:, rho] > 1e8), rho] = np.inf
    held = figures.held.copy()
    for rho in range(len(network.resources)):
        if np.any(net.ample[:, rho] > 0):
            with np.errstate(invalid="ignore", divide="ignore"):
                part = np.where(net.demand > 0, residence * net.ample[:, rho] / net.demand, 0.0)
            held[:, rho] = figures.throughput * part.sum(axis=1)
    response = residence.sum(axis=1) + wait.sum(axis=1) - figures.fork_saving
    throughput = figures.throughput
    with np.errstate(invalid="ignore"):
        queue = np.where(throughput[:, None] > 0, throughput[:, None] * residence, 0.0)
        population = np.where(throughput > 0, throughput * response, 0.0)
    over = [
        stations[k].name
        for k in range(len(stations))
        if np.any(np.isinf(residence[:, k])) and stations[k].name not in saturated
    ]
    utilisation = figures.busy / servers
    total = float(throughput.sum())
    stations_used = [k for k, s in enumerate(stations) if s.scheduling != "delay"]
    names = [(stations[k].name, stations[k].component or "station") for k in stations_used]
    names += [(r.name, r.kind or "resource") for r in network.resources]
    shares = [_share_of_limit(net, figures, k) for k in stations_used]
    shares += [float(held[:, rho].sum()) / (r.capacity * r.instances) for rho, r in enumerate(network.resources)]
    ordered: tuple[Limit, ...] = limits(names, np.array(shares), total)
    errors = [KNOWN_ERRORS[h] for h in hard]
    known = (max(e[0] for e in errors), max(e[1] for e in errors)) if errors else (0.0, 0.0)
    if exact:
        note = "exact"
    else:
        note = (
            f"approximate: {', '.join(hard)}; response within {known[0]:.1%} in the median and {known[1]:.0%} in "
            "99 of 100 random networks of this kind"
        )
        if known[1] > WEAK:
            note += "; too weak to rely on alone: simulate"
    return Solution(
        network.name,
        network.class_names,
        network.station_names,
        network.resource_names,
        throughput,
        response,
        population,
        utilisation,
        residence,
        np.asarray(figures.busy / np.where(throughput > 0, throughput, 1.0)[:, None]),
        queue,
        wait,
        held,
        figures.method,
        exact,
        known,
        note,
        ordered,
        (*saturated, *open_over, *over),
        tuple(net.notes),
    )


def _share_of_limit(net: Reduced, figures: Figures, k: int) -> float:
    """Work done at a station over the most it can do."""
    work, used = net.curves[k]
    busy = float(figures.busy[:, k].sum())
    if net.plain[k]:
        return busy / float(work[-1])
    done = float(np.interp(busy, np.append(0.0, used), np.append(0.0, work)))
    plain = float(figures.throughput @ net.demand[:, k]) * float(net.pace[k])
    return max(done, plain) / float(work[-1]) if busy < used[-1] else plain / float(work[-1])
