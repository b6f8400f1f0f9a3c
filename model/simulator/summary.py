"""Accumulators of all replications turned into estimates."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from model.simulator import layout as L
from model.simulator.program import Program
from model.simulator.result import ClassResult, Part, ResourceResult, StationResult
from model.simulator.state import views
from model.simulator.statistics import Estimate, mean, percentile, ratio

PERCENTILES = (50.0, 90.0, 95.0, 99.0)


@dataclass(frozen=True, slots=True)
class Groups:
    """Accumulators by independent group: ``seconds`` has shape (groups,), the arrays (groups, …); ``histograms``
    has shape (replications, classes, buckets)."""

    program: Program
    level: float
    seconds: np.ndarray
    visit: np.ndarray
    total: np.ndarray
    unit: np.ndarray
    station: np.ndarray
    histograms: np.ndarray

    @classmethod
    def of(cls, program: Program, level: float, seconds: np.ndarray, flat: np.ndarray, hist: np.ndarray) -> Groups:
        """Groups from flat accumulator rows, shape (groups, n)."""
        shaped = views(program, flat)
        return cls(program, level, seconds, shaped["acc_v"], shaped["acc_t"], shaped["acc_q"], shaped["acc_x"], hist)

    def per_s(self, amount: np.ndarray) -> Estimate:
        """Rate per second of an amount by group."""
        return ratio(amount, self.seconds, self.level)

    def over(self, top: np.ndarray, bottom: np.ndarray) -> Estimate:
        """Ratio of two amounts by group."""
        return ratio(top, bottom, self.level)


def response(groups: Groups, k: int) -> Estimate:
    """Mean response of class ``k``."""
    return groups.over(groups.total[:, k, L.T_SUM], groups.total[:, k, L.T_DONE])


def classes(groups: Groups) -> dict[str, ClassResult]:
    """Results of every class that started or ended a transaction, or could have."""
    return {name: _class(groups, k) for k, name in enumerate(groups.program.network.class_names)}


def _class(groups: Groups, k: int) -> ClassResult:
    total = groups.total[:, k]
    done = total[:, L.T_DONE]
    n = done.sum()
    average = total[:, L.T_SUM].sum() / n if n else math.nan
    variance = total[:, L.T_SQUARES].sum() / n - average**2 if n else math.nan
    percentiles = {}
    merged = groups.histograms[:, k].sum(axis=0)
    for p in PERCENTILES:
        each = np.array([percentile(h, p) for h in groups.histograms[:, k] if h.sum() > 0])
        spread = mean(each, groups.level).half_width if len(each) > 1 else math.nan
        percentiles[p] = Estimate(percentile(merged, p), spread)
    return ClassResult(
        throughput_per_s=groups.per_s(done),
        response_s=response(groups, k),
        response_sd_s=math.sqrt(max(0.0, variance)) if n else math.nan,
        percentiles_s=percentiles,
        inside=groups.per_s(total[:, L.T_SUM]),
        lost_per_s=groups.per_s(total[:, L.T_LOST]),
        parts=_parts(groups, k, n),
    )


def _parts(groups: Groups, k: int, n: float) -> dict[str, Part]:
    parts: dict[str, Part] = {}
    if n == 0:
        return parts
    for s, name in enumerate(groups.program.network.station_names):
        row = groups.visit[:, k, s].sum(axis=0)
        if row[L.V_COUNT]:
            using = row[L.V_USING] / n
            parts[name] = Part(using, _waiting(row[L.V_RESIDENCE], row[L.V_USING]) / n)
    for r, name in enumerate(groups.program.resources):
        row = groups.unit[:, k, r].sum(axis=0)
        if row[L.Q_ACQUIRED]:
            parts[name] = Part(0.0, row[L.Q_WAIT] / n)
    return parts


def _waiting(residence: float, using: float) -> float:
    """Residence less use; the rounding of a visit that never waited is zero."""
    return float(residence - using) if residence - using > 1e-9 * residence else 0.0


def stations(groups: Groups) -> dict[str, StationResult]:
    """Results of every station."""
    return {name: _station(groups, s) for s, name in enumerate(groups.program.network.station_names)}


def _station(groups: Groups, s: int) -> StationResult:
    station = groups.program.network.stations[s]
    names = groups.program.network.class_names
    visit, own = groups.visit[:, :, s], groups.station[:, s]
    engine = visit[..., L.V_USING] + visit[..., L.V_SPIN]
    kind = groups.program.arrays["st_i"][s, L.S_KIND]
    busy = own[:, L.X_BUSY_AREA] if kind == L.SHARING else engine.sum(axis=1)
    servers = 1.0 if station.scheduling == "delay" else float(station.servers)
    utilization = groups.per_s(busy / servers)
    worked = engine.sum()
    scale = utilization.value / worked if worked else 0.0
    residence, count = visit[..., L.V_RESIDENCE] + visit[..., L.V_BLOCKED], visit[..., L.V_COUNT]
    n = count.sum()
    decided = own[:, L.X_SYNC].sum() + own[:, L.X_ASYNC].sum()
    return StationResult(
        visits_per_s=groups.per_s(count.sum(axis=1)),
        utilization=utilization,
        utilization_by_class={name: float(engine[:, k].sum() * scale) for k, name in enumerate(names)},
        spin_utilization=float(visit[..., L.V_SPIN].sum() * scale),
        residence_s=groups.over(residence.sum(axis=1), count.sum(axis=1)),
        residence_s_by_class={name: groups.over(residence[:, k], count[:, k]) for k, name in enumerate(names)},
        waiting_s=_waiting(residence.sum(), visit[..., L.V_USING].sum()) / n if n else math.nan,
        queue_length=groups.per_s(residence.sum(axis=1)),
        queue_length_by_class={name: groups.per_s(residence[:, k]) for k, name in enumerate(names)},
        throughput_by_class_per_s={name: groups.per_s(count[:, k]) for k, name in enumerate(names)},
        waited_share=float(visit[..., L.V_WAITED].sum() / n) if n else math.nan,
        thread_density=groups.over(own[:, L.X_ACTIVE_AREA], own[:, L.X_BUSY_AREA]) if station.smt else None,
        overflow_per_s=groups.per_s(own[:, L.X_OVERFLOWED]).value,
        async_share=float(own[:, L.X_ASYNC].sum() / decided) if decided else None,
    )


def resources(groups: Groups) -> dict[str, ResourceResult]:
    """Results of every passive resource, the places of blocking stations included."""
    return {name: _resource(groups, r) for r, name in enumerate(groups.program.resources)}


def _resource(groups: Groups, r: int) -> ResourceResult:
    row = groups.unit[:, :, r].sum(axis=1)
    ints = groups.program.arrays["res_i"][r]
    units = float(ints[L.R_CAPACITY]) * float(ints[L.R_INSTANCES])
    waited = row[:, L.Q_WAITED]
    return ResourceResult(
        acquired_per_s=groups.per_s(row[:, L.Q_ACQUIRED]),
        in_use=groups.per_s(row[:, L.Q_AREA]),
        utilization=groups.per_s(row[:, L.Q_AREA] / units),
        limit_reached_per_s=groups.per_s(waited),
        waited_share=groups.over(waited, row[:, L.Q_ACQUIRED]),
        wait_s=groups.over(row[:, L.Q_WAIT], row[:, L.Q_ACQUIRED]),
        wait_when_waited_s=float(row[:, L.Q_WAIT].sum() / waited.sum()) if waited.sum() else 0.0,
        waiting=groups.per_s(row[:, L.Q_WAIT]),
        refused_per_s=groups.per_s(row[:, L.Q_REFUSED]).value,
    )


def machines(groups: Groups) -> dict[str, Estimate]:
    """Share of each machine's physical engines that its LPARs use."""
    network = groups.program.network
    out = {}
    for cec in network.cecs:
        members = [s for s, st in enumerate(network.stations) if st.lpar is not None and st.lpar.cec == cec.name]
        out[cec.name] = groups.per_s(groups.station[:, members, L.X_BUSY_AREA].sum(axis=1) / cec.engines)
    return out


def limits(
    groups: Groups, by_station: dict[str, StationResult], by_resource: dict[str, ResourceResult],
    by_machine: dict[str, Estimate],
) -> tuple[tuple[str, float], ...]:  # fmt: skip
    """Everything that can run out, busiest first."""
    out = [
        (station.name, by_station[station.name].utilization.value)
        for station in groups.program.network.stations
        if station.scheduling != "delay"
    ]
    out += [(name, result.utilization.value) for name, result in by_resource.items()]
    out += [(name, estimate.value) for name, estimate in by_machine.items()]
    return tuple(sorted(out, key=lambda item: -item[1]))
