"""Output figures: every metric that an answer may report, with its unit and how it is computed.

:data:`QUANTITIES` is the one table of them. Each has a unit, a kind of quantity (as adjustments and the scaling of
rates need it), its value in a state of the model, and its value in a simulation. :func:`figures_of` says which figures
a system has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from model.capacity.engines import active_threads
from model.capacity.evaluation import population
from model.capacity.parameters import RecordedIntervals, SystemParameters, cached
from model.capacity.state import ON_ZIIPS, Scenario, State
from model.capacity.system import System

Array = NDArray[np.float64]

MAYBE_FULL, SURELY_FULL = 0.05, 0.9
"""Chance of having no steady state from which a response has no upper limit, and beyond which it has no value."""
FORMS = {"cpu_busy_pct": "busy_pct", "itr_tps": "internal_rate", "cpu_us_per_tran": "us_per_tran"}
"""Forms of the metrics that report a component, where their name does not tell."""
MSU_PER_SU = 3600e-6
"""MSU for each service unit per second of an engine."""
FOUR_HOURS = np.timedelta64(4, "h")
MOST_WINDOWS = 8
"""Most recorded intervals of an hour of the week whose four hours are averaged, the last ones."""
LOADS_AT_ONCE = 8
"""Loads whose four hours are evaluated at once, so that they stay in the cache of the processor."""


@dataclass(frozen=True)
class Figure:
    """An output figure of a system: a metric, the ``form`` in which it is computed, and what it is of."""

    metric: str
    form: str
    class_name: str = ""
    transactions: str = ""
    series: str = ""
    station: str = ""
    response: str = ""

    @property
    def quantity(self) -> Quantity:
        """How it is computed."""
        return QUANTITIES[self.form]

    @property
    def unit(self) -> str:
        """Unit of its values."""
        return self.quantity.unit


class Simulated(Protocol):
    """What a simulation of a system measured, each as an estimate of the simulator with its half-width.

    None where the simulated network has no such station or class.
    """

    @property
    def rate(self) -> Any:
        """Transactions/s of all classes."""

    @property
    def cp_busy(self) -> Any:
        """Utilization of the CPs."""

    @property
    def cps(self) -> float:
        """CPs of the LPAR."""

    @property
    def msu_per_engine(self) -> float | None:
        """MSU rating of an engine."""

    @property
    def machine_busy(self) -> Any:
        """Busy of the machine in percent."""

    @property
    def ziip_busy(self) -> Any:
        """Utilization of the zIIPs."""

    @property
    def ziip_threads(self) -> float:
        """zIIPs times threads that are active on each."""

    def class_rate(self, name: str) -> Any:
        """Transactions/s of a class."""

    def users(self, name: str) -> Any:
        """Users of a class."""

    def limit(self, name: str) -> Any:
        """Utilization of a limit."""

    def response_ms(self, figure: Figure, percentile: float | None = None) -> Any:
        """Mean response of a class in ms, or a percentile."""


FromState = Callable[[System, State, Figure], Array | None]
FromSimulation = Callable[[Simulated, Figure], Any]


@dataclass(frozen=True)
class Quantity:
    """A form of output figures.

    Attributes
    ----------
    unit : str
        as answers name it.
    kind : str
        ``rate``, ``utilization``, ``work`` (grows with the rate), ``cost`` (of a transaction), ``time`` or
        ``population``.
    from_state : callable
        (draws, loads) in a state of the model; None where it does not apply, NaN at loads where it does not.
    from_simulation : callable or None
        its estimate; None where it is an input of the simulation, which then reports the model's value.
    needs_responses : bool
        whether responses have to be evaluated for it.
    """

    unit: str
    kind: str
    from_state: FromState
    from_simulation: FromSimulation | None = None
    needs_responses: bool = False


def _total_rate(system: System, state: State, figure: Figure) -> Array:
    return spread(state.scenario.total_rates, state)


def _pct_of_cp(system: System, state: State, figure: Figure) -> Array:
    return 100.0 * state.carried.usage[figure.series]


def _cost(system: System, state: State, figure: Figure) -> Array:
    rate = rate_of(system, state, figure)
    engines = state.busy if figure.series == "" else state.usage[figure.series]
    return np.where(rate[0] > 0, 1e6 * engines / rate, np.nan)


def _simulated_cost(run: Simulated, figure: Figure) -> Any:
    # The CPU time of one class is an input of the simulation.
    return INPUT if figure.series or figure.transactions else run.cp_busy.over(run.rate).scaled(1e6 * run.cps)


def _busy(system: System, state: State, figure: Figure) -> Array:
    return 100.0 * state.carried.busy / state.scenario.engines


def _internal_rate(system: System, state: State, figure: Figure) -> Array:
    rate = state.scenario.total_rates * state.scenario.engines / np.maximum(state.busy, 1e-12)
    return np.where(state.busy[0] > 0, rate, np.nan)


def _machine_busy(system: System, state: State, figure: Figure) -> Array | None:
    busy = state.carried.machine_busy
    return None if busy is None else np.minimum(100.0 * busy, 100.0)


def _ziip_busy(system: System, state: State, figure: Figure) -> Array | None:
    ziips, busy = state.scenario.ziips, state.carried.ziip_busy
    return None if busy is None or ziips <= 0 else np.asarray(100.0 * np.minimum(busy, ziips) / ziips)


def _ziip_cost(system: System, state: State, figure: Figure) -> Array | None:
    ziips, rate = state.scenario.ziips, state.scenario.total_rates
    if state.ziip_busy is None or ziips <= 0:
        return None
    cores = np.minimum(state.ziip_busy, ziips)
    active = active_threads(system.ziip_pool, ziip_work(system, state), cores, state.scenario)
    return np.where(rate > 0, 1e6 * active / rate, np.nan)


def _simulated_ziip_cost(run: Simulated, figure: Figure) -> Any:
    return run.ziip_busy and run.ziip_busy.over(run.rate).scaled(1e6 * run.ziip_threads)


def _msu(system: System, state: State, figure: Figure) -> Array | None:
    return msu(system, state, figure.form)


def _simulated_msu(run: Simulated, figure: Figure) -> Any:
    return INPUT if run.msu_per_engine is None else run.cp_busy.scaled(run.msu_per_engine * run.cps)


def _class_rate(system: System, state: State, figure: Figure) -> Array:
    return spread(system.class_rate(state.scenario, figure.transactions), state)


def _users(system: System, state: State, figure: Figure) -> Array | None:
    return population(state, system).get(system.class_index[figure.transactions])


def _limit(system: System, state: State, figure: Figure) -> Array | None:
    used = state.offered_where_full.limits.get(figure.station)
    return None if used is None else 100.0 * used


def _mean_response(system: System, state: State, figure: Figure) -> Array | None:
    return _response(system, state, figure, state.response_ms.get((figure.response, figure.transactions)))


def _p90(system: System, state: State, figure: Figure) -> Array | None:
    return _response(system, state, figure, state.p90_ms.get((figure.response, figure.transactions)))


def _response(system: System, state: State, figure: Figure, times: Array | None) -> Array | None:
    if times is None:
        return None
    stable = median_where_stable(times)
    if figure.transactions not in system.class_names:
        return stable
    return np.where(system.class_rate(state.scenario, figure.transactions)[0] > 0, stable, np.nan)


INPUT = object()
"""Value of a figure in a simulation that takes it over from the model."""

QUANTITIES: dict[str, Quantity] = {
    "total_rate": Quantity("tran/s", "rate", _total_rate, lambda run, figure: run.rate),
    "rate": Quantity("tran/s", "rate", _class_rate, lambda run, figure: run.class_rate(figure.transactions)),
    "users": Quantity("users", "population", _users, lambda run, figure: run.users(figure.transactions), True),
    "busy_pct": Quantity("pct", "utilization", _busy, lambda run, figure: run.cp_busy.scaled(100.0)),
    "machine_busy_pct": Quantity("pct", "utilization", _machine_busy, lambda run, figure: run.machine_busy),
    "ziip_busy_pct": Quantity(
        "pct", "utilization", _ziip_busy, lambda run, figure: run.ziip_busy and run.ziip_busy.scaled(100.0)
    ),
    "limit_pct": Quantity(
        "pct", "utilization", _limit, lambda run, figure: run.limit(figure.station).scaled(100.0), True
    ),
    "pct": Quantity("pct of one CP", "work", _pct_of_cp),
    "us_per_tran": Quantity("us/tran", "cost", _cost, _simulated_cost),
    "ziip_us_per_tran": Quantity("us/tran", "cost", _ziip_cost, _simulated_ziip_cost),
    "internal_rate": Quantity("tran/s", "rate", _internal_rate, lambda run, figure: run.rate.over(run.cp_busy)),
    "response_ms": Quantity("ms", "time", _mean_response, lambda run, figure: run.response_ms(figure), True),
    "p90_ms": Quantity("ms", "time", _p90, lambda run, figure: run.response_ms(figure, 90.0), True),
    "msu": Quantity("MSU", "work", _msu, _simulated_msu),
    "machine_msu": Quantity("MSU", "work", _msu),
    "r4ha_msu": Quantity("MSU", "work", _msu),
}


def figures_of(parameters: SystemParameters) -> tuple[Figure, ...]:
    """The output figures that can be answered for a system."""
    return cached(parameters, "figures", lambda: (*_reported(parameters), *_of_ratings(parameters)))


def _reported(parameters: SystemParameters) -> list[Figure]:
    total = Figure("etr_tps", "total_rate")
    if parameters.recorded is not None:
        return [total, *_of_lpar(parameters), *_of_classes(parameters), *_of_workloads(parameters)]
    rows = [total]
    for name, demand in sorted(parameters.demands.items()):
        for metric in demand.metrics:
            form = FORMS.get(metric, "pct" if metric.endswith("_pct") else "us_per_tran")
            rows.append(Figure(metric, form, series=name))
    rows += _of_ziips(parameters)
    rows += [
        Figure(one.metric, "response_ms", series=one.metric, response=one.metric, transactions=one.class_name)
        for _, one in sorted(parameters.responses.items())
    ]
    return rows


def _of_lpar(parameters: SystemParameters) -> list[Figure]:
    rows = [
        Figure("cpu_busy_pct", "busy_pct", series=""),
        Figure("itr_tps", "internal_rate", series=""),
        Figure("cpu_us_per_tran", "us_per_tran", series=""),
    ]
    if parameters.machine is not None:
        rows.append(Figure("machine_busy_pct", "machine_busy_pct"))
    return rows + _of_ziips(parameters)


def _of_ziips(parameters: SystemParameters) -> list[Figure]:
    if parameters.ziip is None:
        return []
    return [Figure(metric, metric) for metric in ("ziip_busy_pct", "ziip_us_per_tran")]


def _of_classes(parameters: SystemParameters) -> list[Figure]:
    recorded = parameters.recorded
    assert recorded is not None
    rows = []
    for i, name in enumerate(parameters.class_names):
        about = {"class_name": name, "transactions": name}
        rows.append(Figure("etr_tps", "rate", **about))
        response = parameters.responses.get(name)
        if response is not None and recorded.users is not None and recorded.users[i].any():
            rows.append(Figure("users", "users", **about))
        rows.append(Figure("cpu_us_per_tran", "us_per_tran", series=name, **about))
        if f"{name}{ON_ZIIPS}" in parameters.demands:
            rows.append(Figure("ziip_us_per_tran", "us_per_tran", series=f"{name}{ON_ZIIPS}", **about))
        if response is not None:
            rows.append(Figure("response_ms", "response_ms", response="response_ms", **about))
            if response.p90 is not None:
                rows.append(Figure("response_p90_ms", "p90_ms", response="response_ms", **about))
    limits = (one for one in parameters.limits if one.reached)
    return rows + [Figure("utilization_pct", "limit_pct", station=one.name) for one in limits]


def _of_workloads(parameters: SystemParameters) -> list[Figure]:
    """Figures of workloads that a groups file names, and of their components."""
    rows = []
    for name in parameters.mixes:
        of_workload = {series: demand for series, demand in parameters.demands.items() if demand.regressor == name}
        about = {"class_name": name, "transactions": name}
        if not of_workload:
            rows.append(Figure(f"{name}_tps", "rate", transactions=name))
            continue
        rows.append(Figure("etr_tps", "rate", **about))
        for series, demand in of_workload.items():
            rows += [Figure(metric, "us_per_tran", series=series, **about) for metric in demand.metrics]
    return rows


def _of_ratings(parameters: SystemParameters) -> list[Figure]:
    if parameters.msu_per_engine is None:
        return []
    rows = [Figure("msu", "msu")]
    if parameters.recorded is not None:
        rows.append(Figure("r4ha_msu", "r4ha_msu"))
    if parameters.machine is not None:
        rows.append(Figure("msu", "machine_msu", station=f"machine {parameters.machine.name}"))
    return rows


@np.errstate(divide="ignore", invalid="ignore")
def figure_draws(system: System, state: State, figure: Figure) -> Array | None:
    """One figure at load 0 for every draw, (draws,); None where it does not apply."""
    table = figure_table(system, state, figure)
    return None if table is None or np.isnan(table[0, 0]) else table[:, 0]


def figure_table(system: System, state: State, figure: Figure) -> Array | None:
    """One figure, (draws, loads); None where it does not apply, no number at loads where it does not.

    What is busy is used by what gets through; costs of a transaction and the internal rate are those of all that comes.
    """
    return figure.quantity.from_state(system, state, figure)


def median_where_stable(times: Array) -> Array:
    """Responses, (draws, loads), whose value, where there may be no steady state, is the median of the draws that have
    one; none where these are hardly any."""
    if np.isfinite(times).all():
        return times
    settled = np.isfinite(times[1:])
    chance = 1.0 - settled.mean(axis=0)
    unsure = np.flatnonzero((chance > MAYBE_FULL) | ~np.isfinite(times[0]))
    if not len(unsure):
        return times
    medians = times.copy()
    for i in unsure:
        medians[0, i] = np.median(times[1:, i][settled[:, i]]) if chance[i] <= SURELY_FULL else np.inf
    return medians


def spread(rates: Array, state: State) -> Array:
    """Rates that may be the same for all draws, (draws, loads)."""
    return rates if rates.shape == state.busy.shape else np.broadcast_to(rates, state.busy.shape)


def rate_of(system: System, state: State, figure: Figure) -> Array:
    """Transactions/s that a cost is for, (draws or 1, loads)."""
    name = figure.transactions
    return system.class_rate(state.scenario, name) if name else state.scenario.total_rates


def ziip_work(system: System, state: State) -> Array:
    """Work on the zIIPs, in seconds of one thread alone a second."""
    eligible = [name for name, demand in system.demands.items() if demand.engine == "ziip" and demand.additive]
    return sum((state.usage[name] for name in eligible), np.zeros(state.busy.shape))


def ratings(service_units_per_s: float | None, software_service_units_per_s: float | None) -> dict[str, Any]:
    """The ratings of an engine as parameters; without what the records do not tell."""
    ratings_of: dict[str, Any] = {}
    if service_units_per_s and service_units_per_s > 0:
        ratings_of["service_units_per_s"] = float(service_units_per_s)
    if software_service_units_per_s and software_service_units_per_s > 0:
        ratings_of["msu_per_engine"] = float(software_service_units_per_s) * MSU_PER_SU
    return ratings_of


def msu(ready: System, state: State, form: str) -> Array | None:
    """(draws, loads) MSU: ``msu`` of the LPAR, ``machine_msu`` with the other LPARs, ``r4ha_msu``."""
    each = state.scenario.msu_per_engine or ready.msu_per_engine
    if each is None:
        return None
    if form == "msu":
        return each * state.carried.busy
    if form == "machine_msu":
        return each * (state.carried.busy + state.scenario.others)
    recorded, scenario = ready.parameters.recorded, state.scenario
    if recorded is None or not scenario.recorded:
        return None
    loads = range(scenario.rates.shape[1])
    some = (loads[at : at + LOADS_AT_ONCE] for at in loads[::LOADS_AT_ONCE])
    return each * np.concatenate([_four_hours(ready, recorded, scenario, chosen) for chosen in some], axis=1)


def _four_hours(ready: System, recorded: RecordedIntervals, scenario: Scenario, loads: Sequence[int]) -> Array:
    """Mean engines in use over the four hours up to the end of an interval, (draws, loads), at some loads.

    The intervals before it have their recorded loads, changed in proportion to that of the question. Engines and caps
    limit the use.
    """
    base, before, extra = cached(recorded, scenario.recorded, lambda: _until(recorded, scenario.recorded))
    rates = scenario.rates[:, loads[0] : loads[-1] + 1, None]
    scaled = np.where(base > 0, rates / np.where(base > 0, base, 1.0), 1.0) * before
    # A class without transactions in the recorded interval, which is to have some, has them for the four hours.
    changed = np.where((base <= 0) & (rates > 0), rates, scaled)
    everywhere = {name: np.tile(values, len(loads)) for name, values in extra.items()}
    changed = changed.reshape(len(changed), -1, changed.shape[-1])
    used = ready.usage(replace(scenario, rates=changed, extra=everywhere)).busy
    sharing = ready.partition.sharing(scenario)
    most = scenario.engines if sharing is None else sharing.own.engines
    return np.asarray(np.minimum(used, most).reshape(len(used), len(loads), -1).mean(axis=2))


def _until(recorded: RecordedIntervals, intervals: Sequence[int]) -> tuple[Array, Array, dict[str, Array]]:
    """Mean transactions/s (classes,) of some recorded intervals; of all in the four hours up to the end of each, their
    transactions/s (1, intervals, classes) and other work (1, intervals) in engines."""
    times, rates = recorded.times, recorded.rates
    length = np.timedelta64(int(recorded.seconds), "s")
    windows = [
        np.flatnonzero((times > times[i] + length - FOUR_HOURS - np.timedelta64(1, "s")) & (times <= times[i]))
        for i in intervals[-MOST_WINDOWS:]
    ]
    index = np.concatenate(windows)
    extra = {name: values[index][None, :] for name, values in recorded.extra.items()}
    return rates[:, list(intervals)].mean(axis=1), rates[:, index].T[None], extra
