"""A system with another release or option than its own: as a sibling was measured with it, or by the ratio of two.

What a study varies from system to system (`release`, `security`, `direction`) stands in the configuration of each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from model.capacity.adjustments import Factor, log_sd, quantity_of, scaled
from model.capacity.answer import Answer, Output
from model.capacity.values import QuestionError
from model.published.observations import ALTERNATIVES, RELEASES, WORKLOAD
from model.published.siblings import CPU_OF, engines_of
from model.published.tables import POINT

Predict = Callable[[Mapping[str, Any], str, Mapping[str, Any]], Answer]
RELEASE = RELEASES[0]
OPTIONS = tuple(key for key in ALTERNATIVES if key != "machine" and key not in RELEASES[1:])
CPU, RATE = "cpu_us_per_tran", "etr_tps"


def with_options(predict: Predict, bundle: Mapping[str, Any], system: str, at: Mapping[str, Any]) -> Answer | None:
    """The answer to a question that names a release or option of the configuration; None where it names none.

    Raises:
        QuestionError: no system shows what another one would do.
    """
    options = _asked(bundle, system, at)
    if options is None:
        return None
    if (alike := measured_so(predict, bundle, system, at)) is not None:
        answer = predict(bundle, alike.system, alike.at)
        return replace(answer, system=system, at=dict(at), notes=(*alike.notes, *answer.notes))
    own, siblings = _options(bundle, system), _siblings(bundle, system)
    key, level = next(iter(options.other.items()))
    name, rest = _option(key), {**options.rest, **{more: at[more] for more in options.other if more != key}}
    for one in siblings:
        for like in siblings:
            if one.has({name: level}) and like.has({name: own[name]}) and one.apart(like, (name,)):
                by = _engine_time(predict, bundle, like.system, one.system)
                if by is not None:
                    note = f"{key} = {level}: engine time times {by.value:.4g}, as of {one.system} beside {like.system}"
                    return _at_work(predict(bundle, system, rest), by, at, note)
    text = f"{key}: {level!r} was not measured, nor what it changes"
    raise QuestionError(f"at.{key}", level, text, options_of(bundle, system).get(name, (own[name],)))


@dataclass(frozen=True)
class MeasuredSo:
    """A system that was measured with the options of a question, and what to ask it, with notes."""

    system: str
    at: Mapping[str, Any]
    notes: tuple[str, ...]


def measured_so(predict: Predict, bundle: Mapping[str, Any], system: str, at: Mapping[str, Any]) -> MeasuredSo | None:
    """The system to ask in place of one with options: itself where they are its own, else a sibling that differs in
    them alone; None without one, and where a question names no options."""
    options = _asked(bundle, system, at)
    if options is None or not options.other:
        return None if options is None else MeasuredSo(system, options.rest, ())
    wanted = {_option(key): level for key, level in options.other.items()}
    mine = _Sibling(system, _options(bundle, system), engines_of(bundle["conditions"]["facts"][system]))
    for one in _siblings(bundle, system):
        if one.has(wanted) and one.apart(mine, wanted):
            words = " and ".join(f"{key} = {level}" for key, level in options.other.items())
            rest = _at_rate(predict, bundle, system, options.rest)
            return MeasuredSo(one.system, rest, (f"{words}: answered as {one.system} was measured",))
    return None


@dataclass(frozen=True)
class _Asked:
    """A question without its options, and those that are not as in the configuration, as they were asked."""

    rest: Mapping[str, Any]
    other: Mapping[str, str]


def _asked(bundle: Mapping[str, Any], system: str, at: Mapping[str, Any]) -> _Asked | None:
    """None where a question names no options of the configuration."""
    from model.published.model import published

    own = _options(bundle, system)
    conditions = published(bundle["conditions"]).keys(system) if own else {}
    options = {key: str(at[key]) for key in at if _option(key) in own and key not in conditions}
    rest = {key: value for key, value in at.items() if key not in options}
    other = {key: level for key, level in options.items() if not _is(level, own[_option(key)])}
    return _Asked(rest, other) if options else None


def options_of(bundle: Mapping[str, Any], system: str) -> dict[str, tuple[str, ...]]:
    """The options of the configuration that another level is known of, each with its own level and those of systems
    that differ in it alone."""
    own = _options(bundle, system)
    if not own:
        return {}
    mine = _Sibling(system, own, engines_of(bundle["conditions"]["facts"][system]))
    siblings = _siblings(bundle, system)
    levels = {
        key: {one.options[key] for one in siblings if key in one.options and one.apart(mine, (key,))} for key in own
    }
    return {key: tuple(sorted(levels_of | {own[key]})) for key, levels_of in levels.items() if levels_of - {own[key]}}


@dataclass(frozen=True)
class _Sibling:
    """A system measured like another, with its options and engines."""

    system: str
    options: Mapping[str, str]
    engines: int | None

    def has(self, levels: Mapping[str, str]) -> bool:
        """Whether its options have all of these levels."""
        return all(key in self.options and _is(level, self.options[key]) for key, level in levels.items())

    def apart(self, other: _Sibling, keys: Collection[str]) -> bool:
        """Whether another system differs, as far as is known, in these options alone."""
        same = (self.options.keys() & other.options.keys()) - set(keys)
        return self.engines == other.engines and all(self.options[key] == other.options[key] for key in same)


def _siblings(bundle: Mapping[str, Any], system: str) -> list[_Sibling]:
    """The systems with a figure that share a workload or a table of the study with a system, itself among them."""
    conditions = bundle["conditions"]
    facts = conditions["facts"]
    tables: dict[str, set[tuple[str, str]]] = {}
    for row in conditions["rows"]:
        tables.setdefault(row["system"], set()).add((row["study"], row["table"]))
    own, workload = tables.get(system, set()), facts[system].get(WORKLOAD)
    names = [
        name
        for name in tables
        if name in facts and (own & tables[name] or (workload and facts[name].get(WORKLOAD) == workload))
    ]
    return [_Sibling(name, _options(bundle, name), engines_of(facts[name])) for name in sorted(names)]


def _options(bundle: Mapping[str, Any], system: str) -> dict[str, str]:
    facts = bundle["conditions"].get("facts", {}).get(system, {})
    return {key: facts[key] for key in OPTIONS if key in facts}


def _option(key: str) -> str:
    return RELEASE if key in RELEASES else key


def _is(text: str, level: str) -> bool:
    """Whether some words name a level: `5.3` and `V5.3` name `CICS TS 5.3`, `in` names `inbound put`."""
    parts = [word.removeprefix("v") for word in level.casefold().split()]
    words = [word.removeprefix("v") for word in text.casefold().split()]
    return bool(words) and all(
        any(word == one or (word.isalpha() and one.startswith(word)) for one in parts) for word in words
    )


def _at_rate(predict: Predict, bundle: Mapping[str, Any], system: str, at: Mapping[str, Any]) -> dict[str, Any]:
    """A question with the rate of the measured point that it names, which another system has not."""
    rate = predict(bundle, system, {POINT: at[POINT]}).output(RATE) if POINT in at else None
    if rate is None or rate.value is None:
        return dict(at)
    return {**{key: value for key, value in at.items() if key != POINT}, RATE: rate.value}


def _engine_time(predict: Predict, bundle: Mapping[str, Any], like: str, other: str) -> Factor | None:
    """Engine time of a transaction of the other system over that of the first, at the rate of the first; None where
    it is not known of both."""
    rate = predict(bundle, like, {}).output(RATE)
    if rate is None or not rate.value:
        return None
    here, there = (predict(bundle, name, {RATE: rate.value}).output(CPU) for name in (like, other))
    if here is None or there is None or not here.value or not there.value:
        return None
    return Factor(math.log(there.value / here.value), math.hypot(log_sd(here), log_sd(there)))


def _at_work(answer: Answer, by: Factor, at: Mapping[str, Any], note: str) -> Answer:
    inverse = replace(by, log=-by.log)
    factors = {"cpu": by, "itr": inverse}

    def of(output: Output) -> Output:
        quantity = CPU_OF.get(output.metric) or quantity_of(output.metric, output.unit)
        return scaled(output, factors[quantity]) if quantity in factors else output

    outputs = tuple(map(of, answer.outputs))
    return replace(answer, at=dict(at), outputs=outputs, notes=(note, *answer.notes), extrapolated=True)
