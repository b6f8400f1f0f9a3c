"""A system whose CPU was not measured, answered by the network of a sibling: the same workload on other engines.

A sibling with as many engines is told apart by something else (an option, a release), whose work was not measured: then
engine time is what studies say of the busy of the two, as unsure as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

from model.capacity.adjustments import WHOLE_RATES, Factor, quantity_of, scaled
from model.capacity.answer import Answer, Output
from model.capacity.values import GROWTH, LOADS, growth_factor
from model.published.answers import by_condition
from model.published.observations import ENGINES, WORKLOAD
from model.published.tables import TIMES

BUSY = ("cpu_busy_pct", "lpar_busy_pct")
CPU_OF = {"msu": "cpu"}
"""What else goes with engine time."""
Z90 = NormalDist().inv_cdf(0.95)


@dataclass(frozen=True)
class Sibling:
    """A system with a network, and what to ask it in place of one without: `engines` and the measured `rate`.

    `differs`: whether it has as many engines itself, so that something else tells the two apart.
    """

    system: str
    engines: int
    rate: float
    differs: bool

    def question(self, loads: Mapping[str, Any]) -> dict[str, Any]:
        """The loads of a question, with the asked system's engines and rate where it names none."""
        question = {"engines": self.engines, **loads}
        if GROWTH in question:
            question["etr_tps"] = self.rate * growth_factor(GROWTH, question.pop(GROWTH))
        return question if any(key in question for key in LOADS) else {**question, "etr_tps": self.rate}

    def named(self, result: Mapping[str, Any], system: str) -> dict[str, Any]:
        """What the sibling's network found, in the name of the system asked."""
        return {**result, "system": system, "notes": [self.note, *result.get("notes", ())]}

    @property
    def note(self) -> str:
        """Where the answer comes from, for readers."""
        note = f"CPU was not measured here: answered by the network of {self.system}, which runs the same workload"
        return f"{note} on as many engines; what else tells them apart may take work" if self.differs else note


def sibling_of(bundle: Mapping[str, Any], system: str) -> Sibling | None:
    """The sibling of the same workload and machine that shares most tables with a system; None without one."""
    conditions = bundle.get("conditions", {})
    facts = conditions.get("facts", {})
    configuration = facts.get(system, {})
    engines = engines_of(configuration)
    rates = {row["metric"]: row["value"] for row in conditions.get("rows", ()) if row["system"] == system}
    rate = next((rates[name] for name in WHOLE_RATES if name in rates), None)
    if system in bundle["systems"] or WORKLOAD not in configuration or engines is None or rate is None:
        return None
    tables: dict[str, set[str]] = {}
    for row in conditions["rows"]:
        tables.setdefault(row["system"], set()).add(row["table"])
    siblings = [
        name
        for name in bundle["systems"]
        if facts.get(name, {}).get(WORKLOAD) == configuration[WORKLOAD] and engines_of(facts[name]) is not None
    ]
    if not siblings:
        return None
    best = max(sorted(siblings), key=lambda name: len(tables.get(name, set()) & tables[system]))
    return Sibling(best, engines, float(rate), engines_of(facts[best]) == engines)


def engines_of(facts: Mapping[str, str]) -> int | None:
    """The engines that the configuration of a system names; None where it names none."""
    count = next((facts[name] for name in ENGINES if name in facts), "")
    return int(count) if count.isdigit() else None


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
    by_studies = by_condition(bundle, system, conditions)
    question = by.question(loads)
    computed = network(bundle, by.system, question)
    moves = question.get("etr_tps") != by.rate
    if by.differs:
        computed = _with_work(by_studies, computed, network(bundle, by.system, by.question({})) if moves else computed)
    measured = {entry["metric"] for entry in by_studies.evidence["figures"] if "measured" in entry}
    figures = {output.metric: output for output in computed.outputs}
    busy = next((figures[name] for name in BUSY if name in figures), None)
    outputs = []
    for output in by_studies.outputs:
        if output.metric in BUSY and output.metric not in measured and busy is not None:
            outputs.append(replace(busy, metric=output.metric, condition=output.condition))
        elif not moves:
            outputs.append(output)
    named = {output.metric for output in outputs} | (set(BUSY) if any(o.metric in BUSY for o in outputs) else set())
    outputs += [replace(output, condition="") for metric, output in figures.items() if metric not in named]
    return replace(
        computed, system=system, at={**conditions, **loads}, outputs=tuple(outputs),
        notes=(by.note, *by_studies.notes, *computed.notes), evidence={**computed.evidence, **by_studies.evidence},
    )  # fmt: skip


def _with_work(by_studies: Answer, computed: Answer, measured: Answer) -> Answer:
    """A network's answer with as much more engine time as studies say of busy beside the network where it was
    `measured`; what waits for engines is left out.
    """
    said, figure = (next((o for o in answer.outputs if o.metric in BUSY), None) for answer in (by_studies, measured))
    if said is None or figure is None or not (said.lo and said.value and said.hi and figure.value):
        return computed
    log, sd = math.log(said.value / figure.value), math.log(said.value / said.lo) / Z90
    outputs = (_of_work(output, log, sd, said.hi / figure.value) for output in computed.outputs)
    answered = tuple(output for output in outputs if output.unit not in TIMES)
    return replace(computed, outputs=answered, bottleneck=by_studies.bottleneck, times=())


def _of_work(output: Output, log: float, sd: float, most: float) -> Output:
    """A figure where the engine time of a transaction is a factor larger, ln and its standard deviation, but at most
    `most` times as large, as engines are no busier than they can be.
    """
    quantity = CPU_OF.get(output.metric) or quantity_of(output.metric, output.unit)
    if output.lo is None or output.hi is None:
        return output
    if quantity == "cpu":
        changed = scaled(output, Factor(log, sd))
        return replace(changed, hi=min(changed.hi or math.inf, output.hi * most))
    if quantity == "itr":
        changed = scaled(output, Factor(-log, sd))
        return replace(changed, lo=max(changed.lo or 0.0, output.lo / most))
    return output
