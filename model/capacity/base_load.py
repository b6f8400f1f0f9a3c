"""The recorded load or measured point that a question starts from: what ``when`` and ``point`` mean."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from model.calendar import Calendar, CalendarError
from model.capacity.anchor import anchor_of
from model.capacity.cache import cached
from model.capacity.evaluation import System
from model.capacity.growth import Span
from model.capacity.parameters import Point, RecordedIntervals, SystemParameters
from model.capacity.question_keys import point_entry
from model.capacity.state import Scenario
from model.capacity.values import QuestionError

Array = NDArray[np.float64]
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
MOST_WEEKS = 156


class Start(NamedTuple):
    """Where a question starts: a measured point or the local ``time`` of a recorded load, its scenario, the ``span``
    from there to the time that is asked, and what to say of these. A measured point has no span."""

    point: Point | None
    time: str
    scenario: Scenario
    span: Span | None
    notes: list[str]


def start_of(system: System, question: Mapping[str, Any]) -> Start:
    """The recorded load or measured point the question starts from."""
    parameters = system.parameters
    recorded = parameters.recorded
    if recorded is None:
        for key in ("when", "shift"):
            if key in question:
                text = f"{key}: this system has measured points, no history; use point"
                raise QuestionError(key, question[key], text)
        point = point_entry(parameters, question.get("point", parameters.operating_point))
        shown = point if not any(key in question for key in ("etr_tps", "cpu_busy_pct")) else None
        return Start(shown, "", cached(point, "base", lambda: _at_point(system, point)), None, [])
    if "point" in question:
        point_entry(parameters, question["point"])
    index, notes, ahead = _chosen(parameters, recorded, question)
    base = cached(parameters, ("base", tuple(index.tolist())), lambda: _mean_of(system, recorded, index))
    if ahead > 0.0 and np.any(base.others):
        notes[0] += ", and what the other LPARs of the machine use as theirs does"
    start = recorded.start_local[int(index[len(index) // 2])]
    span = Span.of(system, _middle(recorded.times[index]), ahead)
    if ahead > 0.0:
        start = dt.datetime.fromisoformat(str(question["when"]).strip()).isoformat()
    return Start(None, start, base, span, notes)


def _middle(times: NDArray[np.datetime64]) -> np.datetime64:
    """The mean of some times."""
    return np.datetime64(int(times.astype("datetime64[s]").astype(np.int64).mean()), "s")


def _at_point(system: System, point: Point) -> Scenario:
    """The load of a measured point."""
    rates = np.array([[[point.rates[name] for name in system.streams]]])
    return Scenario(rates, system.engines, system.ziips)


def _mean_of(system: System, history: RecordedIntervals, index: NDArray[np.int64]) -> Scenario:
    """The mean load of some recorded intervals."""
    rates = history.rates[:, index].mean(axis=1)
    others = 0.0 if history.others is None else history.others[index].mean(keepdims=True)[None]
    extra = {name: values[index].mean(keepdims=True)[None] for name, values in history.extra.items()}
    thinking = np.zeros(len(rates)) if history.thinking is None else history.thinking[:, index].mean(axis=1)
    sampled_s = np.maximum(thinking * len(index) * history.seconds, 1e-12)
    think_s = thinking / np.maximum(rates, 1e-12) * np.maximum(1.0 + system.thinking_noise / np.sqrt(sampled_s), 0.0)
    scenario = Scenario(
        rates[None, None, :],
        system.engines,
        system.ziips,
        extra=extra,
        others=others,
        recorded=tuple(int(i) for i in index),
        think_s=np.where(rates > 0, think_s, 0.0)[:, None, :] if np.any(think_s > 0) else None,
    )
    return replace(scenario, anchor=anchor_of(system, scenario, history, index))


def _chosen(
    parameters: SystemParameters, recorded: RecordedIntervals, question: Mapping[str, Any]
) -> tuple[NDArray[np.int64], list[str], float]:
    """Indices of the recorded intervals meant by ``when``, what to say of them, and weeks from the end of the records
    until then, 0 for a recorded time."""
    when = str(question.get("when", "peak")).strip()
    times = recorded.times
    inside = _of_shift(parameters, times, question.get("shift"))
    peak = parameters.peak
    if inside is not None:
        peak = _busiest(recorded, np.flatnonzero(inside))
    text = when.casefold()
    if text == "peak":
        return np.array([peak]), [], 0.0
    if text[:3] in DAYS and not text[:1].isdigit():
        return _of_the_week(times, when, inside)
    moment = _moment(when)
    asked_for, of_a_day = np.datetime64(moment, "s"), whole_day(when)
    of_day = times.astype("datetime64[D]") == asked_for if of_a_day else np.zeros(len(times), bool)
    if of_day.any():
        chosen = of_day if inside is None else of_day & inside
        if not chosen.any():
            raise refused(when, f"no interval of shift {question['shift']} was recorded on {when}")
        busiest = _busiest(recorded, np.flatnonzero(chosen))
        return np.array([busiest]), [f"when: the busiest recorded interval of that day, {times[busiest]}"], 0.0
    if inside is not None and not of_a_day:
        text = (
            "shift: a time of day determines the interval; leave out shift, or give a date, an hour of the week or peak"
        )
        raise QuestionError("shift", question["shift"], text)
    within = np.flatnonzero((times <= asked_for) & (asked_for < times + np.timedelta64(int(recorded.seconds), "s")))
    if len(within):
        return within[:1], [], 0.0
    if asked_for <= times[-1]:
        raise refused(when, f"no interval was recorded at {when} (recorded: {times[0]} to {times[-1]})")
    if asked_for > times[-1] + np.timedelta64(MOST_WEEKS, "W"):
        raise refused(when, f"{when} is more than three years after the records, which end {times[-1]}")
    ahead = float((asked_for - times[-1]) / np.timedelta64(7, "D"))
    if of_a_day:
        return np.array([peak]), [f"when: the recorded peak of {times[peak]}, grown as the history trends"], ahead
    lately = times > times[-1] - np.timedelta64(28, "D")
    same = _hour_of_week(times, moment.weekday(), moment.hour)
    same = same[lately[same]]
    if not len(same):
        raise refused(when, f"no interval was recorded in that hour of the week before {when}")
    said = f"when: the mean of {len(same)} intervals of that hour of the week, grown as the history trends"
    return same, [said], ahead


def whole_day(when: str) -> bool:
    """Whether a time that is asked for is a date alone."""
    return len(when) <= len("2026-11-10")


def _of_shift(parameters: SystemParameters, times: NDArray[np.datetime64], shift: Any) -> NDArray[np.bool_] | None:
    """Which recorded intervals belong to the shift that is asked for; None where none is."""
    if shift is None:
        return None
    try:
        inside = Calendar.of(parameters.calendar).contains(str(shift), times)
    except CalendarError as error:
        raise QuestionError("shift", shift, str(error)) from None
    if not inside.any():
        text = f"shift: no interval of shift {shift} was recorded ({times[0]} to {times[-1]})"
        raise QuestionError("shift", shift, text)
    return inside


def _busiest(recorded: RecordedIntervals, chosen: NDArray[np.int64]) -> int:
    """The busiest of some recorded intervals."""
    load = recorded.rates.sum(axis=0) if recorded.cpu_busy_pct is None else recorded.cpu_busy_pct
    return int(chosen[np.argmax(load[chosen])])


def _of_the_week(
    times: NDArray[np.datetime64], when: str, inside: NDArray[np.bool_] | None
) -> tuple[NDArray[np.int64], list[str], float]:
    """The recorded intervals of an hour of the week, such as ``mon 10:00``, and of a shift where one is asked for."""
    day, *clock = when.casefold().split()
    try:
        hour = int(clock[0].split(":")[0])
        dt.time(hour)
        intervals = _hour_of_week(times, DAYS.index(day[:3]), hour)
    except (IndexError, ValueError):
        raise refused(when, "an hour of the week is written as 'mon 10:00'") from None
    intervals = intervals if inside is None else intervals[inside[intervals]]
    if not len(intervals):
        of_shift = "" if inside is None else " and the shift"
        raise refused(when, f"no interval was recorded in the hour {when}{of_shift}")
    return intervals, [f"when: the mean of {len(intervals)} recorded intervals of that hour of the week"], 0.0


def _moment(when: str) -> dt.datetime:
    """The local time that is asked for."""
    try:
        moment = dt.datetime.fromisoformat(when)
    except ValueError:
        forms = "'peak', a local start like 2026-11-10T10:45, an hour of the week like 'mon 10:00', or a date to come"
        raise refused(when, f"takes {forms}") from None
    if moment.tzinfo is not None:
        raise refused(when, f"{when} has an offset; give the local time of the records without an offset")
    return moment


def refused(when: str, why: str) -> QuestionError:
    """A ``when`` that is refused, and why."""
    return QuestionError("when", when, f"when: {why}")


def _hour_of_week(times: NDArray[np.datetime64], day: int, hour: int) -> NDArray[np.int64]:
    """Indices of the intervals that start in an hour of the week; 0 is Monday."""
    days = times.astype("datetime64[D]")
    weekday = (days.astype(np.int64) + 3) % 7
    hours = (times - days).astype("timedelta64[h]").astype(np.int64)
    return np.flatnonzero((weekday == day) & (hours == hour))
