"""Processor sharing in virtual time.

Customers of a sharing station that progress at one common rate form a lane. A lane's virtual clock advances at that
rate, so a customer entering with work w leaves when the clock has gone w further, however often the rate changes: only
the clock's speed and the lane's next completion are recomputed, never its customers. Lanes of priority levels,
weights, and of LPARs on one machine form a group whose rates depend on each other's numbers.

A customer that keeps its engine for a synchronous request holds it whole and makes no progress; the others share the
engines that are left.
"""

from __future__ import annotations

import numpy as np

from model.network.simulator import layout as L
from model.network.simulator import station_table as ST
from model.network.simulator.calendar import cancel, move, take_first
from model.network.simulator.tables import inlined

_ONE, _TWO = np.uint64(1), np.uint64(2)


@inlined
def begin_sharing(t, now, station, customer, cls, work):
    """Join those who share the engines, where their number is not limited."""
    t.cust_f[customer, L.CF_WORK] = work * t.st_f[station, ST.SF_ALONE]
    if t.st_i[station, ST.S_BUSY] >= t.st_i[station, ST.S_LIMIT]:
        return L.WAITS
    t.st_i[station, ST.S_BUSY] += 1
    lane = t.lane_of[station, cls]
    t.lane_i[lane, L.L_INSIDE] += 1
    _join(now, lane, customer, work, t.cust_i, t.lane_i, t.lane_f, t.lane_keys, t.lane_members)
    t.freed[L.F_CHANGED] = station
    return L.SHARES


@inlined
def go_on_sharing(t, now, station, lane, customer, work):
    """Work again on the share that was kept."""
    t.cust_f[customer, L.CF_WORK] = work * t.st_f[station, ST.SF_ALONE]
    _join(now, lane, customer, work, t.cust_i, t.lane_i, t.lane_f, t.lane_keys, t.lane_members)
    t.freed[L.F_CHANGED] = station
    return L.SHARES


@inlined
def free_sharing(t, now, station, lane):
    """Take a customer out, and the first who waits in."""
    advance(now, lane, t.lane_f)
    t.lane_i[lane, L.L_INSIDE] -= 1
    if t.st_i[station, ST.S_WAITING] > 0:
        t.st_i[station, ST.S_WAITING] -= 1
        other = take_first(
            t.st_i[station, ST.S_QUEUE], t.st_i[station, ST.S_LEVELS], t.cust_i, t.queue_head, t.queue_tail
        )
        lane, left = t.lane_of[station, t.cust_i[other, L.C_CLASS]], t.cust_f[other, L.CF_LEFT]
        t.lane_i[lane, L.L_INSIDE] += 1
        _join(now, lane, other, left, t.cust_i, t.lane_i, t.lane_f, t.lane_keys, t.lane_members)
    else:
        t.st_i[station, ST.S_BUSY] -= 1
    t.freed[L.F_CHANGED] = station


@inlined
def _join(now, lane, customer, work, cust_i, lane_i, lane_f, keys, members):
    advance(now, lane, lane_f)
    cust_i[customer, L.C_SERVER] = lane
    n = lane_i[lane, L.L_WORKING]
    lane_push(lane, n, lane_f[lane, L.LF_VIRTUAL] + work, customer, keys, members)
    lane_i[lane, L.L_WORKING] = n + 1


@inlined
def first_of_lane(t, now, lane):
    """Take the customer whose work is done now out of a lane's heap; it is still inside."""
    t.lane_f[lane, L.LF_VIRTUAL] = t.lane_keys[lane, 0]
    t.lane_f[lane, L.LF_AT] = now
    n = t.lane_i[lane, L.L_WORKING]
    t.lane_i[lane, L.L_WORKING] = n - 1
    return lane_pop(lane, n, t.lane_keys, t.lane_members)


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
def advance(now, lane, lane_f):
    """Bring a lane's virtual clock up to ``now``."""
    lane_f[lane, L.LF_VIRTUAL] += lane_f[lane, L.LF_RATE] * (now - lane_f[lane, L.LF_AT])
    lane_f[lane, L.LF_AT] = now


@inlined
def _plan(t, now, lane):
    """Schedule the lane's next completion, or none."""
    owner = np.uint32(t.src_i.shape[0] + lane)
    rate = t.lane_f[lane, L.LF_RATE]
    if t.lane_i[lane, L.L_INSIDE] == 0:
        t.lane_f[lane, L.LF_VIRTUAL] = 0.0
    if t.lane_i[lane, L.L_WORKING] == 0 or rate <= 0.0:
        if t.place[owner] >= 0:
            cancel(owner, t.times, t.owners, t.place, t.heap)
        return
    left = t.lane_keys[lane, 0] - t.lane_f[lane, L.LF_VIRTUAL]
    move(owner, now + (left / rate if left > 0.0 else 0.0), t.times, t.owners, t.place, t.heap)


@inlined
def integrate(now, station, st_f, acc_x):
    """Add the engine time, that beyond the entitlement, and the thread time since the last change."""
    dt = now - st_f[station, ST.SF_AREA_AT]
    acc_x[station, L.X_BUSY_AREA] += st_f[station, ST.SF_ALLOCATED] * dt
    acc_x[station, L.X_ACTIVE_AREA] += st_f[station, ST.SF_ACTIVE] * dt
    acc_x[station, L.X_LOW_AREA] += max(st_f[station, ST.SF_ALLOCATED] - st_f[station, ST.SF_ENTITLED], 0.0) * dt
    st_f[station, ST.SF_AREA_AT] = now


@inlined
def rebalance(t, now):
    """Recompute the rates that depend on the station whose number changed, and the next completions."""
    group = t.st_i[t.freed[L.F_CHANGED], ST.S_GROUP]
    t.freed[L.F_CHANGED] = L.NONE
    if t.gr_i[group, L.G_SINGLE] == 1:
        _rebalance_single(t, now, t.gr_i[group, L.G_LANE0])
    else:
        _rebalance_group(t, now, group)


@inlined
def _rebalance_single(t, now, lane):
    """The rate of a lane that has its station to itself, advanced to ``now``."""
    station = t.lane_i[lane, L.L_STATION]
    n = t.lane_i[lane, L.L_INSIDE]
    integrate(now, station, t.st_f, t.acc_x)
    t.st_f[station, ST.SF_ACTIVE] = n
    if t.st_i[station, ST.S_PACKING] == 1:
        t.st_f[station, ST.SF_ALLOCATED] = (n + 1) >> 1
    else:
        t.st_f[station, ST.SF_ALLOCATED] = min(n, t.st_i[station, ST.S_SERVERS])
    working = t.lane_i[lane, L.L_WORKING]
    if working > 0:
        rate = t.rates[np.uint32(t.st_i[station, ST.S_RATES] + min(n, t.st_i[station, ST.S_N_RATES]) - 1)]
        if working < n:
            # Whoever keeps an engine or thread keeps it whole.
            whole = min(n, t.st_i[station, ST.S_THREADS])
            rate *= max(np.float64(whole) - (n - working), 0.0) / whole
        t.lane_f[lane, L.LF_RATE] = rate / working
    _plan(t, now, lane)


@inlined
def _rebalance_group(t, now, group):
    """The rates of lanes of one station or machine, which depend on each other."""
    lane0, lanes = np.int64(t.gr_i[group, L.G_LANE0]), np.int64(t.gr_i[group, L.G_LANES])
    station0, stations = np.int64(t.gr_i[group, L.G_STATION0]), np.int64(t.gr_i[group, L.G_STATIONS])
    for lane in range(lane0, lane0 + lanes):
        advance(now, lane, t.lane_f)
    _allocate(t, now, t.gr_f[group, 0], station0, stations, lane0, lanes)
    for index in range(station0, station0 + stations):
        _share(t, t.gr_stations[index], t.gr_f[group, 0], lane0, lanes)
    for lane in range(lane0, lane0 + lanes):
        _plan(t, now, lane)


@inlined
def _allocate(t, now, engines, station0, stations, lane0, lanes):
    """Divide a machine's engines over the stations of a group by weight: those below their share get what they ask
    for, the others divide the rest by weight (water filling)."""
    gr_stations, st_i, st_f, lane_i = t.gr_stations, t.st_i, t.st_f, t.lane_i
    weights = 0.0
    for index in range(station0, station0 + stations):
        station = gr_stations[index]
        integrate(now, station, st_f, t.acc_x)
        n = 0
        for lane in range(lane0, lane0 + lanes):
            if lane_i[lane, L.L_STATION] == station:
                n += lane_i[lane, L.L_INSIDE]
        st_f[station, ST.SF_ACTIVE] = n
        st_f[station, ST.SF_ALLOCATED] = -1.0
        if n > 0:
            weights += st_f[station, ST.SF_WEIGHT]
    left = engines
    settled = True
    while settled and weights > 0.0:
        settled = False
        level = left / weights
        for index in range(station0, station0 + stations):
            station = gr_stations[index]
            if st_f[station, ST.SF_ALLOCATED] >= 0.0 or st_f[station, ST.SF_ACTIVE] == 0.0:
                continue
            wanted = min(st_f[station, ST.SF_ACTIVE], st_i[station, ST.S_SERVERS], st_f[station, ST.SF_CAP])
            if wanted <= level * st_f[station, ST.SF_WEIGHT] * (1.0 + 1e-12):
                st_f[station, ST.SF_ALLOCATED] = wanted
                left -= wanted
                weights -= st_f[station, ST.SF_WEIGHT]
                settled = True
                if weights <= 1e-12:
                    weights = 0.0
    for index in range(station0, station0 + stations):
        station = gr_stations[index]
        if st_f[station, ST.SF_ACTIVE] == 0.0:
            st_f[station, ST.SF_ALLOCATED] = 0.0
        elif st_f[station, ST.SF_ALLOCATED] < 0.0:
            st_f[station, ST.SF_ALLOCATED] = left / weights * st_f[station, ST.SF_WEIGHT]


@inlined
def _cost(t, station, busy):
    n = t.st_i[station, ST.S_N_COST]
    if n == 0 or busy <= 0:
        return 1.0
    index = int(busy + 0.999999)
    return t.costs[t.st_i[station, ST.S_COST] + (index if index < n else n) - 1]


@inlined
def _share(t, station, engines, lane0, lanes):
    """Divide a station's allocation, less the engines that are kept, over its lanes: higher ranks first, by weight
    within a rank, at most one engine to a customer."""
    st_f, lane_i, lane_f = t.st_f, t.lane_i, t.lane_f
    left = st_f[station, ST.SF_ALLOCATED]
    pace = st_f[station, ST.SF_SPEED] / _cost(t, station, left)
    low_cost = st_f[station, ST.SF_LOW_COST]
    share = st_f[station, ST.SF_WEIGHT] * engines
    if low_cost > 1.0 and left > share:
        pace *= (share + (left - share) / low_cost) / left
    rank = 0
    placed = 0
    total = 0
    held = 0
    for lane in range(lane0, lane0 + lanes):
        if lane_i[lane, L.L_STATION] == station:
            total += 1
            held += lane_i[lane, L.L_INSIDE] - lane_i[lane, L.L_WORKING]
            lane_f[lane, L.LF_RATE] = 0.0
    left = max(left - held, 0.0)
    while placed < total:
        open_weight = 0.0
        for lane in range(lane0, lane0 + lanes):
            if lane_i[lane, L.L_STATION] == station and lane_i[lane, L.L_RANK] == rank:
                placed += 1
                lane_f[lane, L.LF_RATE] = -1.0
                open_weight += lane_f[lane, L.LF_WEIGHT] * lane_i[lane, L.L_WORKING]
        settled = True
        while settled and open_weight > 1e-12:
            settled = False
            level = left / open_weight
            for lane in range(lane0, lane0 + lanes):
                if lane_i[lane, L.L_STATION] != station or lane_i[lane, L.L_RANK] != rank:
                    continue
                if lane_f[lane, L.LF_RATE] < 0.0 and level * lane_f[lane, L.LF_WEIGHT] >= 1.0 - 1e-12:
                    n = lane_i[lane, L.L_WORKING]
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
                    spent += lane_f[lane, L.LF_RATE] * lane_i[lane, L.L_WORKING]
                lane_f[lane, L.LF_RATE] *= pace
        left = left - spent if left - spent > 1e-12 else 0.0
        rank += 1
