"""A calibrated system at a load in the simulator: the form of a prediction, with the interval of the simulation."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np

from model.capacity.answer import Answer, Bottleneck, Output, Station, as_plain
from model.capacity.bundle import system_entry
from model.capacity.evaluation import population
from model.capacity.evidence import distance, evidence, extrapolated, unanswered
from model.capacity.figures import INPUT, Figure, figure_draws, figures_of
from model.capacity.network_export import CP, ZIIP, NetworkExport, export_network
from model.capacity.outputs import CPS, SHARE, ZIIPS, condition_of
from model.network.limits import Limit
from model.network.simulator.result import SimulationResult
from model.network.simulator.simulate import simulate
from model.network.simulator.statistics import Estimate

LEVEL = 0.95


def simulate_system(
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

    Parameters
    ----------
    bundle
        a calibrated model.
    system
        id of a calibrated system.
    at
        the question.
    seed
        of the random numbers; the same seed gives the same answer.
    horizon
        transactions in all, at least.
    precision
        go on until half-widths are within this share of the mean responses.
    replications
        independent ones.
    progress
        called with the transactions measured so far.

    Raises
    ------
    QuestionError
        as :func:`model.capacity.ask.predict`; or a load without steady state.
    """
    export = export_network(bundle, system, at)
    result = simulate(
        export.network, seed=seed, horizon=horizon, precision=precision, replications=replications, progress=progress
    )
    ready, state = export.ready, export.state
    bounds = [output for output in (_output(export, result, spec) for spec in figures_of(ready.parameters)) if output]
    worst = max((e.half_width / e.value for e in _responses(export, result).values() if e.value > 0), default=0.0)
    return Answer(
        system=system,
        at=export.load.at,
        model_version=bundle["model_version"],
        outputs=tuple(bounds),
        bottleneck=_bottleneck(export, result),
        extrapolated=extrapolated(ready, state),
        notes=(*export.load.notes, *unanswered(ready, state, population(state, ready)), *result.remarks),
        evidence=as_plain(evidence(bundle, system_entry(bundle, system))),
        distance=distance(ready, state),
        solver={"method": f"simulation of {result.transactions:,} transactions", "relative_error": float(worst)},
        interval_pct=round(100 * LEVEL),
    )


def _responses(export: NetworkExport, result: SimulationResult) -> dict[str, Estimate]:
    return {class_name: result.classes[class_name].response_s for class_name in export.response}


def _output(export: NetworkExport, result: SimulationResult, spec: Figure) -> Output | None:
    if spec.metric in export.load.keys and not spec.class_name:
        return None
    estimate = _figure(export, result, spec)
    if estimate is None or not math.isfinite(estimate.value):
        return None
    width = estimate.half_width if math.isfinite(estimate.half_width) else 0.0
    condition = condition_of(export.ready, export.load, spec)
    value = float(estimate.value)
    return Output(spec.metric, condition, value, value - float(width), value + float(width), spec.unit)


def _figure(export: NetworkExport, result: SimulationResult, figure: Figure) -> Estimate | None:
    """One figure of the simulation; None where it does not apply or the simulation does not give it."""
    measure = figure.quantity.from_simulation
    estimate = INPUT if measure is None else measure(_Run(export, result), figure)
    if estimate is INPUT:
        draws = figure_draws(export.ready, export.state, figure)
        return None if draws is None else Estimate(float(draws[0]), 0.0)
    return cast(Estimate | None, estimate)


class _Run:
    """What a simulation measured, by the names of the model's figures (:class:`model.capacity.figures.Simulated`)."""

    def __init__(self, export: NetworkExport, result: SimulationResult) -> None:
        self.export, self.result = export, result
        self.cps = float(export.network.station(CP).servers)
        self.cp_busy = result.stations[CP].utilization
        classes = (result.classes[name] for name in export.ready.class_names if name in result.classes)
        self.rate = Estimate.total([one.throughput_per_s for one in classes])
        self.msu_per_engine = export.load.scenario.msu_per_engine or export.ready.msu_per_engine
        pool = result.stations.get(ZIIP)
        self.ziip_busy = None if pool is None else pool.utilization
        density = None if pool is None else pool.thread_density
        threads = 1.0 if density is None else density.value
        self.ziip_threads = 0.0 if pool is None else export.network.station(ZIIP).servers * threads

    @property
    def machine_busy(self) -> Estimate | None:
        """Utilization of the machine in percent; None where the LPAR shares none."""
        if self.result.machines:
            return next(iter(self.result.machines.values())).scaled(100.0)
        scenario = self.export.load.scenario
        machine = self.export.ready.partition.cpc(scenario)
        if machine is None:
            return None
        others = float(np.asarray(scenario.others, float).reshape(-1)[0]) + machine.management
        busy, share = self.cp_busy, 100.0 / machine.engines
        return Estimate(share * (busy.value * self.cps + others), share * busy.half_width * self.cps)

    def class_rate(self, name: str) -> Estimate | None:
        """Transactions/s of a class, or of a workload made of classes; None where none of them is simulated."""
        shares, classes = self.export.ready.parameters.mixes.get(name, {name: 1.0}), self.result.classes
        rates = [classes[one].throughput_per_s.scaled(share) for one, share in shares.items() if one in classes]
        return Estimate.total(rates) if rates else None

    def users(self, name: str) -> Estimate | None:
        """Users of a class; None where its transactions come by themselves."""
        users = next((one.users for one in self.export.network.classes if one.name == name), None)
        return Estimate(float(users), 0.0) if users else None

    def limit(self, name: str) -> Estimate:
        """Utilization of a limit."""
        return self.result.resources[name].utilization

    def response_ms(self, figure: Figure, percentile: float | None = None) -> Estimate | None:
        """Mean response of a class, or a percentile; of another response of the class than was simulated, with what it
        has less of time elsewhere."""
        name, metric = figure.transactions, figure.response
        simulated = self.export.response.get(name)
        if simulated is None or name not in self.result.classes:
            return None
        of_class = self.result.classes[name]
        estimate = (of_class.response_s if percentile is None else of_class.percentiles_s[percentile]).scaled(1e3)
        if simulated == metric:
            return estimate
        table = self.export.state.response_ms
        less = float(table[metric, name][0, 0] - table[simulated, name][0, 0])
        return Estimate(estimate.value + less, estimate.half_width)


def _bottleneck(export: NetworkExport, result: SimulationResult) -> Bottleneck:
    """What is fullest and everything else that can fill; the simulated network has no uncertainty of parameters."""
    shares = {limit.name: limit for limit in result.limits}
    stations = [_station(export, result, limit) for limit in shares.values() if _named(export, limit)]
    stations.sort(key=lambda one: -(one.utilization_pct or 0.0))
    first = stations[0]
    ranked = tuple(Station(one.resource, one.utilization_pct, one.lo, one.hi, float(one is first)) for one in stations)
    after = ranked[1] if len(ranked) > 1 else None
    return Bottleneck(first.resource, first.utilization_pct, first.lo, first.hi, 1.0, after, ranked)


def _named(export: NetworkExport, limit: Limit) -> str:
    """What a prediction calls the limit; empty for what it does not name."""
    if limit.name == CP:
        busy = export.state.busy[0, 0] / export.load.scenario.engines
        return SHARE if limit.utilisation > 1.02 * busy else CPS
    if limit.name == ZIIP:
        return ZIIPS
    if limit.kind == "machine":
        return f"machine {limit.name}"
    return next((one.resource for one in export.ready.limits if one.name == limit.name), "")


def _station(export: NetworkExport, result: SimulationResult, limit: Limit) -> Station:
    by_name = dict(result.machines)
    by_name |= {name: resource.utilization for name, resource in result.resources.items()}
    by_name |= {name: station.utilization for name, station in result.stations.items()}
    seen = by_name[limit.name]
    scale = limit.utilisation / seen.value if seen.value else 0.0
    value, width = 100.0 * limit.utilisation, 100.0 * scale * seen.half_width
    return Station(_named(export, limit), value, value - width, value + width)
