"""What the ready questions say of a month of intervals, every figure of which is known."""

import duckdb
import pytest

from pipelines import questions


@pytest.fixture
def month():
    """A month of hours: CPU of one class falls on day 20, the other's stays and misses its goal at 9."""
    with duckdb.connect() as connection:
        connection.execute("create schema marts")
        connection.execute("""
            create table marts.dim_interval as
            select 'S' as system_id, 'A' as smf_sid, 3600.0 as interval_s,
              timestamp '2026-03-01' + to_hours(hour) as interval_start_local
            from range(30 * 24) h(hour)
        """)
        connection.execute("""
            create table marts.fct_service_class as
            select n.*, 'service_class' as class_kind, class_name, period_number,
              case when class_name = 'FALLING' and day(interval_start_local) < 20 then 360.0 else 180.0 end as cp_s,
              2 as importance, 'velocity' as goal_kind, null::double as goal_ms, 50.0 as goal_velocity_pct,
              40.0 as velocity_pct, null::double as response_ms, 1.0 as transactions_ended,
              case when class_name = 'STEADY' and period_number = 2 and hour(interval_start_local) = 9 then 1.25
                when hour(interval_start_local) < 12 then 0.5 end as performance_index
            from marts.dim_interval n, (values ('STEADY'), ('FALLING')) c(class_name), range(1, 3) p(period_number)
        """)
        connection.execute(
            "create table marts.fct_uncaptured as select *, interval_start_local as hour_local, 1000.0 as busy_s, "
            "case when day(interval_start_local) = 25 and hour(interval_start_local) = 3 then 500.0 else 900.0 end "
            "as captured_s, busy_s - captured_s as uncaptured_s from marts.dim_interval"
        )
        yield connection


def answered(connection, name):
    return connection.sql(questions.question(name).sql).to_arrow_table().to_pylist()


def test_the_four_hour_peak_is_that_of_full_windows():
    with duckdb.connect() as connection:
        connection.execute("create schema marts")
        connection.execute(
            "create table marts.fct_msu as select * from (values "
            "('lpar', 'A', timestamp '2026-03-01 00:00:00', 90.0, 90.0, 1.0), "
            "('lpar', 'A', timestamp '2026-03-01 04:00:00', 40.0, 30.0, 4.0), "
            "('lpar', 'A', timestamp '2026-03-01 05:00:00', 50.0, 60.0, 3.9999), "
            "('lpar', 'B', timestamp '2026-03-01 00:00:00', 70.0, 70.0, 2.0)) "
            "t(scope, name, interval_start_local, r4ha_msu, msu, hours_averaged)"
        )
        rows = answered(connection, "four-hour-peak")
    assert [(r["name"], r["r4ha_msu"], r["is_full_window"]) for r in rows] == [
        ("A", 50.0, True),
        ("B", 70.0, False),
    ]


def test_uncaptured_cpu_is_told_of_all_days_by_hour_of_the_day(month):
    rows = answered(month, "uncaptured-by-hour")
    assert [row["hour_of_day"] for row in rows] == list(range(24))
    assert {row["days"] for row in rows} == {30}
    assert rows[2]["capture_ratio"] == rows[2]["lowest_capture_ratio"] == 0.9
    assert rows[3]["capture_ratio"] == round((29 * 0.9 + 0.5) / 30, 4)
    assert (rows[3]["lowest_capture_ratio"], rows[3]["lowest_on"].day) == (0.5, 25)


def test_goals_are_judged_over_all_intervals_in_which_the_index_is_known(month):
    rows = answered(month, "response-against-goal")
    assert len(rows) == 4
    assert (rows[0]["class_name"], rows[0]["period_number"], rows[0]["worst_index"]) == ("STEADY", 2, 1.25)
    assert rows[0]["missed_pct"] == round(100 / 12)
    assert rows[0]["worst_at"].hour == 9
    assert {row["missed_pct"] for row in rows[1:]} == {0}


def test_growth_compares_as_many_days_with_as_many_days(month):
    rows = {row["class_name"]: row for row in answered(month, "class-growth")}
    # Days 17 to 30 against days 3 to 16: of the latter fourteen days three are before the fall.
    assert {row["days"] for row in rows.values()} == {14}
    assert (rows["STEADY"]["before_pct"], rows["STEADY"]["cpu_pct"], rows["STEADY"]["growth_pct"]) == (10, 10, 0)
    assert rows["FALLING"]["before_pct"] == 20
    assert rows["FALLING"]["cpu_pct"] == round((3 * 20 + 11 * 10) / 14, 2)


def test_growth_of_a_class_that_was_renamed_is_unknown_and_says_since_when(month):
    month.execute(
        "update marts.fct_service_class set class_name = 'NEW' "
        "where class_name = 'FALLING' and day(interval_start_local) >= 20"
    )
    new, old, steady = answered(month, "class-growth")
    assert (new["class_name"], new["begun"].day, new["ended"], new["growth_pct"]) == ("NEW", 20, None, None)
    assert (old["class_name"], old["begun"], old["ended"].day, old["growth_pct"]) == ("FALLING", None, 19, None)
    assert (steady["begun"], steady["ended"], steady["growth_pct"]) == (None, None, 0)


def test_growth_of_a_single_day_is_unknown(month):
    month.execute("delete from marts.dim_interval where day(interval_start_local) < 30")
    month.execute("delete from marts.fct_service_class where day(interval_start_local) < 30")
    assert {row["growth_pct"] for row in answered(month, "class-growth")} == {None}
