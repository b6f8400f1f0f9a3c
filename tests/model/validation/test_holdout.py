"""Leave one rate out: nothing of a held-out point reaches its prediction, and the table says what it compares."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from model.calibration.measured_points import as_frame
from model.calibration.points import CapacityModel
from model.calibration.related_systems import SystemDescription
from model.validation import error_table, validate
from model.validation.plots import write_plots
from tests.model.points import made_points

RATES = [1500.0, 2500.0, 3500.0, 5000.0]


def points() -> pd.DataFrame:
    return made_points("shop", RATES, fixed=0.2, demand_us=1000.0, noise=0.003)


def test_every_point_and_series_is_held_out_once():
    table = error_table(points())
    assert sorted(table["point"].unique()) == ["1", "2", "3", "4"]
    assert set(table["metric"]) == {"cpu_busy_pct", "total_work_cpu_pct", "front_cpu_pct", "back_cpu_pct"}
    assert len(table) == 16
    assert (table.loc[table["metric"] == "total_work_cpu_pct", "error_pct"].abs() < 2).all()
    assert set(table["role"]) == {"total", "part"}


def test_a_held_out_point_does_not_reach_its_own_prediction():
    spoilt = points()
    changed = [name for name in spoilt.columns if name.endswith("_pct")]
    spoilt.loc[spoilt["point"] == "2", changed] *= 1.2
    rows = [
        table[(table["point"] == "2") & (table["metric"] == "total_work_cpu_pct")]
        for table in map(error_table, (points(), spoilt))
    ]
    np.testing.assert_array_equal(rows[0][["predicted", "lo", "hi"]], rows[1][["predicted", "lo", "hi"]])
    assert rows[1]["error_pct"].item() == pytest.approx(100 * (1 / 1.2 * (1 + rows[0]["error_pct"].item() / 100) - 1))


def test_a_system_with_one_point_is_not_held_out():
    assert error_table(made_points("one", [1000.0], fixed=0.1, demand_us=900.0)).empty


def test_assumed_values_are_not_compared():
    about = SystemDescription(
        "shop", published=True, conditions={p: {"total_work_cpu_pct": f"point={p}"} for p in "1234"}
    )
    table = error_table(points(), {"shop": about})
    assert set(table["metric"]) == {"total_work_cpu_pct"}


def test_gate_passes_a_good_model_and_stops_one_that_misses():
    good = validate(points())
    assert good.passed
    bent = points()
    shape = np.array([1.0, 1.35, 0.8, 1.3])
    for column in ("cpu_busy_pct", "total_work_cpu_pct", "front_cpu_pct", "back_cpu_pct"):
        bent[column] *= shape
    bad = validate(bent)
    assert not bad.passed
    assert bad.failed == ("shop",)
    assert "mean error of totals, %" in {check.name for check in bad.gates["shop"] if not check.passed}


def test_a_system_nothing_was_held_out_of_is_served_and_not_judged():
    validation = validate(made_points("one", [1000.0], fixed=0.1, demand_us=900.0))
    assert validation.passed
    assert validation.verdict("one") == {"passed": None, "checks": [], "baselines": []}
    assert validation.summary.empty
    assert validation.errors() == []
    assert validation.to_dict()["rows"] == []


def test_summary_and_json_say_the_same_as_the_table():
    validation = validate(points())
    plain = validation.to_dict()
    assert len(plain["rows"]) == len(validation.table)
    row = next(r for r in plain["summary"] if r["system"] == "all" and r["metric"] == "total_work_cpu_pct")
    of_metric = validation.table[validation.table["metric"] == "total_work_cpu_pct"]
    assert row["n"] == 4
    assert row["mean_abs_error_pct"] == pytest.approx(of_metric["error_pct"].abs().mean())
    assert plain["passed"] is True
    assert plain["gates"]["shop"]["passed"] is True
    assert {error["system"] for error in validation.errors()} == {"shop"}
    error = next(error for error in validation.errors() if error["metric"] == "total_work_cpu_pct")
    assert (error["held_out"], error["error_pct"]) == ("a measured point", pytest.approx(row["mean_abs_error_pct"]))


def test_plots_are_written_and_equal_for_equal_input(tmp_path):
    figures = {"median_abs_error_pct": [0.3], "baseline_pct": [4.0]}
    histories = pd.DataFrame({"system": ["shop"], "scheme": ["later days"], "metric": ["cpu_busy_pct"], **figures})
    validation = replace(validate(points()), histories=histories)
    systems = CapacityModel().fit(points()).systems_
    for name in ("a", "b"):
        assert write_plots(systems, validation, as_frame(points()), tmp_path / name) == {}
    first, second = (sorted((tmp_path / name).iterdir()) for name in ("a", "b"))
    assert [path.name for path in first] == ["held_out.svg", "histories.svg", "residuals.svg", "usage-shop.svg"]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    assert all(b"<svg" in path.read_bytes() for path in first)
