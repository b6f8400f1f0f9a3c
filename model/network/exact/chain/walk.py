"""All states of a network, found by walking from one to the next.

A state is a row of kinds of customers, sorted by place: at stations that serve in turn those in service first, then
those who wait, in order; elsewhere by kind.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from model.network.arrays import Floats, Ints
from model.network.exact.chain.speeds import speeds_of
from model.network.exact.chain.tables import (
    ACQUIRE,
    FCFS,
    HEAD_OF_LINE,
    PREEMPTIVE,
    RELEASE,
    VISIT,
    Kinds,
    Places,
    States,
    Tables,
)
from model.network.kernel_cache import kernel

MOST_PENDING = 128
"""Ways on from one event that are followed at a time."""
MOST_STEPS = 100_000
"""Steps that customers take at one event."""


class _Pending(NamedTuple):
    """Ways on from one event, one above the other: ``rows``, with the steps that customers ``outside`` of all
    places begin, of which the last one in ``doing`` is first, and the chance of each. A step below zero is begun at a
    server that is kept free for it."""

    rows: States
    doing: Ints
    outside: Ints
    chance: Floats


@kernel()
def walk(tables: Tables, width: int, most_states: int) -> tuple[States, Ints, Ints, Floats]:
    """States (states, width), -1 where nobody is, and the (moves,) from, to and times a second of what happens; no
    states where there are more than allowed."""
    kinds, places = tables.kinds, tables.places
    states = np.full((most_states, width), -1, np.int16)
    size = 4
    while size < 2 * most_states:
        size *= 2
    index = np.full(size, -1, np.int64)
    pending = _Pending(
        np.empty((MOST_PENDING, width), np.int16),
        np.empty((MOST_PENDING, width + 1), np.int64),
        np.empty(MOST_PENDING, np.int64),
        np.empty(MOST_PENDING),
    )
    found, parts = np.empty((MOST_PENDING, width), np.int16), np.empty(MOST_PENDING)
    sources, targets, rates = [0], [0], [0.0]
    pending.rows[0, :] = -1
    pending.rows[0, : len(tables.begin)] = tables.begin
    pending.doing[0, : len(tables.enter)] = tables.enter
    pending.outside[0] = len(tables.enter)
    ways = _settled(pending, tables, found, parts)
    known, at = 0, 0
    for i in range(ways):
        known = max(known, _number(found[i], states, known, index) + 1)
    while at < known:
        state = states[at].copy()
        speeds, _ = speeds_of(state, kinds, places)
        alike = 1
        for e in range(width):
            if state[e] < 0:
                break
            if e + 1 < width and state[e + 1] == state[e] and speeds[e + 1] == speeds[e]:
                # What happens to one of these comes to the same as if it happens to the next.
                alike += 1
                continue
            often, alike = speeds[e] * alike, 1
            kind = np.int64(state[e])
            place, of = kinds.place[kind], kinds.row[kind]
            for way in range(kinds.first[kind], kinds.first[kind + 1]) if often > 0.0 else range(0):
                row, doing = pending.rows[0], pending.doing[0]
                row[:] = state
                count, leaves = kinds.copies[way], kinds.becomes[way] < 0
                doing[:count] = kinds.starts[way]
                if leaves:
                    _take_out(row, e)
                    count = _begin_next(row, place, doing, count, kinds, places)
                else:
                    row[e] = kinds.becomes[way]
                    _sort(row, place, kinds, places)
                    if count > 0 and inside(state, of, kinds, places) + count > places.most[of]:
                        count = 0
                pending.outside[0] = count
                ways = _settled(pending, tables, found, parts)
                if ways == 0 or known + ways > most_states:
                    return states[:0].copy(), _numbers(sources), _numbers(targets), np.array(rates[1:])
                for i in range(ways):
                    to = _number(found[i], states, known, index)
                    known = max(known, to + 1)
                    if to != at:
                        sources.append(at)
                        targets.append(to)
                        rates.append(parts[i] * kinds.rate[way] * often)
        at += 1
    return states[:known].copy(), _numbers(sources), _numbers(targets), np.array(rates[1:])


@kernel()
def _numbers(numbers: list[int]) -> Ints:
    """All but the first, which only says what kind of numbers they are."""
    return np.array(numbers[1:])


@kernel()
def _number(row: NDArray[np.int16], states: States, known: int, index: Ints) -> int:
    """The number of a state; a new one is put behind those known."""
    key = np.uint64(14695981039346656037)
    for kind in row:
        key = (key ^ np.uint64(kind + 2)) * np.uint64(1099511628211)
    mask = np.uint64(len(index) - 1)
    slot = (key ^ (key >> np.uint64(32))) & mask
    while index[slot] >= 0:
        other = states[index[slot]]
        same = True
        for e in range(len(row)):
            if other[e] != row[e]:
                same = False
                break
        if same:
            return index[slot]
        slot = (slot + np.uint64(1)) & mask
    index[slot] = known
    states[known] = row
    return known


@kernel()
def _settled(pending: _Pending, tables: Tables, found: States, parts: Floats) -> int:
    """Number of states that follow the first of ``pending``, put into ``found`` with the chance of each, when its
    customers outside of all places go where their steps lead; 0 where there are too many."""
    kinds, steps, places = tables.kinds, tables.steps, tables.places
    depth, ready, taken = 1, 0, 0
    pending.chance[0] = 1.0
    while depth > 0:
        depth, taken = depth - 1, taken + 1
        if taken > MOST_STEPS:
            return 0
        row, doing, count = pending.rows[depth], pending.doing[depth], pending.outside[depth] - 1
        if count < 0:
            if ready == MOST_PENDING:
                return 0
            found[ready], parts[ready] = row, pending.chance[depth]
            ready += 1
            continue
        at, is_free = doing[count], doing[count] < 0
        if is_free:
            at = -at - 1
        place, code = steps.place[at], steps.code[at]
        first, ways = steps.first[at], steps.first[at + 1] - steps.first[at]
        waiting = len(places.servers) - 1 - len(places.units) + place
        if code == ACQUIRE:
            begin, end = _part_of(waiting, row, kinds)
            if end > begin or _free(place, row, doing, count + 1, tables) < steps.units[at]:
                if steps.elsewhere[at] >= 0 and end - begin >= places.enough[waiting]:
                    doing[count], count = steps.elsewhere[at], count + 1
                else:
                    _wait(row, steps.waits[at], kinds, places)
                ways = 0
        elif code == RELEASE:
            doing[count] = steps.then[first]
            count = _admit(place, waiting, row, doing, count + 1, tables)
            ways = 0
        elif code == VISIT and not is_free:
            begin, end = _part_of(place, row, kinds)
            if steps.elsewhere[at] >= 0 and end - begin >= places.enough[place]:
                doing[count], count, ways = steps.elsewhere[at], count + 1, 0
            elif places.discipline[place] in (FCFS, HEAD_OF_LINE) and end - begin >= places.servers[place]:
                _wait(row, steps.waits[at], kinds, places)
                ways = 0
        if depth + max(ways, 1) > MOST_PENDING:
            return 0
        if ways == 0:
            # It waits, goes elsewhere, has left, or gave units back.
            pending.outside[depth] = count
            depth += 1
        for way in range(ways - 1, -1, -1):
            # The first is written last: it is what the others are copied from.
            rows, chance = pending.rows[depth + way], pending.chance[depth] * steps.part[first + way]
            rows[:] = row
            pending.doing[depth + way, : count + 1] = doing[: count + 1]
            pending.chance[depth + way], pending.outside[depth + way] = chance, count
            if code == VISIT:
                _serve(rows, steps.then[first + way], kinds, places)
            else:
                pending.doing[depth + way, count] = steps.then[first + way]
                pending.outside[depth + way] = count + 1
        depth += ways
    return ready


@kernel()
def _admit(rho: int, waiting: int, row: NDArray[np.int16], doing: Ints, count: int, tables: Tables) -> int:
    """Let those who wait for units that are free now go on in their order, after the one who gave them back; gives the
    number of customers outside of all places."""
    kinds, steps, before = tables.kinds, tables.steps, count - 1
    begin, end = _part_of(waiting, row, kinds)
    while end > begin:
        head = kinds.step[row[begin]]
        if _free(rho, row, doing, count, tables) < steps.units[head]:
            break
        _take_out(row, begin)
        for at in range(count, before, -1):
            doing[at] = doing[at - 1]
        doing[before] = steps.then[steps.first[head]]
        count += 1
        end -= 1
    return count


@kernel()
def _part_of(place: int, row: NDArray[np.int16], kinds: Kinds) -> tuple[int, int]:
    """From where to where in a row those at a place are."""
    begin = 0
    while begin < len(row) and row[begin] >= 0 and kinds.place[row[begin]] < place:
        begin += 1
    end = begin
    while end < len(row) and row[end] >= 0 and kinds.place[row[end]] == place:
        end += 1
    return begin, end


@kernel()
def inside(row: NDArray[np.int16], of: int, kinds: Kinds, places: Places) -> int:
    """How many transactions of a class are inside."""
    last, count = len(places.servers) - 1, 0
    for kind in row:
        if kind >= 0 and kinds.row[kind] == of and kinds.place[kind] < last:
            count += 1
    return count


@kernel()
def _free(rho: int, row: NDArray[np.int16], act: Ints, count: int, tables: Tables) -> int:
    """Units of a resource that nobody holds."""
    free = tables.places.units[rho]
    for kind in row:
        if kind >= 0:
            free -= tables.kinds.held[kind, rho]
    for i in range(count):
        free -= tables.steps.held[act[i], rho]
    return free


@kernel()
def _take_out(row: NDArray[np.int16], at: int) -> None:
    for e in range(at, len(row) - 1):
        row[e] = row[e + 1]
        if row[e] < 0:
            return
    row[-1] = -1


@kernel()
def _insert(row: NDArray[np.int16], at: int, kind: int) -> None:
    while kind >= 0:
        row[at], kind = kind, row[at]
        at += 1


@kernel()
def _wait(row: NDArray[np.int16], kind: int, kinds: Kinds, places: Places) -> None:
    """Put a customer among those who wait at a station or for a resource."""
    place = kinds.place[kind]
    begin, end = _part_of(place, row, kinds)
    rho = place - (len(places.servers) - 1 - len(places.units))
    if rho >= 0:
        by_rank, busy = places.by_rank[rho], begin
    else:
        by_rank, busy = places.discipline[place] == HEAD_OF_LINE, begin + places.servers[place]
    at = end
    while by_rank and at > busy and places.priority[kinds.row[row[at - 1]]] < places.priority[kinds.row[kind]]:
        at -= 1
    _insert(row, at, kind)


@kernel()
def _serve(row: NDArray[np.int16], kind: int, kinds: Kinds, places: Places) -> None:
    """Put a customer into service, at stations that share or interrupt among those there."""
    place = kinds.place[kind]
    begin, at = _part_of(place, row, kinds)
    discipline = places.discipline[place]
    if discipline == PREEMPTIVE:
        while at > begin and places.priority[kinds.row[row[at - 1]]] < places.priority[kinds.row[kind]]:
            at -= 1
    elif discipline in (FCFS, HEAD_OF_LINE):
        at = min(at, begin + places.servers[place] - 1)
    if not places.alike[place]:
        kind += _fastest_free(row[begin:at], kinds)
    _insert(row, at, kind)
    _sort(row, place, kinds, places)


@kernel()
def _fastest_free(served: NDArray[np.int16], kinds: Kinds) -> int:
    """The first server without one of those who are ``served``."""
    server, at = 0, 0
    while at < len(served):
        if kinds.server[served[at]] == server:
            server += 1
            at = -1
        at += 1
    return server


@kernel()
def _sort(row: NDArray[np.int16], place: int, kinds: Kinds, places: Places) -> None:
    """Put those at a place whose order does not matter into that of their kinds."""
    discipline = places.discipline[place]
    if discipline == PREEMPTIVE:
        return
    begin, end = _part_of(place, row, kinds)
    if discipline in (FCFS, HEAD_OF_LINE):
        end = min(end, begin + places.servers[place])
    for e in range(begin + 1, end):
        kind, at = row[e], e
        while at > begin and row[at - 1] > kind:
            row[at] = row[at - 1]
            at -= 1
        row[at] = kind


@kernel()
def _begin_next(row: NDArray[np.int16], place: int, doing: Ints, count: int, kinds: Kinds, places: Places) -> int:
    """Let the first who waits begin where a server is free; gives the number of customers outside of all places."""
    discipline = places.discipline[place]
    if discipline != FCFS and discipline != HEAD_OF_LINE:
        return count
    begin, end = _part_of(place, row, kinds)
    at = begin + places.servers[place] - 1
    if at < end and kinds.step[row[at]] >= 0:
        doing[count] = -1 - kinds.step[row[at]]
        _take_out(row, at)
        return count + 1
    _sort(row, place, kinds, places)
    return count
