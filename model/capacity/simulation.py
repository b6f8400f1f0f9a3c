"""A calibrated system at a load in the simulator: the form of a prediction, with the simulation's own interval."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from model.capacity.answer import Answer, Bottleneck, Output, Station, as_plain
from model.capacity.basis import distance, evidence, extrapolated, unanswered
from model.capacity.closed import population
from model.capacity.figures import CPS, SHARE, ZIIPS, condition_of, figure_draws
from model.capacity.network import CP, ZIIP, Described, described
from model.capacity.questions import system_entry
from model.network.bottlenecks import Limit
from model.network.simulator.result import SimulationResult
from model.network.simulator.simulate import simulate
from model.network.simulator.statistics import Estimate

LEVEL = 0.95


def simulated(
    bundle: Mapping[str, Any],
    system: str,
    at: Mapping[str, Any] | None = None,
    *,
    seed: int = 1,
    horizon: int = 400_000,
    precision: float | None = None,
    replications: int = 8,
    progress: Callable[[int], None] | None = None,
) -> Answer:
    """What the simulator says a system does at a load; keys and errors as of a prediction.

    The limits of each figure are the 95 % interval of the simulation alone: it plays the centre of the posterior.

    Args:
        bundle: a calibrated model.
        system: id of a calibrated system.
        at: the question.
        seed: of the random numbers; the same seed gives the same answer.
        horizon: transactions in all, at least.
        precision: go on until half-widths are within this share of the mean responses.
        replications: independent ones.
        progress: called with the transactions measured so far.

    Raises:
        QuestionError: as :func:`model.capacity.ask.predict`; or a load without steady state.
    """
    found = described(bundle, system, at)
    result = simulate(
        found.network, seed=seed, horizon=horizon, precision=precision, replications=replications, progress=progress
    )
    ready, state = found.ready, found.state
    bounds = [output for output in (_output(found, result, spec) for spec in ready.entry["outputs"]) if output]
    worst = max((e.half_width / e.value for e in _responses(found, result).values() if e.value > 0), default=0.0)
    return Answer(
        system=system,
        at=found.load.at,
        model_version=bundle["model_version"],
        outputs=tuple(bounds),
        bottleneck=_bottleneck(found, result),
        extrapolated=extrapolated(ready, state),
        notes=(*found.load.notes, *unanswered(ready, state, population(state, ready)), *result.remarks),
        evidence=as_plain(evidence(bundle, system_entry(bundle, system))),
        distance=distance(ready, state),
        solver={"method": f"simulation of {result.transactions:,} transactions", "relative_error": float(worst)},
        interval_pct=round(100 * LEVEL),
    )


def _responses(found: Described, result: SimulationResult) -> dict[str, Estimate]:
    return {stream: result.classes[stream].response_s for stream in found.response}


def _output(found: Described, result: SimulationResult, spec: Mapping[str, Any]) -> Output | None:
    if spec["metric"] in found.load.asked and "class" not in spec:
        return None
    estimate = _figure(found, result, spec)
    if estimate is None or not math.isfinite(estimate.value):
        return None
    width = estimate.half_width if math.isfinite(estimate.half_width) else 0.0
    condition = condition_of(found.ready, found.load, spec)
    value = float(estimate.value)
    return Output(spec["metric"], condition, value, value - float(width), value + float(width), spec["unit"])


def _figure(found: Described, result: SimulationResult, spec: Mapping[str, Any]) -> Estimate | None:
    """One metric of the simulation; None where it does not apply or the simulation does not give it."""
    form = spec["form"]
    busy = result.stations[CP].utilization
    rate = Estimate.total(
        [result.classes[stream].throughput_per_s for stream in found.ready.streams if stream in result.classes]
    )
    if form == "total_rate":
        return rate
    if form == "busy_pct":
        return busy.scaled(100.0)
    if form == "internal_rate":
        return rate.over(busy)
    if form == "us_per_tran" and not spec.get("series") and not spec.get("stream"):
        return busy.over(rate).scaled(1e6 * found.network.station(CP).servers)
    each = found.load.scenario.msu_per_engine or found.ready.msu_per_engine
    if form == "msu" and each is not None:
        return busy.scaled(each * found.network.station(CP).servers)
    if form == "machine_busy_pct":
        return _machine_busy(found, result)
    if form in ("ziip_busy_pct", "ziip_us_per_tran"):
        pool = result.stations.get(ZIIP)
        if pool is None or form == "ziip_busy_pct":
            return None if pool is None else pool.utilization.scaled(100.0)
        threads = 1.0 if pool.thread_density is None else pool.thread_density.value
        return pool.utilization.over(rate).scaled(1e6 * found.network.station(ZIIP).servers * threads)
    if form == "limit_pct":
        return result.resources[spec["station"]].utilization.scaled(100.0)
    stream = str(spec.get("stream", ""))
    if form in ("response_ms", "p90_ms", "rate", "users") and stream not in result.classes:
        return None
    if form == "rate":
        return result.classes[stream].throughput_per_s
    if form == "users":
        users = next(one.users for one in found.network.classes if one.name == stream)
        return Estimate(float(users), 0.0) if users else None
    if form in ("response_ms", "p90_ms"):
        return _response(found, result, spec)
    # Cost and engines of a part of the work are inputs of the simulation: it does not estimate them.
    draws = figure_draws(found.ready, found.state, spec)
    return None if draws is None else Estimate(float(draws[0]), 0.0)


def _response(found: Described, result: SimulationResult, spec: Mapping[str, Any]) -> Estimate | None:
    """Mean or 90th percentile of a class; of another response of the class, with what it has less of time elsewhere."""
    stream, metric = spec["stream"], spec["response"]
    played = found.response.get(stream)
    if played is None:
        return None
    result_of = result.classes[stream]
    seconds = result_of.response_s if spec["form"] == "response_ms" else result_of.percentiles_s[90.0]
    estimate = seconds.scaled(1e3)
    if played == metric:
        return estimate
    table = found.state.response_ms
    return Estimate(
        estimate.value + float(table[metric, stream][0, 0] - table[played, stream][0, 0]), estimate.half_width
    )


def _machine_busy(found: Described, result: SimulationResult) -> Estimate | None:
    if result.machines:
        return next(iter(result.machines.values())).scaled(100.0)
    asked = found.load.scenario
    machine = found.ready.partition.cpc(asked)
    if machine is None:
        return None
    physical = machine.engines
    others = float(np.asarray(asked.others, float).reshape(-1)[0]) + machine.management
    busy = result.stations[CP].utilization
    engines = found.network.station(CP).servers
    return Estimate(100.0 * (busy.value * engines + others) / physical, 100.0 * busy.half_width * engines / physical)


def _bottleneck(found: Described, result: SimulationResult) -> Bottleneck:
    """What is fullest and everything else that can fill; the simulated network is certain of its own."""
    shares = {limit.name: limit for limit in result.limits}
    stations = [_station(found, result, limit) for limit in shares.values() if _named(found, limit)]
    stations.sort(key=lambda one: -(one.utilization_pct or 0.0))
    first = stations[0]
    ranked = tuple(Station(one.resource, one.utilization_pct, one.lo, one.hi, float(one is first)) for one in stations)
    after = ranked[1] if len(ranked) > 1 else None
    return Bottleneck(first.resource, first.utilization_pct, first.lo, first.hi, 1.0, after, ranked)


def _named(found: Described, limit: Limit) -> str:
    """What a prediction calls the limit; empty for what it does not name."""
    if limit.name == CP:
        busy = found.state.busy[0, 0] / found.load.scenario.engines
        return SHARE if limit.utilisation > 1.02 * busy else CPS
    if limit.name == ZIIP:
        return ZIIPS
    if limit.kind == "machine":
        return f"machine {limit.name}"
    return next((one.resource for one in found.ready.limits if one.name == limit.name), "")


def _station(found: Described, result: SimulationResult, limit: Limit) -> Station:
    by_name = dict(result.machines)
    by_name |= {name: resource.utilization for name, resource in result.resources.items()}
    by_name |= {name: station.utilization for name, station in result.stations.items()}
    seen = by_name[limit.name]
    scale = limit.utilisation / seen.value if seen.value else 0.0
    value, width = 100.0 * limit.utilisation, 100.0 * scale * seen.half_width
    return Station(_named(found, limit), value, value - width, value + width)
