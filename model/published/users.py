"""Users who think and wait, of whom a law of their throughput was measured: at a rate, within a response, otherwise.

A population passes cycles of think time and response: response = users / throughput - think time (Little's law). How
long a service takes depends on how much it is asked for in all, not on how long users think in between: users who think
longer, or send more at once, wait as long, for as much, as do as many of the measured ones as make the same throughput.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from model.capacity.adjustments import POPULATIONS, TRANSACTIONS, Factor
from model.capacity.answer import INTERVAL_PCT, Answer, Output
from model.capacity.sizing import MaxResponse
from model.capacity.values import QuestionError, must_be_positive, number_text
from model.published.counts import COUNT_SD
from model.published.model import Users
from model.published.question import Question, by_condition
from model.published.scaling import goes_with_rate, scale, with_rate
from model.published.system import Studied
from model.published.tables import BEYOND, THINK_TIME, THROUGHPUT, number

HALVINGS = 30
FILE_SIZE = "file_size"
BYTES = "MB/s"
"""The unit of a throughput of files, whose size is in the same bytes."""


def at_rate_of_users(studied: Studied, at: Question, users: Users, key: str, rate: float) -> Answer:
    """The figures of as many users as make a rate.

    Raises
    ------
    QuestionError
        The number of users is given, or no number of users that is known makes the rate.
    """
    if users.unit != TRANSACTIONS:
        raise refused(studied, key, f"its throughput was measured in {users.unit}")
    if any(name in POPULATIONS for name in at):
        raise refused(studied, key, "the number of users says the load already")
    least, most = users.least / 2.0, BEYOND * users.most
    low, high = users.throughput(least)[1], users.throughput(most)[1]
    if not low <= rate <= high:
        who = f"{number_text(least)} to {number_text(most)} {users.key}"
        make = f"{number_text(low, 4)} to {number_text(high, 4)}"
        raise QuestionError(key, rate, f"{key}: {number_text(rate)} is not made by {who}, who make {make}")
    count = float(f"{most_within(lambda some: users.throughput(some)[1], rate, least, most):.4g}")
    answer = by_condition(studied, {**at, users.key: count})
    note = f"{number_text(rate)} {TRANSACTIONS} are made by {number_text(count)} {users.key}"
    return replace(answer, notes=(note, *answer.notes))


def refused(studied: Studied, key: str, reason: str) -> QuestionError:
    """The refusal of a load, with the conditions that may be asked for instead."""
    return QuestionError(f"at.{key}", key, f"{key} cannot be asked of {studied.name}: {reason}", studied.keys)


def measured_cycle(studied: Studied) -> dict[str, float]:
    """Think time in s and file size in MB that users were measured with, by key; empty where that does not determine
    their cycle.
    """
    if studied.users is None:
        return {}
    cycle = {key: x for key in (THINK_TIME, FILE_SIZE) if (x := number(studied.facts.get(key, ""))) is not None}
    needed = (THINK_TIME, FILE_SIZE) if studied.users.unit == BYTES else (THINK_TIME,)
    return cycle if all(key in cycle for key in needed) else {}


def at_cycle(studied: Studied, at: Question) -> Answer | None:
    """The figures of a number of users at another think time (s) or file size; None where neither is asked for other
    than measured, or they are not known of the system.

    Raises
    ------
    QuestionError
        The number of users is not given, or they make a throughput that is not known.
    """
    keys = [key for key in (THINK_TIME, FILE_SIZE) if key in at]
    measured, users = (measured_cycle(studied), studied.users) if keys else ({}, None)
    if users is None or not measured or any(key not in measured for key in keys):
        return None
    if all(number(str(at[key])) == measured[key] for key in keys):
        return None
    wanted = {**measured, **{key: must_be_positive(f"at.{key}", at[key]) for key in keys}}
    rest = {key: value for key, value in at.items() if key not in keys}
    population = next((key for key in rest if key in POPULATIONS), None)
    if population is None:
        text = f"{keys[0]}: say of how many {users.key} too, such as {users.key}={users.most:.12g}"
        raise QuestionError(f"at.{keys[0]}", at[keys[0]], text)
    answer = by_condition(studied, rest)
    count = must_be_positive(f"at.{population}", rest[population])
    with_sizes = users.unit == BYTES
    size, other_size = (cycle[FILE_SIZE] if with_sizes else 1.0 for cycle in (measured, wanted))
    least, most = users.least / BEYOND, users.most * BEYOND

    def others(same: float, place: int) -> float:
        """How many others make the throughput of so many measured users: cycles a second, times their length."""
        throughput = users.throughput(same)[place]
        response_s = same * size / throughput - measured[THINK_TIME]
        return throughput / other_size * (wanted[THINK_TIME] + response_s * other_size / size)

    if not all(others(least, place) <= count < others(most, place) for place in range(3)):
        span = f"{number_text(least)} to {number_text(most)}"
        text = f"{keys[0]}: as many of the measured {users.key} as make this throughput are not {span}"
        raise QuestionError(f"at.{keys[0]}", at[keys[0]], text)
    same = [most_within(lambda some, place=place: others(some, place), count, least, most) for place in range(3)]  # type: ignore[misc]
    ends = sorted(users.throughput(many)[place] for place, many in enumerate(same))
    less_sure = Factor(0.0, COUNT_SD * abs(math.log(same[1] / count)))
    growth = with_rate(ends[1] / users.throughput(count)[1])

    def change(output: Output) -> Factor | None:
        if output.metric == THROUGHPUT:
            return None
        with_throughput = goes_with_rate(output.metric, output.unit) and output.metric not in POPULATIONS
        return growth if with_throughput else less_sure

    outputs = [
        replace(output, lo=ends[0], value=ends[1], hi=ends[2]) if output.metric == THROUGHPUT else output
        for output in answer.outputs
    ]
    cycle_then = " and ".join(f"{key} = {number_text(measured[key])}" for key in keys)
    many = f"{number_text(count)} {users.key} make the throughput of {number_text(same[1], 4)} of those"
    return scale(answer, change, at, (f"measured with {cycle_then}: {many}, as work does",), outputs)


def max_rate(
    studied: Studied, at: Question | None = None, *, max_busy_pct: float = 100.0, max_response_ms: MaxResponse = None
) -> dict[str, Any]:
    """The rate at which the response of a population of users reaches a target.

    Raises
    ------
    QuestionError
        No throughput of users was measured, or the question needs engines or a load.
    """
    name, users = studied.name, studied.users
    if users is None:
        text = f"system: {name} has figures by condition and no throughput of users; ask predict, sweep or what-if"
        raise QuestionError("system", name, text)
    if max_busy_pct != 100.0:
        text = f"max_busy_pct: no engine time of {name} was measured; use max_response_ms"
        raise QuestionError("max_busy_pct", max_busy_pct, text)
    for key, value in (at or {}).items():
        raise QuestionError(f"at.{key}", value, f"at.{key}: the number of users of {name} is what is looked for")
    if max_response_ms is None:
        text = f"max_response_ms: needed, as nothing else of {name} is known to limit its users"
        raise QuestionError("max_response_ms", None, text)
    if isinstance(max_response_ms, Mapping):
        text = f"max_response_ms: no classes of {name} are known; give one number, for all of its users"
        raise QuestionError("max_response_ms", dict(max_response_ms), text)
    target_s = must_be_positive("max_response_ms", max_response_ms) / 1000.0
    (_, lo), (count, value), (_, hi) = (_users_within(users, target_s, place) for place in range(3))
    rate = {"value": value, "lo": min(lo, value), "hi": max(hi, value)}
    today = users.throughput(users.most)[1]
    growth = {end: 100.0 * (at_end / today - 1.0) for end, at_end in rate.items()}
    resource = f"response of {number_text(max_response_ms)} ms"
    return {
        "system": name,
        "at": {},
        "targets": {"max_busy_pct": max_busy_pct, "max_response_ms": max_response_ms},
        "model_version": studied.bundle["model_version"],
        "etr_tps": rate,
        "growth_pct": growth,
        "limits": [{"resource": resource, "etr_tps": rate, "growth_pct": growth, "probability": 1.0}],
        "interval_pct": INTERVAL_PCT,
        "notes": _notes(users, count),
        "evidence": {
            "figures": [{"metric": THROUGHPUT, "table": users.table}],
            "data": studied.bundle.get("data", {}),
        },
    }


def _users_within(users: Users, target_s: float, place: int) -> tuple[float, float]:
    """The most users whose response keeps within a target, and the rate that they make: by the lower limit of their
    throughput (0), its median (1) or the upper limit (2). 0 where none do.
    """

    def response_s(count: float) -> float:
        return count / users.throughput(count)[place] - users.think_s

    count = most_within(response_s, target_s, users.least, BEYOND * users.most)
    return count, users.throughput(count)[place] if count else 0.0


def _notes(users: Users, count: float) -> list[str]:
    """Notes on the most users within a target."""
    most, notes = BEYOND * users.most, []
    if count == 0.0:
        notes.append(f"no rate keeps within the target: {number_text(users.least)} {users.key} wait longer")
    else:
        notes.append(
            f"that is {int(count):,} {users.key}; growth is counted from {number_text(users.most)}, the most measured"
        )
    if users.think_s == 0.0:
        notes.append("no think time is known: the whole cycle of thinking and waiting is held to the target")
    if count == most:
        notes.append(f"the response stays within the target up to {number_text(most)} {users.key}; more is not said")
    return notes


def most_within(figure: Callable[[float], float], target: float, least: float, most: float) -> float:
    """The largest population between two of which a rising figure keeps within a target; 0 where none does."""
    if figure(least) > target:
        return 0.0
    if figure(most) <= target:
        return most
    for _ in range(HALVINGS):
        middle = (least * most) ** 0.5
        least, most = (least, middle) if figure(middle) > target else (middle, most)
    return least
