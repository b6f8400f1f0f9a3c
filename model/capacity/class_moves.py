"""Classes that move between LPARs: ``move_to.CLASS=SYSTEM`` from the one asked about, ``move_from.CLASS=SYSTEM`` to it.

A class that comes keeps the CPU that was recorded of it, and its response beyond the engines; it waits for the engines
of its new LPAR by its importance. It is a class of its own there, ``CLASS@SYSTEM``. What the LPARs of one machine use
together stays the same: what one loses, another gets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.capacity.derived import derived
from model.capacity.ensemble import System
from model.capacity.lpars import at_the_same_time, named_system
from model.capacity.moves import installation, speed_of
from model.capacity.parts import Scenario
from model.capacity.profile import recorded
from model.capacity.questions import MOVE_FROM, MOVE_TO, QuestionError, finite, streams_named

Array = NDArray[np.float64]
ON_ZIIPS = ":ziip"
BY_CLASS: Mapping[str, Any] = {
    "work_scatter": 0.0,
    "thinking_noise": {"centre": 0.0, "draws": []},
    "growth_per_week": {"centre": 0.0, "draws": []},
}
"""What a bundle has of each class in the order of the classes, and what it is where that is not known."""


@dataclass(frozen=True)
class Move:
    """A class or workload that moves: the key that says so, the ``other`` system by name, and the part that moves."""

    key: str
    name: str
    other: str
    share: float

    @classmethod
    def of(cls, key: str, value: Any) -> Move:
        """As ``SYSTEM``, or ``SYSTEM:SHARE`` for a part.

        Raises:
            QuestionError: the part is not above 0 and at most 1.
        """
        other, _, part = str(value).partition(":")
        share = finite(key, part) if part else 1.0
        if not 0.0 < share <= 1.0:
            raise QuestionError(key, value, f"{key}: the part that moves, {share:g}, should be above 0 and at most 1")
        return cls(key, key.partition(".")[2], other.strip(), share)


def moves_of(asked: Mapping[str, Any], kind: str) -> list[Move]:
    """The moves of a kind that a question asks for."""
    return [Move.of(str(key), value) for key, value in asked.items() if str(key).startswith(kind)]


def with_classes(entry: Mapping[str, Any], asked: Mapping[str, Any]) -> Mapping[str, Any]:
    """The system with the classes that a question moves to it, without transactions in what was recorded; the very same
    where it moves none.

    Raises:
        QuestionError: a system or class is unknown.
    """
    moves = moves_of(asked, MOVE_FROM)
    if not moves:
        return entry
    return derived(entry, ("moved", tuple(moves)), lambda: _made(entry, moves))


def _made(entry: Mapping[str, Any], moves: list[Move]) -> dict[str, Any]:
    made = {**entry, "usage": dict(entry["usage"]), "response": dict(entry["response"])}
    made["notes"] = list(entry.get("notes", ()))
    for key in ("streams", "capacity", "outputs", *BY_CLASS):
        if key in entry:
            made[key] = list(entry[key])
    if "profile" not in entry:
        raise QuestionError(
            moves[0].key, moves[0].other, f"{moves[0].key}: this system has measured points, no history"
        )
    made["profile"] = profile = dict(entry["profile"])
    for key in ("rates", "users", "thinking"):
        if key in profile:
            profile[key] = list(profile[key])
    for move in moves:
        other = _other(entry, move)
        for i in streams_named(other, move.key, move.name):
            _add(made, other, i, move.other)
    return made


def _other(entry: Mapping[str, Any], move: Move) -> Mapping[str, Any]:
    """The other system of a move, which has a history."""
    systems = {name: one for name, one in entry.get("installation", {}).items() if "profile" in one}
    systems = {name: one for name, one in systems.items() if one["profile"] is not entry["profile"]}
    other = named_system(systems, move.other)
    if other is None:
        text = f"{move.key}: no other system {move.other!r} with a history is calibrated"
        raise QuestionError(move.key, move.other, text, systems)
    return other


def _add(made: dict[str, Any], other: Mapping[str, Any], i: int, system: str) -> None:
    """Add a class of another system."""
    stream = other["streams"][i]
    old, new = stream["name"], f"{stream['name']}@{system}"
    named = {old: new, f"{old}{ON_ZIIPS}": f"{new}{ON_ZIIPS}"}
    made["streams"].append({**stream, "name": new, "report_class": "", "workload": ""})
    for before, after in named.items():
        if before in other["usage"]:
            made["usage"][after] = {**_proportional(other["usage"][before]), "driver": new}
    made["capacity"].append(new)
    if old in other["response"]:
        law = other["response"][old]
        series = {key: [named[one] for one in law.get(key, ()) if one in named] for key in ("series", "ziip_series")}
        made["response"][new] = {**law, **series, "stream": new}
    made["outputs"] += [
        {**row, **{key: named[row[key]] for key in ("class", "stream", "series") if row.get(key) in named}}
        for row in other["outputs"]
        if row.get("class") == old
    ]
    for key, unknown in BY_CLASS.items():
        if key in made:
            made[key].append(other[key][i] if key in other else unknown)
    profile = made["profile"]
    for key in ("rates", "users", "thinking"):
        if key in profile:
            profile[key].append([0.0] * len(profile["start_local"]))
    held = [limit["name"] for limit in other.get("limits", ()) if old in limit["members"]]
    if held:
        made["notes"].append(
            f"{new}: {', '.join(held)} of {system} stay there; no wait for such limits is in its response"
        )


def _proportional(law: Mapping[str, Any]) -> dict[str, Any]:
    """A demand at its mean cost, in proportion to the rate."""

    def flat(coef: Array) -> list[Any]:
        each = coef[..., 0] + coef[..., 1]
        found: list[Any] = np.stack([0.0 * each, each, 0.0 * each], axis=-1).tolist()
        return found

    drawn = {**law["draws"], "coef": flat(np.asarray(law["draws"]["coef"], float))}
    return {**law, "coef": flat(np.asarray(law["coef"], float)), "draws": drawn}


def with_moves(system: System, scenario: Scenario, asked: Mapping[str, Any], notes: list[str]) -> Scenario:
    """The recorded load with the classes that leave the LPAR or come to it.

    Raises:
        QuestionError: a system or class is unknown.
    """
    leaving, coming = moves_of(asked, MOVE_TO), moves_of(asked, MOVE_FROM)
    if not leaving and not coming:
        return scenario
    before = system.usage(scenario).busy
    for move in leaving:
        scenario = _without(system, scenario, move)
        after = system.usage(scenario).busy
        scenario = _given(system, scenario, move, before - after, notes)
        before = after
    for move in coming:
        scenario = _with(system, scenario, move, notes)
        after = system.usage(scenario).busy
        scenario = _given(system, scenario, move, before - after, notes)
        before = after
    return scenario


def _without(system: System, scenario: Scenario, move: Move) -> Scenario:
    """The load without a class, or without a part of it."""
    those = list(streams_named(system.entry, move.key, move.name))
    kept = np.ones(len(system.streams))
    kept[those] = 1.0 - move.share
    return replace(scenario, rates=scenario.rates * kept)


def _with(system: System, scenario: Scenario, move: Move, notes: list[str]) -> Scenario:
    """The load with a class of another system, which has the rate and the CPU that were recorded of it."""
    other, anchor, rates = _other(system.entry, move), scenario.anchor, scenario.rates.copy()
    slower, history = _slower(system, scenario, other, move), recorded(other["profile"])
    for i in streams_named(other, move.key, move.name):
        old = other["streams"][i]["name"]
        stream = system.numbers[f"{old}@{move.other}"]
        rate, when = at_the_same_time(system, scenario, other, history.rates[i])
        rates[:, :, stream] = move.share * rate
        notes.append(f"{move.key}: {move.share * rate:.4g} transactions/s of {old}, as {when}")
        if anchor is None:
            continue
        factors = dict(anchor.usage)
        for series in (old, f"{old}{ON_ZIIPS}"):
            values = other["profile"].get("recorded", {}).get("engines", {}).get(series)
            law = system.laws.get(series.replace(old, system.streams[stream], 1))
            if law is None:
                continue
            used = law.usage(np.full((system.draws, 1), max(rate, 1e-12)))
            seen = at_the_same_time(system, scenario, other, values)[0] if values else None
            known = seen is not None and bool(np.all(used > 0))
            factors[law.name] = slower * (seen / used if known and seen else np.ones(used.shape))
        anchor = replace(anchor, usage=factors)
    return replace(scenario, rates=rates, anchor=anchor)


def _slower(system: System, scenario: Scenario, other: Mapping[str, Any], move: Move) -> float:
    """CPU here over CPU there of the same work; 1 on machines of one type."""
    if str(other.get("machine", "")) == str(system.entry.get("machine", "")):
        return 1.0
    here = speed_of(system, system.entry, move.key, scenario.engines)
    return speed_of(system, other, move.key).su_per_s / here.su_per_s


def _given(system: System, scenario: Scenario, move: Move, engines: Array, notes: list[str]) -> Scenario:
    """The load where an LPAR of the same machine uses so many engines more."""
    machine = system.partition.cpc(scenario)
    entry = named_system(installation(system), move.other)
    name = str((entry or {}).get("on_machine", {}).get("name", ""))
    lpars = {one.name.casefold() for one in machine.others} if machine is not None else set()
    if machine is None or not (name == machine.name or move.other.casefold() in lpars):
        if entry is None:
            known = [*installation(system), *(one.name for one in (machine.others if machine else ()))]
            raise QuestionError(move.key, move.other, f"{move.key}: no LPAR {move.other!r} is recorded", known)
        return scenario
    notes.append(
        f"{move.key}: {move.other} is on the same machine, whose utilization this move does not change"
    )
    return replace(scenario, others=np.maximum(np.asarray(scenario.others, float) + engines, 0.0))
