"""The capacity model over systems: families, relatives, what is assumed, and what input it refuses."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from model.calibration.measured_points import as_frame, group_columns
from model.calibration.points import CapacityModel
from model.calibration.related_systems import OTHER_SOFTWARE_SD, SAME_SOFTWARE_SD, SystemDescription, describe
from model.capacity import bundle as bundles
from model.capacity.answer import Estimate
from model.capacity.ask import predict
from model.capacity.samples import to_plain
from model.capacity.state import engines_in_use
from model.published import catalogue
from model.validation import validate
from tests.model.points import made_points

OLD = SystemDescription("old", workload="shop", machine="m1", software="shop 1", engines=8)
NEW = SystemDescription("new", workload="shop", machine="m2", software="shop 1", engines=8)
PARTS = ["front_cpu_pct", "back_cpu_pct", "total_work_cpu_pct"]


def plain(model: CapacityModel) -> dict:
    """The fitted systems as plain values."""
    return {name: to_plain(one) for name, one in model.systems_.items()}



def two_machines() -> pd.DataFrame:
    """A measured machine, and a tenth faster one of which only the LPAR's busy time at one rate is known."""
    old = made_points("old", [2000.0, 4000.0, 6000.0], fixed=0.2, demand_us=1000.0)
    new = made_points("new", [6500.0], fixed=0.18, demand_us=900.0)
    old["total_shop_response_ms"] = [8.0, 8.3, 9.1]
    return pd.concat([old.drop(columns=PARTS[2]), new.drop(columns=PARTS)], ignore_index=True)


def fitted() -> CapacityModel:
    return CapacityModel({"old": OLD, "new": NEW}).fit(two_machines())


def test_fits_every_series_and_predicts_the_total():
    points = made_points("a", [1000.0, 2000.0, 3000.0], fixed=0.1, demand_us=800.0, noise=0.002)
    model = CapacityModel().fit(points)
    assert set(model.systems_["a"].demands) == {"lpar", "front", "back", "total_work"}
    for rate in (1500.0, 2500.0):
        demand, truth = model.demands_["a"]["total_work"], 0.1 + 800e-6 * rate
        assert demand.mean(rate) == pytest.approx(truth, rel=0.01)
        assert abs(demand.mean(rate) - truth) < demand.half_width(rate)


def test_arrow_and_pandas_give_the_same_model():
    points = made_points("a", [1000.0, 2000.0], fixed=0.1, demand_us=800.0)
    assert plain(CapacityModel().fit(pa.Table.from_pandas(points))) == plain(CapacityModel().fit(points))


def test_the_long_mart_gives_the_same_model_and_any_group():
    points = made_points("a", [1000.0, 2000.0], fixed=0.1, demand_us=800.0).drop(columns="seconds")
    system_wide = ["engines", "cpu_busy_pct"]
    long = points.melt(["system_id", "point", "condition", "n_intervals"], var_name="metric").assign(is_run=True)
    long["workload"] = ["" if metric in system_wide else "work" for metric in long["metric"]]
    long["workload"] = long["workload"].replace("", None)
    assert plain(CapacityModel().fit(long)) == plain(CapacityModel().fit(points.assign(seconds=0.0)))


def test_variation_that_comes_from_the_rate_is_no_scatter_of_the_cost():
    points = made_points("a", [1000.0, 2000.0, 3000.0], fixed=0.1, demand_us=800.0)
    points["etr_tps_se"] = 0.03 * points["etr_tps"]
    points["total_work_cpu_pct_se"] = 0.03 * points["total_work_cpu_pct"]
    quiet = CapacityModel().fit(points).demands_["a"]["total_work"].noise_rel
    points["etr_tps_se"] = 0.0
    assert CapacityModel().fit(points).demands_["a"]["total_work"].noise_rel > 3 * quiet


def test_order_of_rows_does_not_matter():
    points = two_machines()
    assert plain(CapacityModel({"old": OLD, "new": NEW}).fit(points.iloc[::-1])) == plain(fitted())


def relative_half(systems, system: str, series: str, rate: float) -> tuple[float, float]:
    """Engines in use by a series at a rate, and half the relative width of its interval."""
    law = systems[system].demands[series]
    found = Estimate.of(engines_in_use(law, np.full((len(law.noise), 1), rate))[:, 0])
    return found.value, (found.hi - found.lo) / 2 / found.value


def test_groups_not_measured_are_taken_scaled_and_widened():
    systems = fitted().systems_
    lent = systems["new"].demands["back"]
    assert lent.points == 0
    assert "from old" in lent.origin
    rate = 6500.0
    ratio = relative_half(systems, "new", "lpar", rate)[0] / relative_half(systems, "old", "lpar", rate)[0]
    value, half = relative_half(systems, "new", "back", rate)
    assert value == pytest.approx(ratio * relative_half(systems, "old", "back", rate)[0], rel=1e-9)
    assert half > 1.5 * relative_half(systems, "old", "back", 6000.0)[1]


def test_a_group_that_is_most_of_the_total_is_taken_more_surely():
    systems = fitted().systems_
    assert relative_half(systems, "new", "back", 6500.0)[1] < relative_half(systems, "new", "front", 6500.0)[1]


def test_response_not_measured_keeps_the_part_outside_the_engines_and_is_wider():
    systems = fitted().systems_
    own = systems["old"].responses["total_shop_response_ms"]
    lent = systems["new"].responses["total_shop_response_ms"]
    assert lent.rest_ms[0] == own.rest_ms[0]
    assert np.std(lent.rest_ms[1:]) > np.std(own.rest_ms[1:])
    assert "from old" in lent.origin


def test_a_response_of_zero_is_no_measurement():
    points = two_machines()
    points["total_shop_response_ms"] = points["total_shop_response_ms"].fillna(0.0)
    systems = CapacityModel({"old": OLD, "new": NEW}).fit(points).systems_
    assert systems["new"].responses["total_shop_response_ms"].points == 0


def test_strangers_lend_nothing():
    stranger = replace(NEW, workload="bank")
    systems = CapacityModel({"old": OLD, "new": stranger}).fit(two_machines()).systems_
    assert set(systems["new"].demands) == {"lpar"}
    assert systems["new"].responses == {}


@pytest.mark.parametrize("same", [True, False])
def test_deviation_is_learnt_from_relatives_that_measured_the_same_groups(same):
    first = made_points("old", [2000.0, 4000.0, 6000.0], fixed=0.0, demand_us=1000.0)
    second = made_points("new", [2000.0, 4000.0, 6000.0], fixed=0.0, demand_us=1000.0)
    second["front_cpu_pct"] *= 1.5
    second["back_cpu_pct"] = second["total_work_cpu_pct"] - second["front_cpu_pct"]
    about = {"old": OLD, "new": replace(NEW, software=OLD.software if same else "another release")}
    found = CapacityModel(about).fit(pd.concat([first, second], ignore_index=True)).deviation_sd_
    nothing_seen = {True: SAME_SOFTWARE_SD, False: OTHER_SOFTWARE_SD}
    assert found[same] > 1.5 * nothing_seen[same]
    assert found[not same] == pytest.approx(nothing_seen[not same])


def test_values_assumed_in_rendering_a_published_system_are_marked_and_widened():
    points = made_points("a", [1000.0, 2000.0], fixed=0.1, demand_us=800.0)
    about = SystemDescription("a", published=True, conditions={"1": {"total_work_cpu_pct": "point=1"}, "2": {}})
    part, everything = CapacityModel({"a": about}).fit(points).systems_, CapacityModel().fit(points).systems_
    assert part["a"].demands["lpar"].assumed
    assert not everything["a"].demands["lpar"].assumed
    assert relative_half(part, "a", "lpar", 1500.0)[1] > relative_half(everything, "a", "lpar", 1500.0)[1]


def test_intervals_that_belong_to_no_run_are_no_points():
    points = made_points("a", [1000.0, 2000.0, 2500.0], fixed=0.1, demand_us=800.0)
    points["is_run"] = [True, True, False]
    assert len(as_frame(points)) == 2


def test_ziip_columns_and_views_of_the_same_time_are_no_groups():
    columns = [
        "tor_cpu_pct",
        "tor_cpu_us_per_tran",
        "tor_ziip_us_per_tran",
        "mobile_cpu_pct",
        "service_cpu_us_per_tran",
        "cpu_us_per_tran",
    ]
    assert group_columns(columns) == {"tor": [("tor_cpu_pct", "pct"), ("tor_cpu_us_per_tran", "us_per_tran")]}


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda f: f.drop(columns="etr_tps"), "lacks etr_tps"),
        (lambda f: f.iloc[:0], "no measured point"),
        (lambda f: pd.concat([f, f.iloc[:1]]), "more than once"),
        (lambda f: f.assign(engines=np.nan), "number of engines of a is not known"),
        (lambda f: f[["system_id", "point", "etr_tps", "engines"]], "no CPU figure"),
    ],
)
def test_a_frame_that_cannot_be_fitted_says_why(spoil, message):
    with pytest.raises(ValueError, match=message):
        CapacityModel().fit(spoil(made_points("a", [1000.0, 2000.0], fixed=0.1, demand_us=800.0)))


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda f: f[["system_id", "point", "etr_tps", "engines"]], "b has rates but no CPU figure"),
        (lambda f: pd.concat([f, f.assign(workload="batch")]), "point 1 of b occurs more than once"),
        (lambda f: f.assign(engines=np.nan), "number of engines of b is not known"),
    ],
)
def test_a_system_that_cannot_be_calibrated_is_left_out_and_does_not_hinder_the_others(spoil, reason):
    sound = made_points("a", [1000.0, 2000.0], fixed=0.1, demand_us=800.0)
    spoilt = spoil(made_points("b", [1000.0, 2000.0], fixed=0.1, demand_us=800.0))
    model = CapacityModel().fit(pd.concat([sound, spoilt]))
    assert sorted(model.systems_) == ["a"]
    assert reason in model.left_out_["b"]
    assert set(model.points_["system_id"]) == {"a"}
    assert set(validate(pd.concat([sound, spoilt])).table["system"]) == {"a"}


def test_a_rate_without_any_figure_neither_counts_as_a_point_nor_widens_the_calibrated_rates():
    points = made_points("a", [1000.0, 2000.0, 5000.0], fixed=0.1, demand_us=800.0)
    figures = [name for name in points if name.endswith(("_pct", "_us_per_tran", "itr_tps"))]
    points.loc[points["etr_tps"] == 5000.0, figures] = np.nan
    parameters = CapacityModel().fit(points).systems_["a"]
    assert [point.etr_tps for point in parameters.points] == [1000.0, 2000.0]
    bundle = bundles.build({"a": parameters}, data={}, validation={})
    assert predict(bundle, "a", {"etr_tps": 3000.0}).extrapolated



def test_description_finds_what_was_published_at_each_point():
    found = describe(catalogue.system("ims14-ff-haldb-z13"))
    assert found.condition("80", "cpu_busy_pct") == "group=CPU; machine=z13; quantity=value"
    assert found.measured("80", "cpu_busy_pct")
    assert not found.measured("80", "tor_cpu_pct")
    assert (found.engines, found.workload) == (4, "ims-ff-haldb")
