"""The highest rate of users who think and wait, where a law of their throughput is all that is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from model.capacity.answer import INTERVAL_PCT
from model.capacity.sizing import MaxResponse
from model.capacity.values import QuestionError, must_be_positive, number_text
from model.published.tables import BEYOND

if TYPE_CHECKING:
    from model.published.model import Users

HALVINGS = 30


def users_of(bundle: Mapping[str, Any], system: str) -> Users | None:
    """The population of a system's users; None where their throughput was not measured at several levels."""
    from model.published.model import published

    return published(bundle["conditions"]).users(system)


def max_rate(
    bundle: Mapping[str, Any],
    system: str,
    at: Mapping[str, Any] | None = None,
    *,
    max_busy_pct: float = 100.0,
    max_response_ms: MaxResponse = None,
) -> dict[str, Any]:
    """The rate at which the response of a population of users reaches a target.

    A population passes cycles of think time and response, so that response = users / throughput - think time; it grows
    with the users, and the law of the throughput is inverted.

    Raises:
        QuestionError: no throughput of users was measured, or what is asked needs engines or a load.
    """
    users = _users_asked(bundle, system, at, max_busy_pct)
    if max_response_ms is None:
        text = f"max_response_ms: needed, as nothing else of {system} is known to limit its users"
        raise QuestionError("max_response_ms", None, text)
    if isinstance(max_response_ms, Mapping):
        text = f"max_response_ms: no classes of {system} are known; give one number, for all of its users"
        raise QuestionError("max_response_ms", dict(max_response_ms), text)
    target_s = must_be_positive("max_response_ms", max_response_ms) / 1000.0
    (_, lo), (count, value), (_, hi) = (_users_within(users, target_s, place) for place in range(3))
    rate = {"value": value, "lo": min(lo, value), "hi": max(hi, value)}
    today = users.throughput(users.most)[1]
    growth = {name: 100.0 * (end / today - 1.0) for name, end in rate.items()}
    resource = f"response of {number_text(max_response_ms)} ms"
    return {
        "system": system,
        "at": {},
        "targets": {"max_busy_pct": max_busy_pct, "max_response_ms": max_response_ms},
        "model_version": bundle["model_version"],
        "etr_tps": rate,
        "growth_pct": growth,
        "limits": [{"resource": resource, "etr_tps": rate, "growth_pct": growth, "probability": 1.0}],
        "interval_pct": INTERVAL_PCT,
        "notes": _notes(users, count),
        "evidence": {"figures": [{"metric": "throughput", "table": users.table}], "data": bundle.get("data", {})},
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
    """What is to be said of the most users within a target."""
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


def making(users: Users, key: str, rate: float) -> float:
    """How many users make a rate. Raises QuestionError where so few or so many are not known."""
    least, most = users.least / 2.0, BEYOND * users.most
    low, high = users.throughput(least)[1], users.throughput(most)[1]
    if not low <= rate <= high:
        who = f"{number_text(least)} to {number_text(most)} {users.key}"
        make = f"{number_text(low, 4)} to {number_text(high, 4)}"
        text = f"{key}: {number_text(rate)} is not made by {who}, who make {make}"
        raise QuestionError(key, rate, text)
    return most_within(lambda count: users.throughput(count)[1], rate, least, most)


def _users_asked(bundle: Mapping[str, Any], system: str, at: Mapping[str, Any] | None, max_busy_pct: float) -> Users:
    """The users whose number is looked for. Raises QuestionError where none are known, or more is asked of them."""
    users = users_of(bundle, system)
    if users is None:
        text = f"system: {system} has figures by condition and no throughput of users; ask predict, sweep or what-if"
        raise QuestionError("system", system, text)
    if max_busy_pct != 100.0:
        text = f"max_busy_pct: no engine time of {system} was measured; use max_response_ms"
        raise QuestionError("max_busy_pct", max_busy_pct, text)
    for key, value in (at or {}).items():
        raise QuestionError(f"at.{key}", value, f"at.{key}: the number of users of {system} is what is looked for")
    return users


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
