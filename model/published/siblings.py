"""A system whose CPU was not measured, answered by the network of a sibling: the same workload on other engines.

A sibling with as many engines is told apart by something else (an option, a release), whose work was not measured: then
engine time is in proportion to the busy that the studies give for the two, with their uncertainty.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from model.capacity.adjustments import ITR, Z_90, Factor
from model.capacity.answer import Answer, Output
from model.capacity.values import GROWTH, LOADS, growth_factor
from model.published.loads import at_load
from model.published.question import Question, by_condition
from model.published.scaling import scale, with_engine_time
from model.published.system import Studied
from model.published.tables import TIMES

BUSY = ("cpu_busy_pct", "lpar_busy_pct")


@dataclass(frozen=True)
class Sibling:
    """A system with a network that answers for one without.

    Attributes
    ----------
    system : str
        The system with the network.
    engines : int
    rate : float
        Engines and measured rate (per second) of the system without a network.
    differs : bool
        Whether it has as many engines itself, so that something else tells the two apart.
    """

    system: str
    engines: int
    rate: float
    differs: bool

    def question(self, loads: Question) -> dict[str, Any]:
        """The loads of a question, with the engines and the rate of the system that it is about where it has none."""
        question = {"engines": self.engines, **loads}
        if GROWTH in question:
            question["etr_tps"] = self.rate * growth_factor(GROWTH, question.pop(GROWTH))
        return question if any(key in question for key in LOADS) else {**question, "etr_tps": self.rate}

    def named(self, result: Mapping[str, Any], system: str) -> dict[str, Any]:
        """The result of the sibling's network under the name of the system asked."""
        return {**result, "system": system, "notes": [self.note, *result.get("notes", ())]}

    @property
    def note(self) -> str:
        """Where the answer comes from, for readers."""
        note = f"CPU was not measured here: answered by the network of {self.system}, which runs the same workload"
        return f"{note} on as many engines; what else tells them apart may take work" if self.differs else note


def sibling_of(studied: Studied) -> Sibling | None:
    """The sibling of the same workload that shares most tables with a system; None without one."""
    if studied.network is not None or studied.engines is None or studied.rate is None:
        return None
    networks = map(studied.of, sorted(studied.bundle["systems"]))
    siblings = [one for one in networks if studied.same_workload(one) and one.engines is not None]
    if not siblings:
        return None
    tables = {table for _, table in studied.tables}
    best = max(siblings, key=lambda one: len(tables & {table for _, table in one.tables}))
    return Sibling(best.name, studied.engines, studied.rate, best.engines == studied.engines)


def answer_by_sibling(studied: Studied, loads: Question, conditions: Question, sibling: Sibling) -> Answer:
    """What was measured of a system, and for the rest its sibling's network on the system's own engines.

    Raises
    ------
    QuestionError
        A key or level is unknown, or the network refuses the load.
    """
    by_studies = by_condition(studied, conditions)
    question, other = sibling.question(loads), studied.of(sibling.system)
    computed = at_load(other, question)
    moves = question.get("etr_tps") != sibling.rate
    if sibling.differs:
        computed = _with_work(by_studies, computed, at_load(other, sibling.question({})) if moves else computed)
    measured = {entry["metric"] for entry in by_studies.evidence["figures"] if "measured" in entry}
    figures = {output.metric: output for output in computed.outputs}
    busy = next((figures[name] for name in BUSY if name in figures), None)
    outputs = []
    for output in by_studies.outputs:
        if output.metric in BUSY and output.metric not in measured and busy is not None:
            outputs.append(replace(busy, metric=output.metric, condition=output.condition))
        elif not moves:
            outputs.append(output)
    answered = {output.metric for output in outputs}
    answered |= set(BUSY) if answered & set(BUSY) else set()
    outputs += [replace(output, condition="") for metric, output in figures.items() if metric not in answered]
    return replace(
        computed, system=studied.name, at={**conditions, **loads}, outputs=tuple(outputs),
        notes=(sibling.note, *by_studies.notes, *computed.notes),
        evidence={**computed.evidence, **by_studies.evidence},
    )  # fmt: skip


def _with_work(by_studies: Answer, computed: Answer, measured: Answer) -> Answer:
    """A network's answer with engine time in the ratio of the busy of the studies to that of the network where it was
    `measured`; times, which wait for engines, are left out.
    """
    busy, of_network = (next((o for o in one.outputs if o.metric in BUSY), None) for one in (by_studies, measured))
    if busy is None or of_network is None or not (busy.lo and busy.value and of_network.value):
        return computed
    factor = Factor(math.log(busy.value / of_network.value), math.log(busy.value / busy.lo) / Z_90)
    changed = scale(computed, with_engine_time(factor), computed.at).outputs
    most = (busy.hi or math.inf) / of_network.value
    pairs = [(new, old) for new, old in zip(changed, computed.outputs, strict=True) if new.unit not in TIMES]
    outputs = tuple(new if new is old else _at_most(new, old, most) for new, old in pairs)
    return replace(
        computed, outputs=outputs, bottleneck=by_studies.bottleneck, times=(), extrapolated=computed.extrapolated
    )


def _at_most(new: Output, old: Output, most: float) -> Output:
    """A figure with at most so many times the engine time, as engines are no busier than they can be."""
    if new.lo is None or new.hi is None or old.lo is None or old.hi is None:
        return new
    if new.metric == ITR:
        return replace(new, lo=max(new.lo, old.lo / most))
    return replace(new, hi=min(new.hi, old.hi * most))
