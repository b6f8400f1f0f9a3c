"""Operations of a program besides visits and resources.

Each gives where the customer goes on, and the customer itself where it may have to wait (none then).
"""

from __future__ import annotations

import numpy as np

from model.network.simulator import layout as L
from model.network.simulator import station_table as ST
from model.network.simulator.calendar import insert
from model.network.simulator.randoms import draw, uniform
from model.network.simulator.resources import let_go
from model.network.simulator.statistics import bucket_of
from model.network.simulator.tables import inlined

_NONE = np.uint32(L.NONE)


@inlined
def end(t, now, customer, pc):
    """End a transaction, or one that was turned away: count it, and free its row or let its user think."""
    lost = t.op_i[pc, L.P_OP] == L.LOST
    origin = t.cust_i[customer, L.C_ORIGIN]
    closed = t.cls_i[origin, L.K_CLOSED] == 1
    thinks = t.cls_i[origin, L.K_THINK] != L.NONE
    # A user who comes straight back is still blocked in the engine until there is a place.
    if t.cust_i[customer, L.C_HELD] != L.NONE and (lost or not closed or thinks):
        let_go(customer, t.cust_i, t.freed)
        return customer, pc
    if lost:
        t.acc_t[origin, L.T_LOST] += 1.0
    else:
        response = now - t.cust_f[customer, L.CF_START]
        t.acc_t[origin, L.T_DONE] += 1.0
        t.acc_t[origin, L.T_SUM] += response
        t.acc_t[origin, L.T_SQUARES] += response * response
        bucket = bucket_of(response, t.float_view, t.bits_view)
        t.histogram[origin, bucket] += 1
        for part in range(t.cust_parts.shape[1]):
            t.parts[origin, bucket >> L.BAND_BITS, part] += t.cust_parts[customer, part]
    row = t.cust_i[customer, L.C_ROW]
    if row != L.NONE and t.trace_left.shape[0] > 0:
        t.trace_left[row] = np.nan if lost else now
    t.control[L.DONE] += 1
    if not closed:
        t.free[t.control[L.N_FREE]] = customer
        t.control[L.N_FREE] += 1
        return _NONE, pc
    t.cust_i[customer, L.C_CLASS] = origin
    t.cust_i[customer, L.C_PC] = t.cls_i[origin, L.K_START]
    t.cust_i[customer, L.C_PHASE] = L.THINKS
    thought = draw(t.cls_i[origin, L.K_THINK], t.dist_i, t.dist_f, t.dist_table, t.rng) if thinks else 0.0
    owner = t.src_i.shape[0] + t.lane_i.shape[0] + customer
    insert(owner, now + thought, t.times, t.owners, t.place, t.heap)
    return _NONE, pc


@inlined
def go(t, pc):
    """Jump to one of the targets by chance, or go on."""
    start = t.op_i[pc, L.P_TARGETS]
    u = 0.0 if t.branch_p[start] >= 1.0 else uniform(t.rng)
    for index in range(start, start + t.op_i[pc, L.P_N_TARGETS]):
        if u < t.branch_p[index]:
            return t.branch_to[index]
    return np.uint32(pc + 1)


@inlined
def free(t, now, customer, pc):
    """Give up the engine that was kept for a synchronous request, if work does not go on on it."""
    station = t.cust_i[customer, L.C_HELD]
    if station != L.NONE:
        cls = t.cust_i[customer, L.C_CLASS]
        t.acc_v[cls, station, L.V_SPIN] += now - t.cust_f[customer, L.CF_HELD_AT]
        if t.op_i[pc, L.P_FLAGS] & L.KEEP:
            t.cust_f[customer, L.CF_HELD_AT] = now
        else:
            let_go(customer, t.cust_i, t.freed)
    return np.uint32(pc + 1)


@inlined
def decide(t, pc):
    """Send a request synchronously, or asynchronously while the facility is slow."""
    station = t.op_i[pc, L.P_PLACE]
    if t.st_f[station, ST.SF_SMOOTHED] > t.op_f[pc, L.PF_THRESHOLD]:
        t.acc_x[station, L.X_ASYNC] += 1.0
        return t.branch_to[t.op_i[pc, L.P_TARGETS]]
    t.acc_x[station, L.X_SYNC] += 1.0
    return np.uint32(pc + 1)


@inlined
def fork(t, now, customer, pc):
    """Start a customer for each branch; the parent waits. Gives none: the branches are ready."""
    n = t.op_i[pc, L.P_N_TARGETS]
    if t.control[L.N_FREE] < n:
        t.control[L.GROW] = 1
        t.cust_i[customer, L.C_PC] = pc
        t.cust_i[customer, L.C_PHASE] = L.RESUMES
        owner = t.src_i.shape[0] + t.lane_i.shape[0] + customer
        insert(owner, now, t.times, t.owners, t.place, t.heap)
        return _NONE
    t.cust_i[customer, L.C_PC] = pc + 1
    t.cust_i[customer, L.C_JOIN] = n
    start = np.int64(t.op_i[pc, L.P_TARGETS])
    for index in range(start + n - 1, start - 1, -1):
        t.control[L.N_FREE] -= 1
        child = t.free[t.control[L.N_FREE]]
        for column in range(L.C_WIDTH):
            t.cust_i[child, column] = t.cust_i[customer, column]
        t.cust_i[child, L.C_PC] = t.branch_to[index]
        t.cust_i[child, L.C_PARENT] = customer
        t.cust_i[child, L.C_COUNT] = 0
        t.cust_f[child, L.CF_START] = t.cust_f[customer, L.CF_START]
        for part in range(t.cust_parts.shape[1]):
            t.cust_parts[child, part] = 0.0
        t.ready[t.control[L.N_READY]] = child
        t.control[L.N_READY] += 1
    return _NONE


@inlined
def join(t, customer, pc):
    """End a branch; the last one lets its parent go on."""
    if t.cust_i[customer, L.C_HELD] != L.NONE:
        let_go(customer, t.cust_i, t.freed)
        return customer, pc
    parent = t.cust_i[customer, L.C_PARENT]
    for part in range(t.cust_parts.shape[1]):
        t.cust_parts[parent, part] += t.cust_parts[customer, part]
    t.free[t.control[L.N_FREE]] = customer
    t.control[L.N_FREE] += 1
    t.cust_i[parent, L.C_JOIN] -= 1
    if t.cust_i[parent, L.C_JOIN] > 0:
        return _NONE, pc
    return parent, t.cust_i[parent, L.C_PC]


@inlined
def switch(t, customer, pc):
    """Become another class, at the start of its route."""
    cls = t.op_i[pc, L.P_PLACE]
    t.cust_i[customer, L.C_CLASS] = cls
    return t.cls_i[cls, L.K_START]
