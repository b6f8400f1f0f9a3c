"""Whether transactions can come to wait for each other without end: a set of those who wait, each for units or places
that others of the set hold.

Such a set is what is left of a deadlock when all who can go on have gone: Coffman, Elphick and Shoshani, *System
Deadlocks*, 1971. Of users between stations that block, it needs as many as a ring of these has places: Kundu and
Akyildiz, *Deadlock Free Buffer Allocation in Closed Queueing Networks*, 1989.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from model.network import Network
from model.network.flows import Flows, flows
from model.network.solvers.arrays import Floats, Ints


def without_end(network: str, who: str, how: str) -> str:
    """What to say of transactions that wait for each other, and what to do about it."""
    return (
        f"network {network!r}: {who} {how}, without end: have all take resources, and places of stations that block, "
        "in one order, and all units that they need at once"
    )


@dataclass(frozen=True, slots=True)
class Deadlock:
    """The fewest transactions that can wait for each other, what they hold and wait for, and the (rows) of their
    classes; ``reached`` where there are that many."""

    transactions: int
    names: tuple[str, ...]
    rows: tuple[int, ...]
    reached: bool


@dataclass(frozen=True, slots=True)
class _Wait:
    """Where a class waits for units of a resource, or places of a station, that others may hold."""

    row: int
    asked: str
    units: int
    held: tuple[tuple[str, int], ...]


def smallest_deadlock(network: Network) -> Deadlock | None:
    """The smallest deadlock of the transactions there are, or else of more users than there are; None where what they
    hold and wait for makes no ring."""
    room = {r.name: r.capacity for r in network.resources}
    room |= {s.name: s.capacity for s in network.stations if s.capacity is not None and s.when_full == "block"}
    waits = _in_rings(_waits(network, set(room)))
    if not waits:
        return None
    users = np.array([np.inf if c.arrivals is not None or not c.users else c.users for c in network.classes])
    for most in (users, np.full(len(users), np.inf)):
        if (found := _fewest(waits, room, most)) is not None:
            there = [w for w, n in zip(waits, found, strict=True) if n > 0]
            names = tuple(sorted({w.asked for w in there}))
            return Deadlock(int(found.sum()), names, tuple(sorted({w.row for w in there})), most is users)
    return None


def _waits(network: Network, finite: set[str]) -> list[_Wait]:
    """All waits of those who hold something."""
    flow, out = flows(network), set()
    endless = {r.name for r in network.resources if r.queue_limit is None}
    for row in range(len(network.classes)):
        for at in flow.visited(row):
            op = flow.ops[at]
            held = tuple(sorted(op.held | op.held_around))
            if op.kind == "acquire" and op.name in endless:
                out.add(_Wait(row, op.name, op.units, held))
            elif op.kind == "visit":
                place = ((op.name, 1),) if op.name in finite else ()
                for to in _straight_after(network, flow, row, at):
                    following = flow.ops[to]
                    if following.name in finite and following.name != op.name:
                        kept = tuple(sorted(following.held | following.held_around))
                        out.add(_Wait(row, following.name, 1, (*kept, *place)))
                if place:
                    out.add(_Wait(row, op.name, 1, held))
    return [w for w in out if w.held]


def _straight_after(network: Network, flow: Flows, row: int, at: int) -> list[int]:
    """Visits for which who ends visit ``at`` waits where it is: there is nothing between but steps without time."""
    out, seen, pending = [], set(), [at]
    while pending:
        now = pending.pop()
        op = flow.ops[now]
        after = [to for to, share in flow.edges[now] if share > 0]
        if op.kind == "end" and network.classes[row].users and network.classes[row].think is None:
            after = [flow.starts[row]]
        for to in after:
            kind = flow.ops[to].kind
            if kind == "visit":
                out.append(to)
            if (kind in ("go", "release", "free", "switch", "end") or flow.ops[to].count < 1) and to not in seen:
                seen.add(to)
                pending.append(to)
    return out


def _in_rings(waits: list[_Wait]) -> list[_Wait]:
    """Waits for something of which a holder may wait, and so on, for something that is held here."""
    while True:
        held, asked = {name for w in waits for name, _ in w.held}, {w.asked for w in waits}
        rest = [w for w in waits if w.asked in held and any(name in asked for name, _ in w.held)]
        if len(rest) == len(waits):
            return rest
        waits = rest


def _fewest(waits: list[_Wait], room: dict[str, int], users: Floats) -> Ints | None:
    """(waits,) transactions at each of the fewest that wait for each other; None where there are none.

    A mixed-integer program in the n transactions at each wait and in whether z one of them is first in line: all units
    are there, somebody is first where some wait, and too few units are left for who is first.
    """
    # Loaded by those who need it: it takes longer than to solve most networks.
    from scipy.optimize import Bounds, LinearConstraint, milp

    names, count = sorted(room), len(waits)
    holds = np.array([[dict(w.held).get(name, 0) for w in waits] for name in names], dtype=float)
    size = np.array([room[name] for name in names], dtype=float)
    none, eye = np.zeros((len(names), count)), np.eye(count)
    asked = np.array([names.index(w.asked) for w in waits])
    units = np.array([w.units for w in waits])
    same = (asked[:, None] == asked).astype(float)
    most = np.array([min(users[w.row], max(room[name] for name, _ in w.held)) for w in waits])
    of_row = np.array([[w.row == row for w in waits] for row in range(len(users))], dtype=float)
    limits = [
        LinearConstraint(np.hstack((holds, none)), ub=size),
        LinearConstraint(np.hstack((-eye, eye)), ub=0),
        LinearConstraint(np.hstack((eye, -most[:, None] * same)), ub=0),
        LinearConstraint(np.hstack((-holds[asked], np.diag(size[asked]))), ub=units - 1),
        LinearConstraint(np.hstack((of_row, np.zeros_like(of_row))), ub=users),
        LinearConstraint(np.concatenate((np.zeros(count), np.ones(count))), lb=1),
    ]
    cost = np.concatenate((np.ones(count), np.zeros(count)))
    bounds = Bounds(0, np.concatenate((most, np.ones(count))))
    found = milp(cost, integrality=np.ones(2 * count), bounds=bounds, constraints=limits)
    return np.rint(found.x[:count]).astype(np.int64) if found.success else None
