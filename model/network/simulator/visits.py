"""Visits to stations: coming in, and what the end of a service does to the visitor."""

from __future__ import annotations

import numpy as np

from model.network.simulator import layout as L
from model.network.simulator import station_table as ST
from model.network.simulator.calendar import append, insert
from model.network.simulator.randoms import draw, uniform
from model.network.simulator.resources import leave, let_go, take
from model.network.simulator.stations import begin, go_on, keep, may_go_on
from model.network.simulator.statistics import bucket_of
from model.network.simulator.tables import inlined

_NONE = np.uint32(L.NONE)


@inlined
def visit(t, now, customer, pc):
    """Come to a station; gives none when served or waiting there, else the customer and where it goes on."""
    cls = t.cust_i[customer, L.C_CLASS]
    flags = t.op_i[pc, L.P_FLAGS]
    station = t.op_i[pc, L.P_PLACE]
    if flags & L.REPEAT and t.cust_i[customer, L.C_COUNT] == 0:
        count = _times(t, pc)
        if count == 0:
            return customer, np.uint32(pc + 1)
        t.cust_i[customer, L.C_COUNT] = count
    if flags & L.GOES_ON and t.cust_i[customer, L.C_HELD] == station and may_go_on(t, station, cls):
        work = _work(t, customer, pc) * t.st_f[station, ST.SF_PACE]
        _enter(t, now, customer, pc, station, work)
        _serve(t, now, customer, go_on(t, now, station, customer, work))
        return _NONE, pc
    if t.st_i[station, ST.S_BUSY] + t.st_i[station, ST.S_WAITING] >= t.st_i[station, ST.S_OVER_AT]:
        station = t.st_i[station, ST.S_OVER]
    if t.st_i[station, ST.S_PLACES] != L.NONE and t.cust_i[customer, L.C_PLACED] == 0:
        resource = t.st_i[station, ST.S_PLACES]
        instance = t.res_i[resource, L.R_FIRST]
        keeps = t.cust_i[customer, L.C_HELD] == station and not flags & L.RETAIN
        if keeps:
            # Who comes back at once goes to the end of the queue in the place that it has.
            t.cust_i[customer, L.C_PLACED] = L.KEPT_PLACE
            let_go(customer, t.cust_i, t.freed)
            return customer, pc
        t.cust_i[customer, L.C_PLACED] = L.NEW_PLACE
        if t.inst_i[instance, L.I_IN_USE] >= t.res_i[resource, L.R_CAPACITY]:
            t.cust_i[customer, L.C_PC] = pc
            t.cust_i[customer, L.C_JOIN] = 1
            t.cust_f[customer, L.CF_WAIT] = now
            t.inst_i[instance, L.I_WAITING] += 1
            append(t.inst_i[instance, L.I_QUEUE], customer, t.cust_i, t.queue_head, t.queue_tail)
            return _NONE, pc
        take(now, cls, resource, instance, 1, t.inst_i, t.acc_q)
    if t.cust_i[customer, L.C_HELD] != L.NONE and not flags & L.RETAIN:
        t.acc_v[cls, t.cust_i[customer, L.C_HELD], L.V_BLOCKED] += now - t.cust_f[customer, L.CF_HELD_AT]
        let_go(customer, t.cust_i, t.freed)
        return customer, pc
    places = t.st_i[station, ST.S_CAPACITY]
    if places > 0 and t.st_i[station, ST.S_BUSY] + t.st_i[station, ST.S_WAITING] >= places:
        t.cust_i[customer, L.C_COUNT] = 0
        t.acc_x[station, L.X_REJECTED] += 1.0
        return customer, t.op_i[pc, L.P_LOST]
    if station != t.op_i[pc, L.P_PLACE]:
        t.acc_x[t.op_i[pc, L.P_PLACE], L.X_OVERFLOWED] += 1.0
    work = _work(t, customer, pc) * t.st_f[station, ST.SF_PACE]
    _enter(t, now, customer, pc, station, work)
    duration = begin(t, now, station, customer, cls, work)
    _serve(t, now, customer, duration)
    if duration == L.WAITS:
        t.cust_f[customer, L.CF_LEFT] = work
        t.st_i[station, ST.S_WAITING] += 1
        t.acc_v[cls, station, L.V_WAITED] += 1.0
        level = t.cls_i[cls, L.K_LEVEL] if t.st_i[station, ST.S_LEVELS] > 1 else 0
        append(t.st_i[station, ST.S_QUEUE] + level, customer, t.cust_i, t.queue_head, t.queue_tail)
    return _NONE, pc


@inlined
def _enter(t, now, customer, pc, station, work):
    """Note where a customer is, and for what work."""
    t.cust_i[customer, L.C_PLACED] = 0
    t.cust_i[customer, L.C_PC] = pc
    t.cust_i[customer, L.C_PHASE] = L.IN_SERVICE
    t.cust_i[customer, L.C_STATION] = station
    t.cust_f[customer, L.CF_ENTER] = now
    t.cust_f[customer, L.CF_WORK] = work


@inlined
def _serve(t, now, customer, duration):
    """Schedule the end of a service that has one of its own."""
    if duration >= 0.0:
        owner = t.src_i.shape[0] + t.lane_i.shape[0] + customer
        insert(owner, now + duration, t.times, t.owners, t.place, t.heap)


@inlined
def _times(t, pc):
    """How often a visit is repeated: a whole part, and one more by chance."""
    count = np.int64(t.op_f[pc, L.PF_WHOLE])
    if t.op_f[pc, L.PF_FRACTION] > 0.0 and uniform(t.rng) < t.op_f[pc, L.PF_FRACTION]:
        count += 1
    return count


@inlined
def _work(t, customer, pc):
    """Seconds of work of a visit: recorded, or drawn."""
    if t.op_i[pc, L.P_TRACE] != L.NONE and t.cust_i[customer, L.C_ROW] != L.NONE:
        return t.trace_work[t.cust_i[customer, L.C_ROW], t.op_i[pc, L.P_TRACE]] * t.op_f[pc, L.PF_SCALE]
    work = draw(t.op_i[pc, L.P_DIST], t.dist_i, t.dist_f, t.dist_table, t.rng)
    if t.op_i[pc, L.P_EXTRA] != L.NONE:
        work += draw(t.op_i[pc, L.P_EXTRA], t.dist_i, t.dist_f, t.dist_table, t.rng)
    return work


@inlined
def served(t, now, customer, pc):
    """End a customer's service: count it and let its engine go, or keep it; gives where the customer goes on."""
    station = t.cust_i[customer, L.C_STATION]
    cls = t.cust_i[customer, L.C_CLASS]
    residence = now - t.cust_f[customer, L.CF_ENTER]
    t.acc_v[cls, station, L.V_COUNT] += 1.0
    t.acc_v[cls, station, L.V_RESIDENCE] += residence
    t.acc_v[cls, station, L.V_USING] += t.cust_f[customer, L.CF_WORK]
    if t.cust_parts.shape[1] > 0:
        t.visit_histogram[station, bucket_of(residence, t.float_view, t.bits_view)] += 1
        t.cust_parts[customer, 2 * station] += t.cust_f[customer, L.CF_WORK]
        t.cust_parts[customer, 2 * station + 1] += residence - t.cust_f[customer, L.CF_WORK]
    flags = t.op_i[pc, L.P_FLAGS]
    if flags & L.OBSERVE:
        t.st_f[station, ST.SF_SMOOTHED] += 0.05 * (residence - t.st_f[station, ST.SF_SMOOTHED])
    if flags & (L.KEEP | L.KEEP_UNTIL_ENTRY) and t.st_i[station, ST.S_KIND] != L.DELAY:
        keep(t, now, station, customer)
    else:
        leave(station, t.cust_i[customer, L.C_SERVER], customer, t.freed)
    if flags & L.REPEAT:
        t.cust_i[customer, L.C_COUNT] -= 1
        if t.cust_i[customer, L.C_COUNT] > 0:
            return pc
    return np.uint32(pc + 1)
