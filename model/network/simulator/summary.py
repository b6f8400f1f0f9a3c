"""Accumulators of all replications turned into estimates."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from model.network.arrays import as_arrays
from model.network.limits import Limit, share_with_overflow, unwaited_holding
from model.network.limits import limits as ranked
from model.network.simulator import layout as L
from model.network.simulator import station_table as ST
from model.network.simulator.program import Program
from model.network.simulator.replication import views
from model.network.simulator.result import ClassResult, Part, Polarity, ResourceResult, StationResult
from model.network.simulator.statistics import Estimate, bucket_edges, mean, percentile, ratio

PERCENTILES = (50.0, 90.0, 95.0, 99.0)
ENOUGH = 100
"""Transactions from which the parts of a percentile are found."""


@dataclass(frozen=True, slots=True)
class Groups:
    """Accumulators by independent group: ``seconds`` has shape (groups,), the arrays (groups, …).

    ``histograms`` (replications, classes, buckets) and ``visit_histograms`` (replications, stations, buckets) count
    responses, ``parts`` (classes, bands, parts) sums what they were made of.
    """

    program: Program
    level: float
    seconds: np.ndarray
    visit: np.ndarray
    total: np.ndarray
    unit: np.ndarray
    station: np.ndarray
    histograms: np.ndarray
    visit_histograms: np.ndarray
    parts: np.ndarray

    @classmethod
    def of(
        cls, program: Program, level: float, seconds: np.ndarray, flat: np.ndarray, hist: np.ndarray,
        visits: np.ndarray, parts: np.ndarray,
    ) -> Groups:  # fmt: skip
        """Groups from flat accumulator rows, shape (groups, n)."""
        a = views(program, flat)
        return cls(program, level, seconds, a["acc_v"], a["acc_t"], a["acc_q"], a["acc_x"], hist, visits, parts)

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
    percentiles = _percentiles(groups.histograms[:, k], groups.level)
    return ClassResult(
        throughput_per_s=groups.per_s(done),
        response_s=response(groups, k),
        response_sd_s=math.sqrt(max(0.0, variance)) if n else math.nan,
        percentiles_s=percentiles,
        inside=groups.per_s(total[:, L.T_SUM]),
        lost_per_s=groups.per_s(total[:, L.T_LOST]),
        parts=_parts(groups, k, n),
        percentile_parts=_slow_parts(groups, k, percentiles),
    )


def _percentiles(histograms: np.ndarray, level: float) -> dict[float, Estimate]:
    """Percentiles of histograms (replications, buckets), their intervals from the replications."""
    merged = histograms.sum(axis=0)
    out = {}
    for p in PERCENTILES:
        each = np.array([percentile(h, p) for h in histograms if h.sum() > 0])
        spread = mean(each, level).half_width if len(each) > 1 else math.nan
        out[p] = Estimate(percentile(merged, p), spread)
    return out


def _slow_parts(groups: Groups, k: int, percentiles: dict[float, Estimate]) -> dict[float, dict[str, Part]]:
    """What the responses near each percentile are made of: the mean of those in its band, or of a few around it."""
    if groups.parts.shape[2] == 0:
        return {}
    counts = groups.histograms[:, k].sum(axis=0).reshape(L.BANDS, -1).sum(axis=1)
    edges = bucket_edges()[:: 1 << L.BAND_BITS]
    stations, resources = groups.program.network.station_names, groups.program.resources
    out: dict[float, dict[str, Part]] = {}
    for p, estimate in percentiles.items():
        if math.isnan(estimate.value):
            continue
        at = min(int(np.searchsorted(edges, estimate.value, side="right")) - 1, L.BANDS - 1)
        low, high = at, at + 1
        while counts[low:high].sum() < ENOUGH and (low > 0 or high < L.BANDS):
            low, high = max(low - 1, 0), min(high + 1, L.BANDS)
            if counts[:low].sum() + counts[high:].sum() == 0:
                break
        n = counts[low:high].sum()
        mean_parts = groups.parts[k, low:high].sum(axis=0) / n if n else np.zeros(groups.parts.shape[2])
        named = {
            name: Part(float(mean_parts[2 * s]), _waiting(mean_parts[2 * s : 2 * s + 2].sum(), mean_parts[2 * s]))
            for s, name in enumerate(stations)
        }
        waits = mean_parts[2 * len(stations) :]
        named |= {name: Part(0.0, float(waits[r])) for r, name in enumerate(resources)}
        out[p] = {name: part for name, part in named.items() if part.using_s > 0 or part.waiting_s > 0}
    return out


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
    visit, totals = groups.visit[:, :, s], groups.station[:, s]
    engine = visit[..., L.V_USING] + visit[..., L.V_SPIN]
    kind = groups.program.arrays["st_i"][s, ST.S_KIND]
    busy = totals[:, L.X_BUSY_AREA] if kind == L.SHARING else engine.sum(axis=1)
    servers = float(station.servers) if station.discipline.queues else 1.0
    utilization = groups.per_s(busy / servers)
    worked = engine.sum()
    scale = utilization.value / worked if worked else 0.0
    residence, count = visit[..., L.V_RESIDENCE] + visit[..., L.V_BLOCKED], visit[..., L.V_COUNT]
    n = count.sum()
    decided = totals[:, L.X_SYNC].sum() + totals[:, L.X_ASYNC].sum()
    return StationResult(
        visits_per_s=groups.per_s(count.sum(axis=1)),
        utilization=utilization,
        utilization_by_class={name: float(engine[:, k].sum() * scale) for k, name in enumerate(names)},
        spin_utilization=float(visit[..., L.V_SPIN].sum() * scale),
        residence_s=groups.over(residence.sum(axis=1), count.sum(axis=1)),
        residence_s_by_class={name: groups.over(residence[:, k], count[:, k]) for k, name in enumerate(names)},
        residence_percentiles_s=_percentiles(groups.visit_histograms[:, s], groups.level)
        if groups.visit_histograms.shape[1]
        else {},
        waiting_s=_waiting(residence.sum(), visit[..., L.V_USING].sum()) / n if n else math.nan,
        queue_length=groups.per_s(residence.sum(axis=1)),
        queue_length_by_class={name: groups.per_s(residence[:, k]) for k, name in enumerate(names)},
        throughput_by_class_per_s={name: groups.per_s(count[:, k]) for k, name in enumerate(names)},
        waited_share=float(visit[..., L.V_WAITED].sum() / n) if n else math.nan,
        thread_density=groups.over(totals[:, L.X_ACTIVE_AREA], totals[:, L.X_BUSY_AREA]) if station.smt else None,
        overflow_per_s=groups.per_s(totals[:, L.X_OVERFLOWED]).value,
        rejected_per_s=groups.per_s(totals[:, L.X_REJECTED]).value,
        async_share=float(totals[:, L.X_ASYNC].sum() / decided) if decided else None,
        polarity=_polarity(groups, s) if station.lpar is not None and station.lpar.polarity == "vertical" else None,
    )


def _polarity(groups: Groups, s: int) -> Polarity:
    servers = groups.program.network.stations[s].servers
    entitled = min(float(groups.program.arrays["st_f"][s, ST.SF_ENTITLED]), float(servers))
    high = math.floor(entitled + 1e-9)
    medium = int(entitled - high > 1e-9)
    low = servers - high - medium
    used = float(groups.station[:, s, L.X_LOW_AREA].sum() / groups.seconds.sum())
    return Polarity(entitled, high, medium, low, used, max(low - used, 0.0))


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
        limit_reached_per_s=groups.per_s(waited + row[:, L.Q_REFUSED]),
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


def throughput(groups: Groups) -> np.ndarray:
    """(classes,) transactions a second that ended."""
    return np.asarray(groups.total[:, :, L.T_DONE].sum(axis=0) / groups.seconds.sum())


def limits(
    groups: Groups, by_station: dict[str, StationResult], by_resource: dict[str, ResourceResult],
    by_machine: dict[str, Estimate], overloaded: Mapping[str, float],
) -> tuple[Limit, ...]:  # fmt: skip
    """Everything that can run out, in the order in which it binds.

    All that is ``overloaded`` is used by as much as is asked of it, as in an exact solution, and no more than it can
    do comes to what stands behind it.
    """
    network, net, seconds = groups.program.network, as_arrays(groups.program.network), groups.seconds.sum()
    using = groups.visit[..., L.V_USING].sum(axis=(0, 1)) / seconds
    queueing = [k for k, s in enumerate(network.stations) if s.discipline.queues]
    names = [(network.stations[k].name, network.stations[k].component or "station") for k in queueing]
    of_all = np.zeros(len(network.stations))
    of_all[queueing] = [_share_of_limit(groups, k, by_station[network.stations[k].name]) for k in queueing]
    shares = list(of_all[queueing])
    needed = [share_with_overflow(net, of_all, k) for k in queueing]
    done = throughput(groups)
    units = unwaited_holding(net, done, using)
    for rho, resource in enumerate(network.resources):
        names.append((resource.name, resource.kind or "resource"))
        needed.append(float(units[rho]) / (resource.capacity * resource.instances))
    places = {f"{s.name} places": float(using[k]) / s.capacity for k, s in enumerate(network.stations) if s.capacity}
    for name in groups.program.resources[len(network.resources) :]:
        names.append((name, "places"))
        needed.append(places[name])
    shares += [result.utilization.value for result in by_resource.values()]
    names += [(name, "machine") for name in by_machine]
    shares += [estimate.value for estimate in by_machine.values()]
    needed += [estimate.value for estimate in by_machine.values()]
    ordered = ranked(names, shares, needed, float(done.sum()))
    arriving = float(net.rates.clip(0).sum())
    full = [
        one._replace(utilisation=overloaded[one.name], rate_per_s=arriving / overloaded[one.name])
        for one in ordered
        if one.name in overloaded
    ]
    return (*sorted(full, key=lambda one: one.rate_per_s), *(one for one in ordered if one.name not in overloaded))


def _share_of_limit(groups: Groups, s: int, result: StationResult) -> float:
    """Work done at a station over the most it can do: less than its engines could where its LPAR is capped, more than
    its busy cores show where a second thread is free."""
    station = groups.program.network.stations[s]
    if station.lpar is not None:
        cap = float(groups.program.arrays["st_f"][s, ST.SF_CAP])
        return result.utilization.value * station.servers / min(station.servers, cap)
    if groups.program.arrays["st_i"][s, ST.S_KIND] != L.SHARING:
        return result.utilization.value
    work = groups.visit[:, :, s, [L.V_USING, L.V_SPIN]].sum() / groups.seconds.sum()
    return float(work) / float(as_arrays(groups.program.network).curves[s][0][-1])
