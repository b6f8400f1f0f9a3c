"""A system whose CPU was not measured, answered by the network of a sibling: the same workload on other engines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from model.capacity.answer import Answer
from model.capacity.by_condition import by_condition
from model.capacity.conditions.names import ENGINES
from model.capacity.conditions.rows import WORKLOAD
from model.capacity.questions import GROWTH, LOADS, growth

WHOLE_RATES = ("etr_tps", "total_tps", "tran_rate_tps", "online_tran_rate_tps")
BUSY = ("cpu_busy_pct", "lpar_busy_pct")


@dataclass(frozen=True)
class Sibling:
    """A system with a network, and what to ask it in place of one without: `engines` and the measured `rate`."""

    system: str
    engines: int
    rate: float

    def asked(self, loads: Mapping[str, Any]) -> dict[str, Any]:
        """The loads of a question, with the asked system's engines and rate where it names none."""
        asked = {"engines": self.engines, **loads}
        if GROWTH in asked:
            asked["etr_tps"] = self.rate * growth(GROWTH, asked.pop(GROWTH))
        return asked if any(key in asked for key in LOADS) else {**asked, "etr_tps": self.rate}

    def named(self, found: Mapping[str, Any], system: str) -> dict[str, Any]:
        """What the sibling's network found, in the name of the system asked."""
        return {**found, "system": system, "notes": [self.note, *found.get("notes", ())]}

    @property
    def note(self) -> str:
        """Where the answer comes from, for readers."""
        return f"CPU was not measured here: answered by the network of {self.system}, which runs the same workload"


def sibling_of(bundle: Mapping[str, Any], system: str) -> Sibling | None:
    """The sibling of the same workload and machine that shares most tables with a system; None without one."""
    known = bundle.get("conditions", {})
    facts = known.get("facts", {})
    own = facts.get(system, {})
    engines = engines_of(own)
    rates = {row["metric"]: row["value"] for row in known.get("rows", ()) if row["system"] == system}
    rate = next((rates[name] for name in WHOLE_RATES if name in rates), None)
    if system in bundle["systems"] or WORKLOAD not in own or engines is None or rate is None:
        return None
    tables: dict[str, set[str]] = {}
    for row in known["rows"]:
        tables.setdefault(row["system"], set()).add(row["table"])
    siblings = [
        name
        for name in bundle["systems"]
        if facts.get(name, {}).get(WORKLOAD) == own[WORKLOAD] and engines_of(facts[name]) is not None
    ]
    if not siblings:
        return None
    best = max(sorted(siblings), key=lambda name: len(tables.get(name, set()) & tables[system]))
    return Sibling(best, engines, float(rate))


def engines_of(facts: Mapping[str, str]) -> int | None:
    """The engines that the configuration of a system names; None where it names none."""
    found = next((facts[name] for name in ENGINES if name in facts), "")
    return int(found) if found.isdigit() else None


def answer_by_sibling(
    network: Callable[[Mapping[str, Any], str, Mapping[str, Any]], Answer],
    bundle: Mapping[str, Any],
    system: str,
    loads: Mapping[str, Any],
    conditions: Mapping[str, Any],
    by: Sibling,
) -> Answer:
    """What was measured of a system, and for the rest its sibling's network on the system's own engines.

    Raises:
        QuestionError: a key or level is unknown, or the network refuses the load.
    """
    own = by_condition(bundle, system, conditions)
    asked = by.asked(loads)
    computed = network(bundle, by.system, asked)
    moves = asked.get("etr_tps") != by.rate
    measured = {entry["metric"] for entry in own.evidence["figures"] if "measured" in entry}
    figures = {output.metric: output for output in computed.outputs}
    busy = next((figures[name] for name in BUSY if name in figures), None)
    outputs = []
    for output in own.outputs:
        if output.metric in BUSY and output.metric not in measured and busy is not None:
            outputs.append(replace(busy, metric=output.metric, condition=output.condition))
        elif not moves:
            outputs.append(output)
    named = {output.metric for output in outputs} | (set(BUSY) if any(o.metric in BUSY for o in outputs) else set())
    outputs += [replace(output, condition="") for metric, output in figures.items() if metric not in named]
    return replace(
        computed, system=system, at={**conditions, **loads}, outputs=tuple(outputs),
        notes=(by.note, *own.notes, *computed.notes), evidence={**computed.evidence, **own.evidence},
    )  # fmt: skip
