"""How loads grow after the end of the records: as they trend, with the seasons of week and month, or as planned.

A base load is a recorded one. It grows along the recorded trend to the end of the records, and from there on by

    log factor = rate x effective weeks + drift + season + steps

where a trend of a short history is followed for as long as it was seen and then fades (damped trend, Gardner and
McKenzie 1985). What a question plans takes the place of the rate. Arrays are (draws, loads).
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.capacity.base_load import WEEK, Span, end_of
from model.capacity.bundle import classes_named
from model.capacity.parameters import Growth, cached
from model.capacity.system import System
from model.capacity.values import PLANNED, SHORT_HISTORY, QuestionError, growth_factor, must_be_finite

Array = NDArray[np.float64]

SHORT_WEEKS = 13.0
"""A history of fewer weeks hardly tells growth and seasons: its trend fades, with this time constant."""
LEAST_FOLLOWED = 4.0
"""Weeks for which the trend of the shortest history is followed."""
WEEKS_A_YEAR = 365.2425 / 7.0
DRIFT_SEED = 7600
NO_GROWTH = Growth(np.zeros(1))


def history_weeks(system: System) -> float:
    """Weeks from the first to the last recorded interval."""
    first = system.history.times[0]
    return float((end_of(system) - first) / WEEK)


def is_short(system: System) -> bool:
    """Whether the records are shorter than three months."""
    return round(history_weeks(system), 1) < SHORT_WEEKS


def short_history(system: System) -> str:
    """What to say of records that are shorter than three months."""
    return f"{SHORT_HISTORY}: {history_weeks(system):.1f} weeks were recorded, too few to know growth and seasons"


def effective_weeks(ahead: Array, history: float) -> Array:
    """Weeks of growth at the recorded rate that so many weeks ahead bring: fewer where the history is short."""
    if history >= SHORT_WEEKS:
        return ahead
    followed = max(history, LEAST_FOLLOWED)
    fading = SHORT_WEEKS * -np.expm1(-np.maximum(ahead - followed, 0.0) / SHORT_WEEKS)
    return np.asarray(np.minimum(ahead, followed) + fading)


def grown(system: System, span: Span, question: Mapping[str, Any]) -> Array:
    """(draws, loads, classes) factors by which the classes have grown."""
    plans, history = _plans(system, question), history_weeks(system)
    logs = []
    for i, one in enumerate(system.parameters.classes):
        plan, trend = plans.get(i, Plan()), one.growth or NO_GROWTH
        rate = _rate(system, trend)
        log_growth = rate * span.since + plan.steps_log(system, span) + plan.season_log(system, span)
        if plan.yearly_log is None:
            log_growth = log_growth + _ahead(system, trend, rate, span, history, i)
        else:
            log_growth = log_growth + plan.yearly_log * span.ahead / WEEKS_A_YEAR
        logs.append(log_growth)
    return np.asarray(np.exp(np.stack(logs, axis=2)))


def others_grown(system: System, span: Span) -> Array:
    """(draws, loads) factors by which what the other LPARs use has grown."""
    trend = system.parameters.others_growth or NO_GROWTH
    rate = _rate(system, trend)
    return np.asarray(np.exp(rate * span.since + _ahead(system, trend, rate, span, history_weeks(system), 99)))


def _rate(system: System, trend: Growth) -> Array:
    """(draws, 1) growth a week."""
    return np.broadcast_to(trend.rate, system.draws)[:, None]


def _ahead(system: System, trend: Growth, rate: Array, span: Span, history: float, seed: int) -> Array:
    """Log growth after the end of the records, as the history trends."""
    drift = trend.drift_sd * system.scores(DRIFT_SEED + seed)[:, None] * np.sqrt(span.ahead)
    return np.asarray(rate * effective_weeks(span.ahead, history) + drift)


def seasonal(trend: Growth, start: np.datetime64, then: np.datetime64) -> float:
    """Log ratio of the loads of two days, by day of the week and end of the month."""
    weekdays = trend.weekday or (0.0,) * 7

    def level(time: np.datetime64) -> float:
        day = _date(time)
        return float(weekdays[day.weekday()]) + (trend.month_end if is_month_end(day) else 0.0)

    return level(then) - level(start)


def _date(time: np.datetime64) -> dt.date:
    return dt.date.fromisoformat(str(time)[:10])


def is_month_end(day: dt.date) -> bool:
    """Whether a day is the last of its month that is no Saturday or Sunday."""
    later = [day + dt.timedelta(days=n) for n in range(1, 4)]
    return day.weekday() < 5 and not any(one.month == day.month and one.weekday() < 5 for one in later)


@dataclass(frozen=True)
class Plan:
    """Planned growth of a class: log growth a year in place of its trend, None without; log steps by date, and log
    seasons by month."""

    yearly_log: float | None = None
    steps: tuple[tuple[np.datetime64, float], ...] = ()
    seasons: tuple[tuple[int, float], ...] = ()

    def steps_log(self, system: System, span: Span) -> Array:
        """(loads,) steps between the end of the records and the times."""
        end = end_of(system)
        weeks = [(float((date - end) / WEEK), step) for date, step in self.steps]
        total = [sum(step for at, step in weeks if 0.0 < at <= ahead) for ahead in span.ahead]
        return np.array(total, float)

    def season_log(self, system: System, span: Span) -> Array:
        """(loads,) season of the times relative to that of the recorded load."""
        if not self.seasons:
            return np.zeros(len(span.ahead))
        seasons, end = dict(self.seasons), end_of(system)

        def of(time: np.datetime64) -> float:
            return seasons.get(_date(time).month, 0.0)

        then = [end + np.timedelta64(round(ahead * 7 * 86400), "s") for ahead in span.ahead]
        return np.array([of(time) for time in then]) - of(span.start)


def _plans(system: System, question: Mapping[str, Any]) -> dict[int, Plan]:
    """Plans by class; a plan of a class goes before one of all classes."""
    keys = [str(key) for key in question if str(key).partition(".")[0] in PLANNED]
    if not keys:
        return {}
    text = repr([(key, question[key]) for key in keys])
    return cached(system.parameters, ("plans", text), lambda: _read(system, {key: question[key] for key in keys}))


def _read(system: System, question: Mapping[str, Any]) -> dict[int, Plan]:
    plans: dict[int, dict[str, Any]] = {i: {} for i in range(len(system.class_names))}
    # The key of the fewest classes counts.
    named = [(key, *key.partition(".")[::2]) for key in question]
    members = {key: classes_named(system.parameters, key, name) if name else tuple(plans) for key, _, name in named}
    for key, kind, _ in sorted(named, key=lambda one: -len(members[one[0]])):
        value = _READERS[kind](key, question[key])
        for i in members[key]:
            plans[i][kind] = value
    return {
        i: Plan(one.get("growth_pct_per_year"), one.get("step_pct", ()), one.get("season_pct", ()))
        for i, one in plans.items()
    }


def _yearly(key: str, value: Any) -> float:
    factor = growth_factor(key, value)
    if factor <= 0.0:
        raise QuestionError(key, value, f"{key} must be above -100 % (got {value!r})")
    return math.log(factor)


def _pairs(key: str, value: Any, form: str) -> list[tuple[str, float]]:
    """``NAME:PCT`` pairs joined by commas, as names and logs of factors."""
    pairs = []
    for part in str(value).split(","):
        name, _, pct = part.rpartition(":")
        if not name.strip():
            raise QuestionError(key, value, f"{key} must have the form {form} (got {part.strip()!r})")
        pairs.append((name.strip(), _yearly(key, must_be_finite(key, pct))))
    return pairs


def _steps(key: str, value: Any) -> tuple[tuple[np.datetime64, float], ...]:
    form = "DATE:PCT, such as 2027-01-15:20 for 20 % more from that day on"
    steps = []
    for name, log in _pairs(key, value, form):
        try:
            date = dt.date.fromisoformat(name)
        except ValueError:
            raise QuestionError(key, value, f"{key}: {name!r} is not a date; the form is {form}") from None
        steps.append((np.datetime64(date, "s"), log))
    return tuple(steps)


def _seasons(key: str, value: Any) -> tuple[tuple[int, float], ...]:
    form = "MONTH:PCT, such as 12:30 for 30 % more in December"
    seasons = []
    for name, log in _pairs(key, value, form):
        if not name.isdigit() or not 1 <= int(name) <= 12:
            raise QuestionError(key, value, f"{key}: {name!r} is not a month from 1 to 12; the form is {form}")
        seasons.append((int(name), log))
    return tuple(seasons)


_READERS = {"growth_pct_per_year": _yearly, "step_pct": _steps, "season_pct": _seasons}
