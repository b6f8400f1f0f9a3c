"""Processor sharing in virtual time.

Customers of a sharing station that progress at one common rate form a lane. A lane's virtual clock advances at that
rate, so a customer entering with work w leaves when the clock has gone w further, however often the rate changes: only
the clock's speed and the lane's next completion are recomputed, never its customers. Lanes of priority levels,
weights, and of LPARs on one machine form a group whose rates depend on each other's numbers.
"""

from __future__ import annotations

import numpy as np

from model.network.simulator import layout as L
from model.network.simulator.calendar import cancel, move
from model.network.simulator.compiled import compiled, inlined

_ONE, _TWO = np.uint64(1), np.uint64(2)


@inlined
def lane_push(lane, n, key, customer, keys, members):
    """Insert a customer with its virtual finish time into a lane's binary heap of ``n`` entries."""
    at = np.uint64(n)
    while at > np.uint64(0):
        parent = (at - _ONE) >> _ONE
        if keys[lane, parent] <= key:
            break
        keys[lane, at], members[lane, at] = keys[lane, parent], members[lane, parent]
        at = parent
    keys[lane, at], members[lane, at] = key, customer


@inlined
def lane_pop(lane, n, keys, members):
    """Remove the first entry of a lane's heap of ``n`` entries (keys beyond are infinite) and give its customer."""
    first = members[lane, 0]
    last = np.uint64(n - 1)
    key, customer = keys[lane, last], members[lane, last]
    keys[lane, last] = np.inf
    if last == np.uint64(0):
        return first
    at = np.uint64(0)
    while True:
        child = (at << _ONE) + _ONE
        left, right = keys[lane, child], keys[lane, child + _ONE]
        child += np.uint64(right < left)
        smaller = min(left, right)
        if smaller >= key:
            break
        keys[lane, at], members[lane, at] = smaller, members[lane, child]
        at = child
    keys[lane, at], members[lane, at] = key, customer
    return first


@inlined
def advance(lane, now, lane_f):
    """Bring a lane's virtual clock up to ``now``."""
    lane_f[lane, L.LF_VIRTUAL] += lane_f[lane, L.LF_RATE] * (now - lane_f[lane, L.LF_AT])
    lane_f[lane, L.LF_AT] = now


@inlined
def plan(lane, now, owner, lane_i, lane_f, keys, times, owners, place, state):
    """Schedule the lane's next completion (event of ``owner``), or none."""
    rate = lane_f[lane, L.LF_RATE]
    if lane_i[lane, L.L_ACTIVE] == 0:
        lane_f[lane, L.LF_VIRTUAL] = 0.0
    if lane_i[lane, L.L_WAITING_HEAP] == 0 or rate <= 0.0:
        if place[owner] >= 0:
            cancel(owner, times, owners, place, state)
        return
    left = keys[lane, 0] - lane_f[lane, L.LF_VIRTUAL]
    move(owner, now + (left / rate if left > 0.0 else 0.0), times, owners, place, state)


@inlined
def integrate(station, now, st_f, acc_x):
    """Add the engine time, that beyond the entitlement, and the thread time since the last change."""
    dt = now - st_f[station, L.SF_AREA_AT]
    acc_x[station, L.X_BUSY_AREA] += st_f[station, L.SF_ALLOCATED] * dt
    acc_x[station, L.X_ACTIVE_AREA] += st_f[station, L.SF_ACTIVE] * dt
    acc_x[station, L.X_LOW_AREA] += max(st_f[station, L.SF_ALLOCATED] - st_f[station, L.SF_ENTITLED], 0.0) * dt
    st_f[station, L.SF_AREA_AT] = now


@compiled
def _cost(station, busy, st_i, costs):
    n = st_i[station, L.S_N_COST]
    if n == 0 or busy <= 0:
        return 1.0
    index = int(busy + 0.999999)
    return costs[st_i[station, L.S_COST] + (index if index < n else n) - 1]


@inlined
def rebalance_single(lane, now, owner, st_i, st_f, lane_i, lane_f, rates, keys, times, owners, place, state, acc_x):
    """Recompute the rate of a lane that has its station to itself, advanced to ``now``, and its next completion."""
    station = lane_i[lane, L.L_STATION]
    n = lane_i[lane, L.L_ACTIVE]
    integrate(station, now, st_f, acc_x)
    servers = st_i[station, L.S_SERVERS]
    n_rates = st_i[station, L.S_N_RATES]
    st_f[station, L.SF_ACTIVE] = n
    if st_i[station, L.S_PACKING] == 1:
        st_f[station, L.SF_ALLOCATED] = (n + 1) >> 1
    else:
        st_f[station, L.SF_ALLOCATED] = min(n, servers)
    if n > 0:
        lane_f[lane, L.LF_RATE] = rates[np.uint32(st_i[station, L.S_RATES] + min(n, n_rates) - 1)] / n
    plan(lane, now, owner, lane_i, lane_f, keys, times, owners, place, state)


@compiled
def rebalance(
    group, now, first_owner, gr_i, gr_f, gr_stations, st_i, st_f, lane_i, lane_f, costs, keys, times, owners, place,
    state, acc_x,
):  # fmt: skip
    """Recompute the rates of a group of lanes after one's number changed, and their next completions."""
    lane0, lanes = np.int64(gr_i[group, L.G_LANE0]), np.int64(gr_i[group, L.G_LANES])
    station0, stations = np.int64(gr_i[group, L.G_STATION0]), np.int64(gr_i[group, L.G_STATIONS])
    for lane in range(lane0, lane0 + lanes):
        advance(lane, now, lane_f)
    allocate(group, now, station0, stations, gr_f, gr_stations, st_i, st_f, lane0, lanes, lane_i, acc_x)  # fmt: skip
    for index in range(station0, station0 + stations):
        station = gr_stations[index]
        _share(station, lane0, lanes, st_i, st_f, lane_i, lane_f, costs, gr_f[group, 0])
    for lane in range(lane0, lane0 + lanes):
        plan(lane, now, first_owner + lane, lane_i, lane_f, keys, times, owners, place, state)


@compiled
def allocate(group, now, station0, stations, gr_f, gr_stations, st_i, st_f, lane0, lanes, lane_i, acc_x):
    """Divide a machine's engines over the stations of a group by weight: those below their share get what they ask
    for, the others divide the rest by weight (water filling)."""
    engines = gr_f[group, 0]
    weights = 0.0
    for index in range(station0, station0 + stations):
        station = gr_stations[index]
        integrate(station, now, st_f, acc_x)
        n = 0
        for lane in range(lane0, lane0 + lanes):
            if lane_i[lane, L.L_STATION] == station:
                n += lane_i[lane, L.L_ACTIVE]
        st_f[station, L.SF_ACTIVE] = n
        st_f[station, L.SF_ALLOCATED] = -1.0
        if n > 0:
            weights += st_f[station, L.SF_WEIGHT]
    left = engines
    settled = True
    while settled and weights > 0.0:
        settled = False
        level = left / weights
        for index in range(station0, station0 + stations):
            station = gr_stations[index]
            if st_f[station, L.SF_ALLOCATED] >= 0.0 or st_f[station, L.SF_ACTIVE] == 0.0:
                continue
            asked = min(st_f[station, L.SF_ACTIVE], st_i[station, L.S_SERVERS], st_f[station, L.SF_CAP])
            if asked <= level * st_f[station, L.SF_WEIGHT] * (1.0 + 1e-12):
                st_f[station, L.SF_ALLOCATED] = asked
                left -= asked
                weights -= st_f[station, L.SF_WEIGHT]
                settled = True
                if weights <= 1e-12:
                    weights = 0.0
    for index in range(station0, station0 + stations):
        station = gr_stations[index]
        if st_f[station, L.SF_ACTIVE] == 0.0:
            st_f[station, L.SF_ALLOCATED] = 0.0
        elif st_f[station, L.SF_ALLOCATED] < 0.0:
            st_f[station, L.SF_ALLOCATED] = left / weights * st_f[station, L.SF_WEIGHT]


@compiled
def _share(station, lane0, lanes, st_i, st_f, lane_i, lane_f, costs, engines):
    """Divide a station's allocation over its lanes: higher ranks first, by weight within a rank, at most one engine
    to a customer."""
    left = st_f[station, L.SF_ALLOCATED]
    pace = st_f[station, L.SF_SPEED] / _cost(station, left, st_i, costs)
    low_cost = st_f[station, L.SF_LOW_COST]
    share = st_f[station, L.SF_WEIGHT] * engines
    if low_cost > 1.0 and left > share:
        pace *= (share + (left - share) / low_cost) / left
    rank = 0
    placed = 0
    total = 0
    for lane in range(lane0, lane0 + lanes):
        if lane_i[lane, L.L_STATION] == station:
            total += 1
            lane_f[lane, L.LF_RATE] = 0.0
    while placed < total:
        open_weight = 0.0
        for lane in range(lane0, lane0 + lanes):
            if lane_i[lane, L.L_STATION] == station and lane_i[lane, L.L_RANK] == rank:
                placed += 1
                lane_f[lane, L.LF_RATE] = -1.0
                open_weight += lane_f[lane, L.LF_WEIGHT] * lane_i[lane, L.L_ACTIVE]
        settled = True
        while settled and open_weight > 1e-12:
            settled = False
            level = left / open_weight
            for lane in range(lane0, lane0 + lanes):
                if lane_i[lane, L.L_STATION] != station or lane_i[lane, L.L_RANK] != rank:
                    continue
                if lane_f[lane, L.LF_RATE] < 0.0 and level * lane_f[lane, L.LF_WEIGHT] >= 1.0 - 1e-12:
                    n = lane_i[lane, L.L_ACTIVE]
                    lane_f[lane, L.LF_RATE] = 1.0
                    if n > 0:
                        left -= n
                        open_weight -= lane_f[lane, L.LF_WEIGHT] * n
                        settled = True
        if left < 1e-12:
            left = 0.0
        spent = 0.0
        for lane in range(lane0, lane0 + lanes):
            if lane_i[lane, L.L_STATION] == station and lane_i[lane, L.L_RANK] == rank:
                if lane_f[lane, L.LF_RATE] < 0.0:
                    level = left / open_weight if open_weight > 1e-12 else 0.0
                    lane_f[lane, L.LF_RATE] = level * lane_f[lane, L.LF_WEIGHT]
                    spent += lane_f[lane, L.LF_RATE] * lane_i[lane, L.L_ACTIVE]
                lane_f[lane, L.LF_RATE] *= pace
        left = left - spent if left - spent > 1e-12 else 0.0
        rank += 1
