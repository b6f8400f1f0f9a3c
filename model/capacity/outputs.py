"""Outputs of an answer: figures with their limits, named by the question, and the resource that is fullest.

Figures of groups that are parts of a total add up to it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.capacity.answer import Bottleneck, Estimate, Output, Station, plain
from model.capacity.engines import ziip_servers
from model.capacity.evaluation import at_busy
from model.capacity.figures import Figure, figure_table, figures_of, rate_of, spread, ziip_work
from model.capacity.parameters import Limit, Point, SystemParameters, cached
from model.capacity.question import Question
from model.capacity.state import LPAR, State
from model.capacity.system import System
from model.capacity.values import as_text

Array = NDArray[np.float64]
CPS = "general-purpose CPs of the LPAR"
ZIIPS = "zIIPs of the LPAR"
SHARE = "share of the machine by weight or cap"
SOONER = 1e-9
"""By how much CPs are taken to be fuller than zIIPs whose work overflows to them."""


class _Conditions:
    """A question as the conditions of its figures say it."""

    def __init__(self, ready: System, load: Question) -> None:
        self._keys = {
            key: f"{key}={value if isinstance(value, str) else as_text(float(value))}"
            for key, value in load.keys.items()
            if key != "point"
        }
        self._text, self._parameters, self._point = "; ".join(self._keys.values()), ready.parameters, load.point
        self._shared_by_all = self._of_all() if load.point is None else {}
        # Whether conditions have class and station alone, whatever the question.
        self.silent = not (load.point is not None and not self._keys) and bool(
            not ready.parameters.points or ready.parameters.recorded
        )

    def condition(self, spec: Figure) -> str:
        """The condition of a figure: its class or station; as published at a measured point, else what all points share
        and the question."""
        shared, station, class_ = self._shared(spec.metric), spec.station, spec.class_name
        if not station and not class_:
            return shared
        parts = [f"{key}={value}" for key, value in (("station", station), ("class", class_)) if value]
        condition = "; ".join(parts)
        if not shared:
            return condition
        return f"{shared}; {condition}" if not class_ else f"{condition}; {shared}"

    def _shared(self, metric: str) -> str:
        if self.silent:
            return ""
        if self._point is None:
            kept = self._shared_by_all.get(metric, "")
            return f"{kept}; {self._text}" if kept and self._text else kept or self._text
        if not self._keys:
            return str(self._point.conditions.get(metric, ""))
        kept = _but(_pairs(self._point, metric), self._keys)
        return f"{kept}; {self._text}" if kept else self._text

    def _of_all(self) -> dict[str, str]:
        """By metric, what all measured points share and the question does not ask for otherwise; empty without them."""
        points, keys = self._parameters.points, tuple(self._keys)
        if not points:
            return {}
        metrics = [one.metric for one in figures_of(self._parameters)]
        made = lambda: {metric: _but(_common(points, metric), keys) for metric in metrics}  # noqa: E731
        return cached(points[0], ("conditions", keys), made)


def condition_of(ready: System, load: Question, spec: Figure) -> str:
    """The condition of a figure, as :class:`_Worded` says it."""
    return _Conditions(ready, load).condition(spec)


def _but(pairs: Sequence[str], keys: Collection[str]) -> str:
    """Pairs of a condition, without those of some keys."""
    return "; ".join(pair for pair in pairs if pair.partition("=")[0] not in keys)


def _pairs(point: Point, metric: str) -> list[str]:
    """The condition of a metric at a measured point."""
    return [pair.strip() for pair in point.conditions.get(metric, "").split(";") if "=" in pair]


def _common(points: Sequence[Point], metric: str) -> list[str]:
    """What the conditions of a metric have in common at all measured points."""
    first, *others = (_pairs(point, metric) for point in points)
    return [pair for pair in first if not pair.startswith("point=") and all(pair in other for other in others)]


def outputs_of(ready: System, load: Question, state: State) -> list[Output]:
    """Every figure of the system at load 0; no value where there is no steady state."""
    return [Output(**figure) for figure in outputs_of_each(ready, [load], state)[0]]


@np.errstate(divide="ignore", invalid="ignore")
def outputs_of_each(
    ready: System, loads: Sequence[Question], state: State, metrics: Collection[str] = ()
) -> list[list[dict[str, Any]]]:
    """As :func:`outputs_of` for each load, or ``metrics`` alone, as dictionaries; the loads differ in one value
    alone."""
    rows: list[list[dict[str, Any]]] = [[] for _ in loads]
    question = loads[0].keys
    specs = [
        spec
        for spec in figures_of(ready.parameters)
        if not (spec.metric in question and not spec.class_name) and not (metrics and spec.metric not in metrics)
    ]
    # The rate is an output over a history and at a given busy; of points it is what was measured.
    free = "etr_tps" not in question and ("cpu_busy_pct" in question or ready.parameters.recorded)
    tables = [figure_table(ready, state, spec) if spec.form != "total_rate" or free else None for spec in specs]
    given = [table for table in tables if table is not None]
    every = Estimate.limits(np.concatenate(given, axis=1)) if given else []
    states = {"pct": state.carried, "us_per_tran": state}
    wanted = {id(states[spec.form]): states[spec.form] for spec in specs if spec.form in states}
    moved_of = {key: reconciled_each(ready, of) for key, of in wanted.items()}
    worded = _Conditions(ready, loads[0])
    each_worded = [] if worded.silent else [_Conditions(ready, load) for load in loads]
    numbers = iter(range(len(given)))
    for spec, table in zip(specs, tables, strict=True):
        conditions = [words.condition(spec) for words in each_worded] or [worded.condition(spec)] * len(loads)
        metric, unit = spec.metric, spec.unit
        if table is None:
            if spec.form == "total_rate":
                for i, (row, condition, load) in enumerate(zip(rows, conditions, loads, strict=True)):
                    if (one := _rate_at_point(ready, load, state.at_load(i))) is not None:
                        row.append(_figure(metric, condition, one.value, one.lo, one.hi, unit))
            continue
        first = next(numbers) * len(loads)
        values = [of_all[first : first + len(loads)] for of_all in every]
        each = moved_of[id(states[spec.form])] if spec.form in states else [{}]
        if spec.series in each[0]:
            by = (units * moved[spec.series] for units, moved in zip(_units(ready, state, spec), each, strict=True))
            moved = [Estimate(*one).moved(further) for *one, further in zip(*values, by, strict=True)]
            values = [[one.value for one in moved], [one.lo for one in moved], [one.hi for one in moved]]
        for row, condition, value, lo, hi in zip(rows, conditions, *values, strict=True):
            row.append(_figure(metric, condition, value, lo, hi, unit))
    return rows


def _figure(
    metric: str, condition: str, value: float | None, lo: float | None, hi: float | None, unit: str
) -> dict[str, Any]:
    return {"metric": metric, "condition": condition, "value": value, "lo": lo, "hi": hi, "unit": unit}


def _units(ready: System, state: State, spec: Figure) -> list[float]:
    """By how much a figure of a group changes with each engine that the group uses, for each load."""
    if spec.form == "pct":
        return [100.0] * state.busy.shape[1]
    units: list[float] = (1e6 / np.maximum(rate_of(ready, state, spec)[0], 1e-12)).tolist()
    return units


def _rate_at_point(ready: System, load: Question, state: State) -> Estimate | None:
    """The rate at a measured point with its limits: within the rates at which the model is as busy."""
    total = spread(state.scenario.total_rates, state)[:, 0]
    if "etr_tps" in load.keys or total[0] <= 0 or load.point is None:
        return None
    if load.keys.keys() - {"point"}:
        return Estimate.of(total)
    busy = 100.0 * float(state.busy[0, 0]) / state.scenario.engines
    if busy > 100.0 or ready.busy_components != (LPAR,) or state.scenario.engines != ready.engines:
        return None
    solved = Estimate.of(at_busy(ready, state.scenario, busy).rates.sum(axis=2)[:, 0])
    return Estimate(float(total[0]), solved.lo, solved.hi)


def reconciled(ready: System, state: State) -> dict[str, float]:
    """How far each group that is part of the total moves so that the groups add up to it, in engines."""
    return reconciled_each(ready, state)[0]


def reconciled_each(ready: System, state: State) -> list[dict[str, float]]:
    """As :func:`reconciled`, for each load."""
    parameters, loads = ready.parameters, state.busy.shape[1]
    if not parameters.exhaustive:
        return [{}] * loads
    parts = [name for name, demand in parameters.demands.items() if demand.additive and demand.points]
    limits = Estimate.each(np.concatenate([state.usage[name] for name in parts], axis=1)) if parts else []
    rows = []
    for i in range(loads):
        estimates = {name: (one.value or 0.0, _half(one)) for name, one in zip(parts, limits[i::loads], strict=True)}
        moved = _adding_up(estimates, float(state.usage[parameters.main_total][0, i]))
        rows.append({name: moved[name] - estimates[name][0] for name in estimates})
    return rows


def _half(estimate: Estimate) -> float:
    return ((estimate.hi or 0.0) - (estimate.lo or 0.0)) / 2.0


def _adding_up(parts: Mapping[str, tuple[float, float]], total: float) -> dict[str, float]:
    """The values nearest to the parts that add up to the total, none below zero.

    Distance is relative to the uncertainty of each part: the surest moves least. A part that would fall below zero is
    set to zero, and the others make up for it.
    """
    free = dict(parts)
    unchanged = dict.fromkeys(parts, 0.0)
    while free:
        gap = total - sum(value for value, _ in free.values())
        weights = {name: half**2 for name, (_, half) in free.items()}
        spread = sum(weights.values())
        if spread == 0.0:
            spread, weights = float(len(free)), dict.fromkeys(free, 1.0)
        moved = {name: value + gap * weights[name] / spread for name, (value, _) in free.items()}
        below = [name for name, value in moved.items() if value < 0.0]
        if not below:
            return {**unchanged, **moved}
        for name in below:
            del free[name]
    return unchanged


def machine_demand(ready: System, state: State) -> Array | None:
    """Offered utilization of the machine, (draws, loads), where the LPAR offers no more than its engines and cap."""
    sharing = ready.partition.sharing(state.scenario)
    if sharing is None:
        return None
    return ready.partition.busy(state.scenario, np.minimum(state.busy, sharing.own.engines))


def resources(ready: System, state: State) -> dict[str, Array]:
    """Utilization of everything that holds work back when it is full, as parts of one, (draws, loads).

    A zIIP pool whose work overflows is not among it.
    """
    parts = {CPS: state.busy / state.scenario.engines}
    machine = ready.partition.cpc(state.scenario)
    if state.machine_busy is not None and machine is not None:
        parts[f"machine {machine.name}"] = state.machine_busy
        if bool(np.any(state.available < state.scenario.engines - 1e-9)):
            of_share = state.busy / state.available
            if ready.partition.is_capped(state.scenario):
                parts[SHARE] = of_share
            else:
                # Nothing but the other LPARs' work on a full machine holds it back.
                name, offered = f"machine {machine.name}", machine_demand(ready, state)
                full = np.zeros(1, bool) if offered is None else (of_share >= 1.0) & (offered >= 1.0)
                parts[name] = np.where(full, np.maximum(parts[name], of_share), parts[name])
    limits = (one for one in ready.limits if one.name in state.limits and is_determined(one, state))
    parts.update({one.resource: state.limits[one.name] for one in limits})
    if not ready.ziip_pool.overflow:
        parts.update(_ziips(ready, state))
    return parts


def is_determined(limit: Limit, state: State) -> bool:
    """Whether the utilization of a limit is determined: by the records, or, where nobody waited, by planned servers."""
    return limit.determined or (not limit.reached and limit.name in state.scenario.limits)


def _ziips(ready: System, state: State) -> dict[str, Array]:
    """Work on the zIIPs as a part of what they can do, with all threads active; empty without zIIPs."""
    if state.ziip_busy is None or state.scenario.ziips <= 0:
        return {}
    most = ziip_servers(ready.ziip_pool, state.scenario)
    return {ZIIPS: ziip_work(ready, state) / most}


def ziips_without_target(ready: System, state: State) -> list[str]:
    """What to say of zIIPs that hold nothing back, as their work overflows; empty where they do, or there are none."""
    if not ready.ziip_pool.overflow or state.scenario.ziips <= 0:
        return []
    return [f"{ZIIPS} are not checked against the target, because overflow runs on CPs"]


def bottleneck(ready: System, state: State) -> Bottleneck:
    """The resource nearest to saturation at load 0, the next one, and with which probability each is the first."""
    on_ziips, state = _ziips(ready, state.carried), state.offered_where_full
    used = resources(ready, state) | on_ziips
    demand = machine_demand(ready, state)
    machine = {name: np.minimum(part, 1.0) for name, part in used.items() if name.startswith("machine ")}
    if demand is not None:
        used |= dict.fromkeys(machine, demand)
    names = list(used)
    table = np.array([used[name][:, 0] for name in names])
    # zIIPs whose work overflows hold nothing back before the CPs are full, too.
    binding = np.minimum(table, used[CPS][:, 0] - SOONER) if ready.ziip_pool.overflow else table
    binding = np.where(np.isin(names, list(on_ziips))[:, None], binding, table)
    first = np.argmax(binding[:, 1:] if table.shape[1] > 1 else binding, axis=0)
    chances = (np.bincount(first, minlength=len(names)) / len(first)).tolist()
    ranked = np.argsort(-binding[:, 0], kind="stable").tolist()
    # LPARs may ask for more of a machine than they get; shown is what they use.
    shown = np.array([(used | machine)[name][:, 0] for name in names])
    every = cached(ready.parameters, "groups", lambda: _groups(ready.parameters))
    groups = [name for name in every if name in state.usage]
    each = 100.0 / state.scenario.engines
    parts_pct = [each * state.usage[name][:, 0] for name in groups]
    estimates = Estimate.each(np.array([*(100.0 * shown), *parts_pct]).T)
    stations = [_station(names[i], estimates[i], chances[i]) for i in ranked]
    moved = reconciled(ready, state)
    parts = [
        _station(f"of which {name}", share.moved(each * moved.get(name, 0.0)))
        for name, share in zip(groups, estimates[len(names) :], strict=True)
    ]
    top, cps = stations[0], ranked.index(names.index(CPS)) + 1
    return Bottleneck(
        top.resource,
        top.utilization_pct,
        top.lo,
        top.hi,
        top.probability,
        stations[1] if len(stations) > 1 else None,
        (*stations[:cps], *parts, *stations[cps:]),
    )


def _groups(parameters: SystemParameters) -> list[str]:
    """The groups that use CPs and are part of the total, by name."""
    return [name for name, demand in sorted(parameters.demands.items()) if demand.additive and demand.engine == "cp"]


def _station(name: str, used_pct: Estimate, chance: float = 0.0) -> Station:
    return Station(name, used_pct.value, used_pct.lo, used_pct.hi, chance)


def times(state: State) -> list[dict[str, Any]]:
    """Using and waiting of each class in ms at the centre."""
    rows = []
    for key, using in state.using_ms.items():
        waiting = {name: plain(float(value[0, 0])) for name, value in state.waiting_ms[key].items()}
        rows.append({"metric": key[0], "class": key[1], "using_ms": plain(float(using[0, 0])), "waiting_ms": waiting})
    return rows
