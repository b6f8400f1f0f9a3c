"""Counts of a configuration: how many ask for service, how many serve, and how much is sent, other than as measured.

Clients, users, terminals and sessions ask at a rate of their own, so that the load is in proportion to them; unless a
driver asks for a rate whatever their number, or users do not wait between requests. Regions and JVMs that serve neither
make work nor change what a transaction takes, as long as they are enough. Messages sent in turn need their time each,
so that the times of the run are in proportion to them; if each is larger, its time is anything from the same to
proportional to its size. None of it was measured: all figures are less sure by `COUNT_SD` for each e-fold.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

from model.capacity.adjustments import FULL_PCT, POPULATIONS, Factor, scaled
from model.capacity.answer import Answer, Output
from model.capacity.values import GROWTH, LOADS, QuestionError, must_be_positive, number_text
from model.published.observations import (
    ASKING,
    CARRIED,
    CHANGES,
    ENDINGS,
    REQUESTED_RATE,
    SENT,
    SENT_SIZES,
    SERVING,
    SIZES,
    UNPACED,
)
from model.published.question import Question
from model.published.system import Studied
from model.published.tables import TIMES, number

RATE = "_tps"
WAITING = ("response_avg_s", "response_p90_s", "response_stddev_s", "response_max_s")
"""Metrics of the marts that are mostly waiting, where users do not wait between requests."""
SEVERAL = re.compile(" to |;")
COUNT_SD = 0.05
HALF_SD = 0.5 / NormalDist().inv_cdf(0.95)
"""Standard deviation of a logarithm that is anything from 0 to 1, within 90 % limits."""
SAME = Factor(0.0, 0.0)
COUNTED = (*ASKING, *CARRIED, *SERVING, *SENT, *SENT_SIZES)


@dataclass(frozen=True)
class Counts:
    """A question without its counts, and how the answer to the rest of it changes with them.

    Attributes
    ----------
    question, rest : mapping
        The question, and without its counts; with the growth of the load that they make.
    apart : float
        How far the counts are from the measured ones, in e-folds.
    waiting : Factor
        On times of waiting (the metrics `waits`).
    sending : Factor
        On all other times.
    waits : frozenset of str
    notes : tuple of str
    """

    question: Question
    rest: Question
    apart: float = 0.0
    waiting: Factor = SAME
    sending: Factor = SAME
    waits: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()

    def applied(self, answer: Answer) -> Answer:
        """The answer to the whole question, from that to the rest of it."""
        if self.apart == 0.0:
            return replace(answer, at=dict(self.question))
        outputs = tuple(self._changed(output) for output in answer.outputs)
        notes = (*self.notes, *answer.notes)
        return replace(answer, at=dict(self.question), outputs=outputs, notes=notes, extrapolated=True)

    def _changed(self, output: Output) -> Output:
        output = replace(output, condition="; ".join(map(self._condition, output.condition.split("; "))))
        factor = Factor(0.0, COUNT_SD * self.apart)
        if output.metric in POPULATIONS:
            return output
        if output.metric in self.question:
            return replace(output, lo=output.value, hi=output.value)
        if output.metric in CHANGES and None not in (output.lo, output.hi):
            return _changed_pct(output, factor)
        if output.metric in self.waits:
            factor = replace(factor, log=self.waiting.log)
        elif output.unit in TIMES:
            factor = Factor(self.sending.log, math.hypot(factor.log_sd, self.sending.log_sd))
        return scaled(output, factor)

    def _condition(self, part: str) -> str:
        """A part of a condition, with the counts of the question in place of the growth that they make."""
        if part.startswith(f"{GROWTH}=") and GROWTH not in self.question:
            return "; ".join(f"{key}={self.question[key]}" for key in self.question if key not in self.rest)
        return part


def _changed_pct(output: Output, factor: Factor) -> Output:
    """A change in per cent, whose ratio is multiplied by a factor."""
    ratio = replace(output, unit="", **{end: FULL_PCT + getattr(output, end) for end in ("value", "lo", "hi")})
    wider = scaled(ratio, factor)
    return replace(wider, unit=output.unit, **{end: getattr(wider, end) - FULL_PCT for end in ("value", "lo", "hi")})


def counts_in(studied: Studied, at: Question) -> Counts | None:
    """The counts of a question; None where all are as measured.

    Raises
    ------
    QuestionError
        A count is no number above zero, or another key sets the load too.
    """
    facts = studied.facts
    names = {key: name for key in at if (name := _fact(studied, key)) is not None}
    ratios = {
        key: _beyond(must_be_positive(f"at.{key}", at[key]), ends_of(facts[name]))
        for key, name in names.items()
        if str(at[key]) != facts[name]
    }
    ratios = {key: ratio for key, ratio in ratios.items() if ratio != 1.0}
    rest = {key: value for key, value in at.items() if key not in names}
    if REQUESTED_RATE in facts and (rate := number(str(rest.get(REQUESTED_RATE)))) is not None:
        del rest[REQUESTED_RATE]
        _refuse_two_loads(REQUESTED_RATE, rest)
        if rate != number(facts[REQUESTED_RATE]):
            rest["etr_tps"] = rate
    if not ratios:
        return None if rest == at else Counts(at, rest)
    notes, growth, waiting, sending, sending_sd = [], 1.0, 0.0, 0.0, 0.0
    for key, ratio in ratios.items():
        name, log = names[key], math.log(ratio)
        if _counts(name, SENT):
            reason = "each is taken to need the same time, one after the other"
            sending += log
        elif _counts(name, SENT_SIZES):
            reason = "the time of each is anything from the same to in proportion to its size"
            sending += log / 2.0
            sending_sd = HALF_SD * abs(log)
        elif name.endswith(SIZES):
            reason = "nothing says what other sizes change"
        elif _counts(name, CARRIED):
            reason = "work is taken to go with it"
            growth += ratio - 1.0
        elif not _counts(name, ASKING):
            reason = "those who serve are taken to be enough, and a transaction to take the same work"
        elif facts.get(REQUESTED_RATE) == UNPACED:
            reason = "they wait for nothing but the answer: the rate stays, responses go with their number"
            waiting += log
        elif REQUESTED_RATE in facts:
            reason = "the driver asks for the same rate, whatever their number"
        else:
            reason = "each is taken to ask at the same rate"
            growth += _share(studied, name) * (ratio - 1.0)
        notes.append(f"{key}: {' to '.join(map(number_text, ends_of(facts[name])))} were measured; {reason}")
    if growth != 1.0:
        _refuse_two_loads(next(key for key in ratios if _counts(names[key], (*ASKING, *CARRIED))), rest)
        rest[GROWTH] = float(f"{100.0 * (growth - 1.0):.9g}")
    apart = sum(abs(math.log(ratio)) for ratio in ratios.values())
    waits = frozenset(row["metric"] for row in studied.conditions["rows"] if row.get("mart_metric") in WAITING)
    return Counts(at, rest, apart, Factor(waiting, 0.0), Factor(sending, sending_sd), waits, tuple(notes))


def measured_counts(studied: Studied) -> dict[str, float]:
    """The counts of the configuration that another number may be asked of, as measured."""
    return {key: ends_of(studied.facts[key])[-1] for key in studied.facts if _fact(studied, key) == key}


def ends_of(fact: str) -> list[float]:
    """The least and the most of the numbers of a fact: one, several (`20;40`) or a range (`8 to 128`).

    One where both are the same; empty where it is something else.
    """
    ends = [number(level) for level in SEVERAL.split(fact)]
    levels = [level for level in ends if level is not None]
    return sorted({min(levels), max(levels)}) if levels and len(levels) == len(ends) else []


def _beyond(count: float, levels: Sequence[float]) -> float:
    """A count over the nearest of the measured ones."""
    return count / min(max(count, levels[0]), levels[-1])


def _fact(studied: Studied, key: str) -> str | None:
    """The attribute of a count; None of conditions that were measured at several levels."""
    facts, keys = studied.facts, studied.keys
    if (key not in facts and key not in POPULATIONS) or key in keys:
        return None
    if key in POPULATIONS and any(other in keys for other in POPULATIONS):
        return None
    if key not in facts:
        people = [name for name in facts if _counts(name, ASKING) and ends_of(facts[name])]
        return people[0] if len(people) == 1 else None
    levels = ends_of(facts[key])
    sizes = len(levels) > 1 and key.endswith(SIZES)
    return key if sizes or (levels and _counts(key, COUNTED)) else None


def _counts(name: str, words: tuple[str, ...]) -> bool:
    """Whether an attribute counts one of these, such as `ims_connect_clients` and `terminals_per_lpar`."""
    for ending in ENDINGS:
        name = name.removesuffix(ending)
    return f"_{name}".endswith(tuple(f"_{word}" for word in words))


def _share(studied: Studied, name: str) -> float:
    """The share of the transactions that some of those who ask make, where there are several sorts of them.

    Their rate is named as they are (`lu2_3270_clients`, `lu2_tps`); those without such a rate make the rest.
    """
    if studied.rate is None:
        return 1.0
    sort, rates = name.split("_")[0], {row["metric"]: row["value"] for row in studied.rows}
    if rate := rates.get(sort + RATE):
        return float(rate / studied.rate)
    same = (other for other in map(studied.of, studied.conditions["facts"]) if studied.same_workload(other))
    others = {key.split("_")[0] for other in same for key in other.facts if _counts(key, ASKING)} - {sort}
    return max(1.0 - sum(rates.get(other + RATE, 0.0) for other in others) / studied.rate, 0.0)


def _refuse_two_loads(key: str, rest: Mapping[str, Any]) -> None:
    """Refuse a load beside a count that makes one."""
    for other in rest:
        if other in (*LOADS, "when") or other.startswith((GROWTH, "rate.")):
            raise QuestionError(f"at.{key}", key, f"{key}: {other} says the load already; leave out one of them")
