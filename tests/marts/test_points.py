"""Measured points come out of hand-written records with the metrics the definitions give by hand."""

from __future__ import annotations

import pytest

from tests.marts import listings
from tests.marts.conftest import Query
from tests.marts.systems import BUSY_SWING, SWING


def test_the_ims_point_has_the_published_rate_busy_itr_and_cpu_per_transaction(marts: Query) -> None:
    [point] = marts("select * from marts.fct_point where system_id = 'ims-z13' and is_run")
    assert (point["point"], point["condition"], point["workload"]) == ("1", "machine=z13", "ims")
    assert (point["n_intervals"], point["seconds"], point["engines"]) == (5, 600.0, 4.0)
    assert point["etr_tps"] == pytest.approx(6012.12, abs=0.005)
    assert point["cpu_busy_pct"] == pytest.approx(80.11, abs=0.005)
    assert point["itr_tps"] == pytest.approx(7504.83, abs=0.01)
    assert point["cpu_us_per_tran"] == pytest.approx(532.99, abs=0.005)
    assert point["total_ims_response_ms"] == pytest.approx(11.275, abs=0.0005)
    assert point["lpar_busy_pct"] == pytest.approx(point["mvs_busy_pct"])


def test_group_cpu_comes_from_classes_where_classes_and_jobs_are_both_named(marts: Query) -> None:
    [point] = marts("select * from marts.fct_point where system_id = 'ims-z13' and is_run")
    assert point["ims_cpu_us_per_tran"] == pytest.approx(35.95, abs=1e-6)
    assert point["ims_connect_cpu_us_per_tran"] == pytest.approx(29.13, abs=1e-6)
    assert point["dependent_regions_cpu_us_per_tran"] == pytest.approx(399.34, abs=1e-6)
    assert point["service_cpu_us_per_tran"] == pytest.approx(35.95 + 29.13 + 399.34, abs=1e-6)
    assert point["capture_ratio"] == pytest.approx(464.42 / 532.99, abs=1e-4)


def test_a_point_is_a_ratio_of_sums_not_a_mean_of_ratios(marts: Query) -> None:
    [point] = marts("select * from marts.fct_point where system_id = 'ims-z13' and is_run")
    rows = marts(
        "select itr_tps from marts.fct_transaction_cost where system_id = 'ims-z13' and class_kind = 'workload'"
    )
    mean_of_ratios = sum(row["itr_tps"] for row in rows) / len(rows)
    assert point["itr_tps"] == pytest.approx(point["etr_tps"] / point["cpu_busy_pct"] * 100, rel=1e-12)
    assert abs(point["itr_tps"] - mean_of_ratios) > 0.1


def test_standard_errors_say_what_the_variation_between_intervals_says(marts: Query) -> None:
    [point] = marts("select * from marts.fct_point where system_id = 'ims-z13' and is_run")
    mean = sum(SWING) / 5
    variance = sum((swing - mean) ** 2 for swing in SWING) / 4
    assert point["etr_tps_se"] == pytest.approx(6012.12 * (variance / 5) ** 0.5, rel=1e-4)
    busy_variance = sum((swing - 1) ** 2 for swing in BUSY_SWING) / 4
    assert point["cpu_busy_pct_se"] == pytest.approx(80.11 * (busy_variance / 5) ** 0.5, rel=1e-4)


def test_cics_cpu_percentages_and_class_rates(marts: Query) -> None:
    points = marts("select * from marts.fct_point where system_id = 'cics' and is_run order by point")
    assert [point["n_intervals"] for point in points] == [5, 5]
    expected = [
        (38_667.05, 34.99, 310.84, 14.90, 33_512.0, 5_155.05),
        (57_796.81, 57.15, 439.70, 22.38, 50_090.6, 7_706.21),
    ]
    for point, (etr, tor, aor, for_, http, lu2) in zip(points, expected, strict=True):
        assert point["workload"] == "cics"
        assert point["etr_tps"] == pytest.approx(etr, abs=0.01)
        assert point["http_tps"] == pytest.approx(http, abs=0.01)
        assert point["lu2_tps"] == pytest.approx(lu2, abs=0.01)
        assert point["tor_cpu_pct"] == pytest.approx(tor, abs=1e-6)
        assert point["aor_cpu_pct"] == pytest.approx(aor, abs=1e-6)
        assert point["for_cpu_pct"] == pytest.approx(for_, abs=1e-6)
        assert point["total_cics_cpu_pct"] == pytest.approx(tor + aor + for_, abs=1e-6)
        assert point["total_ims_response_ms"] is None


def test_two_lpars_add_their_rates_and_average_their_busy(marts: Query) -> None:
    [point] = marts("select * from marts.fct_point where system_id = 'pair' and is_run")
    assert (point["lpars"], point["n_intervals"], point["seconds"], point["engines"]) == (2, 2, 240.0, 8.0)
    assert point["etr_tps"] == pytest.approx(3_000)
    assert point["cpu_busy_pct"] == pytest.approx(60)
    assert point["itr_tps"] == pytest.approx(5_000)
    assert point["cpu_us_per_tran"] == pytest.approx(8 * 0.6 * 1e6 / 3_000)
    assert point["ims_cpu_us_per_tran"] == pytest.approx(2 * 9 / 120 * 1e6 / 3_000)


def test_an_interval_outside_every_run_is_a_point_of_its_own(marts: Query) -> None:
    points = marts("select * from marts.fct_point where system_id = 'SHRD' order by first_start_utc")
    assert [(p["is_run"], p["n_intervals"], p["workload"]) for p in points] == [(False, 1, None)] * 2
    assert points[0]["point"] == "SHRD 2021-05-01T08:00:00Z"
    assert points[0]["cpu_busy_pct"] == pytest.approx(40)
    assert points[0]["cpu_busy_pct_se"] is None


def test_every_group_and_class_a_groups_file_names_is_a_metric(marts: Query) -> None:
    rows = marts("select metric, unit from marts.fct_point_metric where system_id = 'cics' and point = '1'")
    units = {row["metric"]: row["unit"] for row in rows}
    assert units["aor_cpu_us_per_tran"] == "us/tran"
    assert units["total_cics_cpu_pct"] == "pct of one CP"
    assert units["http_tps"] == "tran/s"
    assert units["cpu_busy_pct"] == "pct"


def class_metrics(marts: Query, subject: str) -> dict[str, float]:
    rows = marts(
        "select metric, value from marts.fct_point_metric "
        f"where system_id = 'ims-z13' and is_run and subject = 'report_class {subject}'"
    )
    return {row["metric"]: row["value"] for row in rows}


def test_service_that_no_record_tells_beside_ended_transactions_is_unknown(marts: Query) -> None:
    transactions = class_metrics(marts, "RTRAN")
    assert transactions["wlm_ended_per_s"] == pytest.approx(6012.12, abs=0.005)
    assert transactions["wlm_response_ms"] == pytest.approx(11.275, abs=0.0005)
    unknown = {"wlm_service_units", "wlm_service_per_s", "wlm_cpu_srb_service_per_tran", "wlm_absorption"}
    unknown |= {"wlm_cp_appl_pct", "wlm_transaction_cp_appl_pct", "wlm_mobile_cp_appl_pct", "wlm_cpu_s", "wlm_ziip_s"}
    assert not unknown & transactions.keys()


def test_service_in_no_recorded_time_has_no_rate_and_no_transactions_have_no_service_each(marts: Query) -> None:
    regions = class_metrics(marts, "RIMS")
    assert regions["wlm_service_per_s"] > 0
    unknown = {"wlm_absorption", "wlm_service_per_active_s", "wlm_average_active", "wlm_mpl"}
    assert not (unknown | {"wlm_cpu_srb_service_per_tran"}) & regions.keys()
    assert (regions["wlm_ended"], regions["wlm_ended_per_s"]) == (0, 0)
    # These records end before the fields of transaction service.
    assert "wlm_transaction_cp_appl_pct" not in regions


def test_a_users_metric_is_one_entry_of_a_file_of_their_own(marts: Query) -> None:
    rows = marts(
        "select own.value, ours.value as ours from marts.fct_point_metric own "
        "join marts.fct_point_metric ours using (system_id, point, condition) "
        "where own.metric = 'busy_share' and ours.metric = 'cpu_busy_pct'"
    )
    assert len(rows) > 50
    assert all(row["value"] == pytest.approx(row["ours"] / 100) for row in rows)
    [metric] = marts("select label, unit, better from marts.dim_metric where metric = 'busy_share'")
    assert metric == {"label": "User's busy", "unit": "ratio", "better": "lower"}


def test_statistics_of_several_collections_are_put_together_by_their_kind(marts: Query) -> None:
    rows = marts(f"select subject, value, unit from marts.fct_point_metric where system_id = '{listings.SYSTEM}'")
    found = {row["subject"]: (round(row["value"], 5), row["unit"]) for row in rows}
    assert {subject.removeprefix("Transaction Manager: "): value for subject, value in found.items()}.items() >= {
        "Total Accumulated transactions so far": (2600, "count"),
        "Accumulated transactions (since reset)": (1600, "count"),
        "Transaction Rate per second": (4, "1/s"),
        "Maximum transactions allowed (MXT)": (120, "count"),
        "Total MXT queueing time": (25, "s"),
        "Average MXT queueing time": (1.78571, "s"),
        "Address Space CPU Time": (90, "s"),
    }.items()
    modes = {subject.removeprefix("Dispatcher TCB Modes: "): value for subject, value in found.items()}
    assert (modes["QR: Op. System Waits"], modes["RO: Op. System Waits"]) == ((8000, "count"), (400, "count"))
    assert (modes["QR: Total TCB CPU Time"], modes["RO: Total TCB CPU Time"]) == ((5, "s"), (2.2, "s"))
    assert modes["QR: TCB CPU/Disp Ratio"] == (50, "pct")
