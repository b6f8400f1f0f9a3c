"""From the keys of a question to a scenario: which load, on which engines, beside which other LPARs."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.capacity import adjustments
from model.capacity.crossing import crossing
from model.capacity.derived import derived
from model.capacity.ensemble import System
from model.capacity.moves import is_own, moved
from model.capacity.observed import as_observed, unexplained
from model.capacity.parts import Limit, Scenario
from model.capacity.profile import Profile, recorded
from model.capacity.questions import (
    MOST_TPS,
    OBSERVED,
    QuestionError,
    cap_asked,
    check_keys,
    finite,
    growth,
    observed_classes,
    point_entry,
    positive,
    said,
    streams_named,
    threads_asked,
    whole,
)
from model.capacity.users import needed

Array = NDArray[np.float64]
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
MOST_WEEKS = 156
# Seeds of what a mean of few intervals leaves open.
FEW = 7000
# Letters of a resource's name that SMF 72.3 has (R723DNDE).
RECORDED_NAME = 16
# Work that responses ask for is refused beyond so many deviations of the work between intervals.
MOST_DEVIATIONS = 5.0


@dataclass(frozen=True)
class Load:
    """A question as understood: its scenario, the recorded interval or point it starts from, and what was asked."""

    scenario: Scenario
    at: Mapping[str, Any]
    point: Mapping[str, Any] | None
    start: str
    asked: Mapping[str, Any]
    notes: tuple[str, ...] = ()

    def for_others(self) -> Load:
        """The load, from which other loads are asked.

        Raises:
            QuestionError: the question says what was measured at its load alone.
        """
        for key in (str(key) for key in self.asked if str(key).startswith(OBSERVED)):
            text = f"{key}: says what was measured at one load, and here others are asked; leave it out"
            raise QuestionError(f"at.{key}", self.asked[key], text)
        return self

    def as_asked(self) -> Load:
        """The load at the rates asked, whatever rates its users would make, as other loads are asked from it.

        Raises:
            QuestionError: as :meth:`for_others`.
        """
        return replace(self.for_others(), scenario=self.scenario.as_asked())


def understand(system: System, asked: Mapping[str, Any]) -> Load:
    """The load a question describes.

    Raises:
        QuestionError: a key is unknown, a value out of its domain, or two keys say the load twice.
    """
    entry = system.entry
    check_keys(asked)
    point, start, base, weeks, notes = _base(system, asked)
    one_interval = not notes
    users = _users(system, base)
    growth_since = np.ones((1, 1, 1))
    grown_base = base
    if weeks > 0.0:
        growth_since = _growth_since(system, base, str(asked["when"]).strip(), weeks)
        others = base.others * others_grown(system, np.array([weeks]))
        grown_base = replace(base, rates=base.rates * growth_since, others=others)
    scenario = _changed(system, grown_base, asked, notes)
    factors = np.ones(len(system.streams))
    if "growth_pct" in asked:
        factors[:] = growth("growth_pct", asked["growth_pct"])
    rates = scenario.rates.copy()
    taken: dict[int, str] = {}
    at_rate = np.full(len(system.streams), "etr_tps" in asked or "cpu_busy_pct" in asked)
    named = {key: streams_named(entry, key, name) for key, name in _class_keys(asked)}
    # What is said of a class counts before the growth of a workload that it is part of.
    for key in sorted(named, key=lambda key: -len(named[key])):
        kind, members, value = key.partition(".")[0], named[key], asked[key]
        for member in members:
            before = taken.get(member, "")
            if before and not (before.startswith("growth_pct") and set(members) < set(named[before])):
                raise QuestionError(key, value, f"{key}: {before} already says the rate of this class")
            taken[member] = key
        if kind == "growth_pct":
            factors[list(members)] = growth(key, value)
        else:
            wanted = finite(key, value)
            if not 0 <= wanted <= MOST_TPS:
                raise QuestionError(key, value, f"{key}: {value!r} is not from 0 to {said(MOST_TPS)}")
            factors[list(members)] = 1.0
            at_rate[list(members)] = True
            now = rates[:, :, list(members)].sum(axis=2, keepdims=True)
            even = np.full((1, 1, len(members)), 1.0 / len(members))
            part = np.where(now > 0, rates[:, :, list(members)] / np.where(now > 0, now, 1.0), even)
            rates[:, :, list(members)] = wanted * part
    rates = rates * factors
    at = {key: value if isinstance(value, str) else float(value) for key, value in asked.items()}
    if "etr_tps" in asked:
        wanted = positive("etr_tps", asked["etr_tps"], MOST_TPS)
        rates = rates * (wanted / np.maximum(rates.sum(axis=2, keepdims=True), 1e-300))
    scenario = replace(scenario, rates=rates)
    if users is not None and np.any(users[0, 0, ~at_rate] > 0):
        scenario = replace(scenario, users=np.where(at_rate, 0.0, users * growth_since * factors))
    if "cpu_busy_pct" in asked:
        scenario = at_busy(system, scenario, positive("cpu_busy_pct", asked["cpu_busy_pct"], 100.0))
    seen = observed_classes(entry, asked)
    if seen:
        scenario = _observed(system, scenario, asked, seen, notes)
    if not any(key in asked for key in ("etr_tps", "cpu_busy_pct", "point")):
        if scenario.users is None:
            at["etr_tps"] = float(scenario.rates[0].sum(axis=1)[0])
        if start and one_interval:
            at["when"] = start
    return Load(scenario, at, point, start, dict(asked), tuple(notes))


def _observed(
    system: System, scenario: Scenario, asked: Mapping[str, Any], seen: Mapping[str, float], notes: list[str]
) -> Scenario:
    """The load with the work that its measured responses tell of."""
    if len(scenario.recorded) != 1 or notes:
        raise _refused(str(asked.get("when")), "measured responses belong to one recorded interval, or to rates asked")
    responses = {name: np.array([value]) for name, value in seen.items()}
    seconds = system.entry["profile"]["seconds"]
    found, work, varies = as_observed(system, scenario.as_asked(), responses, seconds)
    change, usual = float(work[0, 0] - 1.0), float(varies[0, 0])
    if abs(change) > MOST_DEVIATIONS * usual:
        key, value = next((str(key), value) for key, value in asked.items() if str(key).startswith(OBSERVED))
        text = (
            f"{key}: so measured, transactions took {100.0 * change:+.1f} % CPU, which varies by {100.0 * usual:.1f} % "
            f"between intervals: something else changed the responses; ask without {OBSERVED}CLASS"
        )
        raise QuestionError(key, value, text)
    low, high = (100.0 * float(np.quantile(work[1:], q) - 1.0) for q in (0.05, 0.95))
    notes.append(
        f"response_ms: by the responses measured, transactions took {100.0 * change:+.1f} % CPU "
        f"({low:+.1f} to {high:+.1f}) beside what is usual at this load"
    )
    for name, own in unexplained(system, found, responses, seconds, MOST_DEVIATIONS).items():
        notes.append(
            f"{OBSERVED}{name}: {seen[name]:.4g} ms was measured where work explains {own:.4g} ms: something else "
            "changed it, of which this answer knows nothing"
        )
    return found


def _users(system: System, base: Scenario) -> Array | None:
    """(draws, 1, streams) users of a recorded load, as each draw has its responses; where it has none, those recorded.
    None where no class has users."""
    if base.think_s is None:
        return None

    def made() -> Array:
        known = recorded(system.entry["profile"]).users[:, list(base.recorded)].mean(axis=1)
        found = np.zeros((system.draws, 1, len(system.streams)))
        for stream, users in needed(system.at_rates(base), system).items():
            found[:, :, stream] = np.where(np.isfinite(users), users, known[stream])
        return found

    return derived(system.entry, ("users", base.recorded), made)


def _class_keys(asked: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The keys that say the growth or rate of a class, with its name."""
    parts = ((str(key), *str(key).partition(".")) for key in asked)
    return [(key, name) for key, kind, _, name in parts if kind in ("growth_pct", "rate") and name]


def grown(system: System, weeks: Array) -> Array:
    """(draws, loads, streams) growth of each stream ``weeks`` (loads,) later, as its history trends, as factors."""
    each = np.stack([np.append(one["centre"], one["draws"]) for one in system.entry["growth_per_week"]], axis=1)
    return np.asarray(np.exp(each[:, None, :] * weeks[None, :, None]))


def _growth_since(system: System, base: Scenario, when: str, weeks: float) -> Array:
    """(draws, 1, streams) growth of each stream from its recorded load until a time to come, as factors; of an hour it
    is as unsure as few recorded ones leave it."""
    found = grown(system, np.array([weeks]))
    if _whole_day(when):
        return found
    return found * _as_few(system, recorded(system.entry["profile"]), np.array(base.recorded))


def others_grown(system: System, weeks: Array) -> Array:
    """(draws, loads) growth of what the other LPARs use, ``weeks`` (loads,) later, as it trends, as factors."""
    return np.asarray(np.exp(system.partition.growth[:, None] * weeks))


def _as_few(system: System, history: Profile, index: NDArray[np.int64]) -> Array:
    """(draws, 1, streams) how far the mean rates of a few recorded intervals of an hour of the week may be from what is
    usual, as factors. Intervals of one day are alike, and count as one; of a single day, that hour of the other days
    says how much days differ, though they are of other kinds."""
    hours = (history.times - history.times.astype("datetime64[D]")).astype("timedelta64[h]")
    several = len(np.unique(history.times[index].astype("datetime64[D]"))) > 1
    alike = index if several else np.flatnonzero(hours == hours[index[0]])
    days, rates = history.times[alike].astype("datetime64[D]"), history.rates[:, alike]
    of_day = np.stack([rates[:, days == day].mean(axis=1) for day in np.unique(days)], axis=1)
    error = of_day.std(axis=1, ddof=1) if of_day.shape[1] > 1 else np.zeros(len(rates))
    relative = error / np.sqrt(of_day.shape[1] if several else 1.0) / np.maximum(rates.mean(axis=1), 1e-12)
    drawn = np.stack([system.deviates(FEW + stream) for stream in range(len(rates))], axis=1)
    return np.maximum(1.0 + relative * drawn, 0.0)[:, None, :]


def at_busy(system: System, scenario: Scenario, busy_pct: float) -> Scenario:
    """The scenario with every draw's rates scaled until the LPAR is that busy; infinite rates where it never is.

    Raises:
        QuestionError: the fixed part alone is busier.
    """
    wanted = busy_pct / 100.0 * scenario.engines
    rates = np.broadcast_to(scenario.rates, (system.draws, *scenario.rates.shape[1:]))

    def beyond(factor: Array) -> Array:
        return system.usage(replace(scenario, rates=rates * factor[:, :, None])).busy / wanted - 1.0

    factors = crossing(beyond, rates.shape[:2])
    if not factors[0].all():
        raise QuestionError(
            "cpu_busy_pct", busy_pct, f"cpu_busy_pct: {busy_pct:g} is less than the fixed part alone takes"
        )
    return replace(scenario, rates=rates * factors[:, :, None])


def _base(system: System, asked: Mapping[str, Any]) -> tuple[Mapping[str, Any] | None, str, Scenario, float, list[str]]:
    """The recorded load the question starts from, and the weeks by which it grows until the time that is asked."""
    entry = system.entry
    profile = entry.get("profile")
    if profile is None:
        if "when" in asked:
            raise QuestionError("when", asked["when"], "when: this system has measured points, no history; use point")
        point = point_entry(entry, asked.get("point", entry["operating_point"]))
        shown = point if not any(key in asked for key in ("etr_tps", "cpu_busy_pct")) else None
        return shown, "", derived(point, "base", lambda: _at_point(system, point)), 0.0, []
    if "point" in asked:
        point_entry(entry, asked["point"])
    index, notes, weeks = _recorded(entry, profile, asked)
    base = derived(entry, ("base", tuple(index.tolist())), lambda: _mean_of(system, profile, index))
    if weeks > 0.0 and np.any(base.others):
        notes[0] += ", and what the other LPARs of the machine use as theirs does"
    start = profile["start_local"][int(index[len(index) // 2])]
    if weeks > 0.0:
        start = dt.datetime.fromisoformat(str(asked["when"]).strip()).isoformat()
    return None, start, base, weeks, notes


def _at_point(system: System, point: Mapping[str, Any]) -> Scenario:
    """The load of a measured point."""
    rates = np.array([[[float(point["rates"][name]) for name in system.streams]]])
    return Scenario(rates, system.engines, system.ziips)


def _mean_of(system: System, profile: Mapping[str, Any], index: NDArray[np.int64]) -> Scenario:
    """The mean load of some recorded intervals."""
    history = recorded(profile)
    rates = history.rates[:, index].mean(axis=1)
    others = 0.0 if history.others is None else history.others[index].mean(keepdims=True)[None]
    extra = {name: values[index].mean(keepdims=True)[None] for name, values in history.extra.items()}
    thinking = history.thinking[:, index].mean(axis=1)
    sampled_s = np.maximum(thinking * len(index) * profile["seconds"], 1e-12)
    think_s = thinking / np.maximum(rates, 1e-12) * np.maximum(1.0 + system.thinking_noise / np.sqrt(sampled_s), 0.0)
    return Scenario(
        rates[None, None, :],
        system.engines,
        system.ziips,
        extra=extra,
        others=others,
        cap_engines=None if system.machine is None else system.machine.cap_engines,
        recorded=tuple(int(i) for i in index),
        think_s=np.where(rates > 0, think_s, 0.0)[:, None, :] if np.any(think_s > 0) else None,
    )


def _recorded(
    entry: Mapping[str, Any], profile: Mapping[str, Any], asked: Mapping[str, Any]
) -> tuple[NDArray[np.int64], list[str], float]:
    """Indices of the recorded intervals meant by ``when``, what to say of them, and weeks of growth beyond them."""
    when = str(asked.get("when", "peak")).strip()
    times = recorded(profile).times
    peak = int(entry["operating"])
    text = when.casefold()
    if text == "peak":
        return np.array([peak]), [], 0.0
    if text[:3] in DAYS and not text[:1].isdigit():
        return _of_the_week(times, when)
    moment = _moment(when)
    asked_for, whole_day = np.datetime64(moment, "s"), _whole_day(when)
    of_day = np.flatnonzero(times.astype("datetime64[D]") == asked_for) if whole_day else np.array([], int)
    if len(of_day):
        load = np.array(profile.get("cpu_busy_pct") or np.sum(profile["rates"], axis=0), float)
        busiest = int(of_day[np.argmax(load[of_day])])
        return np.array([busiest]), [f"when: the busiest recorded interval of that day, {times[busiest]}"], 0.0
    inside = np.flatnonzero((times <= asked_for) & (asked_for < times + np.timedelta64(int(profile["seconds"]), "s")))
    if len(inside):
        return inside[:1], [], 0.0
    if asked_for <= times[-1]:
        raise _refused(when, f"no interval was recorded at {when} (recorded: {times[0]} to {times[-1]})")
    if asked_for > times[-1] + np.timedelta64(MOST_WEEKS, "W"):
        raise _refused(when, f"{when} is more than three years after the records, which end {times[-1]}")
    if whole_day:
        weeks = float((asked_for - times[peak]) / np.timedelta64(7, "D"))
        return np.array([peak]), [f"when: the recorded peak of {times[peak]}, grown as the history trends"], weeks
    lately = times > times[-1] - np.timedelta64(28, "D")
    same = _hour_of_week(times, moment.weekday(), moment.hour)
    same = same[lately[same]]
    if not len(same):
        raise _refused(when, f"no interval was recorded in that hour of the week before {when}")
    middle = times[same].astype("datetime64[s]").astype(np.int64).mean().astype("datetime64[s]")
    said = f"when: the mean of {len(same)} intervals of that hour of the week, grown as the history trends"
    return same, [said], float((asked_for - middle) / np.timedelta64(7, "D"))


def _whole_day(when: str) -> bool:
    """Whether a time that is asked for is a date alone."""
    return len(when) <= len("2026-11-10")


def _of_the_week(times: NDArray[np.datetime64], when: str) -> tuple[NDArray[np.int64], list[str], float]:
    """The recorded intervals of an hour of the week, such as ``mon 10:00``."""
    day, *clock = when.casefold().split()
    try:
        hour = int(clock[0].split(":")[0])
        dt.time(hour)
        found = _hour_of_week(times, DAYS.index(day[:3]), hour)
    except (IndexError, ValueError):
        raise _refused(when, "an hour of the week is written as 'mon 10:00'") from None
    if not len(found):
        raise _refused(when, f"no interval was recorded in the hour {when}")
    return found, [f"when: the mean of {len(found)} recorded intervals of that hour of the week"], 0.0


def _moment(when: str) -> dt.datetime:
    """The local time that is asked for."""
    try:
        moment = dt.datetime.fromisoformat(when)
    except ValueError:
        known = "'peak', a local start like 2026-11-10T10:45, an hour of the week like 'mon 10:00', or a date to come"
        raise _refused(when, f"takes {known}") from None
    if moment.tzinfo is not None:
        raise _refused(when, f"{when} says an offset; give the local time of the records without one")
    return moment


def _refused(when: str, why: str) -> QuestionError:
    return QuestionError("when", when, f"when: {why}")


def _hour_of_week(times: NDArray[np.datetime64], day: int, hour: int) -> NDArray[np.int64]:
    """Indices of the intervals that start in an hour of the week; 0 is Monday."""
    days = times.astype("datetime64[D]")
    weekday = (days.astype(np.int64) + 3) % 7
    hours = (times - days).astype("timedelta64[h]").astype(np.int64)
    return np.flatnonzero((weekday == day) & (hours == hour))


def _changed(system: System, scenario: Scenario, asked: Mapping[str, Any], notes: list[str]) -> Scenario:
    """The scenario on other engines, zIIPs, weights, caps, limits."""
    cost = scenario.cost
    elsewhere = "machine" in asked and not is_own(system, asked["machine"])
    if "engines" in asked:
        engines = whole("engines", asked["engines"])
        cost = 1.0 if elsewhere else engine_cost(system, engines)
        scenario = replace(scenario, engines=float(engines))
        if system.machine is not None and engines > system.machine.engines:
            notes.append(f"engines: the machine has {system.machine.engines:g}; taken to get {engines}")
            scenario = replace(scenario, machine_engines=float(engines))
    if "ziip_engines" in asked:
        ziips = finite("ziip_engines", asked["ziip_engines"])
        if ziips < 0 or ziips != int(ziips):
            raise QuestionError("ziip_engines", asked["ziip_engines"], "ziip_engines: takes a whole number from 0")
        if not any(law.engine == "ziip" for law in system.laws.values()):
            raise QuestionError(
                "ziip_engines", asked["ziip_engines"], "ziip_engines: no zIIP-eligible work was recorded"
            )
        scenario = replace(scenario, ziips=ziips)
    if "weight" in asked or "cap" in asked:
        scenario = _shared(system, scenario, asked, notes)
    limits = {}
    for key, value in asked.items():
        kind, _, name = str(key).partition(".")
        if kind == "limit":
            limit = _limit(system, key, name)
            limits[limit.name] = positive(key, value)
            if not limit.reached:
                holders = ", ".join(system.streams[member] for member in limit.members)
                taken = (
                    f"taken to be held all the time inside, by all that the records name it for: {holders}"
                    if holders
                    else "no class with responses names it, so nothing here changes"
                )
                notes.append(f"{key}: nobody waited for {limit.name} in the records; {taken}")
    if any(str(key).startswith(adjustments.PREFIX) for key in asked):
        cost = cost * _adjusted(system, asked, notes)
    if "smt" in asked:
        scenario = replace(scenario, threads=_threads(system, asked["smt"], notes))
    if elsewhere:
        scenario, factor = moved(system, scenario, asked["machine"], notes)
        cost = cost * factor
    changed = cost is not scenario.cost or limits
    return replace(scenario, cost=cost, limits=limits) if changed else scenario


def _limit(system: System, key: str, name: str) -> Limit:
    """The limit a key names, of whose name records have the first letters only."""
    for limit in system.limits:
        if limit.name.casefold() in (name.casefold(), name.casefold()[:RECORDED_NAME].rstrip()):
            if limit.kind == "devices":
                text = (
                    f"{key}: {limit.name} are volumes or processors, each with its queue; their number is as recorded"
                )
                raise QuestionError(key, name, text)
            return limit
    known = [one.name for one in system.limits if one.kind != "devices"]
    raise QuestionError(key, name, f"{key}: no such limit shows in the records", known)


def _threads(system: System, value: Any, notes: list[str]) -> float:
    """Threads of a zIIP core."""
    threads = threads_asked(value)
    if system.ziips <= 0:
        raise QuestionError("smt", value, "smt: the records show no zIIPs")
    if threads > system.ziip_pool.threads:
        low, high = (100.0 * float(np.quantile(system.ziip_pool.gain, q) - 1.0) for q in (0.05, 0.95))
        notes.append(f"smt: a second thread was not active here; taken to add {low:.0f} to {high:.0f} % of one's work")
    return threads


def _adjusted(system: System, asked: Mapping[str, Any], notes: list[str]) -> Array:
    """(draws,) factor on the cost that ``adjust.NAME=on`` asks for, uncertain as its sources say."""
    plain = system.entry.get("adjustments", {})
    known = derived(plain, "adjustments", lambda: adjustments.from_plain(plain))
    rest, chosen = adjustments.asked(asked, known, adjustments.parts_of(system.entry))
    by = adjustments.factor(chosen, "cpu")
    for one in chosen:
        notes.append(one.note)
        if not {"cpu", "itr"} & set(one.factors):
            notes.append(f"{adjustments.PREFIX}{one.name}: says nothing of CPU time, so nothing here changes")
    return np.asarray(np.exp(by.log + by.log_sd * system.deviates(len(rest))))


def _shared(system: System, scenario: Scenario, asked: Mapping[str, Any], notes: list[str]) -> Scenario:
    machine = system.entry.get("on_machine")
    field = "weight" if "weight" in asked else "cap"
    if machine is None or system.machine is None:
        raise QuestionError(field, asked[field], f"{field}: the LPAR shares no machine that the records show")
    share, capped = system.machine.share, system.machine.capped
    if "weight" in asked:
        own = positive("weight", asked["weight"])
        total = float(system.entry["weights"]["total"]) - float(system.entry["weights"]["own"])
        share = own / (own + total)
    most = scenario.cap_engines
    if "cap" in asked:
        capped, most = cap_asked(asked["cap"])
        if most is not None and most >= scenario.engines:
            notes.append(f"cap: {most:g} engines hold nothing back, as the LPAR has {scenario.engines:g}")
    return replace(scenario, share=share, capped=capped, cap_engines=most)


def engine_cost(system: System, engines: float) -> Array:
    """(draws,) cost per transaction on another number of engines, relative to the measured one."""
    effect = system.entry["n_way"]
    exponent = np.append(effect["centre"], effect["draws"])
    return np.asarray((engines / system.engines) ** exponent, float)
