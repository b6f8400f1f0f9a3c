"""One call from a network to its analytic solution: the fitting solver, and what is known about its error."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from model.network import Network, NetworkError
from model.network.solvers.amva import amva
from model.network.solvers.exact_network import Figures, in_product_form, one_open_queue, product_form
from model.network.solvers.layers import layered
from model.network.solvers.reduction import Reduced, reduce, unwaited_holding
from model.network.solvers.region import one_region
from model.network.solvers.solution import Floats, Solution, limits
from model.network.solvers.water_filling import water_filling

# Median and 99th percentile of the relative error of the mean response, beyond the simulation's own interval, by what
# makes a network hard: benchmarks/agreement.py over 1,000 random networks, seed 1 (docs/solvers.md). Infinite where
# the solver called a network saturated that was not.
KNOWN_ERRORS: dict[str, tuple[float, float]] = {
    "large lattice": (0.001, 0.01),
    "class-dependent fcfs": (0.002, 0.29),
    "variable fcfs": (0.011, 0.53),
    "priorities": (0.001, 2.25),
    "weighted sharing": (0.011, 0.46),
    "passive resources": (0.019, 2.61),
    "several resources": (0.235, math.inf),
    "synchronous requests": (0.001, 0.36),
    "fork-join": (0.002, 0.05),
    "shared machine": (0.001, 0.12),
    "overflow": (0.001, 0.17),
    "full stations": (0.001, 0.62),
    "unequal engines": (0.001, 0.06),
    "arrivals not Poisson": (0.145, 0.65),
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
        NetworkError: ``exact`` is asked for and there is no exact solution, or a closed class has nothing to do.
    """
    net = reduce(network)
    figures: Figures | None = None
    overloaded = overloaded_by_arrivals(net)
    if method != "approximate" and not overloaded:
        if in_product_form(net):
            figures = product_form(net)
        if figures is None:
            figures = one_open_queue(net)
    if figures is not None:
        return _solution(net, figures, True, [], ())
    if method == "exact":
        reason = (
            f"{next(iter(overloaded))} is overloaded"
            if overloaded
            else "it has no product form, or too many populations"
        )
        raise NetworkError(f"network {network.name!r} cannot be solved exactly: {reason}; leave the method at auto")
    if not overloaded and in_product_form(net) and all(p or d for p, d in zip(net.plain, net.delay, strict=True)):
        return _solution(net, _large_lattice(net), False, ["large lattice"], ())
    region = None if overloaded else one_region(net)
    if region is not None and not _prefer_region(net, region):
        region = None
    figures, settled = (region, True) if region is not None else layered(net)
    hard = _hard(net) or ["large lattice"]
    notes = [] if settled else ["the layers did not settle: take the figures as rough"]
    solution = _solution(net, figures, False, hard, tuple(overloaded))
    return solution if not notes else _with_notes(solution, notes)


def _large_lattice(net: Reduced) -> Figures:
    """Product form without the exact sums."""
    result = amva(net.users, (net.demand * net.pace).T, net.servers, net.think, rates=net.rates)
    using = net.demand * net.pace
    none = np.zeros_like(net.acquires)
    method = "approximate mean value analysis"
    busy = result.throughput[:, None] * using
    return Figures(result.throughput, result.residence.T, busy, using, none, none, method, np.zeros(len(busy)))


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


def overloaded_by_arrivals(net: Reduced) -> dict[str, float]:
    """Stations and resources that open classes alone overload, waits left aside, with the work asked of each as a part
    of what it can do."""
    out = {}
    work = net.rates.clip(0) @ net.demand * net.pace
    can = _most_work(net, work)
    for k, station in enumerate(net.network.stations):
        if station.scheduling == "delay" or station.capacity is not None or station.overflow is not None:
            continue
        if work[k] >= can[k]:
            out[station.name] = float(work[k] / can[k])
    held = unwaited_holding(net, net.rates.clip(0), work)
    for rho, resource in enumerate(net.network.resources):
        places = resource.capacity * resource.instances
        if held[rho] >= places:
            out[resource.name] = float(held[rho] / places)
    return out


def _most_work(net: Reduced, work: Floats) -> Floats:
    """(stations,) most work a second, in engines: fewer than its own where an LPAR is capped, or where its machine is
    short and gives it less than the ``work`` it is asked for."""
    stations, network = net.network.stations, net.network
    most = np.array([curve[0][-1] for curve in net.curves])
    for cec in network.cecs:
        members = [(k, s.lpar) for k, s in enumerate(stations) if s.lpar is not None and s.lpar.cec == cec.name]
        total = sum(share.weight for _, share in members)
        for k, share in members:
            cap = share.weight / total * cec.engines if share.cap == "share" else share.cap
            if not isinstance(cap, str):
                most[k] = min(most[k], float(cap))
        asked = [min(float(work[k]), float(most[k])) for k, _ in members]
        if sum(asked) >= cec.engines:
            given = water_filling(asked, [share.weight for _, share in members], cec.engines)
            for (k, _), part, wanted in zip(members, given, asked, strict=True):
                if wanted > 0 and part <= wanted * (1 - 1e-12):
                    most[k] = part
    return most


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
    needed = list(shares)
    units = [r.capacity * r.instances for r in network.resources]
    shares += list(held.sum(axis=0) / units)
    needed += list(unwaited_holding(net, throughput, throughput @ figures.using) / units)
    for cec in network.cecs:
        members = [k for k, s in enumerate(stations) if s.lpar is not None and s.lpar.cec == cec.name]
        names.append((cec.name, "machine"))
        shares.append(float(figures.busy[:, members].sum()) / cec.engines)
        needed.append(shares[-1])
    known, note = known_error(hard)
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
        figures.using,
        queue,
        wait,
        held,
        figures.method,
        exact,
        known,
        note,
        limits(names, shares, needed, total),
        tuple(hard),
        (*saturated, *open_over, *over),
        tuple(net.notes),
    )


def known_error(approximated: Sequence[str]) -> tuple[tuple[float, float], str]:
    """Median and 99th percentile of the relative error of networks in which these are approximated, and what to say of
    it; nothing approximated is exact."""
    if not approximated:
        return (0.0, 0.0), "exact"
    median, far = (max(errors) for errors in zip(*(KNOWN_ERRORS[a] for a in approximated), strict=True))
    bound = f"{far:.0%}" if math.isfinite(far) else "no bound"
    note = (
        f"approximate: {', '.join(approximated)}; response within {median:.1%} in the median and {bound} in 99 of 100 "
        "random networks of this kind"
    )
    weak = [a for a in approximated if KNOWN_ERRORS[a][1] > WEAK]
    if weak:
        note += f"; weak at {', '.join(weak)}: simulate before relying on it"
    return (median, far), note


def _share_of_limit(net: Reduced, figures: Figures, k: int) -> float:
    """Work done at a station over the most it can do."""
    station = net.network.stations[k]
    if station.lpar is not None:
        capped = _most_work(net, np.zeros(len(net.curves)))[k]
        return float(figures.busy[:, k].sum() / capped)
    most = net.curves[k][0][-1]
    if net.plain[k]:
        return float(figures.busy[:, k].sum() / most)
    alone = net.demand[:, k] * net.pace[k] if len(set(station.speeds)) > 1 else figures.using[:, k]
    return float(figures.throughput @ alone / most)
