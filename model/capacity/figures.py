"""Figures of an answer: metrics with their limits, what fills first, using and waiting by class."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.capacity.answer import Bottleneck, Estimate, Output, Station, plain
from model.capacity.ensemble import LPAR, State, System
from model.capacity.loads import Load, at_busy
from model.capacity.msu import msu
from model.capacity.questions import as_text

Array = NDArray[np.float64]
CPS = "general-purpose CPs of the LPAR"
ZIIPS = "zIIPs of the LPAR"
SHARE = "share of the machine by weight"


def condition_of(ready: System, load: Load, spec: Mapping[str, Any]) -> str:
    """The condition of a figure: as published at a measured point, else what all points share and the question; its
    class or station beside it."""
    parts = [
        _shared(ready, load, spec["metric"]),
        *(f"{key}={spec[key]}" for key in ("class", "station") if key in spec),
    ]
    return "; ".join(filter(None, reversed(parts) if "class" in spec else parts))


def _shared(ready: System, load: Load, metric: str) -> str:
    entry = ready.entry
    extra = {key: value for key, value in load.asked.items() if key != "point"}
    if load.point is not None and not extra:
        return str(load.point["conditions"].get(metric, ""))
    asked = [f"{key}={value if isinstance(value, str) else as_text(float(value))}" for key, value in extra.items()]
    if not entry["points"] or entry.get("profile"):
        return "; ".join(asked)
    named = [load.point] if load.point is not None else entry["points"]
    pairs = [[pair.strip() for pair in p["conditions"].get(metric, "").split(";") if "=" in pair] for p in named]
    kept = [pair for pair in pairs[0] if all(pair in other for other in pairs[1:])]
    if load.point is None:
        kept = [pair for pair in kept if not pair.startswith("point=")]
    return "; ".join([*kept, *asked])


def outputs_of(ready: System, load: Load, state: State, metrics: Collection[str] = ()) -> list[Output]:
    """Every figure of the system at load 0, or those of ``metrics``; no value where there is no steady state."""
    total = total_rate(state)
    moved = reconciled(ready, state)
    outputs = []
    for spec in ready.entry["outputs"]:
        metric = spec["metric"]
        if (metric in load.asked and "class" not in spec) or (metrics and metric not in metrics):
            continue
        if spec["form"] == "total_rate":
            estimate = own_rate(ready, load, state)
        else:
            draws = figure_draws(ready, state, spec)
            estimate = None if draws is None else Estimate.of(draws)
            if estimate is not None and spec["form"] in ("pct", "us_per_tran") and spec.get("series") in moved:
                rate = total if spec.get("stream") is None else ready.stream(state.scenario, spec["stream"])[:, 0]
                unit = 100.0 if spec["form"] == "pct" else 1e6 / float(rate[0])
                estimate = estimate.moved(unit * moved[spec["series"]])
        if estimate is None:
            continue
        outputs.append(
            Output(metric, condition_of(ready, load, spec), estimate.value, estimate.lo, estimate.hi, spec["unit"])
        )
    return outputs


def total_rate(state: State) -> Array:
    """Transactions/s of all classes at load 0, (draws,)."""
    return np.broadcast_to(state.scenario.rates.sum(axis=2), state.busy.shape)[:, 0]


def own_rate(ready: System, load: Load, state: State) -> Estimate | None:
    """The rate is an answer where the busy was asked, at a measured point with its own busy, and over a history."""
    if "etr_tps" in load.asked:
        return None
    total = total_rate(state)
    if "cpu_busy_pct" in load.asked or ready.entry.get("profile"):
        return Estimate.of(total)
    if total[0] <= 0 or load.point is None or ready.capacity != (LPAR,) or state.scenario.engines != ready.engines:
        return None
    busy = 100.0 * float(state.busy[0, 0]) / state.scenario.engines
    if busy > 100.0:
        return None
    solved = Estimate.of(at_busy(ready, state.scenario, busy).rates.sum(axis=2)[:, 0])
    return Estimate(float(total[0]), solved.lo, solved.hi)


def figure_draws(ready: System, state: State, spec: Mapping[str, Any]) -> Array | None:
    """One metric at load 0 for every draw, (draws,); None where it does not apply."""
    form, total = spec["form"], total_rate(state)
    engines = state.scenario.engines
    with np.errstate(divide="ignore", invalid="ignore"):
        if form == "total_rate":
            return total
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
        if form in ("msu", "machine_msu", "msu_4hra"):
            return msu(ready, state, form)
        if form == "internal_rate":
            return None if state.busy[0, 0] <= 0 else total * engines / np.maximum(state.busy[:, 0], 1e-12)
        if form == "rate":
            return ready.stream(state.scenario, spec["stream"])[:, 0]
        if form == "limit_pct":
            return 100.0 * state.limits[spec["station"]][:, 0] if spec["station"] in state.limits else None
        if spec["stream"] in ready.streams and ready.stream(state.scenario, spec["stream"])[0, 0] <= 0:
            return None
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


def resources(ready: System, state: State) -> dict[str, Array]:
    """Utilization of everything that can fill, as parts of one, (draws, loads)."""
    found = {CPS: state.busy / state.scenario.engines}
    if state.machine_busy is not None and ready.machine is not None:
        found[f"machine {ready.machine.name}"] = state.machine_busy
        if bool(np.any(state.available < state.scenario.engines - 1e-9)):
            found[SHARE] = state.busy / state.available
    found.update({f"limit {name}": used for name, used in state.limits.items()})
    return found


def bottleneck(ready: System, state: State) -> Bottleneck:
    """The resource nearest to saturation, the next one, and with which probability each is the first."""
    used = resources(ready, state)
    names = list(used)
    table = np.stack([used[name][:, 0] for name in names])
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


def times(state: State) -> list[dict[str, Any]]:
    """Using and waiting of each class in ms at the centre."""
    rows = []
    for key, using in state.using_ms.items():
        waiting = {name: plain(float(value[0, 0])) for name, value in state.waiting_ms[key].items()}
        rows.append({"metric": key[0], "class": key[1], "using_ms": plain(float(using[0, 0])), "waiting_ms": waiting})
    return rows
