"""What a history's later days and busiest intervals show of its calibration, beside naive ways of predicting them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from model.capacity.parameters import LAST_WEEK
from model.validation.holdout import Validation
from model.validation.origin import _row, checks, held_out
from tests.cases.histories import DEMAND_S, ENGINES, FIXED, REST_MS, SECONDS, SHARE, history, mmm_slowdown
from tests.model.calibration.test_serving import in_regions, with_regions


def test_later_days_and_higher_loads_are_predicted_better_than_by_naive_ways():
    table = held_out(history())
    assert set(table["scheme"]) == {"later days", "higher load"}
    assert table["beats_baseline"].all()
    assert (table[table["metric"] == "cpu_busy_pct"]["median_abs_error_pct"] < 1.0).all()


def test_the_best_naive_way_is_named_and_the_model_told_where_it_is_behind():
    given = history()
    same = np.arange(len(given.seconds)) % (7 * 96)
    random = np.random.default_rng(5).normal(1.0, 0.2, len(given.seconds))
    repeated = replace(given, busy_s=(given.busy_s * random)[same])
    later = held_out(repeated).query("scheme == 'later days' and metric == 'cpu_busy_pct'").iloc[0]
    assert later["baseline"] == LAST_WEEK and later["baseline_pct"] == pytest.approx(0.0)
    assert not later["beats_baseline"]
    table = held_out(repeated)
    validation = Validation(pd.DataFrame(), pd.DataFrame(), table, {})
    baselines = validation.verdict("PRDA")["baselines"]
    [busy] = (one for one in baselines if one["metric"] == "cpu_busy_pct" and one["held_out"] == "later days")
    assert busy["baseline"] == LAST_WEEK and busy["baseline_pct"] == pytest.approx(0.0) and busy["model_pct"] > 1.0


def test_single_intervals_lie_within_limits_and_the_scatter_of_those_that_were_fitted():
    given = history()
    noise = np.random.default_rng(3).normal(1.0, 0.04, len(given.seconds))
    later = held_out(replace(given, busy_s=given.busy_s * noise)).query("scheme == 'later days'")
    assert 0.8 <= later[later["metric"] == "cpu_busy_pct"]["coverage"].iloc[0] <= 0.97


def test_single_intervals_of_higher_loads_lie_within_limits_that_grow_with_their_waits():
    random, given = np.random.default_rng(4), history()
    usual = given.cp_s.sum(axis=0) / given.ended.sum(axis=0)
    # Single transactions of the second class are of very unequal size.
    cp_s = given.ended * usual
    cp_s[:, 1] *= random.gamma(given.ended[:, 1] / 200.0, 200.0 / given.ended[:, 1])
    busy_s = FIXED * SECONDS + (1.0 + SHARE) * cp_s.sum(axis=1)
    waits = 1e3 * DEMAND_S * (mmm_slowdown(busy_s / SECONDS, ENGINES)[:, None] - 1.0)
    waits *= random.normal(1.0, 0.15, waits.shape)
    response = 1e3 * DEMAND_S + waits + random.normal(1.0, 0.002, waits.shape) * REST_MS
    higher = held_out(replace(given, cp_s=cp_s, busy_s=busy_s, response_ms=response)).query("scheme == 'higher load'")
    assert (higher["coverage"] >= 0.85).all()
    [busy] = higher[higher["metric"] == "cpu_busy_pct"].to_dict("records")
    assert abs(busy["bias_pct"]) < 0.5


@pytest.mark.parametrize(
    "given",
    [in_regions(), with_regions({"RGNH": [0], "RGNL": [1]}, ("CICS", "IMS", "CICS", "IMS"))],
    ids=["divided", "of one class"],
)
def test_cpu_of_regions_is_not_counted_twice_on_later_days(given):
    table = held_out(given)
    busy = table[table["metric"] == "cpu_busy_pct"]
    assert (busy["median_abs_error_pct"] < 1.5).all() and (busy["bias_pct"].abs() < 1.0).all()


@pytest.mark.filterwarnings("error")
def test_draws_that_are_saturated_leave_an_interval_without_upper_limit():
    found = np.linspace(1.0, 2.0, 41)[:, None] * np.ones((1, 30))
    found[0], found[-8:] = 1.5, np.inf
    row = _row("PRDA", "later", "response_ms", "CICSHI", found, np.full(30, 9.0), 1.0, {})
    assert row["coverage"] == 1.0
    assert row["half_width_pct"] == np.inf


def of_histories(rows):
    figures = {"system": "PRDA", "bias_pct": 0.0, "p95_abs_error_pct": 9.0, "n": 200, "half_width_pct": 5.0}
    return pd.DataFrame([figures | row for row in rows])


def row(scheme, metric, error, coverage, name="", **more):
    return {
        "scheme": scheme,
        "metric": metric,
        "class": name,
        "median_abs_error_pct": error,
        "coverage": coverage,
    } | more


def failed(rows):
    return [check.name for check in checks(of_histories(rows)) if not check.passed]


def test_the_gate_covers_later_days_and_higher_loads_with_errors_and_coverage():
    good = [row(s, m, 2.0, 0.9) for s in ("later days", "higher load") for m in ("cpu_busy_pct", "response_ms")]
    assert len(checks(of_histories(good))) == 8
    assert failed(good) == []
    assert failed([row("higher load", "cpu_busy_pct", 3.4, 0.9)]) == ["median error of busy at higher loads, %"]
    assert failed([row("later days", "response_ms", 2.0, 0.7)]) == [
        "90 % intervals that contain responses on later days"
    ]
    two = [row("later days", "response_ms", 2.0, 0.7, "HIGH"), row("later days", "response_ms", 2.0, 0.95, "LOW")]
    assert failed(two) == []


def test_intervals_that_contain_everything_fail_the_gate_where_they_are_wide():
    assert failed([row("later days", "cpu_busy_pct", 0.5, 1.0)]) == ["90 % intervals that contain busy on later days"]
    assert failed([row("later days", "cpu_busy_pct", 0.5, 1.0, half_width_pct=1.9)]) == []
    assert failed([row("later days", "cpu_busy_pct", 0.5, 1.0, n=30)]) == []


def test_a_baseline_knows_nothing_of_what_is_held_out():
    higher = held_out(history()).query("scheme == 'higher load'")
    assert LAST_WEEK not in set(higher["baseline"])
