"""Users who think longer, or less long, or send more at once, than those who were measured.

A population passes cycles of think time and response. How long a service takes for what it is asked hangs on how much
it is asked for in all, not on how long users think in between: users who do otherwise wait, for as much, as long as do
as many of the measured ones as make the same throughput.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from model.capacity.adjustments import POPULATIONS, Factor, scaled
from model.capacity.answer import Answer, Output
from model.capacity.values import QuestionError, must_be_positive, number_text
from model.published.answers import by_condition
from model.published.counts import COUNT_SD
from model.published.populations import most_within, users_of
from model.published.rates import goes_with_rate, with_rate
from model.published.tables import BEYOND, THINK_TIME, number

if TYPE_CHECKING:
    from model.published.model import Users

FILE_SIZE, THROUGHPUT = "file_size", "throughput"
BYTES = "MB/s"
"""The unit of a throughput of files, whose size is in the same bytes."""


def at_think_time(bundle: Mapping[str, Any], system: str, at: Mapping[str, Any]) -> Answer | None:
    """The figures of a number of users at another think time (s) or file size; None where neither is asked for other
    than measured, or they are not known of the system.

    Raises:
        QuestionError: the number of users is not said, or they make a throughput that is not known.
    """
    keys = [key for key in (THINK_TIME, FILE_SIZE) if key in at]
    users = users_of(bundle, system) if keys else None
    if users is None:
        return None
    measured = measured_cycle(bundle, system, users)
    if any(key not in measured for key in keys) or all(number(str(at[key])) == measured[key] for key in keys):
        return None
    think_s, size = measured[THINK_TIME], measured[FILE_SIZE] if users.unit == BYTES else 1.0
    wanted = {key: must_be_positive(f"at.{key}", at[key]) for key in keys}
    rest = {key: value for key, value in at.items() if key not in keys}
    population = next((key for key in rest if key in POPULATIONS), None)
    if population is None:
        text = f"{keys[0]}: say of how many {users.key} too, such as {users.key}={users.most:.12g}"
        raise QuestionError(f"at.{keys[0]}", at[keys[0]], text)
    answer = by_condition(bundle, system, rest)
    count = must_be_positive(f"at.{population}", rest[population])
    cycle = _Cycle(users, think_s, size, wanted.get(THINK_TIME, think_s), wanted.get(FILE_SIZE, size))
    try:
        same = [cycle.as_many(count, place) for place in range(3)]
    except ValueError as error:
        raise QuestionError(f"at.{keys[0]}", at[keys[0]], f"{keys[0]}: {error}") from None
    ends = sorted(users.throughput(many)[place] for place, many in enumerate(same))
    less_sure = Factor(0.0, COUNT_SD * abs(math.log(same[1] / count)))
    growing = with_rate(ends[1] / users.throughput(count)[1])

    def of(output: Output) -> Output:
        if output.metric == THROUGHPUT:
            return replace(output, lo=ends[0], value=ends[1], hi=ends[2])
        with_throughput = goes_with_rate(output.metric, output.unit) and output.metric not in POPULATIONS
        return scaled(output, growing if with_throughput else less_sure)

    cycle_then = " and ".join(f"{key} = {number_text(measured[key])}" for key in keys)
    many = f"{number_text(count)} {users.key} make the throughput of {number_text(same[1], 4)} of those"
    note = f"measured with {cycle_then}: {many}, as work does"
    outputs = tuple(of(output) for output in answer.outputs)
    return replace(answer, at=dict(at), outputs=outputs, notes=(note, *answer.notes), extrapolated=True)


def measured_cycle(bundle: Mapping[str, Any], system: str, users: Users) -> dict[str, float]:
    """Think time in s and file size in MB that users were measured with, by key; empty where that is not enough to say
    how they go through a cycle."""
    facts = bundle["conditions"].get("facts", {}).get(system, {})
    cycle = {key: x for key in (THINK_TIME, FILE_SIZE) if (x := number(facts.get(key, ""))) is not None}
    needed = (THINK_TIME, FILE_SIZE) if users.unit == BYTES else (THINK_TIME,)
    return cycle if all(key in cycle for key in needed) else {}


@dataclass(frozen=True)
class _Cycle:
    """What the measured users do and others are to do: think times in s, and how much they ask for at once."""

    users: Users
    think_s: float
    size: float
    other_think_s: float
    other_size: float

    def as_many(self, count: float, place: int) -> float:
        """How many of the measured users make the throughput of a number of others, at a limit of the law.

        Raises ValueError where so few or so many are not known.
        """
        least, most = self.users.least / BEYOND, self.users.most * BEYOND
        if self._others(least, place) > count or self._others(most, place) <= count:
            span = f"{number_text(least)} to {number_text(most)}"
            raise ValueError(f"as many of the measured {self.users.key} as make this throughput are not {span}")
        return most_within(lambda same: self._others(same, place), count, least, most)

    def _others(self, same: float, place: int) -> float:
        """How many others make the throughput of so many measured users: their cycles a second, times their length."""
        throughput = self.users.throughput(same)[place]
        response_s = same * self.size / throughput - self.think_s
        return throughput / self.other_size * (self.other_think_s + response_s * self.other_size / self.size)
