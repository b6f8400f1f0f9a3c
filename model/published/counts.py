"""Counts of a configuration: how many ask for service, how many serve, and how much is sent, other than as measured.

Those who ask (clients, users, terminals, sessions) do so at a rate of their own, so that the load is in proportion to
them; unless a driver asks for a rate whatever their number, or has none of them wait between requests. Those who serve
(regions, JVMs) neither make work nor change what a transaction takes, as long as they are enough. Messages sent in turn
need their time each, so that the times of the run are in proportion to them; if each is larger, its time is anything
from the same to proportional to its size. None of it was seen: all figures are less sure by `COUNT_SD` for each e-fold.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

from model.capacity.adjustments import FULL_PCT, POPULATIONS, WHOLE_RATES, Factor, scaled
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
    WORKLOAD,
)
from model.published.tables import TIMES, number

RATE = "_tps"
WAITING = ("response_avg_s", "response_p90_s", "response_stddev_s", "response_max_s")
"""Metrics of the marts that are mostly waiting, where users do not wait between requests."""
SEVERAL = re.compile(" to |;")
COUNT_SD = 0.05
HALF_SD = 0.5 / NormalDist().inv_cdf(0.95)
"""Standard deviation of a logarithm that is anything from 0 to 1, within 90 % limits."""


@dataclass(frozen=True)
class Counted:
    """A question without its counts: what the rest of it is, and how its answer is to be changed.

    `apart` is how far counts are from the measured ones, in e-folds; `waiting` by what times of waiting, of the
    metrics `waits`, are longer, and `sending` by what those of sending are, ln, within the standard deviation
    `sending_sd`.
    """

    asked: Mapping[str, Any]
    at: Mapping[str, Any]
    apart: float
    waiting: float
    waits: frozenset[str]
    sending: float
    sending_sd: float
    notes: tuple[str, ...]

    def said(self, answer: Answer) -> Answer:
        """The answer to the whole question."""
        if self.apart == 0.0:
            return replace(answer, at=dict(self.asked))
        outputs = tuple(self._output(output) for output in answer.outputs)
        notes = (*self.notes, *answer.notes)
        return replace(answer, at=dict(self.asked), outputs=outputs, notes=notes, extrapolated=True)

    def _output(self, output: Output) -> Output:
        log, sd = 0.0, COUNT_SD * self.apart
        if output.metric in self.waits:
            log = self.waiting
        elif output.unit in TIMES:
            log, sd = self.sending, math.hypot(sd, self.sending_sd)
        condition = "; ".join(self._written(part) for part in output.condition.split("; "))
        if output.metric in POPULATIONS:
            return replace(output, condition=condition)
        if output.metric in self.asked:
            return replace(output, condition=condition, lo=output.value, hi=output.value)
        if output.metric in CHANGES and None not in (output.lo, output.hi):
            return replace(_changed(output, sd), condition=condition)
        return replace(scaled(output, Factor(log, sd)), condition=condition)

    def _written(self, part: str) -> str:
        """A part of a condition, with the counts asked for in place of the growth that they make."""
        if part.startswith(f"{GROWTH}=") and GROWTH not in self.asked:
            return "; ".join(f"{key}={self.asked[key]}" for key in self.asked if key not in self.at)
        return part


def _changed(output: Output, sd: float) -> Output:
    """A change in per cent, of which the ratio is less sure by a standard deviation of its logarithm."""
    ratio = replace(output, unit="", **{end: FULL_PCT + getattr(output, end) for end in ("value", "lo", "hi")})
    wider = scaled(ratio, Factor(0.0, sd))
    return replace(wider, unit=output.unit, **{end: getattr(wider, end) - FULL_PCT for end in ("value", "lo", "hi")})


def counted(bundle: Mapping[str, Any], system: str, at: Mapping[str, Any]) -> Counted | None:
    """What a question says of counts; None where it asks for none other than measured.

    Raises:
        QuestionError: a count is no number above zero, or another key says the load too.
    """
    facts = bundle["conditions"].get("facts", {}).get(system, {})
    names = {key: name for key in at if (name := _fact(bundle, system, facts, key)) is not None}
    others = {key: name for key, name in names.items() if str(at[key]) != facts[name]}
    ratios = {
        key: _beyond(must_be_positive(f"at.{key}", at[key]), ends_of(facts[name])) for key, name in others.items()
    }
    ratios = {key: ratio for key, ratio in ratios.items() if ratio != 1.0}
    rest = {key: value for key, value in at.items() if key not in names}
    if REQUESTED_RATE in facts and (rate := number(str(rest.get(REQUESTED_RATE)))) is not None:
        del rest[REQUESTED_RATE]
        _one_load(REQUESTED_RATE, rest)
        if rate != number(facts[REQUESTED_RATE]):
            rest["etr_tps"] = rate
    if not ratios:
        return None if rest == at else Counted(at, rest, 0.0, 0.0, frozenset(), 0.0, 0.0, ())
    notes, growing, waiting, sending, sending_sd = [], 1.0, 0.0, 0.0, 0.0
    for key, ratio in ratios.items():
        name = names[key]
        words = f"{key}: {' to '.join(map(number_text, ends_of(facts[name])))} were measured; "
        if _of(name, SENT):
            notes.append(words + "each is taken to need the same time, one after the other")
            sending += math.log(ratio)
        elif _of(name, SENT_SIZES):
            notes.append(words + "the time of each is anything from the same to in proportion to its size")
            sending += math.log(ratio) / 2.0
            sending_sd = HALF_SD * abs(math.log(ratio))
        elif name.endswith(SIZES):
            notes.append(words + "nothing says what other sizes change")
        elif _of(name, CARRIED):
            notes.append(words + "work is taken to go with it")
            growing += ratio - 1.0
        elif not _of(name, ASKING):
            notes.append(words + "those who serve are taken to be enough, and a transaction to take the same work")
        elif facts.get(REQUESTED_RATE) == UNPACED:
            notes.append(words + "they wait for nothing but the answer: the rate stays, responses go with their number")
            waiting += math.log(ratio)
        elif REQUESTED_RATE in facts:
            notes.append(words + "the driver asks for the same rate, whatever their number")
        else:
            notes.append(words + "each is taken to ask at the same rate")
            growing += _share(bundle, system, name) * (ratio - 1.0)
    if growing != 1.0:
        _one_load(next(key for key in ratios if _of(names[key], (*ASKING, *CARRIED))), rest)
        rest[GROWTH] = float(f"{100.0 * (growing - 1.0):.9g}")
    apart = sum(abs(math.log(ratio)) for ratio in ratios.values())
    waits = frozenset(row["metric"] for row in bundle["conditions"]["rows"] if row.get("mart_metric") in WAITING)
    return Counted(at, rest, apart, waiting, waits, sending, sending_sd, tuple(notes))


def counts_of(bundle: Mapping[str, Any], system: str) -> dict[str, float]:
    """The counts of a system's configuration that another number may be asked of, as measured."""
    facts = bundle["conditions"].get("facts", {}).get(system, {})
    return {key: ends_of(facts[key])[-1] for key in facts if _fact(bundle, system, facts, key) == key}


def ends_of(fact: str) -> list[float]:
    """The least and the most of what a fact says was measured: a number, several (`20;40`) or a range (`8 to 128`).

    One where both are the same; empty where it is something else.
    """
    ends = [number(level) for level in SEVERAL.split(fact)]
    levels = [level for level in ends if level is not None]
    return sorted({min(levels), max(levels)}) if levels and len(levels) == len(ends) else []


def _beyond(count: float, levels: Sequence[float]) -> float:
    """What was asked over the nearest of what was measured."""
    return count / min(max(count, levels[0]), levels[-1])


def _fact(bundle: Mapping[str, Any], system: str, facts: Mapping[str, str], key: str) -> str | None:
    """The attribute that has a count asked for; None of conditions that were measured at several levels."""
    from model.published.model import published

    if key not in facts and key not in POPULATIONS:
        return None
    studies = published(bundle["conditions"])
    measured = studies.keys(system) if system in studies.systems() else {}
    if key in measured or (key in POPULATIONS and any(other in measured for other in POPULATIONS)):
        return None
    if key not in facts:
        people = [name for name in facts if _of(name, ASKING) and ends_of(facts[name])]
        return people[0] if len(people) == 1 else None
    levels = ends_of(facts[key])
    if len(levels) > 1 and key.endswith(SIZES):
        return key
    return key if levels and _of(key, (*ASKING, *CARRIED, *SERVING, *SENT, *SENT_SIZES)) else None


def _of(name: str, words: tuple[str, ...]) -> bool:
    """Whether an attribute counts one of these, such as `ims_connect_clients` and `terminals_per_lpar`."""
    for ending in ENDINGS:
        name = name.removesuffix(ending)
    return f"_{name}".endswith(tuple(f"_{word}" for word in words))


def _share(bundle: Mapping[str, Any], system: str, name: str) -> float:
    """The share of the transactions that some of those who ask make, where there are several sorts of them.

    Their rate is named as they are (`lu2_3270_clients`, `lu2_tps`); those without such a rate make the rest.
    """
    conditions = bundle["conditions"]
    workload = conditions["facts"][system].get(WORKLOAD)
    same = [facts for facts in conditions["facts"].values() if workload and facts.get(WORKLOAD) == workload]
    others = {key.split("_")[0] for facts in same for key in facts if _of(key, ASKING)} - {name.split("_")[0]}
    rates = {row["metric"]: row["value"] for row in conditions["rows"] if row["system"] == system}
    whole = next((rates[metric] for metric in WHOLE_RATES if metric in rates), None)
    if whole is None:
        return 1.0
    own = rates.get(name.split("_")[0] + RATE)
    return own / whole if own else max(1.0 - sum(rates.get(other + RATE, 0.0) for other in others) / whole, 0.0)


def _one_load(key: str, rest: Mapping[str, Any]) -> None:
    """Refuse a load beside a count that makes one."""
    for other in rest:
        if other in (*LOADS, "when") or other.startswith((GROWTH, "rate.")):
            raise QuestionError(f"at.{key}", key, f"{key}: {other} says the load already; leave out one of them")
