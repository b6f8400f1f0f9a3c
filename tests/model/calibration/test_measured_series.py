"""CPU of a measured series from its rates, and from its rates and responses, against naive ways."""

import numpy as np

from model.calibration.history import History
from model.calibration.lpar import calibrate_lpar
from model.capacity.evaluation import as_observed, evaluate
from model.capacity.system import System
from model.validation.origin import at_intervals
from tests.shared import shared

SECONDS, FITTED, A_DAY = 30.0, 0.7, 10


def test_utilization_of_later_intervals_follows_from_rates_and_nearer_from_responses_too():
    rows = np.genfromtxt(shared("cases/data/librede_intervals.csv"), delimiter=",", names=True)
    count = len(rows)
    none, place = np.zeros(count), np.arange(count)
    # Neighbours in time resemble each other: every few of them stand for a day.
    start = np.datetime64("2026-09-07", "s") + (86_400 * (place // A_DAY) + 30 * (place % A_DAY)).astype(
        "timedelta64[s]"
    )
    by_class = {name: np.column_stack([rows[f"{name}_wc{i}"] for i in range(3)] + [none]) for name in ("rate", "meanR")}
    series = History(
        system_id="librede",
        smf_sid="HOST",
        cpc_type="",
        start_utc=start,
        start_local=start,
        seconds=none + SECONDS,
        engines=none + 1.0,
        busy_s=SECONDS * rows["cpu_util"],
        ziips=none,
        ziip_busy_s=none,
        density=none + 1.0,
        classes=("WC0", "WC1", "WC2", "SERVER"),
        importance=np.ones(4, np.int64),
        workloads=("WEB",) * 4,
        ended=SECONDS * by_class["rate"],
        idle_s=np.zeros((count, 4)),
        cp_s=np.column_stack([none, none, none, SECONDS * rows["cpu_util"]]),
        ziip_s=np.zeros((count, 4)),
        ziip_on_cp_s=np.zeros((count, 4)),
        response_ms=np.where(by_class["meanR"] > 0, 1e3 * by_class["meanR"], np.nan),
        p90_ms=np.full((count, 4), np.nan),
    )
    kept = place < FITTED * count
    system = System(calibrate_lpar(series.rows(kept)))
    later, busy = series.rows(~kept), rows["cpu_util"]
    state = evaluate(system, at_intervals(system, later))
    responses = {name: later.response_ms[:, c] for c, name in enumerate(system.class_names)}
    observed, *_ = as_observed(system, state.scenario, responses, SECONDS)
    known = evaluate(system, observed).busy
    low, high = np.quantile(known[1:], [0.05, 0.95], axis=0)

    def missed(values: np.ndarray) -> float:
        return float(np.mean(np.abs(values / busy[~kept] - 1)))

    before, usual = busy[np.flatnonzero(~kept) - 1], np.full((~kept).sum(), busy[kept].mean())
    assert missed(state.busy[0]) <= 0.059
    assert missed(state.busy[0]) < min(missed(before), missed(usual))
    assert missed(known[0]) <= 0.04
    assert 0.8 <= np.mean((low <= busy[~kept]) & (busy[~kept] <= high)) <= 0.97
