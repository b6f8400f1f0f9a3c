"""Intervals, engines, classes and address spaces, interval by interval."""

from __future__ import annotations

import pytest

from tests.marts.conftest import Query


def test_intervals_found_twice_are_counted_once_and_flagged(marts: Query) -> None:
    rows = marts("select is_duplicated from marts.dim_interval where smf_sid = 'Z13' order by interval_start_utc")
    assert [row["is_duplicated"] for row in rows] == [False, True, False, False, False]


def test_shared_engines_are_busy_while_dispatched_and_lpar_busy_with_the_hypervisors_share(marts: Query) -> None:
    rows = marts(
        "select * from marts.fct_interval_utilization where smf_sid = 'SHRD' order by interval_key, engine_type"
    )
    cp, ziip = rows[:2]
    assert (cp["engine_type"], cp["engines"], cp["dedicated_engines"]) == ("CP", 2, 0)
    assert cp["cpu_busy_pct"] == pytest.approx(40)
    assert cp["lpar_busy_pct"] == pytest.approx(40.1)
    assert cp["mvs_busy_pct"] == pytest.approx(70)
    assert (ziip["engine_type"], ziip["engines"]) == ("zIIP", 1)
    assert ziip["cpu_busy_pct"] == pytest.approx(20)


def test_a_machine_is_known_with_the_lpars_that_wrote_no_records(marts: Query) -> None:
    rows = marts(
        "select lpar_name, engine_type, smf_sid, dispatch_s, effective_dispatch_s, physical_engines, shared_engines "
        "from marts.fct_cpc_interval where cpc = 'SHRD' order by interval_start_utc, lpar_name, engine_type"
    )
    assert len(rows) == 6
    assert [tuple(row.values()) for row in rows[:3]] == [
        ("OTHER", "CP", None, 900, 900, 8, 8),
        ("OWN", "CP", "SHRD", pytest.approx(2 * 900 * 0.401), pytest.approx(2 * 900 * 0.4), 8, 8),
        ("OWN", "zIIP", "SHRD", pytest.approx(900 * 0.201), pytest.approx(900 * 0.2), 2, 2),
    ]


def test_ziip_time_is_no_part_of_general_cpu(marts: Query) -> None:
    [row, _] = marts("select * from marts.fct_transaction_cost where smf_sid = 'SHRD' order by interval_key")
    assert (row["class_kind"], row["class_name"], row["workload"]) == ("service_class", "ONLINE", "WORK")
    assert row["appl_cp_pct"] == pytest.approx(50)
    assert row["service_cpu_us_per_tran"] == pytest.approx(50_000)
    assert row["ziip_service_us_per_tran"] == pytest.approx(10_000)
    assert row["response_ms"] == pytest.approx(5)
    assert row["itr_tps"] is None


def test_workload_rows_carry_cpu_by_address_space_group(marts: Query) -> None:
    rows = marts(
        "select etr_tps, cpu_busy_pct, itr_tps, cpu_us_per_tran, group_cpu_us_per_tran['ims_connect'] as ims_connect "
        "from marts.fct_transaction_cost where system_id = 'ims-z13' and class_kind = 'workload' order by interval_key"
    )
    assert len(rows) == 5
    for row in rows:
        assert row["ims_connect"] == pytest.approx(29.13)
        assert row["itr_tps"] == pytest.approx(row["etr_tps"] / row["cpu_busy_pct"] * 100)
        assert row["cpu_us_per_tran"] == pytest.approx(4e6 / row["itr_tps"])


def test_jobs_are_placed_in_the_interval_and_group_they_belong_to(marts: Query) -> None:
    rows = marts(
        "select * from marts.fct_address_space_cost where system_id = 'pair' and cost_kind = 'job' "
        "order by smf_sid, start_utc"
    )
    assert [(row["name"], row["address_space_group"], row["source"]) for row in rows] == [("IMSCTL", "ims", "job")] * 4
    assert [row["interval_key"] for row in rows][:2] == ["LPA 2020-05-01T08:00:00Z", "LPA 2020-05-01T08:02:00Z"]
    assert rows[0]["tcb_s"] == pytest.approx(6)
    assert rows[0]["cp_s"] == pytest.approx(9)
    assert rows[0]["cpu_pct"] == pytest.approx(7.5)
    assert rows[0]["service_cpu_us_per_tran"] == pytest.approx(75)


def test_systems_say_what_machine_they_ran_on(marts: Query) -> None:
    theirs = "system_id in ('cics', 'pair', 'SHRD')"
    rows = marts(f"select * from marts.dim_system where {theirs} order by system_id, smf_sid")
    found = {(r["system_id"], r["smf_sid"]): (r["cpc_type"], r["cps"], r["dedicated_cps"], r["ziips"]) for r in rows}
    assert found[("cics", "CICS")] == ("2964", 18, 18, 0)
    assert found[("SHRD", "SHRD")] == ("2964", 2, 0, 1)
    assert {key for key in found if key[0] == "pair"} == {("pair", "LPA"), ("pair", "LPB")}
    assert {row["service_units_per_s"] for row in rows} == {1000.0}


def test_a_machine_is_named_by_type_model_and_the_end_of_its_serial_number(marts: Query) -> None:
    rows = marts("select smf_sid, coalesce(cpc_serial, smf_sid) as cpc, cpc_type, cpc_name from marts.dim_system")
    for row in rows:
        serial = row["cpc"].lstrip("0")
        assert row["cpc_name"].endswith(serial[-5:])
        assert row["cpc_type"] is None or row["cpc_name"].startswith(row["cpc_type"])
    assert len({row["cpc_name"] for row in rows}) == len({row["cpc"] for row in rows})


def test_real_reports_show_the_busy_of_every_interval_as_printed(real_marts: Query) -> None:
    rows = real_marts(
        "select u.cpu_busy_pct, u.mvs_busy_pct, t.lpar_busy_pct printed_lpar, t.mvs_busy_pct printed_mvs, u.source "
        "from marts.fct_interval_utilization u join raw.rmf_report r "
        "on r.interval_start_local = u.interval_start_local and r.report = 'CPU' "
        "join raw.rmf_cpu_total t on t.file_id = r.file_id and t.record_seq = r.record_seq "
        "where u.engine_type = 'CP' and t.cpu_type = 'CP'"
    )
    assert len(rows) == 263
    for row in rows:
        # Printed to two decimals, as are the processors the mean is made of.
        assert row["cpu_busy_pct"] == pytest.approx(row["printed_lpar"], abs=0.0101)
        assert row["mvs_busy_pct"] == pytest.approx(row["printed_mvs"], abs=0.0101)
        assert row["source"] == "report"


def test_real_workload_report_gives_cost_per_class(real_marts: Query) -> None:
    rows = real_marts(
        "select c.class_name, c.appl_cp_pct, w.appl_cp_pct as printed from marts.fct_transaction_cost c "
        "join raw.rmf_wlm_class w on w.class_name = c.class_name and w.class_kind = c.class_kind "
        "join meta.ledger l on l.file_id = w.file_id and l.path like '%/wlmgl.xml' where c.smf_sid = 'VIPLEX'"
    )
    assert len(rows) == 7
    for row in rows:
        assert row["appl_cp_pct"] == pytest.approx(row["printed"], abs=0.00501), row["class_name"]


def test_goals_and_performance_index_of_a_real_report_are_in_the_marts(real_marts: Query) -> None:
    rows = real_marts(
        "select class_name, period_number, importance, goal_kind, goal_velocity_pct, velocity_pct, performance_index, "
        "source "
        "from marts.fct_service_class where performance_index is not null "
        "and smf_sid = 'VIPLEX' order by 1, 2"
    )
    assert [tuple(row.values()) for row in rows] == [
        ("STCHIGH", 1, 2, "velocity", 50, 50, 1.0, "report"),
        ("STCLOW", 1, 4, "velocity", 20, 67.3, 0.3, "report"),
        ("UNIX", 3, 4, "velocity", 40, 100, 0.4, "report"),
    ]


def test_the_msu_of_a_real_partition_data_report_are_in_the_marts(real_marts: Query) -> None:
    (row,) = real_marts(
        "select count(*) as n, any_value(source) as source, count(distinct capacity_msu) as capacities, "
        "max(hours_averaged) as hours from marts.fct_msu where scope = 'lpar' and name = 'RPRT'"
    )
    assert (row["n"], row["source"], row["capacities"]) == (263, "report", 1)
    assert row["hours"] == pytest.approx(4, abs=0.01)


def test_the_formula_of_msu_gives_every_figure_that_a_real_report_prints(real_marts: Query) -> None:
    """MSU Actual is effective dispatch time at the software rating, for every partition of every interval."""
    rows = real_marts(
        "select p.msu_actual as printed, p.effective_dispatch_us / 1e6 * m.software_service_units_per_s "
        "* 3600 / 1e6 / r.interval_s as computed from intermediate.int_report r "
        "join staging.stg_rmf_partition p using (file_id, record_seq) "
        "join intermediate.int_cpc m using (interval_key) "
        "where r.smf_sid = 'RPRT' and r.report = 'CPU' and p.engine_type = 'CP' and p.msu_actual is not null"
    )
    assert len(rows) > 1_000
    assert [row for row in rows if abs(row["computed"] - row["printed"]) > 0.51] == []


def test_service_of_a_class_of_a_report_counts_once_beside_the_goals_of_its_periods(real_marts: Query) -> None:
    rows = real_marts(
        "select class_name, sum(s.cp_s) as periods_s, any_value(c.cp_s) as class_s from marts.fct_service_class s "
        "join intermediate.int_class_interval c using (interval_key, class_kind, class_name) "
        "where s.smf_sid = 'VIPLEX' group by all"
    )
    assert len(rows) > 5
    assert all(row["periods_s"] == pytest.approx(row["class_s"]) for row in rows)


def test_msu_of_classes_and_lpars_take_one_rating(marts: Query) -> None:
    rows = marts(
        "select m.msu, u.busy_s, u.lpar_busy_pct / 100 * u.online_s as dispatch_s, s.cp_s, s.cp_msu "
        "from marts.fct_msu m "
        "join marts.fct_interval_utilization u on u.interval_key = m.interval_key and u.engine_type = 'CP' "
        "join marts.fct_service_class s on s.interval_key = m.interval_key and s.class_kind = 'service_class' "
        "where m.scope = 'lpar' and m.name = 'SHRD'"
    )
    assert len(rows) == 2
    for row in rows:
        assert row["cp_msu"] / row["cp_s"] == pytest.approx(row["msu"] / row["busy_s"])
        assert row["msu"] == pytest.approx(row["busy_s"] * 800 * 3600e-6 / 900)
        assert row["dispatch_s"] > row["busy_s"]
