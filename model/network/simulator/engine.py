"""The event loop: one compiled function that runs any network.

A transaction is a row of the customer tables stepping through its class's program. An event is an arrival, the end of
a service, or the next completion of a sharing lane; after each, the customers it made ready run their programs until
they wait for service, a unit or another branch. Everything is in the tables, so a run stops and goes on anywhere, and
memory depends on how many transactions are inside at once, never on how many went through.

The loop calls one function for each operation of a program, and those one pair of functions for each kind of station
(:mod:`model.network.simulator.stations` says how to add one). All are compiled into it.
"""

from __future__ import annotations

import numpy as np

from model.network.simulator import layout as L
from model.network.simulator import station_table as ST
from model.network.simulator.arrivals import arrive
from model.network.simulator.calendar import close_hole
from model.network.simulator.operations import decide, end, fork, free, go, join, switch
from model.network.simulator.resources import acquire, pass_on_units, release
from model.network.simulator.sharing import first_of_lane, integrate, rebalance
from model.network.simulator.stations import pass_on_engine
from model.network.simulator.tables import Tables, by_reference, inlined, released
from model.network.simulator.visits import served, visit

_NONE = np.uint32(L.NONE)


@released
def run(tables: Tables, until: float) -> int:
    """Process events up to time ``until`` or the target number of completions; returns why it stopped.

    The clock is left at the last event, or at ``until`` when that was reached.
    """
    t = by_reference(tables)
    n_sources = t.src_i.shape[0]
    first_customer = n_sources + t.lane_i.shape[0]
    now = t.clock[0]
    while True:
        close_hole(t.times, t.owners, t.place, t.heap)
        why = _stops(t, until)
        if why != L.NOT_YET:
            t.clock[0] = until if why == L.AT_TIME else now
            if why == L.AT_TIME:
                _count_sharing(t, until)
            return why
        now = t.times[0]
        owner = t.owners[0]
        t.place[owner] = -1
        t.heap[1] = 1
        done = False
        if owner >= first_customer:
            customer = np.uint32(owner - first_customer)
            done = t.cust_i[customer, L.C_PHASE] == L.IN_SERVICE
            if t.cust_i[customer, L.C_PHASE] == L.THINKS:
                _enters(t, now, customer)
        elif owner < n_sources:
            customer = arrive(t, now, np.uint32(owner))
            if customer == _NONE:
                continue
            _enters(t, now, customer)
        else:
            customer = first_of_lane(t, now, np.uint32(owner - n_sources))
            done = True
        pc = t.cust_i[customer, L.C_PC]
        if done:
            pc = served(t, now, customer, pc)

        # Run programs until every customer made ready has to wait.
        while True:
            if t.freed[L.F_STATION] != _NONE:
                pass_on_engine(t, now)
            if t.freed[L.F_CHANGED] != _NONE:
                rebalance(t, now)
            if t.freed[L.F_RESOURCE] != _NONE:
                pass_on_units(t, now)
            if customer == _NONE:
                if t.control[L.N_READY] == 0:
                    break
                t.control[L.N_READY] -= 1
                customer = t.ready[t.control[L.N_READY]]
                pc = t.cust_i[customer, L.C_PC]
            op = t.op_i[pc, L.P_OP]
            if op == L.VISIT:
                customer, pc = visit(t, now, customer, pc)
            elif op == L.ACQUIRE:
                customer, pc = acquire(t, now, customer, pc)
            elif op == L.RELEASE:
                pc = release(t, customer, pc)
            elif op == L.END or op == L.LOST:
                customer, pc = end(t, now, customer, pc)
            elif op == L.GO:
                pc = go(t, pc)
            elif op == L.FREE:
                pc = free(t, now, customer, pc)
            elif op == L.CF_DECIDE:
                pc = decide(t, pc)
            elif op == L.FORK:
                customer = fork(t, now, customer, pc)
            elif op == L.JOIN:
                customer, pc = join(t, customer, pc)
            else:
                pc = switch(t, customer, pc)


@inlined
def _stops(t, until):
    """Why the run stops before the next event, or that it goes on."""
    if t.heap[0] == 0:
        return L.RAN_DRY
    if t.times[0] > until:
        return L.AT_TIME
    if t.control[L.DONE] >= t.control[L.TARGET]:
        return L.AT_TARGET
    if t.control[L.N_FREE] == 0 or t.control[L.GROW] == 1:
        return L.NEEDS_ROOM
    return L.NOT_YET


@inlined
def _enters(t, now, customer):
    """A transaction begins."""
    t.cust_f[customer, L.CF_START] = now
    t.acc_t[t.cust_i[customer, L.C_CLASS], L.T_STARTED] += 1.0
    for part in range(t.cust_parts.shape[1]):
        t.cust_parts[customer, part] = 0.0


@inlined
def _count_sharing(t, now):
    """Bring the engine time of sharing stations up to ``now``."""
    for index in range(t.st_i.shape[0]):
        station = np.uint32(index)
        if t.st_i[station, ST.S_KIND] == L.SHARING:
            integrate(now, station, t.st_f, t.acc_x)
