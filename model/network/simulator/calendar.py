"""The event calendar: an indexed four-ary heap.

Every source, sharing lane and customer has at most one pending event, so an event is just its owner's number and
``place[owner]`` says where in the heap it is (-1: none). Taking the first event leaves a hole at the root that the
next event to be inserted fills: most events schedule exactly one other, which then costs one sift instead of two.

``times`` is infinite beyond the entries and four times as long as they can be, so that the smallest of four children
is found without a branch; indices are unsigned, which spares every access the test for a negative index.
``state[0]`` is the number of entries including the hole, ``state[1]`` whether the root is a hole.

Queues of stations and resources are lists linked through the customers' rows, with one head and tail for each priority
level.
"""

from __future__ import annotations

import numpy as np

from model.network.simulator import layout as L
from model.network.simulator.tables import compiled, inlined

SIZE, HOLE = 0, 1
_ONE, _TWO, _THREE = np.uint64(1), np.uint64(2), np.uint64(3)


@inlined
def _sift_down(at, owner, time, times, owners, place):
    while True:
        first = (at << _TWO) + _ONE
        t0, t1, t2, t3 = times[first], times[first + _ONE], times[first + _TWO], times[first + _THREE]
        left, left_time = first + np.uint64(t1 < t0), min(t0, t1)
        right, right_time = first + _TWO + np.uint64(t3 < t2), min(t2, t3)
        best = right if right_time < left_time else left
        best_time = min(left_time, right_time)
        if best_time >= time:
            break
        moved = owners[best]
        times[at], owners[at] = best_time, moved
        place[moved] = at
        at = best
    times[at], owners[at] = time, owner
    place[owner] = at


@inlined
def _sift_up(at, owner, time, times, owners, place):
    while at > np.uint64(0):
        parent = (at - _ONE) >> _TWO
        parent_time = times[parent]
        if parent_time <= time:
            break
        moved = owners[parent]
        times[at], owners[at] = parent_time, moved
        place[moved] = at
        at = parent
    times[at], owners[at] = time, owner
    place[owner] = at


@inlined
def insert(owner, time, times, owners, place, state):
    """Add the event of an owner that has none pending."""
    owner = np.uint32(owner)
    if state[HOLE] == 1:
        state[HOLE] = 0
        _sift_down(np.uint64(0), owner, time, times, owners, place)
    else:
        size = state[SIZE]
        state[SIZE] = size + 1
        _sift_up(np.uint64(size), owner, time, times, owners, place)


@compiled
def move(owner, time, times, owners, place, state):
    """Set the event of an owner to ``time``, whether it has one pending or not."""
    owner = np.uint32(owner)
    if place[owner] < 0:
        insert(owner, time, times, owners, place, state)
        return
    at = np.uint64(place[owner])
    if time < times[at]:
        _sift_up(at, owner, time, times, owners, place)
    else:
        _sift_down(at, owner, time, times, owners, place)


@inlined
def close_hole(times, owners, place, state):
    """Remove the hole at the root, if there is one."""
    if state[HOLE] == 1:
        state[HOLE] = 0
        size = np.uint64(state[SIZE] - 1)
        state[SIZE] = size
        time = times[size]
        times[size] = np.inf
        if size > np.uint64(0):
            _sift_down(np.uint64(0), owners[size], time, times, owners, place)


@compiled
def cancel(owner, times, owners, place, state):
    """Forget the pending event of ``owner``, if any."""
    owner = np.uint32(owner)
    if place[owner] < 0:
        return
    at = np.uint64(place[owner])
    place[owner] = -1
    size = np.uint64(state[SIZE] - 1)
    state[SIZE] = size
    moved, time = owners[size], times[size]
    times[size] = np.inf
    if at == size:
        return
    if time < times[at]:
        _sift_up(at, moved, time, times, owners, place)
    else:
        _sift_down(at, moved, time, times, owners, place)


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
