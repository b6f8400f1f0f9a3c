"""Networks that are asked for more than they can do: what is overloaded, and who does not notice."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from model.network import NetworkError
from model.network.solvers.arrays import MOST_BUSY, RANKED
from model.network.solvers.reduction import Floats, Reduced, unwaited_holding
from model.network.solvers.water_filling import water_filling

FULL = 1 - 1e-9
"""Part of what a station can do at which it is overloaded: rounding may leave as much."""
LITTLE = 0.01
"""Part of what a station can do that work outside of an overloaded resource may ask of it and be left aside."""


def overloaded_by_arrivals(net: Reduced, throughput: Floats | None = None) -> dict[str, float]:
    """Stations and resources that open classes overload, waits left aside, with the work asked of each as a part of
    what it can do: alone, or beside the ``throughput`` (classes,) of users who go before some of them."""
    out = {}
    each = net.demand * net.pace
    work = net.rates.clip(0) @ each
    can = most_work(net, work)
    for k, station in enumerate(net.network.stations):
        if station.scheduling == "delay" or station.capacity is not None or station.overflow is not None:
            continue
        asked = work[k]
        if throughput is not None and station.scheduling in RANKED and asked > 0:
            lowest = net.priority[net.rates * each[:, k] > 0].min()
            asked += float(_of_users(net, throughput, k)[net.priority > lowest].sum())
        if asked >= can[k] * FULL:
            out[station.name] = float(asked / can[k])
    held = unwaited_holding(net, net.rates.clip(0), work)
    for rho, resource in enumerate(net.network.resources):
        places = resource.capacity * resource.instances
        if held[rho] >= places:
            out[resource.name] = float(held[rho] / places)
    return out


def _of_users(net: Reduced, throughput: Floats, k: int) -> Floats:
    """(classes,) engines of a station that users of closed classes keep busy."""
    return np.where(net.users > 0, throughput * net.demand[:, k] * net.pace[k], 0.0)


def most_work(net: Reduced, work: Floats) -> Floats:
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
        asked = [min(float(work[k] + net.occupied[k]), float(most[k])) for k, _ in members]
        if sum(asked) >= cec.engines:
            given = water_filling(asked, [share.weight for _, share in members], cec.engines)
            for (k, _), part, wanted in zip(members, given, asked, strict=True):
                if wanted > 0 and part <= wanted * (1 - 1e-12):
                    most[k] = part
    return most


def without_starved(
    net: Reduced, overloaded: dict[str, float], throughput: Floats | None = None
) -> tuple[Reduced, NDArray[np.bool_]]:
    """The network as classes see it that do not pass what is overloaded, and (classes,) those without a steady state.

    Engines of an overloaded station are full. Where it serves by importance, the level that no longer fits gets through
    at the rate that is left for it beside the ``throughput`` (classes,) of users above it, levels below not at all.
    Elsewhere all open classes get through at a part of their rates, and users of closed classes, who stand beside ever
    more of them, not at all. Stations before the overloaded one still have all arrivals. An overloaded resource always
    has as many inside as it lets in, whom the others meet as users who never think.

    Raises:
        NetworkError: who gets through an overloaded resource, or what they do outside of it, cannot be told.
    """
    starved = np.zeros(len(net.rates), dtype=bool)
    names = net.network.station_names
    work = net
    while overloaded:
        name = next(iter(overloaded))
        rho = _gate(work, names.index(name), throughput) if name in names else net.network.resource_names.index(name)
        if rho is None:
            work = _without(work, names.index(name), starved, throughput)
        else:
            starved |= net.acquires[:, rho] > 0
            if np.all(starved | ((net.rates <= 0) & (net.users <= 0))):
                return net, starved
            work = _always_full(work, rho)
        overloaded = overloaded_by_arrivals(work, throughput)
    return work, starved


def _gate(net: Reduced, k: int, throughput: Floats | None) -> int | None:
    """A resource that keeps work which does not fit away from an overloaded station; None where nothing does."""
    out = _unfit(net, k, throughput)[0] & (net.rates > 0)
    kept = np.flatnonzero(np.any(net.inside[out, :, k] > 0, axis=0))
    return int(kept[0]) if len(kept) else None


def _always_full(net: Reduced, rho: int) -> Reduced:
    """The network in which open classes that take an overloaded resource are users inside it, in the parts in which
    they come and hold it; users who would queue for it stand still."""
    resource = net.network.resources[rho]
    takers = net.acquires[:, rho] > 0
    arriving = takers & (net.rates > 0)
    inside = net.inside[:, rho] * net.largest[rho]
    held = np.where(arriving, net.rates * (inside * net.pace).sum(axis=1), 0.0)
    outside = net.rates.clip(0) * arriving @ (net.demand - inside).clip(0) * net.pace
    least = np.array([curve[0][-1] for curve in net.curves])
    ranked = resource.scheduling == "hol" and len(set(net.priority[arriving])) > 1
    if ranked or net.forks or net.sync or np.any((outside > LITTLE * least) & ~net.delay):
        raise NetworkError(
            f"network {net.network.name!r} asks for more of {resource.name} than there is, and what gets through it is "
            "beyond the analytic solver: simulate it, or make the resource larger"
        )
    users = resource.capacity * resource.instances / net.largest[rho] * held / held.sum()
    acquires, within, nested = net.acquires.copy(), net.inside.copy(), net.nested.copy()
    acquires[:, rho], within[:, rho], nested[:, rho], nested[:, :, rho] = 0.0, 0.0, 0.0, 0.0
    return replace(
        net,
        rates=np.where(arriving, -1.0, net.rates),
        users=np.where(takers, users, net.users),
        think=np.where(arriving, 0.0, net.think),
        demand=np.where(arriving[:, None], inside, net.demand),
        acquires=acquires,
        inside=within,
        nested=nested,
    )


def _without(net: Reduced, k: int, starved: NDArray[np.bool_], throughput: Floats | None) -> Reduced:
    """The network without the work of an overloaded station that does not fit, and of less important classes there."""
    out, load, left = _unfit(net, k, throughput)
    scheduling = net.network.stations[k].scheduling
    most = float(most_work(net, net.rates.clip(0) @ net.demand * net.pace)[k])
    # Where what is begun is waited for, nearly as much as fits stays; nothing, where users leave no room.
    stays = scheduling == "hol" and left * (1 - MOST_BUSY) > most * (1 - FULL)
    through = np.minimum(_through(net, k, load, left), 1.0) * (MOST_BUSY if stays else 1.0)
    demand, inside, occupied = net.demand.copy(), net.inside.copy(), net.occupied.copy()
    for r in np.flatnonzero(through > 0):
        passed = net.order[r][: net.order[r].index(k)]
        demand[r, passed] /= through[r]
        inside[r, :, passed] /= through[r]
    gone = out & ~((load > 0) & stays)
    occupied[k] += 0.0 if stays else left
    demand[gone, k], inside[gone, :, k] = 0.0, 0.0
    starved |= out
    return replace(
        net,
        rates=np.where(out & (net.rates > 0), net.rates * through, net.rates),
        users=np.where(out, 0.0, net.users),
        demand=demand,
        inside=inside,
        occupied=occupied,
    )


def _unfit(net: Reduced, k: int, throughput: Floats | None) -> tuple[NDArray[np.bool_], Floats, float]:
    """(classes,) who cannot be served as they come at an overloaded station, and (classes,) work of the last of them
    who get something, with the engines that are left for that."""
    load = net.rates.clip(0) * net.demand[:, k] * net.pace[k]
    left = float(most_work(net, net.rates.clip(0) @ net.demand * net.pace)[k])
    out = net.demand[:, k] > 0
    if net.network.stations[k].scheduling in RANKED:
        before = load if throughput is None else load + _of_users(net, throughput, k)
        *above, level = sorted(set(net.priority[load > 0]), reverse=True)
        # Rounding may let the last level seem to fit where all work together fills the station.
        for at in above:
            if before[net.priority > at].sum() + load[net.priority == at].sum() >= left * FULL:
                level = at
                break
        left = max(left - float(before[net.priority > level].sum()), (1 - FULL) * left)
        out &= net.priority <= level
        load[net.priority != level] = 0.0
    return out, load, left


def _through(net: Reduced, k: int, load: Floats, capacity: float) -> Floats:
    """(classes,) part of what arrives that gets through a station with more ``load`` (classes,) than ``capacity``.

    In order, the same part of each class. Where all share, each class grows by what its shares leave of it: short work
    gets through more often than long (weights as under ``dps``).
    """
    part = np.where(load > 0, capacity / load.sum(), 0.0)
    if net.network.stations[k].scheduling in ("fcfs", "hol", "preemptive"):
        return part
    here = np.flatnonzero(load > 0)
    rates = net.rates[here]
    weight = net.weight[here] if net.network.stations[k].scheduling == "dps" else np.ones(len(here))
    speed = capacity * weight * rates / load[here]
    # So many more a second share the engines, by their weights, that the growth of each class adds up to it.
    low, high = 0.0, float(weight @ rates)
    for _ in range(60):
        more = (low + high) / 2
        low, high = (more, high) if (weight * rates / (more + speed)).sum() > 1 else (low, more)
    part[here] = speed / (low + speed)
    return part
