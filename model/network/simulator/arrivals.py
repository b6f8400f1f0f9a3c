"""Transactions that come from outside: arrival streams and recorded traces."""

from __future__ import annotations

import numpy as np

from model.network.simulator import layout as L
from model.network.simulator.calendar import insert
from model.network.simulator.randoms import draw, uniform
from model.network.simulator.tables import compiled, inlined

_NONE = np.uint32(L.NONE)


@inlined
def arrive(t, now, source):
    """The transaction that a source brings now, as a new customer; none when a batch turns out to be empty."""
    row = np.int64(L.NONE)
    if t.src_i[source, L.A_TRACE] == 1:
        row = t.control[L.TRACE_AT]
        t.control[L.TRACE_AT] = row + 1
        cls = np.uint32(t.trace_class[row])
        if row + 1 < t.trace_time.shape[0]:
            insert(source, t.trace_time[row + 1], t.times, t.owners, t.place, t.heap)
    else:
        cls = np.uint32(t.src_i[source, L.A_CLASS])
        left = _left_of_batch(t, source)
        if left > 0:
            insert(source, now, t.times, t.owners, t.place, t.heap)
        else:
            following = next_arrival(source, now, t.src_i, t.src_f, t.dist_i, t.dist_f, t.dist_table, t.rng)
            insert(source, following, t.times, t.owners, t.place, t.heap)
        if left < 0:
            return _NONE
    t.control[L.N_FREE] -= 1
    customer = t.free[t.control[L.N_FREE]]
    t.cust_i[customer, L.C_PC] = t.cls_i[cls, L.K_START]
    t.cust_i[customer, L.C_CLASS] = cls
    t.cust_i[customer, L.C_ORIGIN] = cls
    t.cust_i[customer, L.C_COUNT] = 0
    t.cust_i[customer, L.C_HELD] = L.NONE
    t.cust_i[customer, L.C_PARENT] = L.NONE
    t.cust_i[customer, L.C_PLACED] = 0
    t.cust_i[customer, L.C_ROW] = row
    return customer


@inlined
def _left_of_batch(t, source):
    """How many of its batch are still to come after this transaction; -1 when the batch is empty."""
    if t.src_i[source, L.A_BATCH] == L.NONE:
        return np.int64(0)
    left = np.int64(t.src_i[source, L.A_LEFT])
    if left == 0:
        left = batch_size(t.src_i[source, L.A_BATCH], t.dist_i, t.dist_f, t.dist_table, t.rng)
    left -= 1
    t.src_i[source, L.A_LEFT] = max(left, 0)
    return left


@compiled
def next_arrival(source, now, src_i, src_f, dist_i, dist_f, dist_table, rng):
    """Time of the source's next arrival; the interval runs only through its on periods."""
    gap = draw(src_i[source, L.A_INTERVAL], dist_i, dist_f, dist_table, rng)
    if src_i[source, L.A_ON] == L.NONE:
        return now + gap
    while now + gap > src_f[source, 0]:
        gap -= src_f[source, 0] - now
        now = src_f[source, 0] + draw(src_i[source, L.A_OFF], dist_i, dist_f, dist_table, rng)
        src_f[source, 0] = now + draw(src_i[source, L.A_ON], dist_i, dist_f, dist_table, rng)
    return now + gap


@compiled
def batch_size(batch, dist_i, dist_f, dist_table, rng):
    """Transactions of one arrival; a draw that is not whole is rounded up with the chance of its fraction, which
    keeps the mean."""
    drawn = draw(batch, dist_i, dist_f, dist_table, rng)
    whole = np.int64(drawn)
    if drawn > whole and uniform(rng) < drawn - whole:
        whole += 1
    return whole
