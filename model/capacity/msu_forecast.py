"""MSU to come: the recorded rolling four-hour averages, grown as the busy of each LPAR grows by the model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.capacity.answer import INTERVAL_PCT, Estimate, as_plain
from model.capacity.asked import compiled, understood
from model.capacity.loads import MOST_WEEKS, grown
from model.capacity.parts import deviates
from model.capacity.questions import QuestionError

Array = NDArray[np.float64]
WINDOW = np.timedelta64(28, "D")
WEEK = np.timedelta64(7, "D")
STEP_WEEKS = 4
# Weeks at which the busy of LPARs is worked out; between them its logarithm is taken to grow evenly.
MOST_FOLLOWED = 14
# Draws of LPARs without a model, which are taken as they were recorded.
PLAIN_DRAWS = 129


@dataclass(frozen=True)
class RecordedMsu:
    """Rolling four-hour averages of an LPAR: ``start`` (n,) local, ascending, ``four_hour_msu`` (n,)."""

    lpar: str
    system: str
    machine: str | None
    capacity_msu: float | None
    start: NDArray[np.datetime64]
    four_hour_msu: Array


def forecast_msu(
    bundle: Mapping[str, Any],
    recorded: Sequence[RecordedMsu],
    *,
    system: str | None = None,
    at: Mapping[str, Any] | None = None,
    weeks: int = 52,
) -> dict[str, Any]:
    """The highest rolling four-hour average of four weeks, every four weeks to come, by LPAR and by machine.

    The base is the last 28 recorded days. An LPAR's averages grow as its busy does by the model when classes grow as
    they trend; those of a machine are sums over its LPARs at the same time. Limits have the uncertainty of growth and
    the scatter of the recorded weekly peaks.

    Args:
        bundle: a calibrated model.
        recorded: LPARs with their averages; all of a machine for its sum.
        system: only this system's LPARs and their machine.
        at: a change on top, in the keys of a prediction; needs ``system``.
        weeks: how far, up to 156.

    Raises:
        QuestionError: as :func:`model.capacity.ask.predict`; or a system without recorded MSU.
    """
    if not 1 <= weeks <= MOST_WEEKS:
        raise QuestionError("weeks", weeks, f"weeks: {weeks} should be 1 to {MOST_WEEKS}")
    if at and system is None:
        raise QuestionError("at", dict(at), "at: say with system which system changes")
    known = sorted({one.system for one in recorded})
    if system is not None and system not in known:
        raise QuestionError("system", system, f"system: no four hours of MSU of {system!r} were recorded", known)
    steps = np.arange(0, weeks + 1, STEP_WEEKS, dtype=float)
    shown = [one for one in recorded if system in (None, one.system)]
    machines = {one.machine for one in shown if one.machine}
    asked = [one for one in recorded if system in (None, one.system) or one.machine in machines]
    factors = {one.lpar: _factors(bundle, one.system, at if one.system == system else None, steps) for one in asked}
    subjects = [_subject("lpar", one.lpar, [one], factors, steps) for one in shown]
    for machine in sorted(machines):
        members = [one for one in recorded if one.machine == machine]
        subjects.append(_subject("machine", machine, members, factors, steps))
    plain = sorted(name for name, found in factors.items() if found is None)
    notes = ["the base is the highest rolling four-hour average of the last 28 recorded days"]
    if not recorded:
        notes = ["no four hours of MSU were recorded of any LPAR"]
    for one, subject in zip(shown, subjects, strict=False):
        if factors[one.lpar] is not None:
            notes += _beyond(bundle, one.system, at if one.system == system else None, subject)
    if plain:
        notes.append(f"no history is calibrated for {', '.join(plain)}: taken to stay as recorded")
    return as_plain(
        {
            "system": system,
            "at": dict(at or {}),
            "model_version": bundle["model_version"],
            "interval_pct": INTERVAL_PCT,
            "subjects": subjects,
            "notes": notes,
        }
    )


def _factors(bundle: Mapping[str, Any], system: str, at: Mapping[str, Any] | None, weeks: Array) -> Array | None:
    """(draws, weeks) MSU to come relative to those recorded; None for a system without a calibrated history."""
    entry = bundle["systems"].get(system)
    if entry is None or "profile" not in entry:
        if at:
            raise QuestionError("system", system, f"system: {system} has no calibrated history that could change")
        return None
    ready = compiled(entry)
    now, then = understood(ready, None).scenario, understood(ready, at).for_others().scenario
    followed = weeks[np.unique(np.linspace(0, len(weeks) - 1, MOST_FOLLOWED).round().astype(int))]
    base, growth = np.broadcast_to(then.rates, (ready.draws, 1, len(ready.streams))), grown(ready, followed)
    users = None if then.users is None else then.users * growth
    busy = ready.evaluate(replace(then, rates=base * growth, users=users), responses=False).busy
    # On another machine an engine has another rating.
    rated = then.msu_per_engine / ready.msu_per_engine if then.msu_per_engine and ready.msu_per_engine else 1.0
    more = np.log(np.maximum(rated * busy / np.maximum(ready.evaluate(now, responses=False).busy, 1e-12), 1e-12))
    return np.exp([np.interp(weeks, followed, one) for one in more])


def _beyond(
    bundle: Mapping[str, Any], system: str, at: Mapping[str, Any] | None, subject: Mapping[str, Any]
) -> list[str]:
    """A note where an LPAR would need more MSU than its engines give."""
    ready = compiled(bundle["systems"][system])
    then = understood(ready, at).scenario
    most = then.engines * (then.msu_per_engine or ready.msu_per_engine or math.inf)
    over = [step["date"] for step in subject["forecast"] if step["value"] > most]
    if not over:
        return []
    return [f"{subject['name']}: more than its {then.engines:g} engines give, {most:,.0f} MSU, from {over[0]} on"]


def _subject(
    scope: str, name: str, members: Sequence[RecordedMsu], factors: Mapping[str, Array | None], weeks: Array
) -> dict[str, Any]:
    """The forecast of an LPAR, or of a machine as the sum of its LPARs."""
    last = max(one.start[-1] for one in members)
    times = np.unique(np.concatenate([one.start[one.start > last - WINDOW] for one in members]))
    table = np.stack([_carried(one, times) for one in members])
    draws = next((len(found) for one in members if (found := factors[one.lpar]) is not None), PLAIN_DRAWS)
    scatter = _scatter(table.sum(axis=0), times, draws)
    peaks = np.stack([_peak(members, factors, table, draws, i) * scatter for i in range(len(weeks))], axis=1)
    recorded = table.sum(axis=0)
    top = int(np.argmax(recorded))
    capacity = None
    if all(one.capacity_msu is not None for one in members) and scope == "lpar":
        capacity = members[0].capacity_msu
    first = np.datetime64(last, "D")
    return {
        "scope": scope,
        "name": name,
        "lpars": [one.lpar for one in members],
        "capacity_msu": capacity,
        "recorded": {
            "from_local": str(times[0]),
            "to_local": str(times[-1]),
            "peak_four_hour_msu": float(recorded[top]),
            "peak_at_local": str(times[top]),
        },
        "forecast": [
            {"week": int(week), "date": str(first + int(week) * WEEK), **Estimate.of(peaks[:, i]).to_dict()}
            for i, week in enumerate(weeks)
        ],
    }


def _peak(
    members: Sequence[RecordedMsu], factors: Mapping[str, Array | None], table: Array, draws: int, step: int
) -> Array:
    """(draws,) highest average of the sum when every member has grown."""
    columns = [found[:, step] if (found := factors[one.lpar]) is not None else np.ones(draws) for one in members]
    return np.asarray((np.stack(columns, axis=1) @ table).max(axis=1))


def _carried(one: RecordedMsu, times: NDArray[np.datetime64]) -> Array:
    """The averages at other times: the last one before, nothing before the first."""
    index = np.searchsorted(one.start, times, side="right") - 1
    return np.where(index >= 0, one.four_hour_msu[np.maximum(index, 0)], 0.0)


def _scatter(recorded: Array, times: NDArray[np.datetime64], draws: int) -> Array:
    """(draws,) factors that scatter as the weekly peaks do; 1 at the centre, and everywhere in less than two weeks."""
    weeks = ((times[-1] - times) // WEEK).astype(int)
    peaks = np.array([recorded[weeks == week].max() for week in np.unique(weeks)])
    peaks = peaks[peaks > 0]
    spread = float(np.std(np.log(peaks), ddof=1)) if len(peaks) > 1 else 0.0
    return np.asarray(np.exp(spread * deviates(draws, 0)))
