"""The transactions of one recorded interval of a twin, each as a CICS task (SMF 110.1) would show it."""

import math
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa

from ingest.formats.cics.encode import Region, encode_dictionary, encode_performance
from model.lab.records.cics import dictionary_of
from model.lab.records.clock import Clock, tod
from model.lab.twin.activity import Lived
from model.lab.twin.asking import asked
from model.lab.twin.description import Question
from model.lab.twin.measured import Measured
from model.network import Arrivals, Distribution, Network, Visit, demands
from model.network.simulator import replay

FIELDS = ("TRAN", "TTYPE", "START", "STOP", "USRCPUT", "TRANNUM", "RTYPE", "SRVCLSNM")
MOST = 400_000
"""Tasks that are written at most; of an interval with more, its first part."""
WARM_UP = 0.1
"""Part of the stretch that is simulated before it, so that queues are as long as they usually are."""
TOD_PER_S = 4_096_000_000


def cics_tasks(lived: Lived, seen: Sequence[Measured], number: int, random: np.random.Generator) -> bytes:
    """Dictionary and tasks of an LPAR's classes with arrivals, in the interval that the twin's `transactions` names.

    They are simulated on the true network at the load of that interval. CPU is what is captured of their work on CPs.
    """
    twin, m = lived.twin, seen[number]
    begun, network = _interval(lived, seen, m)
    streams = {k: c.arrivals for k, c in enumerate(network.classes) if c.arrivals and c.name in m.lpar.home_classes}
    traced = {k: stream for k, stream in streams.items() if network.class_names[k] in twin.classes}
    length_s = min(float(twin.interval_s), MOST / max(sum(one.rate_per_s for one in traced.values()), 1e-9))
    before_s = WARM_UP * length_s
    arrival, index = _arrivals(network, traced, before_s + length_s, random)
    work = _work(network, m.lpar.cp, index, random)
    others = [c.name for k, c in enumerate(network.classes) if c.arrivals and not (index == k).any()]
    left = np.full(0, np.nan)
    if len(arrival):
        seed = int(random.integers(1 << 31))
        _, left = replay(network, arrival, index, {m.lpar.cp: work}, random_classes=others, seed=seed)
    kept = (arrival >= before_s) & np.isfinite(left)
    tasks = _tasks(
        begun,
        [network.class_names[k] for k in index[kept]],
        {name: load.service_class for name, load in twin.classes.items()},
        arrival[kept] - before_s,
        left[kept] - before_s,
        work[kept] / (1.0 + twin.per_captured),
    )
    clock, applid = Clock(twin.utc_offset_hours), f"CICS{m.lpar.smf_sid}"
    region, entries = Region(m.lpar.smf_sid, applid, applid, utc_offset_tod=clock.offset_tod), dictionary_of(FIELDS)
    parts = encode_dictionary(region, entries, clock.local(begun))
    ended = clock.local(begun + timedelta(seconds=twin.interval_s))
    return b"".join([*parts, *encode_performance(region, entries, tasks, ended, compressed=True)])


def _interval(lived: Lived, seen: Sequence[Measured], m: Measured) -> tuple[datetime, Network]:
    """Start of the interval of which transactions are written (UTC), and the true network at its load."""
    twin = lived.twin
    wanted = asked(lived, seen, Question("transactions", m.lpar.smf_sid, {"when": twin.transactions}))
    begun = {twin.local(one).isoformat(timespec="minutes"): one for one in m.starts}
    return begun[wanted.when], wanted.network


def _arrivals(
    network: Network, streams: Mapping[int, Arrivals], length_s: float, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Times (n,) in s and class indices (n,) of what arrives, in order; gaps, bursts and batches vary as described."""
    times, classes = [np.zeros(0)], [np.zeros(0, np.uint16)]
    for k, stream in streams.items():
        gap, batch = stream.interarrival, stream.batch
        many = math.ceil(1.2 * length_s / gap.mean + 10 * max(gap.scv, 1.0) * math.sqrt(length_s / gap.mean) + 10)
        at = np.cumsum(_drawn(gap.mean, gap.scv, many, random))
        if stream.on is not None and stream.off is not None:
            # Gaps run through periods that are on; each that is over is followed by one that is off.
            periods = math.ceil(2.0 * length_s / (stream.on.mean + stream.off.mean)) + 20
            on, off = (_drawn(one.mean, one.scv, periods, random) for one in (stream.on, stream.off))
            at = at + np.append(0.0, np.cumsum(off))[np.searchsorted(np.cumsum(on), at)]
        at = np.repeat(at, np.rint(_drawn(batch.mean, batch.scv, many, random)).astype(int))
        times.append(at[at < length_s])
        classes.append(np.full(len(times[-1]), k, np.uint16))
    arrival, index = np.concatenate(times), np.concatenate(classes)
    order = np.argsort(arrival, kind="stable")
    return arrival[order], index[order]


def _work(network: Network, cp: str, index: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Work on CPs in s of transactions of these classes, (n,), which varies as that of their visits does."""
    mean, work = demands(network).demand_s[:, network.station_names.index(cp)], np.zeros(len(index))
    for k in np.unique(index):
        own, steps = index == k, network.classes[k].route
        variance = mean[k] ** 2
        if all(isinstance(step, Visit) for step in steps):
            variance = sum(_variance(step) for step in steps if isinstance(step, Visit) and step.station == cp)
        work[own] = _drawn(mean[k], variance / max(mean[k], 1e-300) ** 2, int(own.sum()), random)
    return work


def _variance(visit: Visit) -> float:
    """Variance of the work of all runs of a visit: a whole number of them, and one more by chance."""
    service, by_chance = visit.service, visit.count % 1.0
    return visit.count * (service.second_moment - service.mean**2) + by_chance * (1.0 - by_chance) * service.mean**2


def _drawn(mean: float, scv: float, count: int, random: np.random.Generator) -> np.ndarray:
    """Draws of a mean and squared coefficient of variation: gamma, or mixed exponential where it is above 1."""
    if scv < 1e-9 or mean <= 0:
        return np.full(count, float(mean))
    if scv <= 1.0 + 1e-9:
        return np.asarray(random.gamma(1.0 / scv, mean * scv, count))
    mixed = Distribution.with_scv(mean, scv)
    return np.asarray(random.exponential(random.choice(mixed.values, count, p=mixed.weights)))


def _tasks(
    begun: datetime,
    names: Sequence[str],
    service_class: Mapping[str, str],
    arrival_s: np.ndarray,
    left_s: np.ndarray,
    cpu_s: np.ndarray,
) -> pa.Table:
    """The performance rows of tasks, in the order in which they ended."""
    start, stop = (np.uint64(tod(begun)) + np.rint(s * TOD_PER_S).astype(np.uint64) for s in (arrival_s, left_s))
    rows = {
        "tran": [name.upper()[:4] for name in names],
        "ttype": ["TO"] * len(names),
        "start": start,
        "start_raw": start,
        "stop": stop,
        "stop_raw": stop,
        "usrcput": np.rint(cpu_s * TOD_PER_S).astype(np.uint64),
        "usrcput_n": np.ones(len(names), np.uint32),
        "trannum": np.arange(1, len(names) + 1, dtype=np.uint32),
        "rtype": ["T"] * len(names),
        "srvclsnm": [service_class[name] for name in names],
    }
    return pa.table(rows).sort_by("stop")
