"""Capacity questions, each an evaluation of the ensemble: predict, size, maximum rate, compare, sweep."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.capacity.answer import INTERVAL_PCT, Answer, Bottleneck, Estimate, Output, Station, as_plain, plain
from model.capacity.ensemble import LPAR, Scenario, State, System
from model.capacity.loads import Load, at_busy, engine_cost, understand
from model.capacity.questions import (
    MOST_ENGINES,
    QuestionError,
    as_text,
    positive,
    system_entry,
)

__all__ = ["QuestionError", "compare", "max_rate", "predict", "size", "sweep"]

Array = NDArray[np.float64]
CPS = "general-purpose CPs of the LPAR"
ZIIPS = "zIIPs of the LPAR"
CLOSE_PCT = 5.0
KEPT = 64
_compiled: dict[int, tuple[Mapping[str, Any], System]] = {}


def compiled(entry: Mapping[str, Any]) -> System:
    """The system as arrays; kept for entries asked before."""
    found = _compiled.get(id(entry))
    if found is not None and found[0] is entry:
        return found[1]
    if len(_compiled) >= KEPT:
        _compiled.clear()
    system = System(entry)
    _compiled[id(entry)] = (entry, system)
    return system


def predict(bundle: Mapping[str, Any], system: str, at: Mapping[str, Any] | None = None) -> Answer:
    """What a system uses and how long its transactions take at a load, with 90 % limits.

    Args:
        bundle: a calibrated model, see ``model.capacity.bundle``.
        system: id of a calibrated system, or the SMF identifier of an LPAR.
        at: the question: keys as ``model.capacity.questions`` lists them. Without a load, the operating point.

    Raises:
        QuestionError: unknown system or key, or a value out of its domain.
    """
    entry = system_entry(bundle, system)
    ready = compiled(entry)
    load = _understood(ready, at or {})
    return _answer(bundle, system, ready, load, ready.evaluate(load.scenario))


def _understood(ready: System, at: Mapping[str, Any]) -> Load:
    try:
        return understand(ready, dict(at))
    except QuestionError as error:
        error.field = f"at.{error.field}"
        raise


def _answer(bundle: Mapping[str, Any], system: str, ready: System, load: Load, state: State) -> Answer:
    distance, notes = _notes(ready, load, state)
    return Answer(
        system=system,
        at=load.at,
        model_version=bundle["model_version"],
        outputs=tuple(_outputs(ready, load, state)),
        bottleneck=bottleneck(ready, state),
        extrapolated=bool(distance) or float(state.busy[0, 0]) > float(state.available[0, 0]),
        notes=tuple(notes),
        evidence=evidence(bundle, ready.entry),
        distance=distance,
        times=tuple(_times(state)),
        solver=SOLVER,
    )


SOLVER = {
    "method": "M/M/m by priority level for all draws, limits as queues of their own",
    "relative_error": 0.05,
}


def evidence(bundle: Mapping[str, Any], entry: Mapping[str, Any]) -> dict[str, Any]:
    """What the answer was calibrated on, and what is not the system's own measurement."""
    known = {**entry["usage"], **entry["response"]}
    origins = {name: law["origin"] for name, law in known.items() if law["origin"] != "measured"}
    rates = entry["support_tps"]
    return {
        "points": len(entry["points"]),
        "etr_tps": list(rates),
        "engines": entry["engines"],
        "machine": entry["machine"],
        "workload": entry["workload"],
        "intervals": entry["intervals"],
        "seconds": entry["seconds"],
        "relatives": entry["relatives"],
        "origins": origins,
        "period": entry.get("period"),
        "gate": entry.get("gate"),
        "data": bundle.get("data", {}),
    }


def _condition(ready: System, load: Load) -> Callable[[str], str]:
    """The condition of a metric: as published at a measured point, else what all points share and the question."""
    entry = ready.entry
    extra = {key: value for key, value in load.asked.items() if key != "point"}
    if load.point is not None and not extra:
        return lambda metric: load.point["conditions"].get(metric, "")  # type: ignore[index]
    asked = [f"{key}={value if isinstance(value, str) else as_text(float(value))}" for key, value in extra.items()]
    if not entry["points"] or entry.get("profile"):
        return lambda metric: "; ".join(asked)
    named = [load.point] if load.point is not None else entry["points"]

    def of(metric: str) -> str:
        pairs = [[pair.strip() for pair in p["conditions"][metric].split(";") if "=" in pair] for p in named]
        kept = [pair for pair in pairs[0] if all(pair in other for other in pairs[1:])]
        if load.point is None:
            kept = [pair for pair in kept if not pair.startswith("point=")]
        return "; ".join([*kept, *asked])

    return of


def _outputs(ready: System, load: Load, state: State) -> list[Output]:
    shown = _condition(ready, load)
    total = np.broadcast_to(state.scenario.rates.sum(axis=2), state.busy.shape)[:, 0]
    moved = reconciled(ready, state)
    outputs = []
    for spec in ready.entry["outputs"]:
        metric = spec["metric"]
        if metric in load.asked and "class" not in spec:
            continue
        if spec["form"] == "total_rate":
            estimate = _rate(ready, load, state, total)
        else:
            draws = _figure(ready, state, spec, total)
            estimate = None if draws is None else Estimate.of(draws)
            if estimate is not None and spec["form"] in ("pct", "us_per_tran") and spec.get("series") in moved:
                rate = total if spec.get("stream") is None else ready.stream(state.scenario, spec["stream"])[:, 0]
                unit = 100.0 if spec["form"] == "pct" else 1e6 / float(rate[0])
                estimate = estimate.moved(unit * moved[spec["series"]])
        if estimate is None or estimate.value is None:
            continue
        parts = [shown(metric), *(f"{key}={spec[key]}" for key in ("class", "station") if key in spec)]
        condition = "; ".join(filter(None, reversed(parts) if "class" in spec else parts))
        outputs.append(Output(metric, condition, estimate.value, estimate.lo, estimate.hi, spec["unit"]))
    return outputs


def _rate(ready: System, load: Load, state: State, total: Array) -> Estimate | None:
    """The rate is an answer where the busy was asked, at a measured point with its own busy, and over a history."""
    if "etr_tps" in load.asked:
        return None
    if "cpu_busy_pct" in load.asked:
        return Estimate.of(total)
    if ready.entry.get("profile"):
        return Estimate.of(total)
    if load.point is None or ready.capacity != (LPAR,) or state.scenario.engines != ready.engines:
        return None
    busy = 100.0 * float(state.busy[0, 0]) / state.scenario.engines
    if busy > 100.0:
        return None
    solved = Estimate.of(at_busy(ready, state.scenario, busy).rates.sum(axis=2)[:, 0])
    return Estimate(float(total[0]), solved.lo, solved.hi)


def _figure(ready: System, state: State, spec: Mapping[str, Any], total: Array) -> Array | None:
    """One metric at load 0 for every draw, (draws,)."""
    form = spec["form"]
    engines = state.scenario.engines
    with np.errstate(divide="ignore", invalid="ignore"):
        if form == "pct":
            return 100.0 * state.usage[spec["series"]][:, 0]
        if form == "us_per_tran":
            rate = total if spec.get("stream") is None else ready.stream(state.scenario, spec["stream"])[:, 0]
            used = state.busy if spec["series"] == "" else state.usage[spec["series"]]
            return None if rate[0] <= 0 else 1e6 * used[:, 0] / rate
        if form == "busy_pct":
            return 100.0 * state.busy[:, 0] / engines
        if form == "machine_busy_pct":
            return None if state.machine_busy is None else 100.0 * state.machine_busy[:, 0]
        if form == "ziip_busy_pct":
            ziips = state.scenario.ziips
            return None if state.ziip_busy is None or ziips <= 0 else 100.0 * state.ziip_busy[:, 0] / ziips
        if form == "internal_rate":
            return None if state.busy[0, 0] <= 0 else total * engines / np.maximum(state.busy[:, 0], 1e-12)
        if form == "rate":
            return ready.stream(state.scenario, spec["stream"])[:, 0]
        if form == "msu":
            return state.busy[:, 0] * spec["msu_per_engine"]
        if form == "limit_pct":
            return 100.0 * state.limits[spec["station"]][:, 0] if spec["station"] in state.limits else None
        table = state.response_ms if form == "response_ms" else state.p90_ms
        key = (spec["response"], spec["stream"])
        return table[key][:, 0] if key in table else None


def reconciled(ready: System, state: State) -> dict[str, float]:
    """How far each group that is known to be part of the total moves so that the groups add up to it, in engines."""
    entry = ready.entry
    if not entry.get("exhaustive"):
        return {}
    parts = {
        name: Estimate.of(state.usage[name][:, 0])
        for name, law in entry["usage"].items()
        if law["part"] and law["points"]
    }
    whole = float(state.usage[entry["main_total"]][0, 0])
    found = _adding_up({name: (part.value or 0.0, _half(part)) for name, part in parts.items()}, whole)
    return {name: found[name] - (parts[name].value or 0.0) for name in parts}


def _half(estimate: Estimate) -> float:
    return ((estimate.hi or 0.0) - (estimate.lo or 0.0)) / 2.0


def _adding_up(parts: Mapping[str, tuple[float, float]], total: float) -> dict[str, float]:
    """The values nearest to the parts that add up to the total, none below zero.

    Distance is measured in each part's own uncertainty: the surest moves least. A part that would fall below zero is
    held there, and the others make up for it.
    """
    free = dict(parts)
    found = dict.fromkeys(parts, 0.0)
    while free:
        gap = total - sum(value for value, _ in free.values())
        weights = {name: half**2 for name, (_, half) in free.items()}
        spread = sum(weights.values())
        if spread == 0.0:
            spread, weights = float(len(free)), dict.fromkeys(free, 1.0)
        moved = {name: value + gap * weights[name] / spread for name, (value, _) in free.items()}
        below = [name for name, value in moved.items() if value < 0.0]
        if not below:
            return {**found, **moved}
        for name in below:
            del free[name]
    return found


def _resources(ready: System, state: State) -> dict[str, Array]:
    """Utilization of everything that can fill, as parts of one, (draws, loads)."""
    found = {CPS: state.busy / state.scenario.engines}
    if state.machine_busy is not None and ready.machine is not None:
        found[f"machine {ready.machine.name}"] = state.machine_busy
        if bool(np.any(state.available < state.scenario.engines - 1e-9)):
            found["share of the machine by weight"] = state.busy / state.available
    found.update({f"limit {name}": used for name, used in state.limits.items()})
    return found


def bottleneck(ready: System, state: State) -> Bottleneck:
    """The resource nearest to saturation, the next one, and with which probability each is the first."""
    resources = _resources(ready, state)
    names = list(resources)
    table = np.stack([resources[name][:, 0] for name in names])
    first = np.argmax(table[:, 1:], axis=0) if table.shape[1] > 1 else np.argmax(table, axis=0)
    chances = [float(np.mean(first == i)) for i in range(len(names))]
    ranked = sorted(range(len(names)), key=lambda i: -table[i, 0])
    stations = [_station(names[i], table[i], chances[i]) for i in ranked]
    parts = []
    moved = reconciled(ready, state)
    for name, law in sorted(ready.entry["usage"].items()):
        if law["part"] and name in state.usage and law.get("engine", "cp") == "cp":
            share = Estimate.of(100.0 * state.usage[name][:, 0] / state.scenario.engines)
            share = share.moved(100.0 * moved.get(name, 0.0) / state.scenario.engines)
            parts.append(Station(f"of which {name}", share.value, share.lo, share.hi))
    if state.ziip_busy is not None and state.scenario.ziips > 0:
        stations.append(_station(ZIIPS, state.ziip_busy[:, 0] / state.scenario.ziips, 0.0))
    top = stations[0]
    return Bottleneck(
        top.resource,
        top.utilization_pct,
        top.lo,
        top.hi,
        top.probability,
        stations[1] if len(stations) > 1 else None,
        (*stations, *parts),
    )


def _station(name: str, used: Array, chance: float) -> Station:
    estimate = Estimate.of(100.0 * used)
    return Station(name, estimate.value, estimate.lo, estimate.hi, chance)


def _times(state: State) -> list[dict[str, Any]]:
    """Using and waiting of each class in ms at the centre."""
    rows = []
    for key, using in state.using_ms.items():
        waiting = {name: plain(float(value[0, 0])) for name, value in state.waiting_ms[key].items()}
        rows.append({"metric": key[0], "class": key[1], "using_ms": plain(float(using[0, 0])), "waiting_ms": waiting})
    return rows


def _notes(ready: System, load: Load, state: State) -> tuple[dict[str, float], list[str]]:
    """How far the question lies outside the data, and what a reader must know to use the answer."""
    entry, notes, distance = ready.entry, list(load.notes), {}
    total = state.scenario.rates.sum(axis=2)[:, 0]
    if load.point is not None and "cpu_busy_pct" not in load.asked and _rate(ready, load, state, total) is not None:
        notes.insert(0, "etr_tps: the limits are the rates at which the model is as busy as it is here")
    low, high = entry["support_tps"]
    rate = float(state.scenario.rates[0, 0].sum())
    if not low * (1 - 1e-9) <= rate <= high * (1 + 1e-9):
        measured = f"{low:g}" if low == high else f"{low:g} to {high:g}"
        notes.append(f"{rate:g} transactions/s is outside the calibrated rates ({measured}); the interval is widened")
        distance["etr_tps"] = float(abs(np.log(max(rate, 1e-9) / (high if rate > high else max(low, 1e-9)))))
    busy, available = state.busy[:, 0], state.available[:, 0]
    if busy[0] >= available[0]:
        notes.append("the engines are saturated: the rate cannot be reached, usage is what it would ask for")
    elif np.quantile(busy - available, 0.95) > 0:
        notes.append("saturation is within the interval: responses have no upper limit")
    if state.scenario.engines != ready.engines:
        distance["engines"] = float(abs(np.log(state.scenario.engines / ready.engines)))
        factor = Estimate.of(engine_cost(ready, state.scenario.engines))
        notes.append(
            f"measured on {ready.engines:g} engines, asked for {state.scenario.engines:g}: cost per transaction "
            f"{_percent(factor.value)} ({_percent(factor.lo)} to {_percent(factor.hi)}), {entry['n_way']['source']}"
        )
    if entry.get("busy_assumed"):
        notes.append("no busy time of the LPAR is known: the engines are taken to serve this workload alone")
    if state.machine_busy is not None and state.machine_busy[0, 0] > 1.0:
        notes.append("the machine is saturated: its LPARs ask for more engines than it has")
    for name, used in state.limits.items():
        if used[0, 0] >= 1.0:
            notes.append(f"limit {name} is exceeded: its classes have no steady response")
    known = {**entry["usage"], **entry["response"]}
    notes += [f"{name}: {law['origin']}" for name, law in sorted(known.items()) if law["origin"] != "measured"]
    notes += entry.get("notes", [])
    return distance, notes


def _percent(factor: float | None) -> str:
    return "unknown" if factor is None else f"{100.0 * (factor - 1.0):+.1f} %"


def size(
    bundle: Mapping[str, Any],
    system: str,
    etr_tps: float | None = None,
    *,
    at: Mapping[str, Any] | None = None,
    max_busy_pct: float | None = None,
    max_response_ms: float | None = None,
) -> dict[str, Any]:
    """The smallest number of engines that carries a load within a busy and a response target.

    ``engines.value`` meets the targets at even odds, ``lo`` with probability 5 % and ``hi`` with 95 %; null where no
    number up to 256 does. Without a target the engines must only not be saturated.

    Raises:
        QuestionError: unknown system, a value out of its domain, or a response target for a system without responses.
    """
    entry = system_entry(bundle, system)
    ready = compiled(entry)
    asked = dict(at or {})
    if etr_tps is not None:
        asked["etr_tps"] = positive("etr_tps", etr_tps)
    if "engines" in asked:
        raise QuestionError("at.engines", asked["engines"], "at.engines: the number of engines is what is looked for")
    busy_target = 100.0 if max_busy_pct is None else positive("max_busy_pct", max_busy_pct, 100.0)
    response_target = None if max_response_ms is None else positive("max_response_ms", max_response_ms)
    if response_target is not None and not ready.responses:
        raise QuestionError(
            "max_response_ms",
            max_response_ms,
            f"max_response_ms: no response of {system} was measured; use max_busy_pct",
        )
    load = _understood(ready, asked)
    rows, states = [], {}
    for engines in range(1, MOST_ENGINES + 1):
        scenario = on_engines(ready, load.scenario, engines)
        states[engines] = ready.evaluate(scenario)
        rows.append(_size_row(ready, states[engines], engines, busy_target, response_target))
        if rows[-1]["probability"] >= 0.95:
            break
    value, lo, hi = (next((r["engines"] for r in rows if r["probability"] >= p), None) for p in (0.5, 0.05, 0.95))
    chosen = states[value or min(int(ready.engines), MOST_ENGINES)] if (value or int(ready.engines)) in states else None
    chosen = chosen or ready.evaluate(on_engines(ready, load.scenario, value or int(ready.engines)))
    distance, notes = _notes(ready, load, chosen)
    limit = bottleneck(ready, chosen)
    if value is not None and hi is None:
        notes.append(
            "no number of engines is sure to meet the targets: what more engines cannot change is too uncertain"
        )
    if value is None:
        notes.append(f"no number of engines up to {MOST_ENGINES} meets the targets at this rate")
    if limit.resource != CPS:
        notes.append(f"{limit.resource} fills before the engines: more engines alone do not help")
    likeliest = max(rows, key=lambda row: row["probability"])["engines"]
    first, last = (lo or likeliest) - 2, (hi or max(value or 1, likeliest)) + 1
    return as_plain(
        {
            "system": system,
            "at": {key: load.at[key] for key in load.at},
            "targets": {"max_busy_pct": max_busy_pct, "max_response_ms": max_response_ms},
            "model_version": bundle["model_version"],
            "engines": {"value": value, "lo": lo, "hi": hi},
            "bottleneck": asdict(limit),
            "extrapolated": bool(distance) or bool(chosen.busy[0, 0] > chosen.available[0, 0]),
            "interval_pct": INTERVAL_PCT,
            "notes": notes,
            "evidence": evidence(bundle, entry),
            "table": [row for row in rows if first <= row["engines"] <= last],
        }
    )


def on_engines(ready: System, scenario: Scenario, engines: int) -> Scenario:
    """The scenario on another number of CPs, with the n-way effect in the cost."""
    changed = replace(scenario, engines=float(engines), cost=engine_cost(ready, engines))
    if ready.machine is not None and engines > ready.machine.engines:
        changed = replace(changed, machine_engines=float(engines))
    return changed


def _size_row(
    ready: System, state: State, engines: int, busy_target: float, response_target: float | None
) -> dict[str, Any]:
    busy = 100.0 * state.busy[:, 0] / engines
    meets = (busy[1:] <= busy_target) & (state.busy[1:, 0] <= state.available[1:, 0])
    response = None
    if ready.responses:
        key = min(state.response_ms)
        values = state.response_ms[key][:, 0]
        worst = np.max([found[:, 0] for found in state.response_ms.values()], axis=0)
        response = Estimate.of(values) if np.isfinite(values[0]) else None
        if response_target is not None:
            meets = meets & (worst[1:] <= response_target)
    probability = float(np.mean(meets))
    return {
        "engines": engines,
        "cpu_busy_pct": Estimate.of(busy).to_dict(),
        "response_ms": None if response is None else response.to_dict(),
        "probability": probability,
        "meets": probability >= 0.5,
    }


def max_rate(
    bundle: Mapping[str, Any],
    system: str,
    *,
    at: Mapping[str, Any] | None = None,
    max_busy_pct: float = 100.0,
    max_response_ms: float | None = None,
) -> dict[str, Any]:
    """The highest rate of the mix that keeps within the targets, what limits it, and what would limit next.

    Every class grows alike from the load that ``at`` describes. For each draw the factor is found by bisection at which
    the first of LPAR busy, machine, share by weight, limits and, where asked, response reaches its target.

    Raises:
        QuestionError: as :func:`predict`.
    """
    entry = system_entry(bundle, system)
    ready = compiled(entry)
    load = _understood(ready, at or {})
    busy_target = positive("max_busy_pct", max_busy_pct, 100.0) / 100.0
    target_ms = None if max_response_ms is None else positive("max_response_ms", max_response_ms)
    if target_ms is not None and not ready.responses:
        raise QuestionError("max_response_ms", target_ms, f"max_response_ms: no response of {system} was measured")
    base = np.broadcast_to(load.scenario.rates, (ready.draws, 1, len(ready.streams)))

    def excess(factor: Array) -> dict[str, Array]:
        state = ready.evaluate(replace(load.scenario, rates=base * factor[:, None, None]))
        over = {name: used[:, 0] / busy_target for name, used in _resources(ready, state).items()}
        if target_ms is not None:
            worst = np.max([found[:, 0] for found in state.response_ms.values()], axis=0)
            over[f"response of {target_ms:g} ms"] = worst / target_ms
        return over

    names = list(excess(np.ones(ready.draws)))
    reached = {}
    for name in names:
        low, high = np.zeros(ready.draws), np.full(ready.draws, 1.0)
        for _ in range(30):
            short = excess(high)[name] < 1.0
            if not short.any():
                break
            low, high = np.where(short, high, low), np.where(short, high * 2.0, high)
        for _ in range(40):
            middle = (low + high) / 2.0
            short = excess(middle)[name] < 1.0
            low, high = np.where(short, middle, low), np.where(short, high, middle)
        reached[name] = low
    table = np.stack([reached[name] for name in names])
    first = np.argmin(table[:, 1:], axis=0)
    order = np.argsort(table[:, 0])
    total = base.sum(axis=2)[:, 0]
    rate = Estimate.of(table.min(axis=0) * total)
    limits = [
        {
            "resource": names[i],
            "etr_tps": Estimate.of(table[i] * total).to_dict(),
            "growth_pct": Estimate.of(100.0 * (table[i] - 1.0)).to_dict(),
            "probability": float(np.mean(first == i)),
        }
        for i in order
    ]
    _, notes = _notes(ready, load, ready.evaluate(load.scenario))
    return as_plain(
        {
            "system": system,
            "at": load.at,
            "targets": {"max_busy_pct": max_busy_pct, "max_response_ms": max_response_ms},
            "model_version": bundle["model_version"],
            "etr_tps": rate.to_dict(),
            "growth_pct": Estimate.of(100.0 * (table.min(axis=0) - 1.0)).to_dict(),
            "limits": limits,
            "interval_pct": INTERVAL_PCT,
            "notes": notes,
            "evidence": evidence(bundle, entry),
        }
    )


def sweep(
    bundle: Mapping[str, Any],
    system: str,
    key: str,
    values: Sequence[float],
    *,
    at: Mapping[str, Any] | None = None,
    metrics: Sequence[str] = (),
) -> dict[str, Any]:
    """Chosen metrics over a range of one key; null where there is no steady state.

    Raises:
        QuestionError: as :func:`predict`; or a metric that is not answered for the system.
    """
    entry = system_entry(bundle, system)
    ready = compiled(entry)
    known = sorted({spec["metric"] for spec in entry["outputs"]})
    for metric in metrics:
        if metric not in known:
            raise QuestionError("metrics", metric, f"metrics: {metric!r} is not predicted for {system}", known)
    rows = []
    for number in values:
        load = _understood(ready, {**(at or {}), key: number})
        state = ready.evaluate(load.scenario)
        distance, _ = _notes(ready, load, state)
        found = [asdict(output) for output in _outputs(ready, load, state) if not metrics or output.metric in metrics]
        over = bool(state.busy[0, 0] > state.available[0, 0])
        rows.append({key: float(number), "outputs": found, "extrapolated": bool(distance) or over})
    return as_plain(
        {
            "system": system,
            "key": key,
            "at": dict(at or {}),
            "model_version": bundle["model_version"],
            "interval_pct": INTERVAL_PCT,
            "steps": rows,
        }
    )


def compare(
    bundle: Mapping[str, Any],
    system: str,
    a: Mapping[str, Any],
    b: Mapping[str, Any],
    *,
    other: str | None = None,
) -> dict[str, Any]:
    """Two questions side by side: B against A, metric by metric, with the interval of the difference.

    Both are evaluated with the same draws where they are about one system, so that what they share cancels.

    Raises:
        QuestionError: as :func:`predict`.
    """
    answers = [predict(bundle, system, a), predict(bundle, other or system, b)]
    rows = []
    figures = [_draws_by_metric(bundle, name, at) for name, at in ((system, a), (other or system, b))]
    for key, left in figures[0].items():
        right = figures[1].get(key)
        if right is None or not np.isfinite(left[0]) or not np.isfinite(right[0]) or left[0] == 0:
            continue
        with np.errstate(invalid="ignore", divide="ignore"):
            change = Estimate.of(np.nan_to_num(100.0 * (right / left - 1.0), nan=np.inf, posinf=np.inf))
        rows.append(
            {"metric": key[0], "class": key[1], "a": float(left[0]), "b": float(right[0])}
            | {"change_pct": change.to_dict()}
        )
    return as_plain(
        {
            "system": system,
            "other": other or system,
            "model_version": bundle["model_version"],
            "interval_pct": INTERVAL_PCT,
            "a": answers[0].to_dict(),
            "b": answers[1].to_dict(),
            "changes": rows,
        }
    )


def _draws_by_metric(bundle: Mapping[str, Any], system: str, at: Mapping[str, Any]) -> dict[tuple[str, str], Array]:
    ready = compiled(system_entry(bundle, system))
    state = ready.evaluate(_understood(ready, at).scenario)
    total = np.broadcast_to(state.scenario.rates.sum(axis=2), state.busy.shape)[:, 0]
    found = {}
    for spec in ready.entry["outputs"]:
        draws = total if spec["form"] == "total_rate" else _figure(ready, state, spec, total)
        if draws is not None:
            found[spec["metric"], str(spec.get("class", spec.get("station", "")))] = draws
    return found
