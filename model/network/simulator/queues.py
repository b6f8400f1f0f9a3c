"""Queues, servers, arrivals and the response histogram: the small functions of the event loop.

A queue is a list linked through the customers' rows, with one head and tail for each priority level.
"""

from __future__ import annotations

import numpy as np

from model.network.simulator import layout as L
from model.network.simulator.compiled import compiled, inlined
from model.network.simulator.randoms import draw, uniform


@inlined
def append(queue, customer, cust_i, head, tail):
    """Put a customer last in a queue."""
    cust_i[customer, L.C_NEXT] = L.NONE
    if head[queue] == L.NONE:
        head[queue] = customer
    else:
        cust_i[tail[queue], L.C_NEXT] = customer
    tail[queue] = customer


@inlined
def take_first(queue, levels, cust_i, head, tail):
    """Remove and give the first customer of the highest level that has one (level 0 is served first)."""
    for level in range(queue, queue + levels):
        customer = head[level]
        if customer != L.NONE:
            head[level] = cust_i[customer, L.C_NEXT]
            if head[level] == L.NONE:
                tail[level] = L.NONE
            return customer
    return np.uint32(L.NONE)


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
    found, lowest = np.uint32(L.NONE), level
    for index in range(first, first + servers):
        running = server[index]
        its = cls_i[cust_i[running, L.C_CLASS], L.K_LEVEL]
        if its > lowest and cust_i[running, L.C_HELD] == L.NONE:
            found, lowest = np.uint32(index), its
    return found


@inlined
def bucket_of(value, float_view, bits_view):
    """Histogram bucket of a time, from the exponent and first mantissa bits of the number itself."""
    float_view[0] = value
    bucket = (bits_view[0] >> (52 - L.MANTISSA_BITS)) - ((1023 + L.LOWEST_EXPONENT) << L.MANTISSA_BITS)
    if bucket < 0:
        return 0
    return bucket if bucket < L.BUCKETS else L.BUCKETS - 1
