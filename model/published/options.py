"""A system with another release or option than its own: as a sibling was measured with it, or by the ratio of two.

What a study varies from system to system (`release`, `security`, `direction`) is in the configuration of each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from model.capacity.adjustments import Factor, log_sd
from model.capacity.answer import Answer
from model.capacity.values import QuestionError
from model.published.observations import RELEASES
from model.published.question import Question
from model.published.scaling import scale, with_engine_time
from model.published.system import RELEASE, Studied, names
from model.published.tables import POINT

Predict = Callable[[Mapping[str, Any], str, Question], Answer]
CPU, RATE = "cpu_us_per_tran", "etr_tps"


@dataclass(frozen=True)
class Substitute:
    """The question to ask in place of one with options, to the system that was measured with them, with notes."""

    system: str
    at: Question
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Parted:
    """A question without its options, and the options that are not as in the configuration."""

    rest: Question
    options: Mapping[str, str]


def answer_with_options(predict: Predict, studied: Studied, at: Question) -> Answer | None:
    """The answer to a question that names a release or option of the configuration; None where it names none.

    Raises
    ------
    QuestionError
        No system was measured with the option, and no two show what it changes.
    """
    parted = _parted(studied, at)
    if parted is None:
        return None
    if (other := substitute(predict, studied, at)) is not None:
        answer = predict(studied.bundle, other.system, other.at)
        return replace(answer, system=studied.name, at=dict(at), notes=(*other.notes, *answer.notes))
    key, level = next(iter(parted.options.items()))
    name, today = _option(key), studied.options[_option(key)]
    rest = {**parted.rest, **{more: at[more] for more in parted.options if more != key}}
    pairs = ((one, like) for one in studied.relatives for like in studied.relatives)
    for one, like in pairs:
        if one.has({name: level}) and like.has({name: today}) and one.differs_in(like, (name,)):
            factor = _engine_time(predict, like, one)
            if factor is not None:
                note = f"{key} = {level}: engine time times {factor.value:.4g}, as of {one.name} beside {like.name}"
                return scale(predict(studied.bundle, studied.name, rest), with_engine_time(factor), at, (note,))
    text = f"{key}: {level!r} was not measured, nor what it changes"
    raise QuestionError(f"at.{key}", level, text, levels_of_options(studied).get(name, (today,)))


def substitute(predict: Predict, studied: Studied, at: Question) -> Substitute | None:
    """The system to ask in place of one with options: itself where they are its own, else a sibling that differs in
    them alone; None without one, and where a question names no options.
    """
    parted = _parted(studied, at)
    if parted is None or not parted.options:
        return None if parted is None else Substitute(studied.name, parted.rest, ())
    wanted = {_option(key): level for key, level in parted.options.items()}
    for one in studied.relatives:
        if one.has(wanted) and one.differs_in(studied, wanted):
            words = " and ".join(f"{key} = {level}" for key, level in parted.options.items())
            rest = _at_rate(predict, studied, parted.rest)
            return Substitute(one.name, rest, (f"{words}: answered as {one.name} was measured",))
    return None


def _parted(studied: Studied, at: Question) -> _Parted | None:
    """None where a question names no options of the configuration."""
    options = {key: str(at[key]) for key in at if _option(key) in studied.options and key not in studied.keys}
    rest = {key: value for key, value in at.items() if key not in options}
    other = {key: level for key, level in options.items() if not names(level, studied.options[_option(key)])}
    return _Parted(rest, other) if options else None


def levels_of_options(studied: Studied) -> dict[str, tuple[str, ...]]:
    """The options of the configuration that another level can be asked of, each with its levels: that of the system and
    those of systems that differ in it alone.
    """
    levels = {
        key: {one.options[key] for one in studied.relatives if key in one.options and one.differs_in(studied, (key,))}
        for key in studied.options
    }
    return {key: tuple(sorted({*some, studied.options[key]})) for key, some in levels.items() if len(some) > 1}


def _option(key: str) -> str:
    return RELEASE if key in RELEASES else key


def _at_rate(predict: Predict, studied: Studied, at: Question) -> Question:
    """A question with the rate of the measured point that it names, which another system has not."""
    rate = predict(studied.bundle, studied.name, {POINT: at[POINT]}).output(RATE) if POINT in at else None
    if rate is None or rate.value is None:
        return at
    return {**{key: value for key, value in at.items() if key != POINT}, RATE: rate.value}


def _engine_time(predict: Predict, like: Studied, other: Studied) -> Factor | None:
    """The engine time of a transaction of the other system over that of the first, at the rate of the first; None where
    one of them is not known.
    """
    rate = predict(like.bundle, like.name, {}).output(RATE)
    if rate is None or not rate.value:
        return None
    here, there = (predict(one.bundle, one.name, {RATE: rate.value}).output(CPU) for one in (like, other))
    if here is None or there is None or not here.value or not there.value:
        return None
    return Factor(math.log(there.value / here.value), math.hypot(log_sd(here), log_sd(there)))
