"""When growth reaches targets, and MSU to come.

The recorded peak and the recorded rolling four-hour averages grow as the history trends, or as planned.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.capacity.answer import INTERVAL_PCT, Estimate, as_plain
from model.capacity.base_load import MOST_WEEKS, WEEK, Span, end_of
from model.capacity.bundle import system_entry
from model.capacity.evaluation import evaluate
from model.capacity.evidence import as_answer, failed_gate
from model.capacity.growth import WEEKS_A_YEAR, grown, is_short, others_grown, short_history
from model.capacity.outputs import resources, ziips_without_target
from model.capacity.question import Question, parse_question, prepare_system
from model.capacity.sizing import MaxResponse, Targets, with_targets
from model.capacity.state import State, normal_scores
from model.capacity.system import System
from model.capacity.values import LPARS, MOVE_FROM, MOVE_TO, QuestionError, is_planned

Array = NDArray[np.float64]
WINDOW = np.timedelta64(28, "D")
DAY = np.timedelta64(1, "D")
LONGEST_INTERVAL = np.timedelta64(1, "h")
"""The longest interval of RMF."""
STEP_WEEKS = 4
MOST_FOLLOWED = 14
"""Most weeks at which the busy of LPARs is evaluated; between them its logarithm is interpolated."""
PLAIN_DRAWS = 129
"""Posterior samples of LPARs without a model, which stay as recorded."""


def headroom(
    bundle: Mapping[str, Any],
    system: str,
    at: Mapping[str, Any] | None = None,
    *,
    max_busy_pct: float = 90.0,
    max_response_ms: MaxResponse = None,
) -> dict[str, Any]:
    """The dates at which busy of LPAR and machine, limits and responses cross their targets.

    From the end of the records, the peak grows week by week as each class trends or is planned to, for three years, and
    what the machine's other LPARs use as that trends; ``growth_pct`` keys of ``at`` come on top. Each crossing has the
    date at the centre and the dates before which 5 % and 95 % of the draws have crossed; None for later than the three
    years.

    Raises
    ------
    QuestionError
        as ``predict``; or a system without a history, which says nothing of growth.
    """
    parameters = system_entry(bundle, system)
    if parameters.recorded is None:
        raise QuestionError(
            "system", system, f"system: {system} has measured points but no history, so its growth is not known"
        )
    ready, load, within = with_targets(bundle, system, at, max_busy_pct, max_response_ms)
    weeks = np.arange(MOST_WEEKS + 1, dtype=float)
    base = np.broadcast_to(load.scenario.rates, (ready.draws, 1, len(ready.class_names)))
    assert load.span is not None
    start, growth, others_growth = _growth_factors(ready, load.span, load.keys, weeks)
    others = load.scenario.others * others_growth
    # Targets are those of the offered load; responses need the carried one, too.
    then = replace(load.scenario, rates=base * growth, others=others)
    state = evaluate(ready, then) if within.response_ms else ready.at_rates(then)
    first = start.astype("datetime64[D]")
    crossings = _crossings(ready, state, within, first)
    busy = 100.0 * state.busy / state.scenario.engines
    note = "growth continues as in the recorded weeks"
    if is_planned(load.keys):
        note = "planned growth applies where given; other growth continues as in the recorded weeks"
    if not any(one.growth is not None and one.growth.rate[0] for one in parameters.classes):
        note = "the history is too short to show growth: no growth is assumed, with a wide range"
    short = [short_history(ready)] if is_short(ready) else []
    failed = failed_gate(parameters.gate, "this system")
    notes = [*short, *failed, *load.notes, note, *ziips_without_target(ready, state)]
    # The year after the end of the records.
    year = Span(end_of(ready), 0.0, np.array([WEEKS_A_YEAR]))
    if np.any(load.scenario.others):
        a_year = Estimate.of(100.0 * (others_grown(ready, year)[:, 0] - 1.0))
        growth_text = f"{a_year.value:+.0f} % ({a_year.lo:+.0f} to {a_year.hi:+.0f}) a year"
        notes.append(f"the other LPARs of the machine grow by {growth_text}")
    return as_answer(
        bundle,
        system,
        ready,
        load,
        targets={"max_busy_pct": max_busy_pct, "max_response_ms": max_response_ms},
        first=crossings[0] if crossings and (crossings[0]["value"] or crossings[0]["lo"]) else None,
        crossings=crossings,
        growth=[
            {
                "class": one.name,
                "growth_pct_per_year": Estimate.of(100.0 * (factor - 1.0)).to_dict(),
                "backtest": one.growth and one.growth.backtest,
            }
            for one, factor in zip(
                parameters.classes, grown(ready, year, load.keys)[:, 0].T, strict=True
            )
        ],
        forecast=[
            {
                "week": week,
                "date": str(first + np.timedelta64(7 * week, "D")),
                **Estimate.of(busy[:, week]).to_dict(),
            }
            for week in range(0, MOST_WEEKS + 1, 4)
        ],
        notes=notes,
    )


def _growth_factors(
    ready: System, span: Span, question: Mapping[str, Any], weeks: Array
) -> tuple[np.datetime64, Array, Array]:
    """The date from which weeks count, and growth of classes and of the other LPARs' use until then, as factors: from
    the end of the records, or from a time to come of the question, to which the load has grown already."""
    then = replace(span, ahead=span.ahead + weeks)
    start = end_of(ready) + np.timedelta64(round(float(span.ahead[0]) * 7 * 86400), "s")
    if span.ahead[0] == 0.0:
        return start, grown(ready, then, question), others_grown(ready, then)
    before = grown(ready, span, question), others_grown(ready, span)
    return start, grown(ready, then, question) / before[0], others_grown(ready, then) / before[1]


def _crossings(ready: System, state: State, within: Targets, first: np.datetime64) -> list[dict[str, Any]]:
    """When each resource, and each response with a target, is above its target, the soonest first."""
    used = resources(ready, state).items()
    crossings = [_crossing(name, 100.0 * part / within.busy_pct, first) for name, part in used]
    for key, target_ms in sorted(within.response_ms.items()):
        name = f"response of {key[1]} above {target_ms:g} ms"
        crossings.append(_crossing(name, state.response_ms[key] / target_ms, first))
    return sorted(crossings, key=lambda row: (row["value"] is None, row["value"] or "", row["lo"] or "9999"))


def _crossing(name: str, used: Array, first: np.datetime64) -> dict[str, Any]:
    """Date of the first week at which each draw is above its target."""
    over = used > 1.0
    week = np.where(over.any(axis=1), over.argmax(axis=1), np.inf)
    low, high = np.quantile(week[1:], [0.05, 0.95], method="nearest")

    def date(at: float) -> str | None:
        return str(first + np.timedelta64(7 * int(at), "D")) if np.isfinite(at) else None

    return {"resource": name, "value": date(week[0]), "lo": date(low), "hi": date(high), "already": bool(over[0, 0])}


@dataclass(frozen=True)
class RecordedMsu:
    """Rolling four-hour averages of an LPAR: ``start`` (n,) local, ascending, ``r4ha_msu`` (n,)."""

    lpar: str
    system: str
    machine: str | None
    capacity_msu: float | None
    start: NDArray[np.datetime64]
    r4ha_msu: Array


@dataclass(frozen=True)
class _Growth:
    """How the MSU of an LPAR grow.

    ``factors`` (draws, weeks) are those to come, as its work asks for them, relative to those at the end of the
    records; ``since`` (draws, weeks) the latter relative to those 0, 1, … weeks before; ``most_msu`` what all of its
    engines give, ``machine_msu`` all of its machine's; ``short`` is what to say of a short history.
    """

    factors: Array
    since: Array
    most_msu: float
    machine_msu: float
    short: str


def forecast_msu(
    bundle: Mapping[str, Any],
    recorded: Sequence[RecordedMsu],
    *,
    system: str | None = None,
    at: Mapping[str, Any] | None = None,
    weeks: int = 52,
) -> dict[str, Any]:
    """The highest rolling four-hour average of four weeks, every four weeks to come, by LPAR and by machine.

    The base is the last 28 recorded days, each brought to the last of their weeks by the growth since. An LPAR's
    averages grow as its busy does by the model when classes grow as they trend or are planned to, until all of its
    engines are busy; those of a machine are sums over its LPARs that were recorded at the same time. Limits have the
    uncertainty of growth and the scatter of the recorded weekly peaks.

    Parameters
    ----------
    bundle
        a calibrated model.
    recorded
        LPARs with their averages; all of a machine for its sum.
    system
        only this system's LPARs and their machine.
    at
        a change on top, in the keys of a prediction; needs ``system``.
    weeks
        how far, up to 156.

    Raises
    ------
    QuestionError
        as :func:`model.capacity.ask.predict`; or a system without recorded MSU.
    """
    if not 1 <= weeks <= MOST_WEEKS:
        raise QuestionError("weeks", weeks, f"weeks must be from 1 to {MOST_WEEKS} (got {weeks})")
    if at and system is None:
        raise QuestionError("at", dict(at), "at: name the system that changes, with system")
    names = sorted({one.system for one in recorded})
    if system is not None and system not in names:
        raise QuestionError("system", system, f"system: {system!r} has no four hours of recorded MSU", names)
    steps = np.arange(0, weeks + 1, STEP_WEEKS, dtype=float)
    shown = [one for one in recorded if system in (None, one.system)]
    machines = {one.machine for one in shown if one.machine}
    grown_lpars = [one for one in recorded if system in (None, one.system) or one.machine in machines]
    growth = {one.lpar: _growth(bundle, one.system, at if one.system == system else None, steps) for one in grown_lpars}
    subjects = [_subject("lpar", one.lpar, [one], growth, steps) for one in shown]
    ended = []
    for machine in sorted(machines):
        members = [one for one in recorded if one.machine == machine]
        subjects.append(_subject("machine", machine, members, growth, steps))
        ended += _ended(machine, members)
    plain = sorted(name for name, one in growth.items() if one is None)
    notes = sorted({one.short for one in growth.values() if one is not None and one.short})
    for name in sorted({one.system for one in grown_lpars} & bundle["systems"].keys()):
        notes += failed_gate(bundle["systems"][name].gate, name)
    notes.append("the forecast starts from the highest R4HA of the last 28 days, with the growth since then")
    if not recorded:
        notes = ["no LPAR has four hours of recorded MSU"]
    for one, subject in zip(shown, subjects, strict=False):
        grown_so = growth[one.lpar]
        if grown_so is not None:
            notes += _beyond(grown_so, subject)
    notes += ended
    if plain:
        notes.append(f"no calibrated history for {', '.join(plain)}: assumed to stay as recorded")
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


def _growth(bundle: Mapping[str, Any], system: str, at: Mapping[str, Any] | None, weeks: Array) -> _Growth | None:
    """How the MSU of a system grow; None for one without a calibrated history."""
    parameters = system_entry(bundle, system) if system in bundle["systems"] else None
    if parameters is None or parameters.recorded is None:
        if at:
            raise QuestionError("system", system, f"system: {system} has no calibrated history")
        return None
    for key in (str(key) for key in at or ()):
        if key in LPARS or key.startswith((MOVE_TO, MOVE_FROM)):
            text = f"{key}: a forecast adds up the LPARs as they were recorded; ask predict or headroom"
            raise QuestionError(f"at.{key}", (at or {})[key], text)
    ready, recorded = prepare_system(parameters, at), prepare_system(parameters)
    followed = weeks[np.unique(np.linspace(0, len(weeks) - 1, MOST_FOLLOWED).round().astype(int))]
    loads = [parse_question(recorded, None), parse_question(ready, at).for_other_loads()]
    before = np.arange(WINDOW // WEEK, dtype=float)
    recently = _log_busy(recorded, loads[0], -before, {})
    to_come = _log_busy(ready, loads[1], followed, loads[1].keys)
    then = loads[1].scenario
    # On another machine an engine has another rating.
    rated = then.msu_per_engine / ready.msu_per_engine if then.msu_per_engine and ready.msu_per_engine else 1.0
    more = math.log(rated) + to_come - recently[:, :1]
    each = then.msu_per_engine or ready.msu_per_engine or math.inf
    machine = ready.partition.cpc(then)
    physical = math.inf if machine is None else machine.engines
    most = min(then.engines, math.inf if machine is None or machine.cap_engines is None else machine.cap_engines)
    factors = np.exp([np.interp(weeks, followed, one) for one in more])
    since = np.exp(recently[:, :1] - recently)
    short = f"{system}: {short_history(recorded)}" if is_short(recorded) else ""
    return _Growth(factors, since, each * most, each * physical, short)


def _log_busy(ready: System, load: Question, weeks: Array, question: Mapping[str, Any]) -> Array:
    """(draws, loads) log of the LPAR's busy engines so many weeks after the end of the records, before it where
    negative, as the load grows."""
    assert load.span is not None
    scenario, span = load.scenario, load.span
    earlier = [replace(span, since=span.since + min(week, 0.0), ahead=np.array([max(week, 0.0)])) for week in weeks]
    growth = np.concatenate([grown(ready, one, question) for one in earlier], axis=1)
    base = np.broadcast_to(scenario.rates, (ready.draws, 1, len(ready.class_names)))
    users = None if scenario.users is None else scenario.users * growth
    busy = evaluate(ready, replace(scenario, rates=base * growth, users=users), responses=False).busy
    return np.asarray(np.log(np.maximum(busy, 1e-12)))


def _beyond(growth: _Growth, subject: Mapping[str, Any]) -> list[str]:
    """A note where the work of an LPAR would need more MSU than its engines give."""
    over = subject["recorded"]["peak_r4ha_msu"] * growth.factors[0] > growth.most_msu
    if not over.any():
        return []
    date = subject["forecast"][int(over.argmax())]["date"]
    return [
        f"{subject['name']}: its work asks for more than its engines give, {growth.most_msu:,.0f} MSU, from {date} on"
    ]


def _ended(machine: str, members: Sequence[RecordedMsu]) -> list[str]:
    """A note for each LPAR whose records end more than a day before those of its machine."""
    last = max(one.start[-1] for one in members)
    return [
        f"{one.lpar}: no records since {np.datetime64(one.start[-1], 'D')}; machine {machine} counts it until then"
        for one in members
        if last - one.start[-1] > DAY
    ]


def _subject(
    scope: str, name: str, members: Sequence[RecordedMsu], growth: Mapping[str, _Growth | None], weeks: Array
) -> dict[str, Any]:
    """The forecast of an LPAR, or of a machine as the sum of its LPARs."""
    last = max(one.start[-1] for one in members)
    times = np.unique(np.concatenate([one.start[one.start > last - WINDOW] for one in members]))
    table = np.stack([_carried(one, times) for one in members])
    growths = [trend for one in members if (trend := growth[one.lpar]) is not None]
    draws = len(growths[0].factors) if growths else PLAIN_DRAWS
    weeks_ago = ((last - times) // WEEK).astype(int)
    scatter = _scatter(_brought(members, growth, table, weeks_ago, 1)[0], weeks_ago, draws)
    recorded = table.sum(axis=0)
    top = int(np.argmax(recorded))
    # Recorded MSU were used, whatever the rating of the engines gives.
    tops = zip(table.max(axis=1), (growth[one.lpar] for one in members), strict=True)
    most = np.array([math.inf if trend is None else max(trend.most_msu, peak) for peak, trend in tops])
    whole = min([float(most.sum()), *(trend.machine_msu for trend in growths)])
    each = [_peak(members, growth, table, weeks_ago, most, draws, i) * scatter for i in range(len(weeks))]
    peaks = np.stack(each, axis=1)
    peaks = np.minimum(peaks, max(whole, float(recorded[top])))
    capacity = members[0].capacity_msu if scope == "lpar" else None
    basis = "recorded" if capacity is not None else "engines"
    if capacity is None and math.isfinite(whole):
        capacity = whole
    first = np.datetime64(last, "D")
    return {
        "scope": scope,
        "name": name,
        "lpars": [one.lpar for one in members],
        "capacity_msu": capacity,
        "capacity_basis": None if capacity is None else basis,
        "recorded": {
            "from_local": str(times[0]),
            "to_local": str(times[-1]),
            "peak_r4ha_msu": float(recorded[top]),
            "peak_at_local": str(times[top]),
        },
        "forecast": [
            {"week": int(week), "date": str(first + int(week) * WEEK), **Estimate.of(peaks[:, i]).to_dict()}
            for i, week in enumerate(weeks)
        ],
    }


def _peak(
    members: Sequence[RecordedMsu],
    growth: Mapping[str, _Growth | None],
    table: Array,
    weeks_ago: NDArray[np.int64],
    most: Array,
    draws: int,
    step: int,
) -> Array:
    """(draws,) highest average of the sum when every member has grown, none beyond its ``most``."""
    grown = _of_members(members, growth, draws, lambda trend: trend.factors[:, step])
    peak = np.zeros(draws)
    for weeks in np.unique(weeks_ago):
        then = table[:, weeks_ago == weeks]
        factors = grown * _since(members, growth, int(weeks), draws)
        full = (factors * then.max(axis=1) > most).any(axis=0)
        total = factors[:, ~full] @ then[~full]
        for i in np.flatnonzero(full):
            total += np.minimum(factors[:, i : i + 1] * then[i], most[i])
        peak = np.maximum(peak, total.max(axis=1))
    return peak


def _since(members: Sequence[RecordedMsu], growth: Mapping[str, _Growth | None], weeks: int, draws: int) -> Array:
    """(draws, members) growth since so many weeks before the end of the records; none of LPARs without a model."""
    return _of_members(members, growth, draws, lambda trend: trend.since[:, weeks])


def _of_members(
    members: Sequence[RecordedMsu], growth: Mapping[str, _Growth | None], draws: int, factor: Callable[[_Growth], Array]
) -> Array:
    """(draws, members) a factor of the growth of each member; 1 for LPARs without a model."""
    trends = [growth[one.lpar] for one in members]
    return np.stack([np.ones(draws) if trend is None else factor(trend) for trend in trends], axis=1)


def _brought(
    members: Sequence[RecordedMsu],
    growth: Mapping[str, _Growth | None],
    table: Array,
    weeks_ago: NDArray[np.int64],
    draws: int,
) -> Array:
    """(draws, times) recorded sums brought to the end of the records, of the first draws."""
    gained = np.zeros((draws, table.shape[1]))
    for weeks in np.unique(weeks_ago):
        some = weeks_ago == weeks
        every = next((one.since.shape[0] for one in growth.values() if one is not None), draws)
        gained[:, some] = _since(members, growth, int(weeks), every)[:draws] @ table[:, some]
    return gained


def _carried(one: RecordedMsu, times: NDArray[np.datetime64]) -> Array:
    """The averages at other times: that of the interval they are in, nothing outside all intervals."""
    index = np.maximum(np.searchsorted(one.start, times, side="right") - 1, 0)
    since = times - one.start[index]
    return np.where((since >= np.timedelta64(0)) & (since < LONGEST_INTERVAL), one.r4ha_msu[index], 0.0)


def _scatter(recorded: Array, weeks_ago: NDArray[np.int64], draws: int) -> Array:
    """(draws,) factors that scatter as the weekly peaks do; 1 at the centre, and everywhere in less than two weeks."""
    peaks = np.array([recorded[weeks_ago == week].max() for week in np.unique(weeks_ago)])
    peaks = peaks[peaks > 0]
    spread = float(np.std(np.log(peaks), ddof=1)) if len(peaks) > 1 else 0.0
    return np.asarray(np.exp(spread * normal_scores(draws, 0)))
