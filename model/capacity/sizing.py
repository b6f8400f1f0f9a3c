"""How far a system goes within targets: the engines a load needs, and the highest rate."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.capacity.answer import Estimate
from model.capacity.bundle import classes_named, system_entry
from model.capacity.cpc import engine_cost
from model.capacity.evaluation import evaluate, find_root
from model.capacity.evidence import as_answer, extrapolated, notes_on
from model.capacity.figures import median_where_stable
from model.capacity.outputs import CPS, bottleneck, resources, ziips_without_target
from model.capacity.question import Question, parse_question, prepare_system
from model.capacity.state import Scenario, State
from model.capacity.system import System
from model.capacity.values import MOST_ENGINES, QuestionError, must_be_positive, number_text

Array = NDArray[np.float64]

Key = tuple[str, str]
MaxResponse = float | Mapping[str, float] | None
RESPONSE = "max_response_ms"
LEAST_MS = 1e-300
"""Shortest response target, so that every response is a finite multiple of its target."""
ODDS = (0.05, 0.5, 0.95)
"""Probabilities of meeting the targets for the lower limit, the value and the upper limit of a number of engines."""
LEAST_HELP = 1e-4
"""Relative improvement below which another engine does not help."""


@dataclass(frozen=True)
class Targets:
    """Targets: ``busy_pct`` of every resource, ``response_ms`` of responses by metric and class, empty for none."""

    busy_pct: float
    response_ms: Mapping[Key, float]

    def used(self, state: State) -> Array:
        """The largest part of its target that any response is, (draws, loads); 0 where none has one."""
        parts = [state.response_ms[key] / target for key, target in self.response_ms.items()]
        return np.asarray(np.max(parts, axis=0)) if parts else np.zeros((len(state.busy), 1))

    def longest(self, state: State) -> Array:
        """The longest mean response of the classes with a target, or, without one, of any, (draws, loads)."""
        return np.asarray(np.max([state.response_ms[key] for key in self.response_ms or state.response_ms], axis=0))

    def nearest(self, state: State) -> Key:
        """The response that is nearest to its target, or furthest beyond, at the first load."""
        return max(self.response_ms, key=lambda key: float(state.response_ms[key][0, 0]) / self.response_ms[key])


def parse_targets(system: str, ready: System, max_busy_pct: float, max_response_ms: MaxResponse) -> Targets:
    """The targets of a question: a response target is a number of milliseconds for every class, or one by class.

    Raises
    ------
    QuestionError
        a target out of its domain, or of responses that were not measured; an unknown class, one
        that stands for several, or that has two targets.
    """
    busy_pct = must_be_positive("max_busy_pct", max_busy_pct, 100.0)
    if max_response_ms is None:
        return Targets(busy_pct, {})
    if not ready.responses:
        text = f"{RESPONSE}: no response of {system} was measured; use max_busy_pct"
        raise QuestionError(RESPONSE, max_response_ms, text)
    keys = [one.key for one in ready.responses]
    if not isinstance(max_response_ms, Mapping):
        return Targets(busy_pct, dict.fromkeys(keys, _target_ms(RESPONSE, max_response_ms)))
    if not max_response_ms:
        raise QuestionError(RESPONSE, {}, f"{RESPONSE} must name at least one class", {key[1] for key in keys})
    targets_ms: dict[Key, float] = {}
    for name, value in max_response_ms.items():
        field = f"{RESPONSE}.{name}"
        class_names = {ready.class_names[member] for member in classes_named(ready.parameters, field, name)}
        those = [key for key in keys if key[1] in class_names]
        if not those:
            text = f"{field}: no response of {name} was measured"
            raise QuestionError(field, name, text, {class_name for _, class_name in keys})
        if twice := next((class_name for metric, class_name in those if (metric, class_name) in targets_ms), None):
            raise QuestionError(field, value, f"{field}: {twice} has a target already")
        targets_ms |= dict.fromkeys(those, _target_ms(field, value))
    return Targets(busy_pct, targets_ms)


def with_targets(
    bundle: Mapping[str, Any],
    system: str,
    at: Mapping[str, Any] | None,
    max_busy_pct: float,
    max_response_ms: MaxResponse,
) -> tuple[System, Question, Targets]:
    """The system and the question at its offered rates, with the targets; errors as of both."""
    ready = prepare_system(system_entry(bundle, system), at)
    within = parse_targets(system, ready, max_busy_pct, max_response_ms)
    return ready, parse_question(ready, at).offered(), within


def _target_ms(field: str, value: Any) -> float:
    return max(must_be_positive(field, value), LEAST_MS)


def size(
    bundle: Mapping[str, Any],
    system: str,
    at: Mapping[str, Any] | None = None,
    *,
    max_busy_pct: float | None = None,
    max_response_ms: MaxResponse = None,
    machines: Sequence[str] = (),
) -> dict[str, Any]:
    """The smallest number of engines that carries a load within a busy and a response target.

    ``engines.value`` meets the targets at even odds, ``lo`` with probability 5 % and ``hi`` with 95 %; null where no
    number up to 256 does. ``table`` has the numbers next to these three. Each has its busy, its longest response of any
    class with a target (or of any class, without one), and the ``limit``: the resource or response that is nearest to
    its target, or furthest beyond. The busy target is that of every resource, as for :func:`max_rate`: engines,
    machine, share by weight, limits. Without it none must be saturated. The response target is that of every class, or
    one by class. ``machines`` has the same for each of the machines, in addition to the answer for that of ``at``.

    Raises
    ------
    QuestionError
        unknown system, class or machine, a value out of its domain, or a response target for a system
        without responses.
    """
    targets: dict[str, Any] = {"max_busy_pct": max_busy_pct, "max_response_ms": max_response_ms}
    elsewhere = [_on_machine(name, at, lambda moved: size(bundle, system, moved, **targets)) for name in machines]
    if at and "engines" in at:
        text = "at.engines: leave it out, because size finds the number of engines"
        raise QuestionError("at.engines", at["engines"], text)
    ready, load, within = with_targets(
        bundle, system, at, 100.0 if max_busy_pct is None else max_busy_pct, max_response_ms
    )
    rows = _tried(ready, load.scenario, within)
    lo, value, hi = (next((r["engines"] for r in rows if r["probability"] >= p), None) for p in ODDS)
    best = max(rows, key=lambda row: (row["probability"], row["engines"]))
    likeliest = best["engines"]
    chosen = evaluate(ready, on_engines(ready, load.scenario, value or likeliest))
    shown = (lo or likeliest, value or likeliest, hi or max(value or 1, likeliest))
    return as_answer(
        bundle,
        system,
        ready,
        load,
        targets=targets,
        engines={"value": value, "lo": lo, "hi": hi},
        bottleneck=asdict(bottleneck(ready, chosen)),
        extrapolated=extrapolated(ready, chosen),
        notes=[
            *notes_on(ready, load, chosen),
            *_size_notes(ready, chosen, best, value, hi, within.busy_pct),
        ],
        table=[row for row in rows if any(-2 <= row["engines"] - engines <= 1 for engines in shown)],
        machines=elsewhere,
    )


def _tried(ready: System, scenario: Scenario, within: Targets) -> list[dict[str, Any]]:
    """Numbers of engines, from two below the first that may do to the first that surely does, or to where more of them
    help no more."""

    def enough(engines: int) -> float:
        """The probability that the engines themselves are no busier than the target: the more, the less busy."""
        busy = ready.usage(on_engines(ready, scenario, engines)).busy
        return float(np.mean(100.0 * busy[1:, 0] <= within.busy_pct * engines))

    machine = ready.partition.cpc(scenario)
    physical = machine.engines if machine else 0.0
    first = bisect_left(range(1, MOST_ENGINES), ODDS[0], key=enough) + 1
    rows: list[dict[str, Any]] = []
    before, best = np.full((2, ready.draws), np.inf), 0.0
    for engines in range(max(first - 2, 1), MOST_ENGINES + 1):
        state = evaluate(ready, on_engines(ready, scenario, engines))
        fullest, parts = _parts_of_targets(ready, state, within)
        rows.append(_size_row(ready, state, within, engines, fullest, parts))
        best = max(best, rows[-1]["probability"])
        if best >= ODDS[-1]:
            break
        # Beyond its machine's engines an LPAR is taken to be on a larger one, which may help again.
        if engines > max(first, physical):
            # Where a response has no end, the resource that is full says whether it may get one.
            closer = ((parts < before * (1.0 - LEAST_HELP)) | (parts <= 1.0) | np.isinf(parts))[:, 1:]
            if np.mean(closer.all(axis=0)) < next(chance for chance in ODDS if best < chance):
                break
        before = parts
    return rows


def _parts_of_targets(ready: System, state: State, within: Targets) -> tuple[str, Array]:
    """The fullest resource by name, and (2, draws) it and the responses as parts of their targets; 0 without."""
    used = {name: part[:, 0] for name, part in resources(ready, state.offered_where_full).items()}
    fullest = 100.0 * np.max(list(used.values()), axis=0) / within.busy_pct
    return max(used, key=lambda name: float(used[name][0])), np.stack([fullest, within.used(state)[:, 0]])


def _size_notes(
    ready: System, chosen: State, likeliest: Mapping[str, Any], value: int | None, hi: int | None, busy_pct: float
) -> list[str]:
    """Notes on the number of engines, or, without one, on the likeliest."""
    notes, limit = [], bottleneck(ready, chosen)
    if ready.machine is not None and chosen.scenario.engines > ready.machine.engines:
        number = f"{chosen.scenario.engines:g}"
        notes.append(f"engines: the machine has {ready.machine.engines:g}; this answer assumes {number}")
    if value is None:
        notes.append(f"no number of engines up to {MOST_ENGINES} meets the targets at this rate")
        number = f"{likeliest['engines']} engines, the likeliest number"
        notes.append(f"{likeliest['limit']} keeps {number} from the targets")
    elif hi is None:
        notes.append(
            "no number of engines meets the targets with 95 % probability: effects other than engines are too uncertain"
        )
    if value is not None and limit.resource != CPS:
        beyond = f", busier than {busy_pct:g} %" if (limit.utilization_pct or 0.0) > busy_pct else ""
        notes.append(f"the bottleneck is not the engines: {limit.resource}{beyond}")
    return notes + ziips_without_target(ready, chosen)


def _on_machine(
    machine: str, at: Mapping[str, Any] | None, sized: Callable[[Mapping[str, Any]], Mapping[str, Any]]
) -> dict[str, Any]:
    """Results of a sizing for one machine among several."""
    if at and "machine" in at:
        text = "machines: leave at.machine out; each machine of the list takes its place"
        raise QuestionError("machines", machine, text)
    try:
        answer = sized({**(at or {}), "machine": machine})
    except QuestionError as refused:
        if refused.field == "at.machine":
            refused.field = "machines"
        raise
    engines = answer["engines"]["value"]
    row = next((row for row in answer["table"] if row["engines"] == engines), None)
    return {
        "machine": machine,
        "engines": answer["engines"],
        "cpu_busy_pct": row and row["cpu_busy_pct"],
        "response_ms": row and row["response_ms"],
        "bottleneck": answer["bottleneck"],
    }


def on_engines(ready: System, scenario: Scenario, engines: int) -> Scenario:
    """The scenario on another number of CPs, with the n-way effect in the cost."""
    cost = scenario.cost * engine_cost(ready, engines, scenario.machine)
    changed = replace(scenario, engines=float(engines), cost=cost)
    machine = ready.partition.cpc(scenario)
    if machine is not None and engines > machine.engines:
        changed = replace(changed, cpc=replace(machine, engines=float(engines)))
    return changed


def _size_row(ready: System, state: State, within: Targets, engines: int, fullest: str, parts: Array) -> dict[str, Any]:
    response = None
    if ready.responses:
        values = median_where_stable(within.longest(state))[:, 0]
        response = Estimate.of(values) if np.isfinite(values[0]) else None
    probability = float(np.mean(parts[:, 1:].max(axis=0) <= 1.0))
    return {
        "engines": engines,
        "cpu_busy_pct": Estimate.of(100.0 * np.minimum(state.offered_where_full.busy[:, 0] / engines, 1.0)).to_dict(),
        "response_ms": None if response is None else response.to_dict(),
        "probability": probability,
        "meets": probability >= 0.5,
        # A response without end comes from a resource that is full.
        "limit": f"response of {within.nearest(state)[1]}" if parts[0, 0] < parts[1, 0] < np.inf else fullest,
    }


def max_rate(
    bundle: Mapping[str, Any],
    system: str,
    at: Mapping[str, Any] | None = None,
    *,
    max_busy_pct: float = 100.0,
    max_response_ms: MaxResponse = None,
) -> dict[str, Any]:
    """The highest rate of the mix that keeps within the targets, what limits it, and what would limit next.

    Every class grows alike from the load that ``at`` describes. For each draw the factor is found at which the first of
    LPAR busy, machine, share by weight, limits and, with a target, response of a class reaches its target.

    Raises
    ------
    QuestionError
        as :func:`predict`.
    """
    ready, load, within = with_targets(bundle, system, at, max_busy_pct, max_response_ms)
    if not np.any(load.scenario.rates > 0.0):
        raise QuestionError("at", dict(at or {}), "at: this load has no transactions whose rate could grow")
    reached = _reached(ready, load.scenario, within)
    names, table = list(reached), np.stack(list(reached.values()))
    first = np.argmin(table[:, 1:], axis=0)
    order = np.argsort(table[:, 0])
    total = np.broadcast_to(load.scenario.rates.sum(axis=2)[:, 0], ready.draws)
    rate = Estimate.of(table.min(axis=0) * total)
    state = evaluate(ready, load.scenario)
    notes, fullest = notes_on(ready, load, state, shown=False), bottleneck(ready, state).resource
    if rate.value == 0.0:
        # What would fill at some rate says nothing where no rate is within the targets.
        order = order[table[order, 0] == 0.0]
        exceeded = _without_load(ready, load, within, max_response_ms) or f"{names[order[0]]} is exceeded without load"
        notes.insert(0, f"no rate meets the targets: {exceeded}")
    elif fullest in names and fullest != names[order[0]]:
        notes.append(f"{fullest} is the bottleneck now; with growth, {names[order[0]]} reaches its target first")
    notes += ziips_without_target(ready, state)
    limits = [
        {
            "resource": names[i],
            "etr_tps": Estimate.of(table[i] * total).to_dict(),
            "growth_pct": Estimate.of(100.0 * (table[i] - 1.0)).to_dict(),
            "probability": float(np.mean(first == i)),
        }
        for i in order
    ]
    return as_answer(
        bundle,
        system,
        ready,
        load,
        targets={"max_busy_pct": max_busy_pct, "max_response_ms": max_response_ms},
        etr_tps=rate.to_dict(),
        growth_pct=Estimate.of(100.0 * (table.min(axis=0) - 1.0)).to_dict(),
        limits=limits,
        notes=notes,
    )


def _without_load(ready: System, load: Question, within: Targets, max_response_ms: MaxResponse) -> str:
    """What to say of a response that is longer than its target even without waiting; empty where none is."""
    alone = evaluate(ready, replace(load.scenario, rates=1e-9 * load.scenario.rates))
    if not within.used(alone)[0, 0] > 1.0:
        return ""
    key = within.nearest(alone)
    waits = f"the response of {key[1]} is {number_text(alone.response_ms[key][0, 0], 4)} ms even without waiting"
    every = ", and the target is that of every class; a target can be that of a class alone"
    return waits if isinstance(max_response_ms, Mapping) else waits + every


def _reached(ready: System, scenario: Scenario, within: Targets) -> dict[str, Array]:
    """(draws,) the factor on all rates at which each resource, and the first response, reaches its target."""
    base = np.broadcast_to(scenario.rates, (ready.draws, 1, len(ready.class_names)))

    def grown(factors: Array) -> Scenario:
        return replace(scenario, rates=base * factors[:, :, None])

    def share_of_target(factors: Array) -> dict[str, Array]:
        """What each resource uses of its target at rates times ``factors``; both (draws, factors)."""
        # Before a limit is full, carried and offered load are the same.
        state = ready.at_rates(grown(factors))
        used = {name: 100.0 * used / within.busy_pct for name, used in resources(ready, state).items()}
        if within.response_ms:
            used["response"] = within.used(state)
        return used

    def beyond(factors: Array) -> Array:
        """How far each resource, column by column, is above its target, at most 1 where a response has no end."""
        shares = np.stack([share[:, i] for i, share in enumerate(share_of_target(factors).values())], axis=1)
        return np.where(shares < 1.0, shares - 1.0, 1.0 - 1.0 / np.maximum(shares, 1.0))

    names = list(share_of_target(np.ones((ready.draws, 1))))
    factors = find_root(beyond, (ready.draws, len(names)))
    if within.response_ms:
        # Just beyond its target a response may have no end.
        key = within.nearest(ready.at_rates(grown(factors[:, -1:] * (1.0 + 1e-6))))
        names[-1] = f"response of {key[1]} above {within.response_ms[key]:g} ms"
    return dict(zip(names, factors.T, strict=True))
