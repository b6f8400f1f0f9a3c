"""Build the intervals of a measured point out of whole numbers, so that their sums give the published figures.

Records count in units: transactions are whole, SMF 30 counts CPU in 1/100 s, RMF counts service units and wait time in
store-clock units. Each total is rounded to its unit once and divided by largest remainder, so that nothing is lost.
"""

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from model.lab.errors import LabError
from model.lab.samples import around_one, below, split
from model.lab.targets import PointTargets
from model.published.plan import Group, LabPlan

SRB_SHARE = 0.105
INTERRUPT_SHARE = 0.004
JITTER_MS = 9
BUSY_CEILING = 0.998
ENGINE_SPREAD = 0.02
REGION_SPREAD = 0.03
GROUP_SPREAD = 0.25
RESPONSE_SPREAD = 0.01


class Cpu(NamedTuple):
    """CPU time of an address space or a class in 1/100 s."""

    tcb: int
    srb: int
    interrupt: int

    @property
    def total(self) -> int:
        """All of it, in 1/100 s."""
        return self.tcb + self.srb + self.interrupt


@dataclass(frozen=True, slots=True)
class IntervalData:
    """What one RMF interval of a point holds.

    `wait_us` has one entry per engine. `ended` and `elapsed_us` are by transaction report class, the latter only where
    a response time is published; `regions` is by group and job name, without groups whose CPU is not published; `other`
    is by service class, the CPU not accounted to a known group.
    """

    start: datetime
    length_ms: int
    wait_us: tuple[int, ...]
    ended: Mapping[str, int]
    elapsed_us: Mapping[str, int]
    regions: Mapping[str, Mapping[str, Cpu]]
    other: Mapping[str, Cpu]

    @property
    def end(self) -> datetime:
        """End of the interval, UTC."""
        return self.start + timedelta(milliseconds=self.length_ms)

    def group_cpu(self, group: Group) -> Cpu | None:
        """CPU of a group; None when it is not published."""
        if group.name not in self.regions:
            return None
        return add(self.regions[group.name].values())

    def class_cpu(self, plan: LabPlan, service_class: str) -> Cpu:
        """CPU of a service class: of its known groups and what else is accounted to it."""
        group_cpus = [self.group_cpu(group) for group in plan.groups if group.service_class == service_class]
        return add([*(cpu for cpu in group_cpus if cpu is not None), self.other.get(service_class, Cpu(0, 0, 0))])


def construct(
    system_id: str, plan: LabPlan, targets: PointTargets, start: datetime, seed: int
) -> tuple[IntervalData, ...]:
    """The intervals of a point, from `start` (UTC) on. The same arguments give the same intervals."""
    count = plan.intervals
    random = np.random.default_rng([seed, zlib.crc32(f"{system_id} {targets.point.id}".encode())])
    offsets_ms = _boundaries(random, count, plan.interval_s)
    lengths_ms = [after - before for before, after in pairwise(offsets_ms)]
    seconds = sum(lengths_ms) / 1000
    rate = around_one(random, count, plan.variation.rate)
    cost = rate * around_one(random, count, plan.variation.cost)
    ended = _ended(random, plan, round(targets.etr * seconds), rate)
    elapsed = {
        name: split(
            round(ms * 1000 * sum(ended[name])), np.array(ended[name]) * around_one(random, count, RESPONSE_SPREAD)
        )
        for name, ms in targets.response_ms.items()
    }
    waits = _waits(random, plan, targets.busy, lengths_ms, cost)
    regions: dict[str, list[dict[str, Cpu]]] = {}
    for group in plan.groups:
        engines = targets.groups[group.name]
        spread = cost * around_one(random, count, plan.variation.cost * GROUP_SPREAD)
        if engines is not None:
            regions[group.name] = _regions(random, group, split(round(engines * seconds * 100), spread))
    other: dict[str, list[Cpu]] = {}
    for name, engines in _other(plan, targets).items():
        spread = cost * around_one(random, count, plan.variation.cost * GROUP_SPREAD)
        other[name] = [_parts(hundredths) for hundredths in split(round(engines * seconds * 100), spread)]
    return tuple(
        IntervalData(
            start=start + timedelta(milliseconds=offsets_ms[i]),
            length_ms=lengths_ms[i],
            wait_us=tuple(waits[i]),
            ended={name: counts[i] for name, counts in ended.items()},
            elapsed_us={name: times[i] for name, times in elapsed.items()},
            regions={name: by_interval[i] for name, by_interval in regions.items()},
            other={name: by_interval[i] for name, by_interval in other.items()},
        )
        for i in range(count)
    )


def add(times: Iterable[Cpu]) -> Cpu:
    """The sum of CPU times."""
    listed = list(times)
    return Cpu(*(sum(time[i] for time in listed) for i in range(3)))


def _boundaries(random: np.random.Generator, count: int, interval_s: int) -> list[int]:
    """Milliseconds from the start to each interval boundary: on time at both ends, a few late in between."""
    late = [0, *(int(ms) for ms in random.integers(0, JITTER_MS + 1, count - 1)), 0]
    return [i * interval_s * 1000 + late[i] for i in range(count + 1)]


def _ended(random: np.random.Generator, plan: LabPlan, total: int, rate: np.ndarray) -> dict[str, list[int]]:
    by_class = split(total, [entry.share for entry in plan.transactions])
    return {
        entry.report_class: split(part, rate * around_one(random, len(rate), plan.variation.rate / 10))
        for entry, part in zip(plan.transactions, by_class, strict=True)
    }


def _waits(
    random: np.random.Generator, plan: LabPlan, busy: float, lengths_ms: list[int], cost: np.ndarray
) -> list[list[int]]:
    """Wait time in us by interval and engine."""
    online = [length * 1000 for length in lengths_ms]
    total_online = plan.engines * sum(online)
    total_busy = round(busy * total_online)
    by_interval = split(total_busy, below(cost, busy, BUSY_CEILING) * np.array(online))
    waits = []
    for available, used in zip(online, by_interval, strict=True):
        idle = plan.engines * available - used
        level = max(idle / (plan.engines * available), 1e-9)
        skew = below(around_one(random, plan.engines, ENGINE_SPREAD), level, 1.0)
        waits.append(split(idle, skew))
        if idle < 0 or max(waits[-1]) > available:
            raise LabError(f"busy time {busy:.4f} does not fit {plan.engines} engines")
    return waits


def _regions(random: np.random.Generator, group: Group, by_interval: list[int]) -> list[dict[str, Cpu]]:
    jobs = [(job, region.weight / region.count) for region in group.regions for job in region.jobnames()]
    weights = np.array([weight for _, weight in jobs]) * around_one(random, len(jobs), REGION_SPREAD)
    return [
        {
            job: _parts(part)
            for (job, _), part in zip(
                jobs, split(hundredths, weights * around_one(random, len(jobs), REGION_SPREAD / 10)), strict=True
            )
        }
        for hundredths in by_interval
    ]


def _other(plan: LabPlan, targets: PointTargets) -> dict[str, float]:
    """Engines by service class of what no known group accounts for."""
    weights = {entry.name: entry.overhead_weight for entry in plan.service_classes if entry.overhead_weight > 0}
    total = sum(weights.values())
    engines = {name: targets.overhead * weight / total for name, weight in weights.items()}
    for name, remainder in targets.remainder.items():
        engines[name] = engines.get(name, 0.0) + remainder
    return engines


def _parts(hundredths: int) -> Cpu:
    srb, interrupt = round(hundredths * SRB_SHARE), round(hundredths * INTERRUPT_SHARE)
    return Cpu(hundredths - srb - interrupt, srb, interrupt)
