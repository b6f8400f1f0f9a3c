"""What an answer is made of: demand by class and component, and which assumptions its interval comes from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.capacity.answer import Estimate, plain
from model.capacity.asked import compiled, understood
from model.capacity.basis import answered, notes_on
from model.capacity.derived import derived
from model.capacity.ensemble import System
from model.capacity.figures import figure_draws
from model.capacity.parts import State
from model.capacity.questions import system_entry

Array = NDArray[np.float64]
EXPLAINED = ("busy_pct", "response_ms")
SHARES = {
    "n_way": "n-way effect",
    "cost_by_busy": "cost against busy",
    "priorities": "priorities of the dispatcher",
    "ziip": "zIIP overflow and SMT",
}


def explain(bundle: Mapping[str, Any], system: str, at: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Demand by class and component at a load, and how much of each interval comes from each group of parameters.

    The share of a group is the part of the variance over the draws that goes away when the group is held at its centre;
    where groups act together and would add up to more, shares are in proportion and add up to 100 %.

    Raises:
        QuestionError: as ``model.capacity.ask.predict``.
    """
    ready = compiled(system_entry(bundle, system), at)
    load = understood(ready, at)
    state = ready.evaluate(load.scenario)
    return answered(
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
        asked, used = (one.usage[name][:, 0] for one in (state, state.used))
        driven = law.driver in ready.streams or law.driver in ready.mixes
        rate = ready.stream(state.scenario, law.driver)[:, 0] if driven else np.zeros(ready.draws)
        known = ready.entry["usage"][name]
        rows.append(
            {
                "class": law.driver if driven else None,
                "component": name,
                "engine": law.engine,
                "engines_in_use": Estimate.of(used).to_dict(),
                "us_per_tran": Estimate.of(1e6 * asked / rate).to_dict() if rate[0] > 0 else None,
                "part_of_total": law.part,
                "origin": known["origin"],
                "evidence": known.get("evidence") or known["origin"],
                "points": known["points"],
            }
        )
    return rows


def _sensitivity(ready: System, asked: Mapping[str, Any], state: State) -> list[dict[str, Any]]:
    """Share of the variance of busy and of every response that each group of parameters brings."""
    full = {key: float(one[0]) for key, one in _spreads(ready, state, 1).items() if np.isfinite(one[0])}
    held, several = derived(ready.entry, "held", lambda: _held_together(ready))
    spreads = _spreads(several, several.evaluate(understood(several, asked).scenario), len(held))
    rows = []
    for key, variance in full.items():
        shares = {
            group: 100.0 * max(0.0, 1.0 - float(left) / variance)
            for group, left in zip(held, spreads.get(key, ()), strict=False)
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
    found = {}
    for spec in ready.entry["outputs"]:
        draws = figure_draws(ready, state, spec) if spec["form"] in EXPLAINED else None
        if draws is not None:
            steady = [one[np.isfinite(one)] for one in draws[1:].reshape(copies, -1)]
            variances = [np.var(one) if len(one) > 1 else np.nan for one in steady]
            found[spec["metric"], str(spec.get("class", ""))] = np.array(variances)
    return found


def _held_together(ready: System) -> tuple[list[str], System]:
    """The names of the groups, and a system that has the draws of all systems with one of them held."""
    others = {key: ready.entry[key] for key in ("installation",) if key in ready.entry}
    held = _held({key: value for key, value in ready.entry.items() if key not in others})
    return list(held), System({**joined(list(held.values()), ready.draws - 1), **others}, copies=len(held))


def _held(entry: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The system with one group of parameters at its centre, by the name of the group."""
    found = {SHARES[key]: {**entry, key: centred(entry[key])} for key in SHARES if key in entry}
    for table, words in (("usage", "demand of {}"), ("response", "time elsewhere: {}")):
        for name, law in entry[table].items():
            found[words.format(name)] = {**entry, table: {**entry[table], name: centred(law)}}
    for i, limit in enumerate(entry.get("limits", ())):
        others = [centred(limit) if j == i else known for j, known in enumerate(entry["limits"])]
        found[f"limit {limit['name']}"] = {**entry, "limits": others}
    return found


def centred(value: Any) -> Any:
    """A part of a bundle's system with every draw at the centre."""
    if not isinstance(value, Mapping):
        return value
    found = {key: centred(item) for key, item in value.items()}
    if "draws" in value and "coef" in value:
        count = len(value["draws"]["noise"])
        found["draws"] = {"coef": [value["coef"]] * count, "noise": [0.0] * count, "drift": [0.0] * count}
    elif "draws" in value and "centre" in value:
        found["draws"] = []
    return found


def joined(parts: Sequence[Any], draws: int) -> Any:
    """Parts of bundles' systems that differ in their draws alone as one, with the draws of all, one after the other;
    what has none stays what it is.

    Args:
        draws: how many each has, beside the centre.
    """
    first = parts[0]
    if isinstance(first, Mapping) and "draws" in first:
        if "coef" in first:
            together = {key: [one for part in parts for one in part["draws"][key]] for key in first["draws"]}
            return {**first, "draws": together}
        known = [part["draws"] or [part["centre"]] * draws for part in parts]
        return {**first, "draws": [one for each in known for one in each]}
    if isinstance(first, Mapping):
        found = {key: joined([part[key] for part in parts], draws) for key in first}
        return first if all(found[key] is first[key] for key in first) else found
    if isinstance(first, list) and first and isinstance(first[0], Mapping):
        return [joined(each, draws) for each in zip(*parts, strict=True)]
    return first
