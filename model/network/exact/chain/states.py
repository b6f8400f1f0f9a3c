"""The states of a network, found by walking from one to the next.

A state has the kinds of the customers at each place: at stations that serve in turn those in service first, then those
who wait, in order; elsewhere by kind.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from model.network.arrays import Arrays, Ints
from model.network.errors import UnsupportedError
from model.network.exact.chain.routes import MOST_KINDS, NOBODY, TOO_MANY, Routes
from model.network.limits import water_filling

State = tuple[tuple[int, ...], ...]
Places = list[list[int]]
Doing = list[tuple[int, bool]]
"""Steps that customers outside of all places begin, the last one first; some at a server that is kept free for them."""
MOST_STEPS = 10_000
"""Steps that customers take at one event."""
IN_TURN = ("fcfs", "hol")


class States:
    """The customers of a network, with at most ``most`` (classes,) of each open class inside."""

    def __init__(self, net: Arrays, most: Ints) -> None:
        network = net.network
        self.net, self.most = net, most
        self.routes = Routes(net)
        self.kinds, self.steps = self.routes.kinds, self.routes.steps
        self.stations, self.last = len(network.stations), self.routes.last
        # Those beyond two threads a core wait in order.
        self.discipline = ["fcfs" if s.smt else s.scheduling for s in network.stations]
        self.discipline += ["delay"] * (self.last + 1 - self.stations)
        self.servers = [2 * s.servers if s.smt else s.servers for s in network.stations]
        self.enough = [
            s.capacity if s.capacity is not None else servers + s.overflow.waiting if s.overflow else MOST_KINDS
            for s, servers in zip(network.stations, self.servers, strict=True)
        ]
        self.enough += [MOST_KINDS if r.queue_limit is None else r.queue_limit for r in network.resources]
        self.unequal = [len(set(s.speeds)) > 1 for s in network.stations]
        each = [np.arange(1.0, servers + 1) for servers in self.servers]
        self.work = [
            np.ones(len(n)) if apart else done / n
            for (done, _), n, apart in zip(net.curves, each, self.unequal, strict=True)
        ]
        self.used = [engines / n for (_, engines), n in zip(net.curves, each, strict=True)]
        self.machines = [
            (cec.engines, [k for k, s in enumerate(network.stations) if s.lpar is not None and s.lpar.cec == cec.name])
            for cec in network.cecs
        ]
        self.shares = [0.0 if s.lpar is None else float(s.lpar.weight) for s in network.stations]
        self.caps = [float(servers) for servers in self.servers]
        for engines, here in self.machines:
            total = sum(self.shares[k] for k in here)
            for k in here:
                lpar = network.stations[k].lpar
                if lpar is not None and lpar.cap != "none":
                    cap = engines * self.shares[k] / total if lpar.cap == "share" else float(lpar.cap)
                    self.caps[k] = min(self.caps[k], cap)

    def walk(self, most_states: int) -> tuple[list[State], list[tuple[int, int, float]]]:
        """All states that can be reached, and the moves (from, to, times a second) between them.

        Raises
        ------
        UnsupportedError
            There are more than ``most_states``.
        """
        empty: Places = [[] for _ in range(self.last)]
        begun: Doing = [(step, False) for step in self.routes.entering]
        numbers: dict[State, int] = {}
        for _, state in self._settled([*empty, sorted(self.routes.sources)], begun):
            numbers.setdefault(state, len(numbers))
        states, moves = list(numbers), []
        for at, state in enumerate(states):
            for rate, reached in self._moves(state):
                to = numbers.setdefault(reached, len(numbers))
                if to == len(states):
                    states.append(reached)
                if to != at:
                    moves.append((at, to, rate))
            if len(states) > most_states:
                raise UnsupportedError(TOO_MANY)
        return states, moves

    def speeds(self, state: State) -> tuple[list[Sequence[float]], list[Sequence[float]]]:
        """What each customer gets done, of what it would do alone, and the engines it keeps busy, by place."""
        engines = self._engines(state)
        speeds: list[Sequence[float]] = []
        busy: list[Sequence[float]] = []
        for place, here in enumerate(state):
            count, discipline = len(here), self.discipline[place]
            if place >= self.stations or discipline == "delay":
                speeds.append([0.0 if self.stations <= place < self.last else 1.0] * count)
                busy.append(speeds[-1])
                continue
            if discipline == "ps":
                got = [min(1.0, engines[place] / count)] * count if count else []
            elif discipline == "dps":
                weights = [float(self.net.weight[self.kinds[kind].row]) for kind in here]
                got = water_filling([1.0] * count, weights, engines[place])
            elif discipline == "priority_ps":
                got = self._by_priority(here, engines[place])
            else:
                got = [1.0 if i < self.servers[place] else 0.0 for i in range(count)]
            at = min(count, self.servers[place]) - 1
            busy.append([part * float(self.used[place][at]) for part in got])
            speeds.append([part * float(self.work[place][at]) for part in got])
        return speeds, busy

    def inside(self, state: State, row: int) -> int:
        """How many transactions of a class are inside."""
        return sum(self.kinds[kind].row == row for here in state[: self.last] for kind in here)

    def _engines(self, state: State) -> list[float]:
        """Engines that each station has: its own, or of a machine as many as it needs while that is below its part by
        weight, and that part of the rest."""
        out = [float(servers) for servers in self.servers]
        for engines, here in self.machines:
            wanted = [min(float(len(state[k])), self.caps[k]) for k in here]
            given = water_filling(wanted, [self.shares[k] for k in here], engines)
            for k, part in zip(here, given, strict=True):
                if state[k]:
                    out[k] = part
        return out

    def _by_priority(self, here: Sequence[int], engines: float) -> list[float]:
        """Engines divided among the most important customers first, equally where there are too few."""
        levels = [float(self.net.priority[self.kinds[kind].row]) for kind in here]
        each = {}
        for level in sorted(set(levels), reverse=True):
            count = levels.count(level)
            each[level] = min(1.0, engines / count)
            engines -= count * each[level]
        return [each[level] for level in levels]

    def _moves(self, state: State) -> Iterator[tuple[float, State]]:
        """What may happen in a state: times a second, and the state after it."""
        speeds, _ = self.speeds(state)
        for place, here in enumerate(state):
            alike = 0
            for at, number in enumerate(here):
                alike += 1
                if at + 1 < len(here) and here[at + 1] == number and speeds[place][at + 1] == speeds[place][at]:
                    # What happens to one of these comes to the same as if it happens to the next.
                    continue
                often, alike, kind = speeds[place][at] * alike, 0, self.kinds[number]
                for rate, becomes, begins, copies in kind.events if often > 0.0 else ():
                    places, doing = [list(there) for there in state], [(begins, False)] * copies
                    if becomes == NOBODY:
                        del places[place][at]
                        self._begin_next(places, place, doing)
                    else:
                        places[place][at] = becomes
                        self._sort(places, place)
                        if copies and self.inside(state, kind.row) + copies > self.most[kind.row]:
                            doing = []
                    for chance, reached in self._settled(places, doing):
                        yield rate * often * chance, reached

    def _settled(self, places: Places, doing: Doing) -> Iterator[tuple[float, State]]:
        """Chances and states that follow when the customers outside of all places go where their steps lead."""
        pending = [(1.0, places, doing)]
        for _ in range(MOST_STEPS):
            if not pending:
                return
            chance, places, doing = pending.pop()
            if not doing:
                yield chance, tuple(map(tuple, places))
                continue
            number, is_kept_free = doing.pop()
            step = self.steps[number]
            place, full, branches = step.place, False, step.then
            if step.code == "acquire":
                place += self.stations
                full = bool(places[place]) or self._free(step.place, places, [*doing, (number, False)]) < step.units
            elif step.code == "release":
                doing.append((step.then[0][0], False))
                self._admit(step.place, places, doing)
                branches = []
            elif step.code == "visit" and not is_kept_free:
                # What is beyond the servers of a station that shares them does not wait.
                limit = self.servers[place] if self.discipline[place] in IN_TURN else MOST_KINDS
                limit = limit if step.elsewhere == NOBODY else min(limit, self.enough[place])
                full = len(places[place]) >= limit
            if full:
                if step.elsewhere != NOBODY and len(places[place]) >= self.enough[place]:
                    doing.append((step.elsewhere, False))
                else:
                    self._wait(places, step.waits)
                branches = []
            if not branches:
                # It waits, goes elsewhere, has left, or gave units back.
                pending.append((chance, places, doing))
            for to, part in branches:
                now, then = [list(here) for here in places], list(doing)
                if step.code == "visit":
                    self._serve(now, to)
                else:
                    then.append((to, False))
                pending.append((chance * part, now, then))
        raise UnsupportedError(TOO_MANY)

    def _admit(self, rho: int, places: Places, doing: Doing) -> None:
        """Let those who wait for units that are free now go on in their order, after the one who gave them back."""
        waiting, behind = places[self.stations + rho], len(doing) - 1
        while waiting:
            step = self.steps[self.kinds[waiting[0]].step]
            if self._free(rho, places, doing) < step.units:
                return
            del waiting[0]
            doing.insert(behind, (step.then[0][0], False))

    def _free(self, rho: int, places: Places, doing: Doing) -> int:
        """Units of a resource that nobody holds."""
        units = sum(self.kinds[kind].holdings[rho] for here in places for kind in here)
        units += sum(self.steps[step].holdings[rho] for step, _ in doing)
        return self.net.network.resources[rho].capacity - units

    def _wait(self, places: Places, kind: int) -> None:
        """Put a customer among those who wait at a station or for a resource."""
        place = self.kinds[kind].place
        if place < self.stations:
            by_rank, first = self.discipline[place] == "hol", self.servers[place]
        else:
            by_rank, first = self.net.network.resources[place - self.stations].scheduling == "hol", 0
        self._insert(places[place], kind, first if by_rank else len(places[place]))

    def _insert(self, here: list[int], kind: int, first: int) -> None:
        """Put a customer before those from ``first`` on who are less important."""
        at, priority = len(here), self.net.priority
        while at > first and priority[self.kinds[here[at - 1]].row] < priority[self.kinds[kind].row]:
            at -= 1
        here.insert(at, kind)

    def _serve(self, places: Places, kind: int) -> None:
        """Put a customer into service, at stations that share or interrupt among those there."""
        place = self.kinds[kind].place
        here, discipline = places[place], self.discipline[place]
        if discipline == "preemptive":
            self._insert(here, kind, 0)
            return
        at = min(len(here), self.servers[place] - 1) if discipline in IN_TURN else len(here)
        if place < self.stations and self.unequal[place]:
            taken = {self.kinds[other].server for other in here[:at]}
            kind += next(server for server in range(self.servers[place]) if server not in taken)
        here.insert(at, kind)
        self._sort(places, place)

    def _sort(self, places: Places, place: int) -> None:
        """Put those at a place whose order does not matter into that of their kinds."""
        here, discipline = places[place], self.discipline[place]
        if discipline != "preemptive":
            end = self.servers[place] if discipline in IN_TURN else len(here)
            here[:end] = sorted(here[:end])

    def _begin_next(self, places: Places, place: int, doing: Doing) -> None:
        """Let the first who waits begin where a server is free."""
        if self.discipline[place] not in IN_TURN:
            return
        here, at = places[place], self.servers[place] - 1
        if at < len(here) and self.kinds[here[at]].step != NOBODY:
            doing.append((self.kinds[here.pop(at)].step, True))
        else:
            self._sort(places, place)
