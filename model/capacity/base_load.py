"""The recorded load or measured point that a question starts from, and what was recorded there.

A question about a recorded load is answered by the record; what it changes is added by the model. Each sample of the
parameters reproduces the record, up to the scatter of single intervals.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from model.capacity.bundle import point_entry
from model.capacity.parameters import Point, RecordedIntervals, SystemParameters, cached
from model.capacity.state import ON_ZIIPS, ZIIP_WORK, Anchor, Scenario, engines_in_use
from model.capacity.system import System
from model.capacity.values import QuestionError

Array = NDArray[np.float64]

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
MOST_WEEKS = 156
WEEK = np.timedelta64(7, "D")
BUSY_SD_SEED, RESPONSE_SD_SEED = 3000, 3100
BUSY_STEPS, BUSY_TOLERANCE = 8, 1e-6
"""Corrections of busy at most until it is the recorded one, and the relative difference that ends them."""
LEAST, MOST = 0.2, 5.0
"""Bounds of a recorded figure over the model's that is taken for the work of the interval, rather than an error."""


class Start(NamedTuple):
    """Where a question starts: a measured point or the local ``time`` of a recorded load, its scenario, the ``span``
    from there to the time of the question, and notes. A measured point has no span."""

    point: Point | None
    time: str
    scenario: Scenario
    span: Span | None
    notes: list[str]


@dataclass(frozen=True)
class Span:
    """From a recorded load to times to come: ``start`` of the load, weeks from there to the end of the records, and
    weeks ``ahead`` of that end, (loads,)."""

    start: np.datetime64
    since: float
    ahead: Array

    @classmethod
    def of(cls, system: System, start: np.datetime64, ahead: float | Array) -> Span:
        """From a recorded time to so many weeks after the end of the records."""
        since = float((end_of(system) - start) / WEEK)
        return cls(start, max(since, 0.0), np.atleast_1d(np.asarray(ahead, float)))


def end_of(system: System) -> np.datetime64:
    """Local start of the last recorded interval."""
    return system.history.times[-1]


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
    rates = np.array([[[point.rates[name] for name in system.class_names]]])
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
    peak = parameters.peak if inside is None else _peak_of_shift(parameters, recorded, inside)
    text = when.casefold()
    if text == "peak":
        return np.array([peak]), _before_step(parameters, times[peak]), 0.0
    if text[:3] in DAYS and not text[:1].isdigit():
        return _of_the_week(times, when, inside)
    moment = _moment(when)
    moment_local, of_a_day = np.datetime64(moment, "s"), whole_day(when)
    of_day = times.astype("datetime64[D]") == moment_local if of_a_day else np.zeros(len(times), bool)
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
    ends = times + np.timedelta64(int(recorded.seconds), "s")
    within = np.flatnonzero((times <= moment_local) & (moment_local < ends))
    if len(within):
        return within[:1], [], 0.0
    if moment_local <= times[-1]:
        raise refused(when, f"no interval was recorded at {when} (recorded: {times[0]} to {times[-1]})")
    if moment_local > times[-1] + np.timedelta64(MOST_WEEKS, "W"):
        raise refused(when, f"{when} is more than three years after the records, which end {times[-1]}")
    ahead = float((moment_local - times[-1]) / np.timedelta64(7, "D"))
    if of_a_day:
        note = f"when: the recorded peak of {times[peak]}, grown as the history trends"
        return np.array([peak]), [note, *_before_step(parameters, times[peak])], ahead
    lately = times > times[-1] - np.timedelta64(28, "D")
    same = np.flatnonzero(hour_of_week(times) == 24 * moment.weekday() + moment.hour)
    same = same[lately[same]]
    if not len(same):
        raise refused(when, f"no interval was recorded in that hour of the week before {when}")
    note = f"when: the mean of {len(same)} intervals of that hour of the week, grown as the history trends"
    return same, [note], ahead


def whole_day(when: str) -> bool:
    """Whether the time of a question is a date alone."""
    return len(when) <= len("2026-11-10")


def _of_shift(parameters: SystemParameters, times: NDArray[np.datetime64], shift: Any) -> NDArray[np.bool_] | None:
    """Which recorded intervals belong to the shift of the question; None without one."""
    if shift is None:
        return None
    from model.calendar import Calendar, CalendarError

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


def _peak_of_shift(parameters: SystemParameters, recorded: RecordedIntervals, inside: NDArray[np.bool_]) -> int:
    """The busiest recorded interval of a shift, since the last step of the cost where the peak of all is since then."""
    times, since = recorded.times, parameters.steady_since
    lately = inside & (times >= np.datetime64(since)) if since else inside
    usable = lately.any() and not _before_step(parameters, times[parameters.peak])
    return _busiest(recorded, np.flatnonzero(lately if usable else inside))


def _before_step(parameters: SystemParameters, peak: np.datetime64) -> list[str]:
    """What to say of a peak that was recorded before the last step of the cost."""
    since = parameters.steady_since
    if not since or peak >= np.datetime64(since):
        return []
    return [f"when: the peak of {peak} keeps its CPU from before the step of the CPU per transaction at {since}"]


def _of_the_week(
    times: NDArray[np.datetime64], when: str, inside: NDArray[np.bool_] | None
) -> tuple[NDArray[np.int64], list[str], float]:
    """The recorded intervals of an hour of the week, such as ``mon 10:00``, and of the shift, if any."""
    day, *clock = when.casefold().split()
    try:
        hour = int(clock[0].split(":")[0])
        dt.time(hour)
        intervals = np.flatnonzero(hour_of_week(times) == 24 * DAYS.index(day[:3]) + hour)
    except (IndexError, ValueError):
        raise refused(when, "an hour of the week is written as 'mon 10:00'") from None
    intervals = intervals if inside is None else intervals[inside[intervals]]
    if not len(intervals):
        of_shift = "" if inside is None else " and the shift"
        raise refused(when, f"no interval was recorded in the hour {when}{of_shift}")
    return intervals, [f"when: the mean of {len(intervals)} recorded intervals of that hour of the week"], 0.0


def _moment(when: str) -> dt.datetime:
    """The local time of the question."""
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


def hour_of_week(times: NDArray[np.datetime64]) -> NDArray[np.int64]:
    """(n,) hours from Monday 00:00 to the hour of each time."""
    hours: NDArray[np.int64] = times.astype("datetime64[h]").astype(np.int64)
    # The first of January 1970 was a Thursday.
    return (hours + 3 * 24) % (7 * 24)


def anchor_of(
    system: System, scenario: Scenario, recorded: RecordedIntervals, index: NDArray[np.int64]
) -> Anchor | None:
    """The anchor of some recorded intervals, whose mean load is the scenario; None where nothing was recorded."""
    if recorded.busy is None:
        return None
    base = Anchor(rates=scenario.rates)
    engines = _mean(recorded.engines, index)
    here = replace(scenario, anchor=base, engines=system.engines if engines is None else engines)
    plain = system.usage(replace(here, anchor=None))
    factors = {}
    for name, values in recorded.component_engines.items():
        seen = _mean(values, index)
        modelled = plain.by_series.get(name) if system.engine(name) == "cp" else plain.eligible.get(name)
        if seen is None or modelled is None:
            continue
        if system.engine(name) == "cp" and f"{name}{ON_ZIIPS}" in plain.eligible:
            modelled = modelled - plain.eligible[f"{name}{ON_ZIIPS}"] * plain.overflow
        with np.errstate(divide="ignore", invalid="ignore"):
            factors[name] = np.where(modelled > 0, np.clip(seen / modelled, LEAST, MOST), 1.0)
    base = replace(base, usage=factors)
    here = replace(here, anchor=base)
    busy = _mean(recorded.busy, index)
    if busy is not None:
        scatter = recorded.busy_sd * system.scores(BUSY_SD_SEED)[:, None]
        wanted = busy * (1.0 + scatter / np.sqrt(len(index)))
        # Cost and zIIP overflow may depend on busy, so that a correction changes them.
        for _ in range(BUSY_STEPS):
            missing = wanted - system.usage(replace(here, anchor=base)).busy
            base = replace(base, busy=base.busy + missing)
            if (np.abs(missing) <= BUSY_TOLERANCE * wanted).all():
                break
        there_used = system.usage(replace(here, anchor=base))
        base = replace(base, engines=there_used.busy, work=there_used.work)
    state = system.at_rates(replace(here, anchor=base))
    ziip_busy = _mean(recorded.ziip_busy, index)
    if ziip_busy and state.ziip_busy is not None:
        scatter = recorded.ziip_busy_sd * system.scores(BUSY_SD_SEED + 1)[:, None]
        modelled_ziips = engines_in_use(system.demands[ZIIP_WORK], _on_ziips(system, replace(here, anchor=base)))
        base = replace(base, ziip_busy=ziip_busy * (1.0 + scatter / np.sqrt(len(index))), ziip_modelled=modelled_ziips)
    responses: dict[tuple[str, str], Array] = {}
    percentiles: dict[tuple[str, str], Array] = {}
    there: dict[tuple[str, str], Array] = {}
    waits: dict[tuple[str, str], Array] = {}
    for i, one in enumerate(system.responses):
        key = one.key
        seen = _mean(recorded.response_ms.get(one.class_name), index)
        if seen is None or not np.isfinite(state.response_ms[key]).all():
            continue
        ended = system.class_rate(scenario, one.class_name) * recorded.seconds
        sd = one.scatter(system.waiting_share(state, one), ended) / np.sqrt(len(index))
        error = np.exp(sd * system.scores(RESPONSE_SD_SEED + i)[:, None])
        here_ms, share = state.response_ms[key], system.waiting_share(state, one)
        waits[key] = np.ones(share.shape)
        if one.class_name not in system.baselines:
            waits[key] = _wait_factor(seen / here_ms, share, one.interval_wait_sd, sd * np.sqrt(len(index)))
        responses[key], there[key] = seen * error, here_ms * (1.0 + share * (waits[key] - 1.0))
        p90 = _mean(recorded.p90_ms.get(one.class_name), index)
        if p90 is not None and key in state.p90_ms:
            percentiles[key] = p90 / seen * state.response_ms[key] / np.maximum(state.p90_ms[key], 1e-12)
    return replace(base, response=responses, modelled_ms=there, p90=percentiles, waits=waits)


def _wait_factor(off: Array, share: Array, wait_sd: float, sd: Array) -> Array:
    """Factor on the waits of a class with which its response is nearer to the recorded one, (draws, 1).

    The log of recorded over modelled response (``off``) is the waits' as far as their scatter makes that of responses,
    of which waits are a ``share``.
    """
    part = np.minimum((wait_sd * share / np.maximum(sd, 1e-9)) ** 2, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = 1.0 + (off**part - 1.0) / share
    return np.where(share > 1e-3, np.clip(factor, LEAST, MOST), 1.0)


def recorded_and_modelled(system: System, scenario: Scenario) -> list[dict[str, Any]]:
    """What was recorded of the load of a scenario, and the model's value, which does not use that record.

    Returns
    -------
    list
        ``metric``, ``class`` (empty for the LPAR), ``recorded``, ``modelled`` and ``unit`` of busy, zIIP busy and
        responses.
    """
    index, recorded = np.array(scenario.recorded, np.int64), system.parameters.recorded
    assert recorded is not None
    engines = _mean(recorded.engines, index) or scenario.engines
    state = system.at_rates(replace(scenario, anchor=None, engines=engines))
    busy, ziip_busy = _mean(recorded.busy, index), _mean(recorded.ziip_busy, index)
    rows = [("cpu_busy_pct", "", busy, state.busy, 100.0 / engines, "pct")]
    if state.ziip_busy is not None and scenario.ziips > 0:
        rows.append(("ziip_busy_pct", "", ziip_busy, state.ziip_busy, 100.0 / scenario.ziips, "pct"))
    for one in system.responses:
        seen = _mean(recorded.response_ms.get(one.class_name), index)
        rows.append((*one.key, seen, state.response_ms[one.key], 1.0, "ms"))
    return [
        {
            "metric": metric,
            "class": class_name,
            "recorded": factor * seen,
            "modelled": factor * float(modelled[0, 0]) if np.isfinite(modelled[0, 0]) else None,
            "unit": unit,
        }
        for metric, class_name, seen, modelled, factor, unit in rows
        if seen is not None
    ]


def _on_ziips(system: System, scenario: Scenario) -> Array:
    """(draws, 1) work on zIIPs."""
    used = system.usage(scenario)
    return np.asarray(used.ziip_work * (1.0 - used.overflow))


def _mean(values: Array | None, index: NDArray[np.int64]) -> float | None:
    """Mean of what was recorded of some intervals; None where nothing was."""
    if values is None:
        return None
    chosen = values[index]
    return None if np.isnan(chosen).all() else float(np.nanmean(chosen))
