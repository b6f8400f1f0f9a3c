"""The champion on the days since it was fitted, and whether a newer calibration takes its place, system by system."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from model.calibration.history import History, enough
from model.calibration.lpar import NotCalibratable, calibrate_lpar
from model.capacity.bundle import systems_with_conditions
from model.capacity.parameters import SystemParameters
from model.capacity.system import System
from model.isolation import each
from model.validation.causes import causes
from model.validation.origin import BUSY_PCT, COLUMNS, RESPONSE_PCT, compared

SCHEME = "champion on new days"
# A day that is scored has so many intervals.
FEWEST_INTERVALS = 10
# A newer calibration may be this much further off, in percentage points of the median error, and still replace the
# champion: it knows more days.
BUSY_DRAW, RESPONSE_DRAW = 0.25, 1.0
# Fewer than this part of new intervals within their 90 % limits is drift, where errors are not too small to matter.
COVERAGE, MATTERS = 0.5, 1.0 / 3.0
BUSY = "cpu_busy_pct"
UNEXPLAINED = "CPU per transaction has not changed; check I/O, locks and limits"
BAND, BETWEEN = "band", "; "
"""What an alarm is called where intervals are outside their bands and nothing explains it; what is between causes."""
ALL_COLUMNS = [*COLUMNS, "first", "last", "alarm", "cause", "model_version"]


@dataclass(frozen=True)
class Challenge:
    """What is served from now on, and how the champion did.

    ``systems`` are the entries of the new bundle; one that was kept from the champion has ``kept`` with its
    ``model_version`` and ``reason``. ``scores`` are the champion's errors on new days: the columns of
    :data:`model.validation.origin.COLUMNS` with ``model_version``, ``first`` and ``last`` local start, ``alarm`` (what
    has changed, in a few words, empty for nothing) and ``cause`` (the same with figures). ``faults`` says of which
    systems the champion could not be scored, and why: their new entries take its place.
    """

    systems: Mapping[str, SystemParameters]
    scores: pd.DataFrame
    faults: Mapping[str, str] = field(default_factory=dict)


def challenge(
    systems: Mapping[str, SystemParameters],
    standing: Mapping[str, Any] | None,
    histories: Mapping[str, History],
    refused: Mapping[str, str] | None = None,
) -> Challenge:
    """Score the standing champion on the days it has not seen, and keep it for each system where it is better.

    A system is kept from the champion where it could not be calibrated anew, or where a calibration without the last
    new day is further off on that day than the champion: by more than 0.25 points of busy or 1 point of response, each
    the median error.

    Parameters
    ----------
    systems
        The newly calibrated entries.
    standing
        The champion's bundle; None where there is none.
    histories
        The LPARs with intervals.
    refused
        Why a system could not be calibrated anew.
    """
    chosen = keep(systems, standing, {name: why for name, why in (refused or {}).items() if name not in systems})
    if standing is None:
        return Challenge(chosen, _scores([]))
    scores = []

    def challenged(name: str) -> SystemParameters | None:
        """The champion's entry where it is kept."""
        own, history = standing["systems"][name], histories.get(name)
        reason = ""
        if history is not None and own.period:
            scored, worse = _on_new_days(own, history)
            scores.append(scored.assign(model_version=_version(standing, own)))
            reason = reason or worse
        return _kept(standing, name, reason) if reason else None

    kept, faults = each("scoring the champion", [name for name in standing["systems"] if name in systems], challenged)
    chosen |= {name: own for name, own in kept.items() if own is not None}
    return Challenge(chosen, _scores(scores), faults)


def keep(
    systems: Mapping[str, SystemParameters], standing: Mapping[str, Any] | None, reasons: Mapping[str, str]
) -> dict[str, SystemParameters]:
    """The systems without those that ``reasons`` names, for each of which the champion's entry stands if it has one."""
    chosen = {name: one for name, one in systems.items() if name not in reasons or one.kept is not None}
    for name, reason in reasons.items():
        if standing is not None and name in standing["systems"] and name not in chosen:
            chosen[name] = _kept(standing, name, f"it was not calibrated anew: {reason}")
    return chosen


def keep_laws(
    conditions: Mapping[str, Any], standing: Mapping[str, Any] | None, faults: Mapping[str, str]
) -> Mapping[str, Any]:
    """The studies, or all of the champion's where those of a system failed that the champion has."""
    before = (standing or {}).get("conditions", {})
    lost = faults.keys() & systems_with_conditions(before) - systems_with_conditions(conditions)
    return before if lost else conditions


def _kept(standing: Mapping[str, Any], name: str, reason: str) -> SystemParameters:
    own = standing["systems"][name]
    return replace(own, kept={"model_version": _version(standing, own), "reason": reason})


def _version(standing: Mapping[str, Any], own: SystemParameters) -> str:
    """The version in which an entry of the champion was calibrated."""
    return str((own.kept or standing)["model_version"])


def _scores(frames: list[pd.DataFrame]) -> pd.DataFrame:
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=ALL_COLUMNS)


def drifted(scores: pd.DataFrame, record: pd.DataFrame) -> tuple[str, ...]:
    """What has changed since the champion was fitted, for readers: LPAR, class and cause.

    Parameters
    ----------
    scores
        The champion's errors on new days, as of :class:`Challenge`.
    record
        The scores of earlier nights. An alarm that the night before has raised is not repeated.

    Returns
    -------
    tuple of str
        One sentence for each change.
    """
    warnings = []
    for row in scores.to_dict("records"):
        if not row["alarm"] or row["alarm"] == _alarm_before(record, row):
            continue
        what = "CPU busy" if row["metric"] == BUSY else f"the response of {row['class']}"
        inside = f"{100 * row['coverage']:.0f} % of intervals are inside the 90 % band of {what}"
        if _outside_band(row):
            said = f"Model drift on {row['system']}: since {row['first']} only {inside}"
        else:
            said = f"The work of {row['system']} has changed since {row['first']}; {inside}"
        warnings.append(f"{said}. Cause: {row['cause']}")
    return tuple(warnings)


def _alarm_before(record: pd.DataFrame, row: Mapping[str, Any]) -> str:
    """The alarm of the night before about the same figure; empty without one."""
    if "alarm" not in record:
        return ""
    same = (record[["system", "metric", "class"]] == [row["system"], row["metric"], row["class"]]).all(axis=1)
    earlier = record[same & (record["last"] < row["last"])]
    return "" if earlier.empty else str(earlier.sort_values("last")["alarm"].fillna("").iloc[-1])


def _outside_band(row: Mapping[str, Any]) -> bool:
    """Whether bands of single intervals do not hold what was recorded, by an error that matters."""
    limit = BUSY_PCT if row["metric"] == BUSY else RESPONSE_PCT
    error = row["median_abs_error_pct"]
    return bool(error > limit or (row["coverage"] < COVERAGE and error > MATTERS * limit))


def _with_alarms(rows: list[dict[str, Any]], history: History, new: NDArray[np.bool_]) -> list[dict[str, Any]]:
    """The scores with ``alarm`` and ``cause``: of busy what the load explains, of a response what its CPU does."""
    reasons = causes(history, new, MATTERS * BUSY_PCT)
    alarmed = []
    for row in rows:
        busy, outside = row["metric"] == BUSY, _outside_band(row)
        of = [one for one in reasons if busy or one.concerns(row["class"], history)] if busy or outside else []
        names = [f"{one.kind} {one.of}".strip() for one in of] or [BAND] * outside
        none = "no change of rate, mix or cost explains it" if busy else UNEXPLAINED
        text = BETWEEN.join(one.text for one in of) or none * outside
        alarmed.append({**row, "alarm": BETWEEN.join(names), "cause": text})
    return alarmed


def _on_new_days(own: SystemParameters, history: History) -> tuple[pd.DataFrame, str]:
    """The champion's errors on all new intervals, and why it is better on the last new day; empty where it is not."""
    assert own.period is not None
    new = history.start_local > np.datetime64(own.period[1])
    later = history.rows(new)
    days, counts = np.unique(later.day, return_counts=True)
    days = days[counts >= FEWEST_INTERVALS]
    if not len(days) or new.all():
        return _scores([]), ""
    rows = _with_alarms(compared(SCHEME, System(own), history, ~new), history, new)
    times = {"first": str(later.start_local[0]), "last": str(later.start_local[-1])}
    scored = pd.DataFrame(rows, columns=ALL_COLUMNS[:-1]).assign(**times)
    until = history.rows(history.day <= days[-1])
    before = until.day < days[-1]
    if not enough(until.rows(before)):
        return scored, ""
    try:
        trial = System(calibrate_lpar(until.rows(before), trends=False))
    except NotCalibratable:
        return scored, ""
    mine, theirs = (_errors(compared(SCHEME, one, until, before)) for one in (System(own), trial))
    return scored, _worse(theirs, mine, days[-1])


def _errors(rows: list[dict[str, Any]]) -> tuple[float, float]:
    """Median error of busy, and of responses weighted by intervals; NaN where there are none."""
    busy = [row["median_abs_error_pct"] for row in rows if row["metric"] == BUSY]
    response = [(row["median_abs_error_pct"], row["n"]) for row in rows if row["metric"] == "response_ms"]
    weights: NDArray[np.float64] = np.array([n for _, n in response], float)
    mean = float(np.average([error for error, _ in response], weights=weights)) if response else np.nan
    return (float(busy[0]) if busy else np.nan, mean)


def _worse(newer: tuple[float, float], champion: tuple[float, float], day: int) -> str:
    date = np.datetime64(int(day), "D")
    for what, ours, theirs, draw in zip(
        ("busy", "responses"), newer, champion, (BUSY_DRAW, RESPONSE_DRAW), strict=True
    ):
        if ours > theirs + draw:
            return f"a newer calibration had a larger error on {date}: {what} {ours:.1f} % against {theirs:.1f} %"
    return ""
