"""What goes on inside a limit with 1, 2, ... transactions in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from model.network.kernel_cache import kernel
from model.network.solvers.mixed import open_folded
from model.network.solvers.passive.parts import Limited
from model.network.solvers.passive.series import closed_chain, log_convolved
from model.network.solvers.reduction import Floats, Reduced, holding_variation


class Beside(NamedTuple):
    """Work beside that inside a limit: ``load`` (stations,) of all a second.

    Of users outside, ``load_of_users`` (stations,) is their part of that, ``many`` (classes, stations) how many there
    may be, and ``often`` (classes, stations) the work that each brings a second while it is elsewhere.
    """

    load: Floats
    load_of_users: Floats
    many: Floats
    often: Floats


@dataclass
class ByPopulation:
    """The inside of a limit with 1, 2, ... transactions: (population,) arrays.

    ``rate`` is entries a second; ``stretch`` (population, stations) residence over work at its own stations; ``wait``
    (population,) by resource within, seconds an entry of that resource; ``inner`` what goes on in the limits within,
    ``longer`` how much longer their waits are for times inside that vary.
    """

    rate: Floats
    stretch: Floats
    wait: dict[int, Floats]
    inner: dict[int, Floats]
    longer: dict[int, float]


def by_population(net: Reduced, part: Limited, most: int, flow: Floats, beside: Beside) -> ByPopulation | None:
    """The inside of a limit with 1, 2, ... ``most`` in it; what is done there is part of the load of ``beside``.

    None where nothing is done there.
    """
    stations = net.demand.shape[1]
    entering = float(flow @ part.entries)
    if entering <= 0:
        return None
    levels = np.arange(1, most + 1)
    used = [k for k in range(stations) if np.any(part.own[:, k] > 0)]
    means, curves = [], []
    for k in used:
        mean = float(flow @ part.own[:, k]) / entering
        if net.delay[k]:
            curves.append(levels.astype(float))
        else:
            open_load = beside.load[k] - beside.load_of_users[k] - mean * entering
            curves.append(left_over(net.curves[k][0], open_load, beside.many[:, k], beside.often[:, k], most))
        means.append(mean)
    inner = []
    for child in part.within:
        found = by_population(net, child, min(child.most * child.copies, most), flow, beside)
        if found is None:
            continue
        let_in = np.minimum(child.inside(most), len(found.rate))
        inner.append((child, found, let_in))
        means.append(float(flow @ child.entries) / entering / found.rate[0])
        curves.append(at_population(found.rate, let_in) / found.rate[0])
    if not any(means):
        return None
    rate, queue, chances = closed_chain(np.array(means), np.array(curves), len(used))
    stretch = np.ones((most, stations))
    for i, k in enumerate(used):
        stretch[:, k] = queue[:, i] / rate / (float(flow @ part.own[:, k]) / entering)
    out = ByPopulation(rate, stretch, {}, {}, {})
    for at_child, (child, found, let_in) in zip(chances, inner, strict=True):
        entries = float(flow @ child.entries) / entering * rate
        coming = flow * child.entries
        from_outside = float(coming[net.rates > 0].sum()) / float(coming.sum())
        out.longer[child.rho] = 1 + from_outside * (longer_waits(net, child, times_inside(child, found), flow) - 1)
        out.longer |= found.longer
        out.wait[child.rho] = at_child @ (levels - let_in) / entries
        inside = at_child * let_in
        inside /= inside.sum(axis=1, keepdims=True)
        out.inner[child.rho] = inside @ at_population(found.stretch, let_in)
        out.wait |= {rho: inside @ at_population(wait, let_in) for rho, wait in found.wait.items()}
        out.inner |= {rho: inside @ at_population(deeper, let_in) for rho, deeper in found.inner.items()}
    return out


def left_over(curve: Floats, load: float, users: Floats, often: Floats, most: int) -> Floats:
    """(most,) what a station of capacity ``curve`` does for 1, 2, ... customers, in work a second, where others bring
    it ``load`` besides, and ``users`` (classes,) do who bring ``often`` (classes,) as long as they are elsewhere."""
    coming = _any_there(users[users * often > 0], often[users * often > 0])
    customers = most + len(coming) - 1
    if load > 1e-9 * curve[-1]:
        log_f, _ = open_folded(curve, min(load, 0.98 * float(curve[-1])), customers)
        curve = np.exp(log_f[:-1] - log_f[1:])
    if len(coming) > 1:
        log_f = _users_folded(curve, coming, most)
        curve = np.exp(log_f[:-1] - log_f[1:])
    return curve[np.minimum(np.arange(most), len(curve) - 1)]


def _any_there(users: Floats, often: Floats) -> Floats:
    """Logarithms of how often 0, 1, ... of all ``users`` (classes,) would be at a delay, times its factorial."""
    out = np.full(int(np.ceil(users).sum()) + 1, -np.inf)
    out[0] = 0.0
    for many, asks in zip(users, often, strict=True):
        n = np.arange(np.ceil(many))
        alone = np.full(len(out), -np.inf)
        alone[: len(n) + 1] = np.concatenate(([0.0], np.cumsum(np.log((many - n) * asks / (n + 1)))))
        out = log_convolved(out, alone)
    return out + np.cumsum(np.log(np.maximum(np.arange(len(out)), 1)))


@kernel()
def _users_folded(capacity: Floats, coming: Floats, most: int) -> Floats:
    """(most + 1,) log f(n) as of :func:`model.network.solvers.mixed.open_folded`, with users who would be there as
    often as ``coming`` (customers + 1,) says instead of an open load."""
    levels = len(capacity)
    log_f, slower = np.empty(most + 1), 0.0
    for n in range(most + 1):
        slower += -np.log(capacity[min(n, levels) - 1]) if n > 0 else 0.0
        terms, ways = np.empty(len(coming)), slower
        for m in range(len(coming)):
            ways += np.log((n + m) / m / capacity[min(n + m, levels) - 1]) if m > 0 else 0.0
            terms[m] = coming[m] + ways
        top = terms.max()
        log_f[n] = top + np.log(np.exp(terms - top).sum())
    return log_f


def at_population(values: Floats, populations: Floats) -> Floats:
    """Values that are given at populations of 1, 2, ... between these."""
    low = np.minimum(populations.astype(int), len(values))
    high = np.minimum(low + 1, len(values))
    part = (populations - low).clip(0, 1).reshape(-1, *[1] * (values.ndim - 1))
    return np.asarray(values[low - 1] * (1 - part) + values[high - 1] * part)


def at_presence(found: ByPopulation, there: Floats, most: int) -> ByPopulation:
    """The inside with 1, 2, ... ``most`` in it, where ``there`` (population,) are inside while as much gets done as in
    ``found``: more of them, or fewer, than of the mix, as their order of service makes them wait longer or less."""
    populations = np.arange(len(there) + 1.0)
    level = np.interp(np.arange(1.0, most + 1), np.concatenate(([0.0], there)), populations)
    rate = np.interp(level, populations, np.concatenate(([0.0], found.rate)))
    level = np.maximum(level, 1.0)
    wait = {rho: at_population(seconds, level) for rho, seconds in found.wait.items()}
    inner = {rho: at_population(stretch, level) for rho, stretch in found.inner.items()}
    return ByPopulation(rate, at_population(found.stretch, level), wait, inner, found.longer)


def through(
    part: Limited, found: ByPopulation, populations: Floats, wait: Floats, held: Floats, longer: Floats | float = 1.0
) -> Floats:
    """(classes, stations) residence inside a limit of which each class meets (classes, population) so many; adds to
    (classes, resources) ``wait`` for the limits within and ``held``, both in seconds a transaction. ``longer`` is
    (classes, stations) the time that a class spends besides its work over that of the mix."""

    def pass_through(one: Limited) -> Floats:
        stretch = found.stretch if one is part else found.inner[one.rho]
        inside = one.own * (1 + longer * (populations @ stretch - 1))
        for child in one.within:
            if child.rho in found.wait:
                waited = found.longer[child.rho] * child.entries * (populations @ found.wait[child.rho])
                inside += pass_through(child)
                wait[:, child.rho] += waited
                held[:, one.rho] += waited + sum(wait[:, deeper.rho] for deeper in all_within(child))
        held[:, one.rho] += inside.sum(axis=1)
        return inside

    return pass_through(part)


def all_within(part: Limited) -> list[Limited]:
    return [inner for child in part.within for inner in (child, *all_within(child))]


def times_inside(part: Limited, found: ByPopulation, longer: Floats | float = 1.0) -> Floats:
    """(classes, population) seconds that an entry stays inside with so many in the limit; ``longer`` as for
    :func:`through`."""

    def stay(own: Floats, stretch: Floats) -> Floats:
        return np.asarray(own.sum(axis=1)[:, None] + (own * longer) @ (stretch - 1).T)

    out = stay(part.own, found.stretch)
    for child in all_within(part):
        if child.rho in found.wait:
            out += stay(child.own, found.inner[child.rho]) + np.outer(child.entries, found.wait[child.rho])
    return np.divide(out, part.entries[:, None], out=np.zeros_like(out), where=part.entries[:, None] > 0)


def longer_waits(net: Reduced, part: Limited, times: Floats, flow: Floats) -> float:
    """How much longer those who come from outside wait for a limit than if all held it alike and exponentially.

    ``times`` (classes, population) are those of :func:`times_inside`. Who queues inside leaves at random; who does not,
    after visits that vary, and those of some classes are longer: as in M/G/1, waits follow the mean square.
    """
    coming, alone = flow * part.entries, times[:, 0]
    mean, full = float(coming @ alone), float(coming @ times[:, min(part.most, times.shape[1]) - 1])
    if not (mean > 0 and full > 0):
        return 1.0
    square = float(coming @ (alone**2 * (1 + holding_variation(net, part.rho, net.demand))))
    return 1 + mean / full * (square * float(coming.sum()) / mean**2 / 2 - 1)
