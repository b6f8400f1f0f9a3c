"""What streams that are not Poisson add to the time at stations: batches, bursts, regular arrivals, varied work before.

A stream is known by its index of dispersion, the variance over the mean of the number of arrivals in a long time, and
by its memory, the time within which those come that an arrival tells of (Cox and Lewis, *The Statistical Analysis of
Series of Events*, 1966, chapter 4). Each station on the way stretches the memory by the time spent there and leaves the
dispersion. At a station, streams that vary more than Poisson are taken as interrupted ones, which share it with all
other work.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from model.network.solvers.arrays import IN_TURN, MOST_BUSY, RANKED
from model.network.solvers.layers.state import LayerState
from model.network.solvers.modulated import Modulated, Stream, modulated
from model.network.solvers.reduction import Floats, Reduced

#: Streams vary no faster than this in the time of one visit: as good as at once.
AT_ONCE = 1e5
#: Part of the load, and its dispersion beyond one, of the stream that tells what small variation does. What is more
#: regular than Poisson does the contrary, in proportion.
WEAK = 0.05
MOST_LEVELS = 100
#: Levels for each user that a station has on average, until more work hardly crowds the users out any further.
LEVELS_PER_USER = 20
#: Users who wait elsewhere without end are away for so long.
FOREVER_S = 1e30


def bunching(net: Reduced, state: LayerState) -> Floats:
    """(classes, stations) seconds a transaction that arrivals which are not Poisson add to its residence."""
    out = np.zeros_like(net.demand)
    if not np.any(not_poisson(net) & (state.throughput > 0)):
        return out
    beyond, memory = _streams(net, state)
    for k in state.curves:
        if np.any(beyond[:, k] * state.asked[:, k]):
            out[:, k] = _added(net, state, k, beyond[:, k], memory[:, k])
    return out


def _added(net: Reduced, state: LayerState, k: int, beyond: Floats, memory: Floats) -> Floats:
    """(classes,) seconds at a station, where classes that are less important do not count for those above them."""
    out = np.zeros(len(beyond))
    ranked = net.network.stations[k].scheduling in RANKED
    for level in set(net.priority) if ranked else [-np.inf]:
        station = _Station(net, state, k, net.priority >= level)
        if station.load > 0:
            out = np.where((net.priority == level) | (not ranked), station.added(beyond, memory), out)
    bunched = (net.rates > 0) & (beyond > 0)
    if np.any(bunched & (net.at_once[:, k] > 0)):
        # Those who come together and come back at once wait for each other's visits until their own last one, and all
        # others for more of them.
        together = 1 / (1 + memory / np.maximum(state.residence[:, k], 1e-300))
        longer = np.where(bunched, _longer(net, k) * together, 0.0)
        weight = np.where(bunched, state.throughput * beyond, 0.0)
        out *= 1 + np.where(bunched, longer, longer @ weight / weight.sum())
    if net.network.stations[k].scheduling == "dps" and np.any(out):
        # The work that waits is the same as if all shared alike; each class waits the less for it the more it weighs.
        waits = state.throughput * state.asked[:, k] * np.abs(out)
        out *= waits.sum() / net.weight / (waits / net.weight).sum()
    return out


def _longer(net: Reduced, k: int) -> Floats:
    """(classes,) by how much longer those of a batch wait for each other at a station to which they come back at once
    than in visits of the same work apart: in turn, for all visits but the last; where they share, for the shorter of
    two sums of as many visits."""
    first = net.visits[:, k] - net.at_once[:, k]
    row = np.divide(net.visits[:, k], first, out=np.ones_like(first), where=first > 0)
    if net.network.stations[k].scheduling in IN_TURN:
        return np.asarray(1 - 1 / row)
    return np.array([1 - 2 / math.sqrt(math.pi) * math.exp(math.lgamma(v + 0.5) - math.lgamma(v + 1)) for v in row])


def not_poisson(net: Reduced) -> NDArray[np.bool_]:
    """(classes,) open classes that do not arrive as a Poisson stream everywhere: from outside, or after a station where
    work that is not exponential, or not equally long, is done in order."""
    after = np.any(net.visits[:, _varied(net)] > 0, axis=1)
    return (net.rates > 0) & ((net.dispersion != 1) | after)


def _varied(net: Reduced) -> list[int]:
    """Stations whose departures are not Poisson where arrivals are."""
    kinds = [s.scheduling in ("fcfs", "hol") for s in net.network.stations]
    return [k for k, in_order in enumerate(kinds) if in_order and not net.equal_fcfs[k]]


def _streams(net: Reduced, state: LayerState) -> tuple[Floats, Floats]:
    """(classes, stations) the index of dispersion beyond one, and the memory, of each open class where it arrives."""
    beyond, memory = np.zeros_like(net.demand), np.zeros_like(net.demand)
    departing = _departures(net, state.throughput)
    for r in map(int, np.flatnonzero((net.rates > 0) & (state.throughput > 0))):
        varies, lasts = net.dispersion[r] - 1, net.memory_s[r]
        for k in net.order[r]:
            visits = min(net.visits[r, k], 1.0)
            beyond[r, k], memory[r, k] = visits * varies, lasts
            spread = state.residence[r, k]
            lasts += visits * spread if np.isfinite(spread) else 0.0
            if departing[k]:
                share = visits * state.throughput[r] / float(state.throughput @ np.minimum(net.visits[:, k], 1.0))
                varies += share * departing[k]
    return beyond, memory


def _departures(net: Reduced, throughput: Floats) -> Floats:
    """(stations,) how far departures are from Poisson where work is done in order: the variation of the work, less 1,
    as far as servers are busy (Whitt, *Bell System Technical Journal* 62, 1983)."""
    out = np.zeros(len(net.curves))
    for k in _varied(net):
        rates, service = throughput * net.visits[:, k], net.service[:, k] * net.pace[k]
        if rates @ service > 0:
            busy = min(float(rates @ service) / net.curves[k][0][-1], 1.0)
            mean = rates @ service / rates.sum()
            variation = rates @ (service**2 * (1 + net.scv[:, k])) / rates.sum() / mean**2 - 1
            out[k] = busy**2 * (max(variation, 0.2) - 1) / np.sqrt(len(net.curves[k][0]))
    return out


class _Station:
    """One station with the open work and users that count.

    ``work`` is that of a visit, the root mean square over the arrivals; ``delays`` (numbers,) the time per second of
    work of an arrival that finds 0, 1, ... open transactions; ``there`` (users, numbers) how many of each class of
    users are there with so many.
    """

    def __init__(self, net: Reduced, state: LayerState, k: int, counts: NDArray[np.bool_]) -> None:
        self.asked, self.curve = state.asked[:, k], state.curves[k]
        self.visits = np.minimum(state.visits[:, k], 1.0)
        here = counts & (self.asked > 0) & (state.throughput > 0)
        self.opens, self.users = np.flatnonzero(here & (net.rates > 0)), np.flatnonzero(here & (net.users > 0))
        loads = np.where(counts & (net.rates > 0), state.throughput * self.asked, 0.0)
        self.load = min(float(loads.sum()), MOST_BUSY * self.curve[-1])
        self.loads = loads * (self.load / loads.sum()) if self.load > 0 else loads
        rates = state.throughput[self.opens] * self.visits[self.opens]
        each = self.asked[self.opens] / self.visits[self.opens]
        self.work = float(np.sqrt(rates @ each**2 / rates.sum())) if len(each) else 0.0
        self.in_order = not state.alike[k]
        self.many = net.users[self.users]
        away = np.delete(state.residence, k, axis=1).sum(axis=1) + state.wait.sum(axis=1) - state.saving
        self.elsewhere = np.clip((net.think + away)[self.users], 0.0, FOREVER_S)
        # Residences that do not settle may pass below zero on their way.
        average = max(float(state.throughput[self.users] @ state.residence[self.users, k]), 0.0)
        further = int(min(LEVELS_PER_USER * average, MOST_LEVELS)) if average < MOST_LEVELS else MOST_LEVELS
        n = np.arange(len(self.curve) + further + 2.0)
        self.there = _users_there(n, self.curve, self.many, self.asked[self.users], self.elsewhere)
        found = n + 1 + self.there.sum(axis=0)
        self.delays = found / _capacity(self.curve, found)

    def added(self, beyond: Floats, memory: Floats) -> Floats:
        """(classes,) seconds a transaction beyond those among Poisson arrivals of the same rates, by streams whose
        index of dispersion beyond one and memory are given."""
        out = np.zeros(len(beyond))
        rate, per_s = self.load / self.work, 1 / np.maximum(memory, self.work / AT_ONCE)
        strong = {}
        for r in self.opens[beyond[self.opens] > 0]:
            # A burst of longer work is one of more transactions as to its work, though not as to those who share.
            size = self.asked[r] / self.visits[r] / self.work
            strong[r] = Stream(self.loads[r] / self.work, beyond[r] * np.sqrt(size), per_s[r])
        poisson = rate - sum(one.rate for one in strong.values())
        even = self._queue([], rate)
        together = self._queue(self._merged(list(strong.values())), poisson) if strong else even
        usual, met = even.mean(self.delays), together.mean(self.delays)
        for r in self.opens:
            found = met
            if r in strong:
                others = self._merged([one for q, one in strong.items() if q != r])
                found = self._queue([strong[r], *others], poisson).mean(self.delays, seen_by=0)
            out[r] = (self.work * self.visits[r] if self.in_order else self.asked[r]) * (found - usual)
        for row, r in enumerate(self.users):
            out[r] = self._stay(row, together) - self._stay(row, even)
        for r in self.opens[beyond[self.opens] < 0]:
            weak = self._queue([Stream(WEAK * rate, WEAK, per_s[r])], (1 - WEAK) * rate)
            met, regular = weak.mean(self.delays), beyond[r] / WEAK
            out += self.asked * (self.visits > 0) * regular * (met - usual) * self.loads[r] / (WEAK * self.load)
            out[r] += self.asked[r] * regular * (weak.mean(self.delays, seen_by=0) - met)
        return out

    def _queue(self, streams: list[Stream], poisson: float) -> Modulated:
        """The open transactions here; users take their share of the servers."""
        n = np.arange(1.0, self.there.shape[1] - 1)
        inside = n + self.there.sum(axis=0)[1:-1]
        completing = n / inside * _capacity(self.curve, inside) / self.work
        # However many users there are, beyond all levels they are few.
        completing[-1] = self.curve[-1] / self.work
        return modulated(streams, poisson, completing)

    def _merged(self, streams: list[Stream]) -> list[Stream]:
        """Those that vary within a visit as one stream, and those that vary for longer as another."""
        short = [one for one in streams if one.per_s * self.work > 1]
        long = [one for one in streams if one.per_s * self.work <= 1]
        return [_merged(some) for some in (short, long) if some]

    def _stay(self, row: int, queue: Modulated) -> float:
        """Seconds that a user of a class spends here: users come less often while it takes long."""
        open_ones = queue.numbers()
        n = np.arange(len(open_ones))
        at = np.minimum(n, self.there.shape[1] - 1)
        found = n + 1 + self.there.sum(axis=0)[at] - self.there[row, at] / self.many[row]
        stay = self.asked[self.users[row]] * found / _capacity(self.curve, found)
        often = open_ones / (self.elsewhere[row] + stay)
        return float(often @ stay / often.sum())


def _users_there(n: Floats, curve: Floats, users: Floats, work: Floats, elsewhere: Floats) -> Floats:
    """(users, numbers) of each class of users at a station that has n open transactions, if these stayed."""
    there = np.zeros((len(users), len(n)))
    for _ in range(40 if len(users) else 0):
        found = np.maximum(n + there.sum(axis=0), 1.0)
        stay = work[:, None] * found / _capacity(curve, found)
        there = (there + users[:, None] * stay / np.maximum(elsewhere[:, None] + stay, 1e-300)) / 2
    return there


def _capacity(curve: Floats, n: Floats) -> Floats:
    """Work a second with ``n`` inside, which need not be whole."""
    return np.interp(n, np.arange(len(curve) + 1), np.concatenate(([0.0], curve)))


def _merged(streams: list[Stream]) -> Stream:
    """One stream that varies as much as several, and at first as fast."""
    rate = sum(one.rate for one in streams)
    beyond = sum(one.rate * one.beyond for one in streams) / rate
    at_once = sum(one.rate * one.beyond * one.per_s for one in streams)
    return Stream(rate, beyond, at_once / (rate * beyond))
