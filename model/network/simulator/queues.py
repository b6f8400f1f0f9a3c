"""Queues of stations and resources: lists linked through the customers' rows, with one head and tail for each priority
level."""

from __future__ import annotations

import numpy as np

from model.network.simulator import layout as L
from model.network.simulator.compiled import inlined


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
def put_back(queue, customer, cust_i, head, tail):
    """Put a customer first in a queue."""
    cust_i[customer, L.C_NEXT] = head[queue]
    head[queue] = customer
    if tail[queue] == L.NONE:
        tail[queue] = customer


@inlined
def first_queue(queue, levels, head):
    """The first queue of these levels in which a customer waits (level 0 is served first); none when all are empty."""
    for level in range(queue, queue + levels):
        if head[level] != L.NONE:
            return np.uint32(level)
    return np.uint32(L.NONE)


@inlined
def take_first(queue, levels, cust_i, head, tail):
    """Remove and give the first customer of the highest level that has one; one must be waiting."""
    level = first_queue(queue, levels, head)
    customer = head[level]
    head[level] = cust_i[customer, L.C_NEXT]
    if head[level] == L.NONE:
        tail[level] = L.NONE
    return customer
