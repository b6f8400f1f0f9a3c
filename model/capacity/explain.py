"""What an answer is made of: demand by class and component, and which assumptions its interval comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.capacity.answer import Estimate, plain
from model.capacity.cache import cached
from model.capacity.evaluation import System
from model.capacity.evidence import as_answer, notes_on
from model.capacity.figures import figure_draws, figures_of
from model.capacity.parameters import SystemParameters, joined, map_samples
from model.capacity.question import parse_question, prepare_system
from model.capacity.question_keys import system_entry
from model.capacity.state import State

Array = NDArray[np.float64]
EXPLAINED = ("busy_pct", "response_ms")
SHARES = {
    "n_way": "n-way effect",
    "busy_cost": "cost against busy",
    "ziip": "zIIP overflow and SMT",
}


def explain(bundle: Mapping[str, Any], system: str, at: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Demand by class and component at a load, and how much of each interval comes from each group of parameters.

    The share of a group is the part of the variance over the draws that goes away when the group is held at its centre;
    where groups act together and would add up to more, shares are in proportion and add up to 100 %.

    Raises:
        QuestionError: as ``model.capacity.ask.predict``.
    """
    ready = prepare_system(system_entry(bundle, system), at)
    load = parse_question(ready, at)
    state = ready.evaluate(load.scenario)
    return as_answer(
        bundle,
        system,
        ready,
        load,
        demand=_demand(ready, state),
        sensitivity=_sensitivity(ready, load.asked, state),
        notes=notes_on(ready, load, state),
    )


def _demand(ready: System, state: State) -> list[dict[str, Any]]:
    """Engines in use and time per transaction of every component, by the class that drives it, if one does."""
    rows = []
    for name, law in ready.laws.items():
        if name not in state.usage:
            continue
        offered, used = (one.usage[name][:, 0] for one in (state, state.used))
        driven = law.regressor in ready.streams or law.regressor in ready.mixes
        rate = ready.stream(state.scenario, law.regressor)[:, 0] if driven else np.zeros(ready.draws)
        rows.append(
            {
                "class": law.regressor if driven else None,
                "component": name,
                "engine": law.engine,
                "engines_in_use": Estimate.of(used).to_dict(),
                "us_per_tran": Estimate.of(1e6 * offered / rate).to_dict() if rate[0] > 0 else None,
                "part_of_total": law.additive,
                "origin": law.origin,
                "evidence": law.evidence or law.origin,
                "points": law.points,
            }
        )
    return rows


def _sensitivity(ready: System, question: Mapping[str, Any], state: State) -> list[dict[str, Any]]:
    """Share of the variance of busy and of every response that each group of parameters brings."""
    full = {key: float(one[0]) for key, one in _spreads(ready, state, 1).items() if np.isfinite(one[0])}
    fixed, several = cached(ready.parameters, "held", lambda: _held_together(ready))
    spreads = _spreads(several, several.evaluate(parse_question(several, question).scenario), len(fixed))
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


def _held_together(ready: System) -> tuple[list[str], System]:
    """The names of the groups, and a system that has the draws of all systems with one of them held."""
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
        for name, law in getattr(parameters, table).items():
            of_all: dict[str, Any] = {table: {**getattr(parameters, table), name: map_samples(law, at_centre)}}
            groups[words.format(name)] = replace(parameters, **of_all)
    for i, limit in enumerate(parameters.limits):
        limits = [map_samples(limit, at_centre) if j == i else one for j, one in enumerate(parameters.limits)]
        groups[f"limit {limit.name}"] = replace(parameters, limits=tuple(limits))
    return groups


def at_centre(samples: Array) -> Array:
    """Samples that all are the best estimate."""
    return np.repeat(samples[:1], len(samples), axis=0)
