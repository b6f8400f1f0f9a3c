"""Held out in time and in load: a history's later days, and its busiest intervals, predicted from the rest.

Rows are never drawn at random: neighbours in time resemble each other. Beside each error stands that of the best of
the naive ways: what was measured a week before, busy in proportion to the work of all transactions, the usual response
of the class, and its response in M/M/c with the measured service time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from model.calibration.history import History, enough
from model.calibration.lpar import NotCalibratable, calibrate_lpar, steady_since
from model.calibration.steps import FEWEST_STEADY_DAYS
from model.capacity.evaluation import evaluate, varying
from model.capacity.evidence import HELD_OUT_FROM
from model.capacity.parameters import HIGHER, LAST_WEEK, LATER, MMC, PROPORTIONAL, USUAL
from model.capacity.state import RESPONSE, Scenario, State
from model.capacity.system import DEMAND_SD, System
from model.queueing.multiserver import slowdown
from model.validation.gate import SHARP_ENOUGH_PCT, SHARPNESS, Check

Array = NDArray[np.float64]

# Quantile of load below which intervals are fitted.
FITTED_LOAD = 0.7
FEWEST_ENDED = 200.0
FEWEST_COMPARED, MOST_LOADS = 10, 400
HELD = 0.9
# The gate of one history: median errors, and the share of single intervals inside their 90 % limits.
BUSY_PCT, RESPONSE_PCT = 3.0, 20.0
LEAST_COVERED, MOST_COVERED, FEWEST_COVERED = 0.80, 0.97, 96
SCHEMES = {LATER: "on later days", HIGHER: "at higher loads"}
"""What is held out, and how checks call it."""
BUSY = "cpu_busy_pct"

COLUMNS = [
    "system", "scheme", "metric", "class", "n", "median_abs_error_pct", "p95_abs_error_pct", "bias_pct", "coverage",
    "half_width_pct", "baseline", "baseline_pct", "beats_baseline", "since",
]  # fmt: skip


SEED = 8100
"""Seed of the scatter of single intervals."""


def held_out(history: History) -> pd.DataFrame:
    """Errors by scheme (:data:`SCHEMES`), metric and class; empty where too little is left.

    If the CPU per transaction had a step, the records since then are held out and fitted. If these are too few, the
    records before the step are used.
    """
    history = _steady(history)
    days = np.unique(history.day)
    split = days[min(int(len(days) * HELD_OUT_FROM), len(days) - 1)]
    load = _usual_busy_s(history) / history.seconds / history.engines
    schemes = {
        LATER: history.day < split,
        HIGHER: load < np.quantile(load, FITTED_LOAD),
    }
    rows: list[dict[str, Any]] = []
    for scheme, fitted in schemes.items():
        kept = history.rows(fitted)
        if not enough(kept) or fitted.all():
            continue
        try:
            system = System(calibrate_lpar(kept, trends=False))
        except NotCalibratable:
            continue
        rows += compared(scheme, system, history, fitted)
    return pd.DataFrame(rows, columns=COLUMNS)


def _steady(history: History) -> History:
    """The records since the last step, or those before it if fewer than a week are left."""
    try:
        since = steady_since(history)
    except NotCalibratable:
        return history
    parts = [history.rows(history.start_local >= since), history.rows(history.start_local < since)]
    return next((part for part in parts if len(np.unique(part.day)) >= FEWEST_STEADY_DAYS), history)


def _usual_busy_s(history: History) -> Array:
    """(I,) busy if transactions took what they usually take: those that happened to take much make no high load, as
    intervals chosen for that would be short of what their rates say."""
    used, ended = np.nan_to_num(history.cp_s), history.ended
    usual = used.sum(axis=0) / np.maximum(ended.sum(axis=0), 1.0)
    return np.asarray(history.busy_s + np.where(ended.sum(axis=0) > 0, ended * usual - used, 0.0).sum(axis=1))


def checks(table: pd.DataFrame) -> tuple[Check, ...]:
    """The gate of one history: median errors and coverage of busy and responses, on later days and at higher loads.

    None where nothing could be held out. On later days, intervals that contain more than 97 % fail where they are also
    wider than three median errors, and wider than 2 %; at higher loads they contain what lower loads cannot tell.
    """
    found = []
    for scheme, name in SCHEMES.items():
        for metric, label, limit in ((BUSY, "busy", BUSY_PCT), (RESPONSE, "responses", RESPONSE_PCT)):
            rows = table[(table["scheme"] == scheme) & (table["metric"] == metric)]
            if rows.empty:
                continue
            mean = {
                key: float(np.average(rows[key], weights=rows["n"]))
                for key in ("median_abs_error_pct", "coverage", "half_width_pct")
            }
            error = mean["median_abs_error_pct"]
            found.append(Check(f"median error of {label} {name}, %", error, limit, error <= limit))
            if rows["n"].sum() >= FEWEST_COVERED:
                wide = mean["half_width_pct"] > max(SHARP_ENOUGH_PCT, SHARPNESS * error)
                most = MOST_COVERED if wide and scheme == LATER else 1.0
                held = LEAST_COVERED <= mean["coverage"] <= most
                covers = f"90 % intervals that contain {label} {name}"
                bound = LEAST_COVERED if mean["coverage"] <= MOST_COVERED else MOST_COVERED
                found.append(Check(covers, mean["coverage"], bound, held))
    return tuple(found)


def compared(scheme: str, system: System, history: History, kept: NDArray[np.bool_]) -> list[dict[str, Any]]:
    """Errors of a system on the intervals not ``kept``: a row of :data:`COLUMNS` for busy and for each response.

    Baselines are taken from the intervals kept ``since`` the last step of the cost, and from a week before. Limits are
    those of single intervals, wider where those kept are further off.
    """
    since = system.parameters.steady_since
    fitted = history.rows(kept & (history.start_local >= np.datetime64(since))) if since else history.rows(kept)
    left = np.flatnonzero(~kept)
    left = left[:: max(1, len(left) // MOST_LOADS)]
    chosen, usual_ones = (
        history.rows(left),
        fitted.rows(np.arange(0, len(fitted.seconds), max(1, len(fitted.seconds) // MOST_LOADS))),
    )
    scenario = at_intervals(system, chosen)
    state, responses = in_intervals(system, scenario, chosen.seconds)
    before_them, before_responses = in_intervals(system, at_intervals(system, usual_ones), usual_ones.seconds)
    each_s = _usual_cpu_s(fitted)
    usual = fitted.busy_s.sum() / max(float((fitted.ended @ each_s).sum()), 1e-9)
    # A way of predicting knows the intervals kept, and none of the others.
    before = _week_before(history, left)
    before = np.where((before >= 0) & kept[before], before, -1)
    all_busy = 100.0 * history.busy_s / history.seconds / history.engines
    proportional = 100.0 * usual * (chosen.ended @ each_s) / chosen.seconds / chosen.engines
    naive = {PROPORTIONAL: proportional, LAST_WEEK: _taken(all_busy, before)}
    found = 100.0 * state.busy / chosen.engines
    beyond = state.busy[0] / chosen.engines > (before_them.busy[0] / usual_ones.engines).max()
    wider = _wider(before_them.busy, usual_ones.busy_s / usual_ones.seconds, beyond)
    rows = [_row(history.system_id, scheme, BUSY, "", found, all_busy[left], wider, naive)]
    stretched = slowdown(chosen.busy_s / chosen.seconds, chosen.engines)
    for stream, response in responses.items():
        c = chosen.classes.index(stream)
        measured = chosen.response_ms[:, c]
        known = np.isfinite(measured) & (chosen.ended[:, c] >= FEWEST_ENDED) & np.isfinite(response[0])
        if known.sum() < FEWEST_COMPARED:
            continue
        weight = np.where(np.isfinite(fitted.response_ms[:, c]), fitted.ended[:, c], 0.0)
        mean = float((np.nan_to_num(fitted.response_ms[:, c]) * weight).sum() / max(weight.sum(), 1.0))
        service = 1e3 * np.nansum(fitted.cp_s[:, c] + fitted.ziip_s[:, c]) / max(fitted.ended[:, c].sum(), 1.0)
        naive = {
            USUAL: np.full(known.sum(), mean),
            LAST_WEEK: _taken(history.response_ms[:, c], before)[known],
            MMC: (service * stretched)[known],
        }
        own = usual_ones.response_ms[:, usual_ones.classes.index(stream)]
        counted = usual_ones.ended[:, usual_ones.classes.index(stream)] >= FEWEST_ENDED
        wider = _wider(before_responses[stream][:, counted], own[counted], beyond[known])
        rows.append(
            _row(history.system_id, scheme, RESPONSE, stream, response[:, known], measured[known], wider, naive)
        )
    return [{**row, "since": str(fitted.start_local[0])} for row in rows]


def _usual_cpu_s(fitted: History) -> Array:
    """(C,) mean CPU of a transaction in s; of classes that report none, what classes without transactions have."""
    ended, cpu_s = fitted.ended.sum(axis=0), np.nansum(fitted.cp_s, axis=0)
    bare = (ended > 0) & (cpu_s <= 0)
    each = np.where(ended > 0, cpu_s / np.maximum(ended, 1.0), 0.0)
    return np.where(bare, cpu_s[ended <= 0].sum() / max(float(ended[bare].sum()), 1.0), each)


def _week_before(history: History, at: NDArray[np.int64]) -> NDArray[np.int64]:
    """Index of the interval that began a week before each of those, -1 where none did."""
    times = history.start_local.astype("datetime64[s]")
    wanted = times[at] - np.timedelta64(7, "D")
    index = np.minimum(np.searchsorted(times, wanted), len(times) - 1)
    return np.where(times[index] == wanted, index, -1)


def _taken(values: Array, index: NDArray[np.int64]) -> Array:
    return np.where(index >= 0, values[index], np.nan)


def at_intervals(system: System, history: History) -> Scenario:
    """The load of every interval of a history: its rates, and its work without transactions."""
    columns = [history.classes.index(name) if name in history.classes else -1 for name in system.class_names]
    ended, thinking_s = (
        np.stack([values[:, c] if c >= 0 else np.zeros(len(history.seconds)) for c in columns], axis=1)
        for values in (history.ended, history.thinking_s())
    )
    others = 0.0 if history.machine is None else (history.machine.others_s / history.seconds)[None, :]
    scenario = Scenario(
        rates=(ended / history.seconds[:, None])[None],
        engines=system.engines,
        ziips=system.ziips,
        others=others,
        think_s=np.where(ended > 0, thinking_s / np.maximum(ended, 1.0), 0.0)[None],
    )
    usage = system.usage(scenario).by_series
    recorded, extra = system.parameters.recorded, {}
    for name in recorded.extra if recorded else ():
        # What a class reports whose CPU was divided among others is not known apart from theirs.
        if name in history.classes and name not in system.parameters.divided:
            used = np.nan_to_num(history.cp_s[:, history.classes.index(name)]) / history.seconds
            extra[name] = (used - usage[name][0])[None, :]
    return replace(scenario, extra=extra)


def in_intervals(system: System, scenario: Scenario, seconds: Array) -> tuple[State, dict[str, Array]]:
    """What single intervals of so many seconds at these loads may be like: the state, its busy with the scatter of the
    work of that many transactions, and responses, (draws, loads) in ms by class."""
    state = evaluate(system, scenario)
    scatter, _ = varying(system, scenario, seconds)
    change = np.abs(np.log(np.maximum(state.busy, 1e-9) / _usual_engines(system)))
    sd = np.hypot(scatter, DEMAND_SD * change)
    state = replace(state, busy=state.busy * (1.0 + sd * system.scores(SEED)[:, None]))
    responses = {}
    for i, one in enumerate(system.responses, start=1):
        response = state.response_ms[one.key]
        with np.errstate(invalid="ignore", divide="ignore"):
            change = np.abs(np.log(response / one.usual_ms)) if one.usual_ms > 0 else np.zeros(response.shape)
        scatter = one.scatter(system.waiting_share(state, one), system.class_rate(scenario, one.class_name) * seconds)
        sd = np.hypot(scatter, one.change_sd * np.nan_to_num(change, posinf=0.0))
        responses[one.class_name] = response * np.exp(sd * system.scores(SEED + i)[:, None])
    return state, responses


def _usual_engines(system: System) -> float:
    """Engines in use in the middle of the recorded intervals, from which an answer predicts a change."""
    recorded = system.parameters.recorded
    assert recorded is not None
    assert recorded.busy is not None
    return max(float(np.median(recorded.busy)), 1e-9)


def _wider(fitted: Array, measured: Array, beyond: NDArray[np.bool_]) -> Array:
    """How many times as wide as the draws limits of single intervals are, (loads,).

    As wide as it takes to hold nine in ten of the intervals that were fitted, by their draws, (draws, n), and what was
    ``measured``, (n,). For loads ``beyond`` those, (loads,), they say nothing for limits narrower than the draws.
    """
    below, above = _limits(fitted)
    with np.errstate(invalid="ignore", divide="ignore"):
        off = np.where(measured < fitted[0], (fitted[0] - measured) / below, (measured - fitted[0]) / above)
    off = off[np.isfinite(off)]
    wider = float(np.quantile(off, HELD)) if len(off) >= FEWEST_COMPARED else 1.0
    return np.where(beyond, max(wider, 1.0), wider)


def _limits(found: Array) -> tuple[Array, Array]:
    """How far the 5 % and 95 % quantiles of the draws are below and above the centre, (n,)."""
    low, high = np.quantile(found[1:], [0.05, 0.95], axis=0, method="nearest")
    return np.maximum(found[0] - low, 0.0), np.maximum(high - found[0], 0.0)


def _row(
    name: str,
    scheme: str,
    metric: str,
    stream: str,
    found: Array,
    measured: Array,
    wider: Array | float,
    naive: Mapping[str, Array],
) -> dict[str, Any]:
    error = 100.0 * (found[0] / measured - 1.0)
    below, above = (wider * one for one in _limits(found))
    missed = {
        way: float(np.nanmedian(np.abs(100.0 * (values / measured - 1.0))))
        for way, values in naive.items()
        if np.isfinite(values).sum() >= FEWEST_COMPARED
    }
    best = min(missed, key=lambda way: missed[way], default="")
    own = float(np.median(np.abs(error)))
    figures: Mapping[str, Any] = {
        "n": len(measured),
        "median_abs_error_pct": own,
        "p95_abs_error_pct": float(np.quantile(np.abs(error), 0.95)),
        "bias_pct": float(np.median(error)),
        "coverage": float(np.mean((measured >= found[0] - below) & (measured <= found[0] + above))),
        "half_width_pct": float(np.median(50.0 * (below + above) / measured)),
        "baseline": best,
        "baseline_pct": missed.get(best, np.nan),
        "beats_baseline": own <= missed.get(best, np.inf),
    }
    return {"system": name, "scheme": scheme, "metric": metric, "class": stream, **figures}
