"""What every kind of station does: begin a service, keep an engine, let it go, and pass it on.

A scheduling is an entry of :mod:`model.network.scheduling`. One that no kind of station covers needs a name in
``KINDS`` of :mod:`model.network.simulator.layout` and two functions here, which :func:`begin` and
:func:`pass_on_engine` call:

- ``begin_…`` puts a customer with some work into service and gives the seconds after which it ends, or ``WAITS`` when
  it has to queue, or ``SHARES`` when its end is the event of a lane;
- ``free_…`` takes an engine back, or gives it to the first who waits.

``server`` numbers an engine in ``t.server``, which says whose it is; equal engines that nobody can be taken from are
only counted.
"""

from __future__ import annotations

import numpy as np

from model.network.simulator import layout as L
from model.network.simulator import station_table as ST
from model.network.simulator.calendar import cancel, first_queue, insert, put_back, take_first
from model.network.simulator.resources import give_back
from model.network.simulator.sharing import begin_sharing, free_sharing, go_on_sharing
from model.network.simulator.tables import compiled, inlined

_NONE = np.uint32(L.NONE)


@inlined
def begin_in_order(t, station, work):
    """Take one of equal engines."""
    st_i = t.st_i
    if st_i[station, ST.S_BUSY] >= st_i[station, ST.S_SERVERS]:
        return L.WAITS
    st_i[station, ST.S_BUSY] += 1
    return work


@inlined
def begin_unequal(t, station, customer, work):
    """Take the fastest free engine."""
    st_i = t.st_i
    if st_i[station, ST.S_BUSY] >= st_i[station, ST.S_SERVERS]:
        return L.WAITS
    st_i[station, ST.S_BUSY] += 1
    engine = fastest_free(st_i[station, ST.S_SERVER0], st_i[station, ST.S_SERVERS], t.server)
    return on_engine(station, customer, engine, work, t.server, t.speeds, t.costs, st_i, t.cust_i, t.cust_f)


@inlined
def begin_preemptive(t, now, station, customer, cls, work):
    """Take a free engine, or that of a customer of lower priority, who waits at the head of its queue."""
    st_i, cust_i, level = t.st_i, t.cust_i, t.cls_i[cls, L.K_LEVEL]
    first, servers = st_i[station, ST.S_SERVER0], st_i[station, ST.S_SERVERS]
    if st_i[station, ST.S_BUSY] < servers:
        st_i[station, ST.S_BUSY] += 1
        engine = fastest_free(first, servers, t.server)
    else:
        engine = preemptible(first, servers, level, t.server, cust_i, t.cls_i)
        if engine == _NONE:
            return L.WAITS
        other = t.server[engine]
        times, place = t.times, t.place
        owner = np.uint32(t.src_i.shape[0] + t.lane_i.shape[0] + other)
        t.cust_f[other, L.CF_LEFT] = times[place[owner]] - now
        cancel(owner, times, t.owners, place, t.heap)
        queue = st_i[station, ST.S_QUEUE] + t.cls_i[cust_i[other, L.C_CLASS], L.K_LEVEL]
        put_back(queue, other, cust_i, t.queue_head, t.queue_tail)
        st_i[station, ST.S_WAITING] += 1
    return on_engine(station, customer, engine, work, t.server, t.speeds, t.costs, st_i, t.cust_i, t.cust_f)


@inlined
def free_engine(t, now, station, engine):
    """Give an engine to the first who waits, or leave it idle."""
    st_i = t.st_i
    plain = st_i[station, ST.S_KIND] == L.QUEUE
    if st_i[station, ST.S_WAITING] == 0:
        st_i[station, ST.S_BUSY] -= 1
        if not plain:
            t.server[engine] = L.NONE
        return
    st_i[station, ST.S_WAITING] -= 1
    other = take_first(st_i[station, ST.S_QUEUE], st_i[station, ST.S_LEVELS], t.cust_i, t.queue_head, t.queue_tail)
    duration = t.cust_f[other, L.CF_LEFT]
    if not plain:
        duration = on_engine(station, other, engine, duration, t.server, t.speeds, t.costs, st_i, t.cust_i, t.cust_f)
    owner = t.src_i.shape[0] + t.lane_i.shape[0] + other
    insert(owner, now + duration, t.times, t.owners, t.place, t.heap)


@inlined
def on_engine(station, customer, engine, work, server, speeds, costs, st_i, cust_i, cust_f):
    """Seconds that work takes on an engine, which is now the customer's: at the speed of that engine and at the cost
    of what is busy now, where the engines are unequal."""
    server[engine] = customer
    cust_i[customer, L.C_SERVER] = engine
    if st_i[station, ST.S_KIND] == L.UNEQUAL:
        work /= speeds[engine]
        n = st_i[station, ST.S_N_COST]
        if n > 0:
            busy = st_i[station, ST.S_BUSY]
            work *= costs[st_i[station, ST.S_COST] + (busy if busy < n else n) - 1]
        cust_f[customer, L.CF_WORK] = work
    return work


@compiled
def fastest_free(first, servers, server):
    """The first free slot of a station's servers, which are sorted by speed."""
    for index in range(first, first + servers):
        if server[index] == L.NONE:
            return np.uint32(index)
    return np.uint32(L.NONE)


@compiled
def preemptible(first, servers, level, server, cust_i, cls_i):
    """Slot of the running customer to interrupt, of the lowest level; none when all are as high, or hold their engine
    for a synchronous request."""
    slot, lowest = np.uint32(L.NONE), level
    for index in range(first, first + servers):
        running = server[index]
        its = cls_i[cust_i[running, L.C_CLASS], L.K_LEVEL]
        if its > lowest and cust_i[running, L.C_HELD] == L.NONE:
            slot, lowest = np.uint32(index), its
    return slot


_ONE = np.uint32(1)


@inlined
def begin(t, now, station, customer, cls, work):
    """Put a customer into service; gives how long it lasts, or that it waits or shares."""
    kind = t.st_i[station, ST.S_KIND]
    if kind == L.QUEUE:
        return begin_in_order(t, station, work)
    if kind == L.DELAY:
        return work
    if kind == L.SHARING:
        return begin_sharing(t, now, station, customer, cls, work)
    if kind == L.UNEQUAL:
        return begin_unequal(t, station, customer, work)
    return begin_preemptive(t, now, station, customer, cls, work)


@inlined
def keep(t, now, station, customer):
    """Keep the engine after the service: for a synchronous request, or until there is a place at the next station."""
    t.cust_i[customer, L.C_HELD] = station
    t.cust_i[customer, L.C_HELD_SERVER] = t.cust_i[customer, L.C_SERVER]
    t.cust_f[customer, L.CF_HELD_AT] = now
    if t.st_i[station, ST.S_KIND] == L.SHARING:
        t.freed[L.F_CHANGED] = station


@inlined
def may_go_on(t, station, cls):
    """Whether work may go on on the engine that it kept: nobody waits who would take the engine from it."""
    if t.st_i[station, ST.S_KIND] != L.PREEMPTIVE or t.st_i[station, ST.S_WAITING] == 0:
        return True
    first = first_queue(t.st_i[station, ST.S_QUEUE], t.st_i[station, ST.S_LEVELS], t.queue_head)
    return first >= t.st_i[station, ST.S_QUEUE] + t.cls_i[cls, L.K_LEVEL]


@inlined
def go_on(t, now, station, customer, work):
    """Begin a service on the engine that was kept; gives how long it lasts, or that it shares."""
    engine, kind = t.cust_i[customer, L.C_HELD_SERVER], t.st_i[station, ST.S_KIND]
    t.cust_i[customer, L.C_HELD] = L.NONE
    if kind == L.SHARING:
        return go_on_sharing(t, now, station, engine, customer, work)
    if kind == L.QUEUE:
        return work
    return on_engine(station, customer, engine, work, t.server, t.speeds, t.costs, t.st_i, t.cust_i, t.cust_f)


@inlined
def pass_on_engine(t, now):
    """Give the engine set free to the first who waits for it, and the place at the station to who waits for that."""
    station, server = t.freed[L.F_STATION], t.freed[L.F_SERVER]
    t.freed[L.F_STATION] = L.NONE
    kind = t.st_i[station, ST.S_KIND]
    if kind == L.SHARING:
        free_sharing(t, now, station, server)
    elif kind != L.DELAY:
        free_engine(t, now, station, server)
    places = t.st_i[station, ST.S_PLACES]
    if places != L.NONE and t.cust_i[t.freed[L.F_CUSTOMER], L.C_PLACED] != L.KEPT_PLACE:
        give_back(t.freed[L.F_CUSTOMER], places, t.res_i[places, L.R_FIRST], _ONE, t.freed)
