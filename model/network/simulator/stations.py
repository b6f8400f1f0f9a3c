"""What every kind of station does: begin a service, keep an engine, let it go, and pass it on.

A scheduling is an entry of :mod:`model.network.scheduling`. One that no kind of station covers needs a name in
``KINDS`` of :mod:`model.network.simulator.layout` and two functions, which :func:`begin` and :func:`pass_on_engine`
here call:

- ``begin_…`` puts a customer with some work into service and gives the seconds after which it ends, or ``WAITS`` when
  it has to queue, or ``SHARES`` when its end is the event of a lane;
- ``free_…`` takes an engine back, or gives it to the first who waits.
"""

from __future__ import annotations

import numpy as np

from model.network.simulator import layout as L
from model.network.simulator.compiled import inlined
from model.network.simulator.engines import (
    begin_in_order,
    begin_preemptive,
    begin_unequal,
    free_engine,
    on_engine,
)
from model.network.simulator.handover import give_back
from model.network.simulator.queues import first_queue
from model.network.simulator.sharing import begin_sharing, free_sharing, go_on_sharing

_ONE = np.uint32(1)


@inlined
def begin(t, now, station, customer, cls, work):
    """Put a customer into service; gives how long it lasts, or that it waits or shares."""
    kind = t.st_i[station, L.S_KIND]
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
    if t.st_i[station, L.S_KIND] == L.SHARING:
        t.freed[L.F_CHANGED] = station


@inlined
def may_go_on(t, station, cls):
    """Whether work may go on on the engine that it kept: nobody waits who would take the engine from it."""
    if t.st_i[station, L.S_KIND] != L.PREEMPTIVE or t.st_i[station, L.S_WAITING] == 0:
        return True
    first = first_queue(t.st_i[station, L.S_QUEUE], t.st_i[station, L.S_LEVELS], t.queue_head)
    return first >= t.st_i[station, L.S_QUEUE] + t.cls_i[cls, L.K_LEVEL]


@inlined
def go_on(t, now, station, customer, work):
    """Begin a service on the engine that was kept; gives how long it lasts, or that it shares."""
    engine, kind = t.cust_i[customer, L.C_HELD_SERVER], t.st_i[station, L.S_KIND]
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
    kind = t.st_i[station, L.S_KIND]
    if kind == L.SHARING:
        free_sharing(t, now, station, server)
    elif kind != L.DELAY:
        free_engine(t, now, station, server)
    places = t.st_i[station, L.S_PLACES]
    if places != L.NONE and t.cust_i[t.freed[L.F_CUSTOMER], L.C_PLACED] != L.KEPT_PLACE:
        give_back(t.freed[L.F_CUSTOMER], places, t.res_i[places, L.R_FIRST], _ONE, t.freed)
