"""What goes on in a twin in each of its intervals: simulated in stretches, counted as whole intervals.

An interval is simulated for as long as some ten thousand visits take, at the rate at which its transactions really
came, and the run goes on into the next interval. What a transaction meets (waiting, overflow, spinning) is that of the
stretch. What a whole interval adds up to (transactions, work) is drawn with the variation of the whole interval.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from typing import NamedTuple

import numpy as np

from model.lab.errors import LabError
from model.lab.records.smf72_3 import BUCKET_LIMITS_PCT
from model.lab.twin.description import ClassLoad, Twin, described_rate_per_s
from model.lab.twin.network import Partition, partitions, true_network
from model.network import Acquire, CfRequest, Network, Release, Visit, demands
from model.network.simulator import layout as L
from model.network.simulator.replication import SimulationError
from model.network.simulator.statistics import bucket_edges
from model.network.simulator.varying_load import Stretch, VaryingLoad


def _drawn_arrivals(twin: Twin, network: Network, random: np.random.Generator) -> np.ndarray:
    """Transactions that begin, shape (intervals, classes of `network`): drawn around rate, growth, hour and noise.

    The number in an interval varies as the described arrivals do: Poisson, or with their variation and batches. A class
    that the twin does not name keeps its described rate.
    """
    starts = twin.starts
    counts = np.empty((len(starts), len(network.classes)))
    for k, cls in enumerate(network.classes):
        load = twin.classes.get(cls.name)
        if load is None:
            mean = np.full(len(starts), cls.arrivals.rate_per_s * twin.interval_s if cls.arrivals is not None else 0.0)
        else:
            sigma = np.sqrt(np.log1p(load.noise_cv**2))
            noise = np.exp(sigma * random.standard_normal(len(starts)) - sigma**2 / 2)
            mean = _expected_per_s(twin, load, starts) * twin.interval_s * noise
        counts[:, k] = _draw_counts(mean, cls.arrivals.dispersion if cls.arrivals is not None else 1.0, random)
    return counts


def _expected_per_s(twin: Twin, load: ClassLoad, moments: Sequence[datetime]) -> np.ndarray:
    """Transactions/s of a class at these moments (UTC), by its growth and the hour of the week."""
    weeks = np.array([(moment - twin.start_utc) / timedelta(weeks=1) for moment in moments])
    hours = np.array([local.weekday() * 24 + local.hour for local in map(twin.local, moments)])
    growth = (1 + load.growth_pct_per_week / 100) ** (weeks - 0.5)
    return np.asarray(load.rate_per_s * growth * load.hour_factors[hours])


def _draw_counts(mean: np.ndarray, spread: float, random: np.random.Generator) -> np.ndarray:
    if abs(spread - 1) < 1e-9:
        return random.poisson(mean).astype(float)
    return np.maximum(np.rint(mean + np.sqrt(mean * spread) * random.standard_normal(mean.shape)), 0.0)


VISITS = 40_000
"""Visits to stations in a stretch."""
SHORTEST_S = 2.0
ENOUGH = 30.0
"""Transactions of a class that say how it fares; where fewer ended, earlier stretches of like load do, too."""
MANY = 500.0
"""Transactions of a class whose responses are distributed as those of a whole interval, found in the same way."""
LEVELS = 20
"""Loads that are told apart where a class has few transactions, by how full the fullest station is that it visits."""


@dataclass(frozen=True, slots=True)
class Activity:
    """Sums by interval (I), class (K), station (S) and resource (R); seconds and counts.

    `ended`, `elapsed_s`, `squares_s2`, `idle_s`, which users think (I, K); `buckets` (I, K, 14); `visits`, `using_s`,
    `waiting_s`, `spin_s` (I, K, S), using as if alone on the engine and charged with nothing but the transaction's own
    work; `overflow_s` (I, K, S) is using of work that came from a full zIIP pool, part of `using_s`; `stretch_cost`
    (I, S) is engine time over using: SMT, cost against busy; `busy_s` (I, S) engine time in all; `density` (I, S)
    threads by busy core; `held_s`, `wait_s` (I, K, R) of resources; `asynchronous` (I, S) share of coupling-facility
    requests.
    """

    ended: np.ndarray
    elapsed_s: np.ndarray
    squares_s2: np.ndarray
    idle_s: np.ndarray
    buckets: np.ndarray
    visits: np.ndarray
    using_s: np.ndarray
    waiting_s: np.ndarray
    spin_s: np.ndarray
    overflow_s: np.ndarray
    stretch_cost: np.ndarray
    busy_s: np.ndarray
    density: np.ndarray
    held_s: np.ndarray
    wait_s: np.ndarray
    asynchronous: np.ndarray


@dataclass(frozen=True, slots=True, eq=False)
class Lived:
    """A twin's days: its LPARs, the network that ran (uncaptured work included), and the activity of each interval."""

    twin: Twin
    lpars: tuple[Partition, ...]
    network: Network
    goals_ms: tuple[int, ...]
    activity: Activity

    @property
    def recorded(self) -> np.ndarray:
        """Whether each interval was recorded, shape (I,)."""
        days = [self.twin.local(start).date() for start in self.twin.starts]
        return np.array([day not in self.twin.missing_days for day in days])


def live(twin: Twin, advance: Callable[[int, int], None] | None = None) -> Lived:
    """Simulate all intervals of a twin; `advance` is told after each how many there are, of how many in all.

    LabError when more arrives than the network can serve.
    """
    seeds = np.random.SeedSequence(twin.seed).spawn(3)
    random = np.random.default_rng(seeds[0])
    lpars = partitions(twin.network, twin.system_id)
    network = true_network(twin, lpars)
    counts = _drawn_arrivals(twin, network, random)
    goals = _goals(twin, network, int(seeds[1].generate_state(1)[0]))
    rows: list[Activity] = []
    running = _Running(network, twin, goals, int(seeds[2].generate_state(1)[0]))
    running.warm(counts[0])
    for i, start in enumerate(twin.starts):
        try:
            rows.append(running.interval(counts[i], random))
        except SimulationError as error:
            raise LabError(f"interval {start}: {error}: lower the rates of the twin") from error
        if advance is not None:
            advance(i + 1, len(counts))
    activity = Activity(*(np.stack([getattr(row, f.name) for row in rows]) for f in fields(Activity)))
    return Lived(twin, lpars, network, goals, activity)


def described_rates(network: Network) -> np.ndarray:
    """Transactions a second that a network describes, by class."""
    return np.array([described_rate_per_s(c) for c in network.classes])


def _goals(twin: Twin, network: Network, seed: int) -> tuple[int, ...]:
    """Goal in ms of each class, the same in a service class: the twin's, or about twice the mean response at the mean
    rates, without waits where nothing ended in that time."""
    rates = np.array([twin.classes[c.name].rate_per_s if c.name in twin.classes else 0.0 for c in network.classes])
    per_s = float((demands(network).visits.sum(axis=1) * rates).sum())
    run = VaryingLoad(network, seed)
    factors = _over(np.where(rates > 0, rates, described_rates(network)), described_rates(network))
    total = run.run(factors, 5 * VISITS / max(per_s, 1e-9)).total
    service_class = {c.name: twin.classes[c.name].service_class for c in network.classes if c.name in twin.classes}
    _, group = np.unique([service_class.get(c.name, c.name) for c in network.classes], return_inverse=True)
    ended = total[:, L.T_DONE] > 0
    alone_s = demands(network).demand_s.sum(axis=1)
    each_s = np.where(ended, total[:, L.T_SUM], 1e-9 * alone_s), np.where(ended, total[:, L.T_DONE], 1e-9)
    sums, done = (np.bincount(group, weights=column)[group] for column in each_s)
    stated = np.array([twin.classes[c.name].goal_ms if c.name in twin.classes else 0 for c in network.classes])
    given = [max(stated[group == k]) for k in group]
    usual_ms = 2e3 * _over(sums, done)
    return tuple(int(goal) or max(1, round(float(f"{ms:.1g}"))) for goal, ms in zip(given, usual_ms, strict=True))


class _Seen(NamedTuple):
    """What stretches have of one class, arrays as in a :class:`Stretch`."""

    visit: np.ndarray
    total: np.ndarray
    unit: np.ndarray
    responses: np.ndarray

    @classmethod
    def of(cls, stretch: Stretch, k: int) -> _Seen:
        """Class ``k`` of a stretch."""
        return cls(stretch.visit[k], stretch.total[k], stretch.unit[k], stretch.responses[k])

    def missing(self, enough: float = ENOUGH) -> float:
        """Transactions that it takes to have enough."""
        return max(enough - float(self.total[L.T_DONE]), 0.0)

    def filled_up(self, earlier: _Seen, enough: float = ENOUGH) -> _Seen:
        """This with as much of an earlier one as it takes to have enough transactions."""
        keep = min(self.missing(enough) / max(float(earlier.total[L.T_DONE]), 1e-12), 1.0)
        return _Seen(*(now + keep * old for now, old in zip(self, earlier, strict=True)))


class _Running:
    """A network that goes through intervals, and what its transactions lately met."""

    def __init__(self, network: Network, twin: Twin, goals: tuple[int, ...], seed: int) -> None:
        self.network, self.seconds = network, float(twin.interval_s)
        self.run = VaryingLoad(network, seed)
        self.rates = described_rates(network)
        work = demands(network)
        # Work that is alone on a pool is charged with what one busy engine costs.
        speeds = np.array([s.speeds[0] / (s.cost_by_busy or (1.0,))[0] for s in network.stations])
        self.visits, self.using_s = work.visits, work.demand_s / speeds
        # Pieces of uncaptured work are no visits of transactions.
        self.described = np.array([c.name in twin.classes for c in network.classes])
        service = np.nan_to_num(work.service_s) / speeds
        self.variance_s2 = self.visits * service**2 * np.nan_to_num(work.scv, nan=1.0)
        self.sampled = np.array([_asynchronous_issue(c.route) for c in network.classes])
        self.overflow = {
            s: network.station_names.index(station.overflow.to)
            for s, station in enumerate(network.stations)
            if station.overflow is not None
        }
        self.bounds = bucket_edges()[1:]
        self.limits_s = np.outer([goal / 1000 for goal in goals], BUCKET_LIMITS_PCT) / 100
        self.one_after_other = np.array(
            [all(isinstance(step, Visit | Acquire | Release) for step in c.route) for c in network.classes]
        )
        self.shared = np.array([s.discipline.shares for s in network.stations])
        self.lately: Stretch | None = None
        self.alike: dict[tuple[int, int], _Seen] = {}
        self.many: dict[tuple[int, int], _Seen] = {}
        self.distributed: list[_Seen] = []
        self.servers = np.array([s.servers if s.discipline.queues else np.inf for s in network.stations])
        # Pools of one machine are full together.
        machine = [s.lpar.cec if s.lpar is not None else s.name for s in network.stations]
        self.together = np.equal.outer(machine, machine).astype(float)
        physical = {c.name: float(c.engines) for c in network.cecs}
        self.engines = np.array([physical.get(name, np.inf) for name in machine])
        self.users = np.where(np.isfinite(self.rates), [c.users for c in network.classes], 0.0)
        self.issued = _issue_modes(network)

    def warm(self, counts: np.ndarray) -> None:
        """Run at the rates of an interval until what is inside is usual."""
        self._lately(self.run.run(self._factors(counts / self.seconds), 3 * self._length(counts)), counts)

    def interval(self, counts: np.ndarray, random: np.random.Generator) -> Activity:
        """What goes on in the next interval, in which `counts` (classes,) transactions begin."""
        factors = self._factors(counts / self.seconds)
        stretch = self.run.run(factors, self._length(counts))
        lately = self._lately(stretch, counts)
        done = lately.total[:, L.T_DONE]
        # Users send as often as they think and wait, however often they were meant to.
        think_s = _over(self.users, self.rates * factors)
        sent = self.seconds * _over(self.users, think_s + _over(lately.total[:, L.T_SUM], done))
        counts = np.where(think_s > 0, sent, counts)
        share = _over(stretch.total[:, L.T_DONE], stretch.total[:, L.T_STARTED])
        behind = (stretch.total[:, L.T_STARTED] > 4 * ENOUGH) & (share < 0.9)
        lost = _over(lately.total[:, L.T_LOST], lately.total[:, L.T_LOST] + done)
        ended = np.rint(np.where(done > 0, counts * np.where(behind, share, 1 - lost), 0.0))
        each = _over(ended, done)
        visit = lately.visit * each[:, None, None]
        unit = lately.unit * each[:, None, None]
        using, overflow = self._work(ended, stretch, visit, random)
        sampled_s = lately.total[:, L.T_SUM] * each
        elapsed_s = np.where(self.one_after_other, self._elapsed(ended, using, visit, unit[..., L.Q_WAIT]), sampled_s)
        longer = np.where(sampled_s > 0, _over(elapsed_s, sampled_s), 1.0)
        buckets = self._buckets(_over(elapsed_s, ended), ended, random)
        spin, cost, busy, density = self._engines(using, visit[..., L.V_SPIN], stretch)
        waiting = visit[..., L.V_RESIDENCE] - visit[..., L.V_USING] - visit[..., L.V_SPIN]
        return Activity(
            ended=ended,
            elapsed_s=elapsed_s,
            squares_s2=lately.total[:, L.T_SQUARES] * each * longer**2,
            idle_s=ended * think_s,
            buckets=buckets,
            visits=visit[..., L.V_COUNT],
            using_s=using,
            waiting_s=np.maximum(waiting, 0.0),
            spin_s=spin,
            overflow_s=overflow,
            stretch_cost=cost,
            busy_s=busy,
            density=density,
            held_s=unit[..., L.Q_AREA],
            wait_s=unit[..., L.Q_WAIT],
            asynchronous=self._asynchronous(stretch),
        )

    def _factors(self, rates: np.ndarray) -> np.ndarray:
        """How much more often than described transactions begin (K,) at rates a second; users think for what their
        latest responses leave of the time from one transaction to the next, a hundredth of it at least."""
        if self.lately is not None:
            response_s = _over(self.lately.total[:, L.T_SUM], self.lately.total[:, L.T_DONE])
            thinking = np.maximum(1.0 - _over(rates * response_s, self.users), 0.01)
            rates = _over(rates, np.where(self.users > 0, thinking, 1.0))
        return _over(rates, self.rates)

    def _length(self, counts: np.ndarray) -> float:
        per_s = float((self.visits.sum(axis=1) * counts)[self.described].sum()) / self.seconds
        return float(np.clip(VISITS / max(per_s, 1e-9), SHORTEST_S, self.seconds))

    def _lately(self, stretch: Stretch, counts: np.ndarray) -> Stretch:
        """The stretch, with as much of earlier ones as a class needs to have enough transactions: of those in which the
        fullest station it visits was as full, the latest, and of others like them where these are not enough. How
        responses are distributed takes many, of stretches as full alone."""
        used_s = (self.using_s * counts[:, None]).sum(axis=0)
        used = np.maximum(used_s / self.servers, used_s @ self.together / self.engines) / self.seconds
        full = np.where(self.visits > 0, used, 0.0).max(axis=1)
        levels = np.minimum((full * LEVELS).astype(int), LEVELS - 1)
        enough, self.distributed = [], []
        for k, level in enumerate(levels.tolist()):
            seen = many = _Seen.of(stretch, k)
            if many.missing(MANY) and (k, level) in self.many:
                many = many.filled_up(self.many[k, level], MANY)
            self.many[k, level] = many
            for near in sorted(range(LEVELS), key=lambda other: abs(other - level)):
                if seen.missing() and (k, near) in self.alike:
                    seen = seen.filled_up(self.alike[k, near])
                if near == level:
                    self.alike[k, level] = seen
                if not seen.missing():
                    break
            enough.append(seen)
            self.distributed.append(max(many, seen, key=lambda one: float(one.total[L.T_DONE])))
        visit, total, unit, responses = (np.stack(part) for part in zip(*enough, strict=True))
        self.lately = replace(stretch, visit=visit, total=total, unit=unit, responses=responses)
        return self.lately

    def _elapsed(self, ended: np.ndarray, using: np.ndarray, visit: np.ndarray, waited: np.ndarray) -> np.ndarray:
        """Seconds from begin to end of the transactions of each class, (K,), with the work of the whole interval: where
        engines are shared, waits go with the work that waits, elsewhere with the visits."""
        here, inside = visit[..., L.V_USING], visit[..., L.V_RESIDENCE] + visit[..., L.V_BLOCKED]
        longer = using * np.where(here > 0, _over(inside, here), 1.0)
        later = using + _over(inside - here, visit[..., L.V_COUNT]) * ended[:, None] * self.visits
        return np.asarray(np.where(self.shared, longer, later).sum(axis=1) + waited.sum(axis=1))

    def _buckets(self, response_s: np.ndarray, ended: np.ndarray, random: np.random.Generator) -> np.ndarray:
        """Ended transactions by bucket of response time, drawn with the shares of those simulated, whose mean is made
        ``response_s``, (K,)."""
        responses = np.stack([one.responses for one in self.distributed])
        sums, done = (np.array([one.total[column] for one in self.distributed]) for column in (L.T_SUM, L.T_DONE))
        longer = np.where(sums > 0, _over(response_s * done, sums), 1.0)
        edges = np.searchsorted(self.bounds[:-1], self.limits_s / np.maximum(longer, 1e-9)[:, None])
        below = np.cumsum(responses, axis=1)
        out = np.zeros((len(ended), len(BUCKET_LIMITS_PCT) + 1))
        for k in np.flatnonzero((ended > 0) & (below[:, -1] > 0)):
            shares = np.diff([0.0, *below[k, edges[k]], below[k, -1]]) / below[k, -1]
            out[k] = random.multinomial(int(ended[k]), np.maximum(shares, 0) / shares.sum())
        return out

    def _work(
        self, ended: np.ndarray, stretch: Stretch, visit: np.ndarray, random: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Using by class and station, and the part of it that came from a full pool: (K, S) each."""
        mean = ended[:, None] * self.using_s
        mean[self.sampled] = visit[self.sampled][..., L.V_USING]
        # Of few transactions, too, work is above nothing and as much as described on average.
        variance = ended[:, None] * self.variance_s2
        drawn = (mean > 0) & (variance > 0)
        using = mean.copy()
        using[drawn] = random.gamma(mean[drawn] ** 2 / variance[drawn], variance[drawn] / mean[drawn])
        overflow = np.zeros_like(using)
        for s, to in self.overflow.items():
            over = stretch.station[s, L.X_OVERFLOWED]
            share = over / max(over + stretch.visit[:, s, L.V_COUNT].sum(), 1.0)
            speeds = self.network.stations[s].speeds[0] / self.network.stations[to].speeds[0]
            overflow[:, to] += share * using[:, s] * speeds
            using[:, s] *= 1 - share
        return using + overflow, overflow

    def _engines(
        self, using: np.ndarray, spin: np.ndarray, stretch: Stretch
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Spinning (K, S), engine time over using (S,), engine time in all (S,), threads by busy core (S,)."""
        cost, density = np.ones(len(self.network.stations)), np.ones(len(self.network.stations))
        for s, station in enumerate(self.network.stations):
            ended = stretch.visit[:, s, L.V_USING].sum() + stretch.visit[:, s, L.V_SPIN].sum()
            worked = ended + stretch.under_way_s[s]
            busy, active = stretch.station[s, L.X_BUSY_AREA], stretch.station[s, L.X_ACTIVE_AREA]
            dearer = station.cost_by_busy or station.smt or (station.lpar and station.lpar.low_cost != 1)
            if dearer and busy > 0 and worked > 0:
                cost[s] = busy / worked
            if station.smt and busy > 0:
                density[s] = np.clip(active / busy, 1.0, 2.0)
        busy_s = np.minimum((using + spin).sum(axis=0) * cost, self.servers * self.seconds)
        return spin, cost, busy_s, density

    def _asynchronous(self, stretch: Stretch) -> np.ndarray:
        decided = stretch.station[:, L.X_SYNC] + stretch.station[:, L.X_ASYNC]
        return np.where(decided > 0, _over(stretch.station[:, L.X_ASYNC], decided), self.issued)


def _asynchronous_issue(route: Sequence[object]) -> bool:
    """Whether how much a class uses depends on how its coupling-facility requests fare."""
    return any(isinstance(step, CfRequest) and step.mode == "heuristic" for step in route)


def _issue_modes(network: Network) -> np.ndarray:
    """1 for facilities all of whose requests are issued asynchronously, else 0: (S,)."""
    steps = [step for c in network.classes for step in c.route if isinstance(step, CfRequest)]
    modes = {name: {step.mode for step in steps if step.station == name} for name in network.station_names}
    return np.array([float(modes[name] == {"async"}) for name in network.station_names])


def _over(top: np.ndarray, bottom: np.ndarray) -> np.ndarray:
    """top / bottom, 0 where there is nothing below."""
    return np.divide(top, bottom, out=np.zeros(np.broadcast(top, bottom).shape), where=np.asarray(bottom) > 0)
