"""The steady state of a network's Markov chain, and what is to be seen in it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from model.network.arrays import Arrays, Floats, Ints
from model.network.errors import NetworkError, UnsupportedError
from model.network.exact.chain.routes import NOBODY, TOO_MANY
from model.network.exact.chain.states import State, States
from model.network.exact.solution import Figures
from model.network.limits import most_work

MOST_STATES = 10_000
MOST_CUSTOMERS = 1_000
LEAST_LOST = 1e-6
"""Part of the arrivals that is turned away where the chain of an open network ends."""
TRIES = 4
SWEEPS, SETTLED = 1_000, 1e-13
"""Sweeps over all states, and the change of a chance in one, in which these settle."""
MOST_WORK = 3e8
"""States times the square of how far apart in their list those are that follow each other, up to which their equations
are solved directly."""
TOO_SLOW = "its chain mixes too slowly"
SAME_FLOW = 1e-5
"""Relative difference of flows that are the same where the chances are right."""


def markov_chain(net: Arrays) -> Figures:
    """Exact figures, of open classes as exact as the number inside at a time is limited in the chain.

    Raises
    ------
    UnsupportedError
        The network has times that are not of exponential phases, too many states, or a chain that mixes too slowly.
    NetworkError
        All transactions, or all of a class, come to wait for each other.
    """
    opened = net.rates > 0
    most = _most_inside(net)
    for _ in range(TRIES if opened.any() else 1):
        if int(most[opened].sum() + net.users.sum()) > MOST_CUSTOMERS:
            raise UnsupportedError(TOO_MANY)
        figures, lost = _solved(net, most)
        if np.all(np.abs(lost) < LEAST_LOST):
            return figures
        most = np.where(np.abs(lost) < LEAST_LOST, most, 2 * most)
    raise UnsupportedError("queues of its open classes are too long for a chain")


def _most_inside(net: Arrays) -> Ints:
    """(classes,) transactions of open classes beyond which there are next to none, by how busy stations are."""
    most = np.zeros(len(net.rates), dtype=np.int64)
    work = net.rates.clip(0)[:, None] * net.work
    can = _can(net, work.sum(axis=0))
    for i, station in enumerate(net.network.stations):
        if station.overflow is not None:
            # These two are one pool.
            to = net.network.station_names.index(station.overflow.to)
            work[:, i] = work[:, to] = work[:, i] + work[:, to]
            can[i] = can[to] = can[i] + can[to]
    limited = [(net.acquires[:, rho] > 0, resource) for rho, resource in enumerate(net.network.resources)]
    for r in np.flatnonzero(net.rates > 0):
        fullest = 0.05
        servers = int(net.servers[(net.demand[r] > 0) & ~net.delay].max(initial=1))
        for k in np.flatnonzero((net.demand[r] > 0) & ~net.delay):
            capacity = net.network.stations[k].capacity
            if capacity is not None:
                servers += int(capacity)
                continue
            ranked = net.network.stations[k].discipline.ranked
            competing = net.priority >= net.priority[r] if ranked else np.ones(len(work), dtype=np.bool_)
            fullest = max(fullest, float(work[competing, k].sum() / can[k]))
        # The more arrivals and work vary, the slower long queues get rare.
        arrivals = net.network.classes[r].arrivals
        dispersion = 1.0 if arrivals is None else arrivals.dispersion
        varies = max(1.0, dispersion, float(np.nan_to_num(net.scv[r]).max()))
        most[r] = math.ceil((1 + varies) / 2 * math.log(LEAST_LOST) / math.log(min(fullest, 0.99))) + servers
        for takes, resource in limited:
            if takes[r] and resource.queue_limit is not None:
                most[r] = min(int(most[r]), resource.capacity + resource.queue_limit)
    return most


def _can(net: Arrays, work: Floats) -> Floats:
    """(stations,) work that each can do: an LPAR without a cap what the ``work`` (stations,) of the others leaves it,
    and at least its part by weight."""
    can = most_work(net, np.zeros(len(work)))
    for cec in net.network.cecs:
        here = {k: s.lpar for k, s in enumerate(net.network.stations) if s.lpar is not None and s.lpar.cec == cec.name}
        total = sum(lpar.weight for lpar in here.values())
        for k, lpar in here.items():
            others = sum(float(work[j]) for j in here if j != k)
            can[k] = min(can[k], max(cec.engines - others, cec.engines * lpar.weight / total))
    return can


def _solved(net: Arrays, most: Ints) -> tuple[Figures, Floats]:
    """Figures, and (classes,) the part of the arrivals that is turned away as no more than ``most`` are let in."""
    chain = States(net, most)
    if _least_states(net, chain, most) > MOST_STATES:
        raise UnsupportedError(TOO_MANY)
    states, moves = chain.walk(MOST_STATES)
    chances, ends = _stationary(len(states), moves)
    if ends > 1 and np.any(net.acquires > 0):
        raise NetworkError(_deadlock(net, "some classes"))
    if chances is None:
        raise UnsupportedError(TOO_SLOW)
    there, busy, done, holdings, cut = _means(chain, states, chances)
    stations = len(net.curves)
    at_stations, waiting, used = there[:, :stations], there[:, stations:-1], busy[:, :stations]
    # What goes to another station when one is full is work of both together.
    work = np.stack((net.demand, done[:, :stations] / net.pace))
    for k, station in enumerate(net.network.stations):
        if station.overflow is not None:
            work[..., net.network.station_names.index(station.overflow.to)] += work[..., k]
            work[..., k] = 0.0
    flow = np.divide(work[1], work[0], out=np.full_like(work[0], np.nan), where=work[0] > 0)
    throughput = np.nan_to_num(flow[np.arange(len(flow)), work[0].argmax(axis=1)])
    opened = net.rates > 0
    started = opened | (net.users > 0)
    never = started & (throughput <= 0)
    if np.any(never) and np.any(net.acquires > 0):
        names = ", ".join(n for n, r in zip(net.network.class_names, never, strict=True) if r)
        raise NetworkError(_deadlock(net, names))
    same = throughput[:, None]
    if np.any(np.abs(flow - same)[started & ~never] > SAME_FLOW * same[started & ~never]):
        raise UnsupportedError(TOO_SLOW)
    # More important users who are always there leave nothing for these.
    at_stations = np.where(never[:, None] & (at_stations > 0) & (net.demand > 0), np.inf, at_stations)
    if all(step.elsewhere == NOBODY for step in chain.steps):
        # Tells of chances that are not right as well.
        cut = net.rates - throughput
        throughput = np.where(opened, net.rates, throughput)
    lost = np.divide(cut, net.rates, out=np.zeros_like(cut), where=opened)
    each = np.where(throughput > 0, throughput, 1.0)[:, None]
    overflow = any(station.overflow is not None for station in net.network.stations)
    figures = Figures(
        throughput,
        at_stations / each,
        used,
        _in_service(net, throughput, done[:, :stations] / each if overflow else net.work, used),
        waiting / each,
        holdings,
        "Markov chain",
    )
    return figures, lost


def _deadlock(net: Arrays, classes: str) -> str:
    return (
        f"network {net.network.name!r}: transactions of {classes} come to wait for each other, without end: have all "
        "take resources in one order, and all units that they need at once"
    )


def _in_service(net: Arrays, throughput: Floats, work: Floats, busy: Floats) -> Floats:
    """(classes, stations) seconds that the ``work`` of a transaction takes alone: where engines are unequal, on the
    engines that do it."""
    unequal = [k for k, s in enumerate(net.network.stations) if len(set(s.speeds)) > 1]
    out = work.copy()
    out[:, unequal] = busy[:, unequal] / np.where(throughput > 0, throughput, 1.0)[:, None]
    return out


def _least_states(net: Arrays, chain: States, most: Ints) -> float:
    """How many states there are at least: by how many users are where, and open transactions inside."""
    states = 1.0
    for r in np.flatnonzero((net.users > 0) & ~np.any(net.acquires > 0, axis=1)):
        apart = len({(kind.place, kind.step) for kind in chain.kinds if kind.row == r})
        states *= math.comb(int(net.users[r]) + apart - 1, apart - 1)
    return states * math.prod(int(most[r]) for r in np.flatnonzero(net.rates > 0))


def _stationary(count: int, moves: list[tuple[int, int, float]]) -> tuple[Floats | None, int]:
    """(states,) how likely each state is in the end, None where that takes too long; and how many ends there are: where
    nothing is held these differ only by the order in which those wait who are never served."""
    # Loaded by those who need it: it takes longer than to solve most networks.
    from scipy.sparse import coo_array, diags_array
    from scipy.sparse.csgraph import connected_components, reverse_cuthill_mckee
    from scipy.sparse.linalg import splu

    sources, targets = (np.array([move[end] for move in moves], dtype=np.int64) for end in (0, 1))
    into = coo_array(([rate for *_, rate in moves], (targets, sources)), shape=(count, count)).tocsr()
    parts, part = connected_components(into, directed=True, connection="strong")
    ends = np.setdiff1d(np.arange(parts), part[sources[part[sources] != part[targets]]])
    at = np.flatnonzero(part == ends[0])
    out = np.zeros(count)
    if len(at) == 1:
        out[at] = 1.0
        return out, len(ends)
    inner = into[at][:, at]
    balance = (inner - diags_array(np.asarray(inner.sum(axis=0)).ravel())).tocsc()
    place = np.argsort(reverse_cuthill_mckee(inner))
    apart = inner.tocoo()
    if len(at) * float(np.abs(place[apart.row] - place[apart.col]).max()) ** 2 <= MOST_WORK:
        # One state's chance is set to 1; the others follow from their balance.
        rest = splu(balance[1:, 1:]).solve(-balance[1:, [0]].toarray().ravel())
        inner_chances: Floats | None = np.maximum(np.concatenate(([1.0], rest)), 0.0)
    else:
        inner_chances = _relaxed(balance)
    if inner_chances is None:
        return None, len(ends)
    out[at] = inner_chances / inner_chances.sum()
    return out, len(ends)


def _relaxed(balance: Any) -> Floats | None:
    """The chances (states,) by sweeps forwards and backwards (Gauss and Seidel); None where they do not settle."""
    from scipy.sparse import tril, triu
    from scipy.sparse.linalg import splu

    halves = [
        (splu(half.tocsc(), permc_spec="NATURAL", diag_pivot_thresh=0.0), (balance - half).tocsr())
        for half in (tril(balance), triu(balance))
    ]
    chances = np.full(balance.shape[0], 1 / balance.shape[0])
    for _ in range(SWEEPS):
        before = chances
        for factor, rest in halves:
            chances = -factor.solve(rest @ chances)
        chances /= chances.sum()
        if float(np.abs(chances - before).max()) < SETTLED:
            return chances
    return None


def _means(chain: States, states: list[State], chances: Floats) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """(classes, places) customers there, engines busy, and work done; (classes, resources) units held; (classes,)
    arrivals a second that are not let in, as the most that are let in are there."""
    classes, last = len(chain.most), chain.last
    there, busy, done = np.zeros((3, classes, last + 1))
    holdings, cut = np.zeros((classes, last - chain.stations)), np.zeros(classes)
    for state, chance in zip(states, chances.tolist(), strict=True):
        if chance <= 0.0:
            continue
        speeds, engines = chain.speeds(state)
        for place, here in enumerate(state):
            for number, speed, used in zip(here, speeds[place], engines[place], strict=True):
                kind = chain.kinds[number]
                r = kind.row
                there[r, place] += chance
                busy[r, place] += chance * used
                done[r, place] += chance * speed * kind.speed
                holdings[r] += np.multiply(chance, kind.holdings)
                for rate, _, _, copies in kind.events if place == last else ():
                    if copies and chain.inside(state, r) + copies > chain.most[r]:
                        cut[r] += chance * rate * copies
    return there, busy, done, holdings, cut
