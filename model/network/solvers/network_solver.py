"""One call from a network to its analytic solution: the fitting solver, and what is known about its error."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from model.network import Network, NetworkError
from model.network.solvers.amva import amva
from model.network.solvers.arrays import IN_TURN, RANKED
from model.network.solvers.chain import markov_chain
from model.network.solvers.deadlock import Deadlock, smallest_deadlock, without_end
from model.network.solvers.exact_network import (
    Figures,
    in_product_form,
    one_open_queue,
    one_renewal_queue,
    product_form,
)
from model.network.solvers.known_errors import known_error, said
from model.network.solvers.layers import layered
from model.network.solvers.overload import most_work, overloaded_by_arrivals, without_starved
from model.network.solvers.passive.parts import limited_parts
from model.network.solvers.reduction import Reduced, reduce, share_with_overflow, unwaited_holding
from model.network.solvers.solution import Floats, Limit, Solution, limits

AT_ONCE = 0.05
"""Visits a transaction to a station straight after another one to it, from which they count."""
AS_LONG, LONGER, MUCH_LONGER = 1.0, 2.0, 20.0
"""The rest of the work that is met, in visits of a class, from which it counts that it comes back at once."""

RARE = 1e-6
"""Chance of as many transactions inside as a deadlock needs, from which it is no matter of this load."""
CROWDING_ROUNDS = 3
LITTLE = 1e-3
"""How often users are seen to leave less important arrivals too little, and the change in their rates that counts."""
SLACK = 0.03
"""Relative error of utilisation and residence that an approximation may make against what is possible."""
UTILISATION_ERROR, NO_BOUND = 0.01, 2.0
"""Part that users' utilisation of a station may be off, and the relative error from which there is none to speak of."""
HELD_UP = 8
"""By how much more it may be off where less important work holds them up."""
NEAR_SHARE = 0.7
"""Use of an LPAR, as a part of its share by weight, from which what the others leave it at a time counts."""
NEARLY_FULL = 0.7
"""Part in use of a limit from which it counts that those in it are not served alike."""
ENDLESS_S = 1e8
"""Wait by which a solver says that a resource has no steady state."""


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
    work, starved = without_starved(net, overloaded)
    turned_away = any(resource.queue_limit is not None for resource in network.resources)
    if method != "approximate" and not overloaded:
        if in_product_form(net):
            figures = product_form(net)
        if figures is None:
            figures = one_open_queue(net) or one_renewal_queue(net)
    if method != "approximate" and figures is None and (turned_away or not overloaded):
        # Who is turned away by a limit is no load to what is behind it.
        figures = markov_chain(net)
    if figures is not None:
        return _solution(net, figures, True, [], (), starved)
    if method == "exact":
        reason = (
            f"{next(iter(overloaded))} is overloaded"
            if overloaded
            else "it has no product form, or too many populations"
        )
        raise NetworkError(f"network {network.name!r} cannot be solved exactly: {reason}; leave the method at auto")
    if not overloaded and in_product_form(net) and all(p or d for p, d in zip(net.plain, net.delay, strict=True)):
        return _solution(net, _large_lattice(net), False, ["large lattice"], (), starved)
    ring = smallest_deadlock(network)
    try:
        solution = _in_layers(net, work, starved)
    except (NetworkError, np.linalg.LinAlgError) as reason:
        if ring is not None and ring.reached:
            raise NetworkError(_deadlocks(network, ring)) from reason
        if isinstance(reason, NetworkError):
            raise
        raise NetworkError(
            f"network {network.name!r} is beyond the analytic solver: its times and loads are too far apart to be told "
            "from nothing. Simulate it"
        ) from reason
    return solution if ring is None else _beside_deadlock(network, solution, ring)


def _beside_deadlock(network: Network, solution: Solution, ring: Deadlock) -> Solution:
    """The solution, with a note of a deadlock that is rare, or only of more users.

    Raises:
        NetworkError: it is not rare.
    """
    inside = float(solution.population[list(ring.rows)].sum())
    # As if their number had the distribution of that at a queue with this mean.
    rare = math.isfinite(inside) and (inside / (1 + inside)) ** ring.transactions < RARE
    if ring.reached and not rare:
        raise NetworkError(_deadlocks(network, ring))
    often = "rare here, but it ends all work" if ring.reached else "more than there are"
    note = f"{ring.transactions} transactions that wait for {' and '.join(ring.names)} can deadlock: {often}"
    return replace(solution, notes=(*solution.notes, note))


def _deadlocks(network: Network, ring: Deadlock) -> str:
    names = ", ".join(network.class_names[r] for r in ring.rows)
    how = f"can each hold what another waits for at {' and '.join(ring.names)}"
    return without_end(network.name, f"{ring.transactions} transactions of {names}", how)


def _in_layers(net: Reduced, work: Reduced, starved: NDArray[np.bool_]) -> Solution:
    """An approximate solution; ``work`` is without the classes that are ``starved`` by arrivals alone."""
    network = net.network
    overloaded: Collection[str] = overloaded_by_arrivals(net)
    figures, settled = layered(work)
    endless: dict[str, float] = {}
    for _ in range(CROWDING_ROUNDS):
        before, crowding = work, figures.throughput
        if np.isnan(crowding).any():
            crowding = layered(_without_arrivals_below_users(work))[0].throughput
        endless |= {net.network.resource_names[rho]: math.inf for rho in _waited_for_without_end(work, figures)}
        overloaded = overloaded_by_arrivals(net, crowding) | endless
        work, starved = without_starved(net, overloaded, crowding)
        if np.allclose(work.rates, before.rates, rtol=LITTLE):
            break
        figures, settled = layered(work)
    for name in endless:
        arriving = (net.acquires[:, net.network.resource_names.index(name)] > 0) & (net.rates > 0)
        if work.rates is not net.rates and np.all(figures.throughput[arriving] >= net.rates[arriving]):
            raise NetworkError(
                f"the analytic solver cannot tell whether {name} of network {net.network.name!r} lets in all who come: "
                "simulate it"
            )
    hard = [*_hard(net), *_near_share(net, figures), *_around_unlike(net, figures), *_back_at_once(net, figures)]
    hard = hard or ["large lattice"]
    if impossible := _impossible(work, figures):
        raise NetworkError(
            f"network {network.name!r} is beyond the analytic solver, which would say that {impossible}; what it would "
            f"approximate: {', '.join(hard)}. Simulate it"
        )
    notes = [] if settled else ["the layers did not agree: take the figures as rough"]
    unsure = _unsure_below_users(work, figures) if settled else math.inf
    if work is not net:
        figures = _with_starved(net, work, figures, starved, overloaded)
        names = ", ".join(n for n, lost in zip(network.class_names, starved, strict=True) if lost)
        notes.append(f"{' and '.join(overloaded)} cannot do all the work of {names}, which grows without end")
    solution = _solution(net, figures, False, hard, tuple(overloaded), starved)
    median, far = solution.known_error
    if unsure > far:
        users = bool(np.any(net.users > 0))
        solution = replace(solution, known_error=(median, unsure), error_note=said(hard, users, median, unsure))
    return solution if not notes else replace(solution, notes=(*solution.notes, *notes))


def _without_arrivals_below_users(net: Reduced) -> Reduced:
    """The network without open classes that some users go before."""
    below = np.zeros(len(net.rates), dtype=bool)
    for k, station in enumerate(net.network.stations):
        here = net.demand[:, k] > 0
        if station.scheduling in RANKED and np.any(here & (net.users > 0)):
            below |= here & (net.rates > 0) & (net.priority < net.priority[here & (net.users > 0)].max())
    return replace(net, rates=np.where(below, 0.0, net.rates))


def _waited_for_without_end(net: Reduced, figures: Figures) -> list[int]:
    """Resources that cannot let in all who come, as others keep their stations busy."""
    endless = np.any((figures.wait > ENDLESS_S) & (net.rates > 0)[:, None], axis=0)
    return [int(rho) for rho in np.flatnonzero(endless)]


def _impossible(net: Reduced, figures: Figures) -> str:
    """What no network can do, of what a solver says; '' where there is nothing."""
    network, throughput = net.network, figures.throughput
    for r, name in enumerate(network.class_names):
        times = (figures.residence[r].sum(), figures.wait[r].sum(), figures.fork_saving[r], throughput[r])
        if np.isnan(times).any():
            return f"the time of {name} is no number"
        if throughput[r] > 0 and np.min(figures.residence[r]) < -SLACK * times[0]:
            return f"{name} is at a station for less than no time"
    for k, station in enumerate(network.stations):
        done, most = figures.busy[:, k].sum(), net.curves[k][1][-1]
        # What overflows is counted with both stations.
        exempt = net.delay[k] or station.overflow or np.isinf(figures.residence[:, k]).any()
        if not exempt and done > most * (1 + SLACK):
            return f"{station.name} does {done / most:.3g} times what it can do"
    for rho, resource in enumerate(network.resources):
        held, places = figures.held[:, rho].sum(), resource.capacity * resource.instances
        # Of work that overloads a station, more and more is inside.
        exempt = np.isinf(figures.residence[figures.held[:, rho] > 0]).any()
        if not exempt and held > places * (1 + SLACK):
            return f"{held:.3g} of {resource.name} are held, which has {places}"
    return ""


def _with_starved(
    net: Reduced, work: Reduced, figures: Figures, starved: NDArray[np.bool_], overloaded: Collection[str]
) -> Figures:
    """Figures of ``work``, in which classes without a steady state bring what they bring, and ask for it where that is
    too much."""
    asked = net.demand * net.pace
    throughput = np.where(starved, net.rates.clip(0), figures.throughput)
    full = np.array([name in overloaded for name in net.network.station_names])
    each = np.divide(net.demand, work.demand, out=np.ones_like(asked), where=work.demand > 0)
    held = figures.held.copy()
    for rho, resource in enumerate(net.network.resources):
        if resource.name in overloaded:
            takes = np.where(net.acquires[:, rho] > 0, net.rates.clip(0) * net.inside[:, rho].sum(axis=1), 0.0)
            held[:, rho] = takes / takes.sum() * resource.capacity * resource.instances
    return figures._replace(
        held=held,
        throughput=throughput,
        residence=figures.residence * each,
        busy=np.where(starved[:, None] & full, throughput[:, None] * asked, figures.busy),
        using=np.where(starved[:, None], asked, figures.using),
    )


def _large_lattice(net: Reduced) -> Figures:
    """Product form without the exact sums."""
    result = amva(net.users, (net.demand * net.pace).T, net.servers, net.think, rates=net.rates)
    using = net.demand * net.pace
    none = np.zeros_like(net.acquires)
    method = "approximate mean value analysis"
    busy = result.throughput[:, None] * using
    return Figures(result.throughput, result.residence.T, busy, using, none, none, method, np.zeros(len(busy)))


def _unsure_below_users(net: Reduced, figures: Figures) -> float:
    """Relative error of users and arrivals to which more important users leave little, as these users' own error is a
    large part of that. Arrivals have what their own level leaves of it: the rest is how long their queue gets."""
    out = 0.0
    for k, station in enumerate(net.network.stations):
        here, used = net.demand[:, k] > 0, figures.busy[:, k] / net.curves[k][1][-1]
        for r in np.flatnonzero(here) if station.scheduling in RANKED else ():
            above = net.priority > net.priority[r]
            users = above & (net.users > 0) & here
            if np.any(users):
                level = (net.priority == net.priority[r]) & (net.rates > 0) & (net.rates[r] > 0)
                left = 1 - used[above | level].sum()
                off = min(UTILISATION_ERROR * (HELD_UP if station.scheduling == "hol" else 1), used[users].sum())
                out = max(out, off / left if left > 0 else math.inf)
    return out if out < NO_BOUND else math.inf


def _near_share(net: Reduced, figures: Figures) -> list[str]:
    """Whether an LPAR without a cap lives on what others leave: the mean of that is known, not how it varies."""
    stations = net.network.stations
    for cec in net.network.cecs:
        here = {k: s.lpar for k, s in enumerate(stations) if s.lpar is not None and s.lpar.cec == cec.name}
        total = sum(lpar.weight for lpar in here.values())
        if sum(stations[k].servers for k in here) <= cec.engines:
            continue
        for k, lpar in here.items():
            used = figures.busy[:, k].sum() + net.occupied[k]
            if lpar.cap != "share" and used > NEAR_SHARE * cec.engines * lpar.weight / total:
                return ["LPARs near their share"]
    return []


def _around_unlike(net: Reduced, figures: Figures) -> list[str]:
    """Whether a limit is nearly full of those who are at stations where not all are served alike: how long it is held
    is known as a mean, not how that varies, nor that some keep others outside who would go before them."""
    in_order = [
        s.scheduling == "fcfs" and not alike for s, alike in zip(net.network.stations, net.equal_fcfs, strict=True)
    ]
    unlike = np.array([s.scheduling in (*RANKED, "dps") for s in net.network.stations]) | np.array(in_order)
    for rho, resource in enumerate(net.network.resources):
        full = figures.held[:, rho].sum() > NEARLY_FULL * resource.capacity * resource.instances
        if full and np.any(net.inside[:, rho, unlike] > 0):
            return ["limits around unlike work"]
    return []


def _back_at_once(net: Reduced, figures: Figures) -> list[str]:
    """Whether classes come back at once to a station that serves in turn beside longer work: they are taken to find it
    as if they came at any time."""
    longest = 0.0
    for k, station in enumerate(net.network.stations):
        back, load = net.at_once[:, k] > AT_ONCE, figures.busy[:, k]
        if station.scheduling in IN_TURN and not net.equal_fcfs[k] and np.any(back) and load.sum() > 0:
            service = np.nan_to_num(net.service[:, k])
            rest = load @ (service * (1 + np.nan_to_num(net.scv[:, k], nan=1.0)) / 2) / load.sum()
            busy = min(float(load.sum() / net.curves[k][0][-1]), 1.0)
            longest = max(longest, busy * float(rest) / float(service[back].min()))
    if longest > MUCH_LONGER:
        return ["visits at once beside long work"]
    if longest > LONGER:
        return ["visits at once beside longer work"]
    return ["visits at once"] if longest > AS_LONG else []


def _hard(net: Reduced) -> list[str]:
    """What of the network is only approximated."""
    out = []
    stations = net.network.stations
    used = [int(k) for k in np.flatnonzero(np.any(net.demand > 0, axis=0))]
    # How far off unequal engines are is measured with work of all kinds.
    unequal = [k for k in used if len(set(stations[k].speeds)) > 1]
    in_order = [
        k
        for k in used
        if (stations[k].scheduling == "fcfs" or stations[k].smt) and not net.equal_fcfs[k] and k not in unequal
    ]
    varies = np.any(np.abs(net.scv - 1) > 1e-9, axis=0)
    if not all(varies[k] for k in in_order):
        out.append("class-dependent fcfs")
    if any(varies[k] for k in in_order):
        out.append("variable fcfs")
    if any(stations[k].scheduling in RANKED for k in used):
        out.append("priorities")
    if any(stations[k].scheduling == "dps" for k in used):
        out.append("weighted sharing")
    if np.any(net.acquires > 0):
        out.append("passive resources" if (net.acquires > 0).any(axis=0).sum() == 1 else "several resources")
        if limited_parts(net) is None:
            out.append("layered resources")
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
    if unequal:
        out.append("unequal engines")
    if not np.all(net.poisson):
        out.append("arrivals not Poisson")
    return out


def _solution(
    net: Reduced,
    figures: Figures,
    exact: bool,
    hard: list[str],
    saturated: tuple[str, ...],
    starved: NDArray[np.bool_],
) -> Solution:
    network = net.network
    residence, wait, also_saturated = _without_steady_state(net, figures, saturated, starved)
    held = _held(net, figures, residence)
    throughput = figures.throughput
    response = residence.sum(axis=1) + wait.sum(axis=1) - figures.fork_saving
    # What is left of sums that should be nothing.
    wait = np.where(wait < 1e-9 * np.where(np.isfinite(response), response, 0.0)[:, None], 0.0, wait)
    with np.errstate(invalid="ignore"):
        queue = np.where(throughput[:, None] > 0, throughput[:, None] * residence, 0.0)
        population = np.where(throughput > 0, throughput * response, 0.0)
    known, note = known_error(hard, bool(np.any(net.users > 0)))
    return Solution(
        network=network.name,
        classes=network.class_names,
        stations=network.station_names,
        resources=network.resource_names,
        throughput_per_s=throughput,
        response_s=response,
        population=population,
        utilisation=figures.busy / np.where(net.delay, 1, net.servers),
        residence_s=residence,
        service_s=figures.using,
        queue_length=queue,
        wait_s=wait,
        held=held,
        method=figures.method,
        exact=exact,
        known_error=known,
        error_note=note,
        limits=_limits(net, figures, held),
        approximated=tuple(hard),
        saturated=(*saturated, *also_saturated),
        notes=tuple(net.notes),
    )


def _without_steady_state(
    net: Reduced, figures: Figures, saturated: tuple[str, ...], starved: NDArray[np.bool_]
) -> tuple[Floats, Floats, list[str]]:
    """Residence and wait, infinite for starved classes at what is saturated, and what is so besides what is known."""
    network = net.network
    residence, wait = figures.residence.copy(), figures.wait.copy()
    for k, name in enumerate(network.station_names):
        if name in saturated:
            residence[starved & (net.demand[:, k] > 0), k] = np.inf
    also: list[str] = []
    for rho, name in enumerate(network.resource_names):
        endless = wait[:, rho] > ENDLESS_S
        if name in saturated:
            endless = starved
        elif np.any(endless & (net.rates > 0)):
            also.append(name)
        else:
            continue
        wait[(net.acquires[:, rho] > 0) & endless, rho] = np.inf
    endless_at = [k for k in range(len(network.stations)) if np.any(np.isinf(residence[:, k]))]
    also += [network.station_names[k] for k in endless_at if network.station_names[k] not in saturated]
    return residence, wait, also


def _held(net: Reduced, figures: Figures, residence: Floats) -> Floats:
    """(classes, resources) units in use; those of resources that nobody waits for follow from the residence."""
    held = figures.held.copy()
    for rho in np.flatnonzero(np.any(net.ample > 0, axis=(0, 2))):
        with np.errstate(invalid="ignore", divide="ignore"):
            part = np.where(net.demand > 0, residence * net.ample[:, rho] / net.demand, 0.0)
        held[:, rho] = figures.throughput * part.sum(axis=1)
    return held


def _limits(net: Reduced, figures: Figures, held: Floats) -> tuple[Limit, ...]:
    """Stations, resources and machines by how near to full they are."""
    network, throughput = net.network, figures.throughput
    stations = [(k, s) for k, s in enumerate(network.stations) if s.scheduling != "delay"]
    names = [(s.name, s.component or "station") for _, s in stations]
    names += [(r.name, r.kind or "resource") for r in network.resources]
    names += [(cec.name, "machine") for cec in network.cecs]
    units = [r.capacity * r.instances for r in network.resources]
    of_all = [
        0.0 if s.scheduling == "delay" else _share_of_limit(net, figures, k) for k, s in enumerate(network.stations)
    ]
    of_stations = [of_all[k] for k, _ in stations]
    of_machines = [
        sum(
            min(float(figures.busy[:, k].sum()), float(s.servers))
            for k, s in stations
            if s.lpar is not None and s.lpar.cec == cec.name
        )
        / cec.engines
        for cec in network.cecs
    ]
    shares = [*of_stations, *(held.sum(axis=0) / units), *of_machines]
    unwaited = unwaited_holding(net, throughput, throughput @ figures.using) / units
    needed = [share_with_overflow(net, of_all, k) for k, _ in stations]
    return limits(names, shares, [*needed, *unwaited, *of_machines], float(throughput.sum()))


def _share_of_limit(net: Reduced, figures: Figures, k: int) -> float:
    """Work done at a station over the most it can do."""
    station = net.network.stations[k]
    if station.lpar is not None:
        capped = most_work(net, np.zeros(len(net.curves)))[k]
        return float(figures.busy[:, k].sum() / capped)
    most = net.curves[k][0][-1]
    if net.plain[k]:
        return float(figures.busy[:, k].sum() / most)
    alone = net.demand[:, k] * net.pace[k] if len(set(station.speeds)) > 1 else figures.using[:, k]
    return float(figures.throughput @ alone / most)
