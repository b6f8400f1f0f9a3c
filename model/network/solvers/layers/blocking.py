"""Stations that are full hold up those before them: blocking after service.

Such a station is solved alone, with a place more for each server before it that may be held up. Who stands in such a
place keeps that server, whose visits become so much longer; what waits behind it waits there. Source: Perros,
*Queueing Networks with Blocking*, 1994, chapter 4.
"""

from __future__ import annotations

import numpy as np

from model.network.solvers.arrays import MOST_BUSY
from model.network.solvers.layers.state import LayerState
from model.network.solvers.reduction import Floats, Reduced
from model.network.solvers.stations import birth_death

UNLIMITED = 1_000
"""Places before a station where nothing limits who waits for it."""


def hold_up(net: Reduced, state: LayerState, damping: float) -> None:
    """How long stations that block when they are full hold up the servers before them."""
    blocked, waited = np.zeros_like(state.blocked), np.zeros_like(state.blocked)
    for k in sorted({feed.to for feed in net.feeds}):
        feeds = [feed for feed in net.feeds if feed.to == k]
        coming = sum(float(state.throughput[feed.row]) * feed.flow for feed in feeds)
        if coming <= 0:
            continue
        places = net.network.stations[k].capacity or 0
        load = float(state.throughput @ (net.demand[:, k] * net.pace[k] + state.blocked[:, k]))
        births = _births(net, state, k, places + _before(net, [feed.station for feed in feeds]))
        p = _found(load, births, net.curves[k][0])
        held_s = float(p @ np.maximum(np.arange(len(p)) - places, 0)) / coming
        for feed in feeds:
            if feed.station is not None:
                blocked[feed.row, feed.station] += feed.flow * held_s
                waited[feed.row, k] += feed.flow * held_s
    state.blocked += damping * (blocked - state.blocked)
    state.waited_before += damping * (waited - state.waited_before)


def _before(net: Reduced, stations: list[int | None]) -> int:
    """Servers of those stations; what comes from outside or from a delay may wait in any number."""
    servers = sum(UNLIMITED if k is None or net.delay[k] else int(net.servers[k]) for k in set(stations))
    users = net.users.sum() if not np.any(net.rates > 0) else UNLIMITED
    return int(min(servers, users, UNLIMITED))


def _births(net: Reduced, state: LayerState, k: int, most: int) -> Floats:
    """(most,) how often somebody comes to station k while 0, 1, ... are there, up to a factor: users who are there do
    not come, and those elsewhere wait for each other."""
    coming = state.throughput * net.visits[:, k]
    users = float(net.users.sum())
    closed = net.users > 0
    if not coming[closed].any():
        return np.ones(most)
    share = net.users[closed] / users
    elsewhere = np.delete(net.demand[closed] * net.pace, k, axis=1)
    servers = np.delete(np.where(net.delay, np.inf, net.servers), k)
    cycle = float(share @ (net.think[closed] + elsewhere.sum(axis=1)))
    longest = float(np.max(share @ elsewhere / servers, initial=0.0))
    if cycle <= 0:
        return np.ones(most)
    left = np.maximum(users - np.arange(most), 0.0)
    rate = left / (cycle + np.maximum(left - 1, 0.0) * longest)
    part = float(coming[closed].sum() / coming.sum())
    return np.asarray(1 - part + part * rate / rate[0])


def _found(load: float, births: Floats, curve: Floats) -> Floats:
    """Chances of 0, 1, ... at a station that does ``load`` seconds of work a second, to which they come as ``births``
    (customers,) says, times a factor."""
    done = curve[np.minimum(np.arange(len(births)), len(curve) - 1)]
    load = min(load, MOST_BUSY * float(curve[-1]))
    low, high = np.log(load), np.log(load) + 20
    for _ in range(50):
        offered = (low + high) / 2
        p = birth_death(births * np.exp(offered), done)
        low, high = (offered, high) if float(p[1:] @ done) < load else (low, offered)
    return p
