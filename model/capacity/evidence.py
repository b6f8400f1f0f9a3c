"""What an answer rests on: the data behind it, how far it lies outside them, notes, demands and sources of variance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.capacity.answer import INTERVAL_PCT, Estimate, as_plain, plain
from model.capacity.bundle import system_entry
from model.capacity.evaluation import evaluate, population
from model.capacity.figures import MAYBE_FULL, SURELY_FULL, figure_draws, figures_of
from model.capacity.outputs import CPS, SHARE, machine_demand, resources
from model.capacity.parameters import (
    HIGHER,
    LATER,
    DemandModel,
    ResponseModel,
    SystemParameters,
    cached,
    is_used_baseline,
)
from model.capacity.question import Question, parse_question, prepare_system
from model.capacity.samples import joined, map_samples
from model.capacity.state import LPAR, Scenario, State
from model.capacity.system import System
from model.capacity.values import QuestionError, number_text

Array = NDArray[np.float64]

METRICS = {"cpu_busy_pct": "CPU busy", "response_ms": "the response"}
"""What notes call the metrics of a backtest."""
ROUNDING = 1e-5
"""Recorded rates are kept to six digits, so that the highest may stand a little above the range it is the end of."""
SETTLED = "response times there are medians of the cases with a steady state, without an upper limit"
"""Note on resources that may be full."""
DEFINITIONS_CHANGED = (
    "the definitions of metrics or groups have changed since the calibration: measured values beside this answer may "
    "differ; run `etalon fit`"
)
EXPLAINED = ("busy_pct", "response_ms")
SHARES = {
    "n_way": "n-way effect",
    "busy_cost": "cost against busy",
    "ziip": "zIIP overflow and SMT",
}
HELD_OUT_FROM = 0.7
"""Validation predicts the days from this part of the history on from those before."""
MOST_INTERVALS = 2000


def definitions_changed(bundle: Mapping[str, Any], parameters: SystemParameters) -> bool:
    """Whether the marts published now are defined otherwise than those the model was calibrated on."""
    then, now = parameters.definition, bundle.get("published_definitions")
    if not then or not now:
        return False
    name = next(
        (name for name, one in bundle["systems"].items() if one.points is parameters.points), ""
    ).partition("/")[0]
    return bool(then != now.get(name, now.get("")))


def machine_of(parameters: SystemParameters) -> str:
    """The type of the machine as recorded, or its name where the records leave the type blank or zero."""
    if parameters.machine_type.strip("0 "):
        return parameters.machine_type
    return (parameters.machine.name if parameters.machine else "") or "of a type that was not recorded"


def as_answer(bundle: Mapping[str, Any], system: str, ready: System, load: Question, **results: Any) -> dict[str, Any]:
    """Results with what every answer has, as plain values."""
    about = {"system": system, "at": dict(load.at), "model_version": bundle["model_version"]}
    return as_plain({**about, "interval_pct": INTERVAL_PCT, **results, "evidence": evidence(bundle, ready.parameters)})


def evidence(bundle: Mapping[str, Any], parameters: SystemParameters) -> dict[str, Any]:
    """The data that the answer was calibrated on, and the origin of what was not measured on the system."""
    changed = definitions_changed(bundle, parameters)
    of_system = cached(parameters, "evidence", lambda: _evidence(parameters))
    return {**of_system, "definitions_changed": changed, "data": bundle.get("data", {})}


def _evidence(parameters: SystemParameters) -> dict[str, Any]:
    """What is so of every answer about a system."""
    models: dict[str, DemandModel | ResponseModel] = {**parameters.demands, **parameters.responses}
    origins = {name: one.origin for name, one in models.items() if one.origin != "measured"}
    rates = parameters.support_tps
    return {
        "points": len(parameters.points),
        "etr_tps": list(rates),
        "engines": parameters.engines,
        "machine": machine_of(parameters),
        "workload": parameters.workload,
        "intervals": parameters.intervals,
        "seconds": parameters.seconds,
        "relatives": list(parameters.relatives),
        "origins": origins,
        "period": None if parameters.period is None else list(parameters.period),
        "gate": parameters.gate,
    }


def distance(ready: System, state: State, i: int = 0) -> dict[str, float]:
    """How far load ``i`` lies outside the calibrated rates and the measured engines, in e-folds; empty inside."""
    low, high = ready.parameters.support_tps
    rate = float(state.scenario.total_rates[0, i])
    distances = {}
    if not low * (1 - ROUNDING) <= rate <= high * (1 + ROUNDING):
        distances["etr_tps"] = float(abs(np.log(max(rate, 1e-9) / (high if rate > high else max(low, 1e-9)))))
    if state.scenario.engines != ready.engines:
        distances["engines"] = float(abs(np.log(state.scenario.engines / ready.engines)))
    return distances


def extrapolated(ready: System, state: State, i: int = 0) -> bool:
    """Whether load ``i`` lies outside the data, or asks for more than the engines give."""
    return bool(distance(ready, state, i)) or bool(state.offered_where_full.busy[0, i] > state.available[0, i])


def notes_on(ready: System, load: Question, state: State, *, shown: bool = True) -> list[str]:
    """What a reader must know to use the answer; `shown`: what is full at this load too, of which it has figures."""
    parameters, notes, outside = ready.parameters, list(load.notes), distance(ready, state)
    if "etr_tps" in outside:
        low, high = parameters.support_tps
        rate, measured = (
            float(state.scenario.total_rates[0, 0]),
            number_text(low) if low == high else f"{number_text(low)} to {number_text(high)}",
        )
        notes.append(
            f"extrapolated: {number_text(rate)} transactions/s is outside the calibrated rates ({measured}), so the "
            "interval is wider"
        )
    notes += _full(ready, state) if shown else []
    if "engines" in outside and "machine" not in load.keys:
        from model.capacity.cpc import engine_cost, n_way_source

        engines = state.scenario.engines
        factor = Estimate.of(engine_cost(ready, engines))
        notes.append(
            f"measured on {ready.engines:g} engines, asked for {engines:g}: cost per transaction "
            f"{_percent(factor.value)} ({_percent(factor.lo)} to {_percent(factor.hi)}), {n_way_source(ready, engines)}"
        )
    if parameters.busy_assumed:
        notes.append("the busy time of the LPAR is not known: the engines are assumed to serve only this workload")
    never = [limit.name for limit in ready.limits if not limit.reached and limit.name not in state.limits]
    if never:
        notes.append(
            f"almost no transaction waited for {', '.join(never)} in the records: number of servers and utilization "
            "are not known"
        )
    notes += _users(ready, load, state)
    return notes + cached(parameters, "notes", lambda: _of_system(parameters))


def _of_system(parameters: SystemParameters) -> list[str]:
    """What to know of every answer about a system."""
    notes = _gate(parameters.gate)
    if parameters.kept is not None:
        notes.append(f"kept from {parameters.kept['model_version']}: {parameters.kept['reason']}")
    usage = {"the LPAR" if name == LPAR else name: one for name, one in parameters.demands.items()}
    origins = {f"CPU of {name}": one.origin for name, one in usage.items()}
    origins |= {name: one.origin for name, one in parameters.responses.items()}
    notes += [f"{name}: {origin}" for name, origin in sorted(origins.items()) if origin != "measured"]
    return [*notes, *parameters.notes]


def _full(ready: System, state: State) -> list[str]:
    """What to say of engines, machine and limits that are or may be full at the first load."""
    state = state.offered_where_full
    notes, asked_of_machine = _of_engines(ready, state), machine_demand(ready, state)
    if asked_of_machine is not None and asked_of_machine[0, 0] > 1.0:
        notes.append("the machine is saturated: its LPARs need more engines than it has")
    for name, used in state.limits.items():
        if chance := _may_be_full(used[:, 0]):
            notes.append(f"limit {name} is exceeded with a probability of {chance:.0%}: {SETTLED}")
        elif _chance_full(used[:, 0]) > SURELY_FULL:
            notes.append(
                f"limit {name} is exceeded: its classes have no steady response time; other resources have the carried "
                "load"
            )
    return notes


def _of_engines(ready: System, state: State) -> list[str]:
    """What to say of the engines at the first load, if these are or may be full."""
    busy, available = state.busy[:, 0], state.available[:, 0]
    chance, over = _may_be_full(busy / available), busy[0] >= available[0]
    if not chance and not over:
        return []
    used = {name: float(part[0, 0]) for name, part in resources(ready, state).items() if name in (CPS, SHARE)}
    fullest = max(used, key=lambda name: used[name])
    full = "the engines are saturated"
    if fullest == SHARE:
        full = "the LPAR's share of engines by weight or cap is used up"
    asks = (
        f"offered load {100.0 * used[fullest]:.4g} %, as for the bottleneck; other resources have the carried "
        "load; times per transaction are those of the offered load"
    )
    if chance:
        texts = [f"{full} with a probability of {chance:.0%}: the rate is then not reached"]
        texts += [asks] if over else []
        texts += [SETTLED] if state.response_ms else []
        return ["; ".join(texts)]
    served = "; response times are shown for classes served before the waiting ones" if _answering(state) else ""
    return [f"{full}: the rate cannot be reached, {asks}{served}"]


def _chance_full(used: Array) -> float:
    """The chance that a resource of which parts, (draws,), are used is full."""
    return np.count_nonzero(used[1:] >= 1.0) / max(len(used) - 1, 1)


def _may_be_full(used: Array) -> float | None:
    """The chance that a resource is full, as :func:`_chance_full`, where it may be or not."""
    chance = _chance_full(used)
    return chance if MAYBE_FULL < chance <= SURELY_FULL else None


def _users(ready: System, load: Question, state: State) -> list[str]:
    """What is to know of classes whose users think between transactions."""
    notes, thinking, users_of = [], state.scenario.thinking(ready.class_names), population(state, ready)
    for number, users in users_of.items():
        name, rate, users_then = ready.class_names[number], state.scenario.rates[0, 0, number], load.scenario.users
        who = f"{number_text(users[0, 0], 4)} users who think {thinking[name][0, 0]:.3g} s between transactions"
        if rate == 0.0 and users[0, 0] > 0.0:
            continue
        if not np.isfinite(users[0, 0]):
            reached = f"no number of users reaches {number_text(rate, 4)} transactions/s"
            what = f"{reached}, because waits are unlimited there"
        elif users_then is not None and users_then[0, 0, number] > 0:
            sent = f"{who} send {number_text(rate, 4)} transactions/s"
            what = f"{sent}; growth means more users, who send less if they wait"
        else:
            what = f"{number_text(rate, 4)} transactions/s come from {who}"
        notes.append(f"{name}: {what}")
    return notes + unanswered(ready, state, users_of)


def unanswered(ready: System, state: State, users_of: Mapping[int, Array]) -> list[str]:
    """What to say of classes whose users, as `needed` has them, get no answers at the first load."""
    return [
        f"{ready.class_names[number]}: its {number_text(users[0, 0], 4)} users get no answers, "
        "because more important work uses all engines"
        for number, users in users_of.items()
        if state.scenario.rates[0, 0, number] == 0.0 and users[0, 0] > 0.0
    ]


def _answering(state: State) -> bool:
    """Whether some class has a response at the first load."""
    return any(np.isfinite(values[0, 0]) for values in state.response_ms.values())


def failed_gate(gate: Mapping[str, Any] | None, name: str) -> list[str]:
    """The note on a system that did not pass its validation; empty for others."""
    if gate is None or gate.get("passed") is not False:
        return []
    missed = ", ".join(check["name"] for check in gate["checks"] if not check["passed"])
    return [f"validation: {name} did not pass its gate ({missed})"]


def _gate(gate: Mapping[str, Any] | None) -> list[str]:
    """What the validation says against the system."""
    if gate is None:
        return []
    notes = failed_gate(gate, "this system")
    if gate["passed"] is None:
        notes.append("validation: not judged, because there are too few measurements to hold any out")
    replayed = gate.get("replayed")
    if replayed and not replayed["passed"]:
        far = [one for one in replayed["classes"] if one["wasserstein"] > replayed["allowed"]]
        named = ", ".join(f"{one['class']} by {100 * one['wasserstein']:.0f} %" for one in far)
        notes.append(
            f"validation: replayed response times differ from recorded ones: {named} of the mean"
        )
    return notes + [_compared(one) for one in gate.get("baselines", ()) if _is_shown(one)]


def _is_shown(one: Mapping[str, Any]) -> bool:
    """Whether an answer states how a baseline did: for busy of the LPAR, where it was closer, and where it is used."""
    if one.get("held_out", LATER) == HIGHER:
        return is_used_baseline(one)
    return not one["class"] or one["baseline_pct"] < one["model_pct"]


def _compared(one: Mapping[str, Any]) -> str:
    """Errors of model and baseline on held-out data, and where the baseline is used."""
    of = METRICS.get(one["metric"], one["metric"]) + (f" of {one['class']}" if one["class"] else "")
    model, baseline = (f"{one[name]:.2g} %" for name in ("model_pct", "baseline_pct"))
    if one["baseline_pct"] < one["model_pct"]:
        closer = f'"{one["baseline"]}" was closer for {of} (median error {baseline} against {model})'
        if is_used_baseline(one):
            return f"backtest at higher loads: {closer}; its changes are predicted by the baseline"
        return f"backtest: {closer}; answers start from what was recorded"
    return f'backtest: the model was closer for {of} (median error {model}; "{one["baseline"]}": {baseline})'


def _percent(factor: float | None) -> str:
    return "unknown" if factor is None else f"{100.0 * (factor - 1.0):+.1f} %"


def explain(bundle: Mapping[str, Any], system: str, at: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Demand by class and component at a load, and how much of each interval comes from each group of parameters.

    The share of a group is the part of the variance over the draws that goes away when the group is set to its best
    estimate. Where groups interact and would add up to more, shares are in proportion and add up to 100 %.

    Raises
    ------
    QuestionError
        as ``model.capacity.ask.predict``.
    """
    ready = prepare_system(system_entry(bundle, system), at)
    load = parse_question(ready, at)
    state = evaluate(ready, load.scenario)
    return as_answer(
        bundle,
        system,
        ready,
        load,
        demand=_demand(ready, state),
        sensitivity=_sensitivity(ready, load.keys, state),
        notes=notes_on(ready, load, state),
    )


def _demand(ready: System, state: State) -> list[dict[str, Any]]:
    """Engines in use and time per transaction of every component, by the class that drives it, if one does."""
    rows = []
    for name, demand in ready.demands.items():
        if name not in state.usage:
            continue
        offered, used = (one.usage[name][:, 0] for one in (state, state.carried))
        driven = demand.regressor in ready.class_names or demand.regressor in ready.mixes
        rate = ready.class_rate(state.scenario, demand.regressor)[:, 0] if driven else np.zeros(ready.draws)
        rows.append(
            {
                "class": demand.regressor if driven else None,
                "component": name,
                "engine": demand.engine,
                "engines_in_use": Estimate.of(used).to_dict(),
                "us_per_tran": Estimate.of(1e6 * offered / rate).to_dict() if rate[0] > 0 else None,
                "part_of_total": demand.additive,
                "origin": demand.origin,
                "evidence": demand.evidence or demand.origin,
                "points": demand.points,
            }
        )
    return rows


def _sensitivity(ready: System, question: Mapping[str, Any], state: State) -> list[dict[str, Any]]:
    """Share of the variance of busy and of every response that each group of parameters brings."""
    full = {key: float(one[0]) for key, one in _spreads(ready, state, 1).items() if np.isfinite(one[0])}
    fixed, several = cached(ready.parameters, "fixed groups", lambda: _fixed_groups(ready))
    spreads = _spreads(several, evaluate(several, parse_question(several, question).scenario), len(fixed))
    rows = []
    for key, variance in full.items():
        shares = {
            group: 100.0 * max(0.0, 1.0 - float(left) / variance)
            for group, left in zip(fixed, spreads.get(key, ()), strict=False)
            if variance > 0 and np.isfinite(left)
        }
        # Groups that act together take the same variance away, and then say how it is shared out.
        whole = max(sum(shares.values()), 100.0) / 100.0
        shares = {group: share / whole for group, share in shares.items()}
        largest = sorted(shares, key=lambda group: -shares[group])
        rows.append(
            {
                "metric": key[0],
                "class": key[1],
                "sd": plain(float(np.sqrt(variance))),
                "shares": [{"assumption": group, "share_pct": shares[group]} for group in largest],
            }
        )
    return rows


def _spreads(ready: System, state: State, copies: int) -> dict[tuple[str, str], Array]:
    """Variance over the draws of each copy, (copies,), by metric and class; of draws with a steady state only, no
    number where there are not two."""
    variances_of = {}
    for figure in figures_of(ready.parameters):
        draws = figure_draws(ready, state, figure) if figure.form in EXPLAINED else None
        if draws is not None:
            steady = [one[np.isfinite(one)] for one in draws[1:].reshape(copies, -1)]
            variances = [np.var(one) if len(one) > 1 else np.nan for one in steady]
            variances_of[figure.metric, figure.class_name or ""] = np.array(variances)
    return variances_of


def _fixed_groups(ready: System) -> tuple[list[str], System]:
    """The names of the groups, and a system that has the draws of all systems with one group at its best estimate."""
    fixed = groups_held(ready.parameters)
    return list(fixed), System(joined(list(fixed.values())), copies=len(fixed))


def groups_held(parameters: SystemParameters) -> dict[str, SystemParameters]:
    """The system with one group of parameters at its best estimate, by the name of the group."""

    groups = {}
    for name, words in SHARES.items():
        value = getattr(parameters, name)
        if value is not None:
            groups[words] = replace(parameters, **{name: map_samples(value, at_centre)})
    for table, words in (("demands", "demand of {}"), ("responses", "time elsewhere: {}")):
        for name, one in getattr(parameters, table).items():
            of_all: dict[str, Any] = {table: {**getattr(parameters, table), name: map_samples(one, at_centre)}}
            groups[words.format(name)] = replace(parameters, **of_all)
    for i, limit in enumerate(parameters.limits):
        limits = [map_samples(limit, at_centre) if j == i else one for j, one in enumerate(parameters.limits)]
        groups[f"limit {limit.name}"] = replace(parameters, limits=tuple(limits))
    return groups


def at_centre(samples: Array) -> Array:
    """Samples that all are the best estimate."""
    return np.repeat(samples[:1], len(samples), axis=0)


def residuals(bundle: Mapping[str, Any], system: str) -> dict[str, Any]:
    """Measured and predicted busy of recorded intervals, evenly chosen, 2,000 at most.

    Raises
    ------
    QuestionError
        an unknown system, or one without a history.
    """
    parameters = system_entry(bundle, system)
    history = parameters.recorded
    if history is None:
        raise QuestionError("system", system, f"system: {system} has measured points but no history")
    ready = prepare_system(parameters)
    starts = history.times
    chosen = np.arange(0, len(starts), max(1, -(-len(starts) // MOST_INTERVALS)))
    rates = history.rates[:, chosen].T
    extra = {name: values[chosen][None] for name, values in history.extra.items()}
    others = 0.0 if history.others is None else history.others[chosen][None]
    scenario = Scenario(rates=rates[None], engines=ready.engines, ziips=ready.ziips, extra=extra, others=others)
    busy = 100.0 * ready.usage(scenario).busy / ready.engines
    busy_pct = [Estimate.of(busy[:, i]) for i in range(len(chosen))]
    days = starts.astype("datetime64[D]")
    recorded_days = np.unique(days)
    split = recorded_days[min(int(len(recorded_days) * HELD_OUT_FROM), len(recorded_days) - 1)]
    measured = np.zeros(0) if history.cpu_busy_pct is None else history.cpu_busy_pct[chosen]
    return {
        "system": system,
        "start_local": [str(start) for start in starts[chosen]],
        "held_out": (days[chosen] >= split).tolist(),
        "rate_tps": rates.sum(axis=1).tolist(),
        "measured_busy_pct": [float(value) if np.isfinite(value) else None for value in measured],
        "predicted_busy_pct": [one.value for one in busy_pct],
        "lo": [one.lo for one in busy_pct],
        "hi": [one.hi for one in busy_pct],
    }
