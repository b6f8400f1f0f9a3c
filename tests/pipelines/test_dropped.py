"""Where raw records were dropped, marts made of them stay as they are, others do not, and late files are reported."""

import datetime as dt

import duckdb
import pytest

from ingest import warehouse
from pipelines.building import dropped, merge, touched
from pipelines.building.models import Model, Project
from pipelines.building.touched import Plan, Span
from tests.pipelines.building import load

NOVEMBER = dt.datetime(2026, 11, 1)
OCTOBER = Span(dt.datetime(2026, 10, 1), dt.datetime(2026, 10, 2))
EVER = Span(dt.datetime(1900, 1, 1), dt.datetime(9000, 1, 1))


@pytest.fixture
def con(tmp_path, new_warehouse):
    """A warehouse from which CICS records before November were dropped."""
    with warehouse.open_writer(new_warehouse(tmp_path / "w.duckdb")) as con:
        touched.record(con, "a", touched.everything(con))
        dropped.put_down(con, "smf110_1_performance", dt.date(2026, 10, 1))
        dropped.put_down(con, "smf110_1_performance", NOVEMBER.date())
        yield con


def test_marts_of_other_records_are_built_for_all_time(con):
    plan = touched.plan(con, "b")
    assert not plan.everything
    assert plan.line == "the whole history: models, metrics or system names have changed"
    assert plan.spans("fct_device") == (EVER,)
    assert [span.start for span in plan.spans("fct_cics_transaction")] == [dt.datetime(2026, 11, 2, 12)]


def test_what_comes_too_late_for_a_mart_is_counted(con):
    load(con, 1)
    con.execute("UPDATE meta.ledger SET row_counts = MAP {'smf110_1_performance': 1234}")
    con.execute("INSERT INTO meta.record_identity SELECT 1, 0, ?, 0", [touched.written_limits(OCTOBER, "smf")[0]])
    plan = touched.plan(con, "a")
    assert OCTOBER.meets(plan.written[0])
    [late] = plan.late
    assert late.startswith("1,234 rows of smf110_1_performance in 1 file that begin before 2026-11-02 12:00")
    assert "fct_business_transaction, fct_cics_transaction" in late


def test_a_file_is_late_that_begins_within_the_margin_behind_what_was_dropped(con):
    load(con, 1)
    con.execute("UPDATE meta.ledger SET row_counts = MAP {'smf110_1_performance': 1}")
    margin = dt.timedelta(hours=36)
    for begins, is_late in (
        (NOVEMBER, True),
        (NOVEMBER + margin - dt.timedelta(seconds=1), True),
        (NOVEMBER + margin, False),
    ):
        assert bool(dropped.late(con, {1: begins}, margin)) == is_late, begins


def test_to_keep_more_days_brings_back_none_that_were_dropped(con):
    dropped.put_down(con, "smf110_1_performance", dt.date(2026, 9, 1))
    assert set(dropped.kept_before(con, dt.timedelta(0)).values()) == {NOVEMBER}


def test_rows_before_what_was_dropped_stay_in_their_mart(tmp_path):
    """Two days are built anew; of the mart of dropped records only the second."""
    days = [dt.datetime(2026, 11, day) for day in (1, 2)]
    plan = Plan(written=(Span(days[0], dt.datetime(2026, 11, 3)),), kept={"by_time": days[1], "by_interval": days[1]})
    whole, part = tmp_path / "etalon.duckdb", tmp_path / "part" / "etalon.duckdb"
    part.parent.mkdir()
    for path, made in ((whole, "before"), (part, "anew")):
        with duckdb.connect(str(path)) as con:
            for schema in ("raw", "meta", "intermediate", "marts"):
                con.execute(f"CREATE SCHEMA {schema}")
            con.execute(
                "CREATE TABLE raw.etalon_run "
                "(system_id TEXT, point TEXT, condition TEXT, start_utc TIMESTAMP, end_utc TIMESTAMP)"
            )
            con.execute(
                "CREATE TABLE marts.dim_interval AS SELECT range::text AS interval_key, interval_start_utc, "
                "interval_start_utc AS interval_start_local FROM range(1, 3), "
                "LATERAL (SELECT TIMESTAMP '2026-10-31' + INTERVAL (range) DAY AS interval_start_utc)"
            )
            columns = {"by_time": "interval_start_utc AS interval_begin_utc, ", "by_interval": "", "free": ""}
            for mart, time in columns.items():
                con.execute(
                    f"CREATE TABLE marts.{mart} AS SELECT interval_key, {time}'{made}' AS made FROM marts.dim_interval"
                )
            con.execute("CREATE TABLE marts.dim_metric AS SELECT '' AS metric")
            con.execute("CREATE TABLE marts.fct_point_metric AS SELECT '' AS metric, '1' AS interval_key")
            con.execute("CREATE TABLE marts.dim_system AS SELECT '' AS smf_sid")
            if path == part:  # A mart and a column that the warehouse of an earlier version lacks.
                con.execute("CREATE TABLE marts.fct_gap AS SELECT '' AS smf_sid")
                con.execute("CREATE TABLE marts.grown AS SELECT TIMESTAMP '2026-11-02' AS interval_begin_utc, 1 AS new")
            else:
                con.execute(
                    "CREATE TABLE marts.grown AS SELECT TIMESTAMP '2026-10-01' AS interval_begin_utc FROM range(30000)"
                )
    over_all = ("dim_system", "fct_gap")
    models = tuple(Model(mart, "marts", mart, "SELECT '' AS smf_sid", False, ()) for mart in over_all)
    merge.prune(part, plan)
    merge.merge(whole, part, plan, Project(models, (), {}), lambda _: None)
    with duckdb.connect(str(whole)) as con:
        found = {
            mart: [row[0] for row in con.execute(f"SELECT made FROM marts.{mart} ORDER BY interval_key").fetchall()]
            for mart in ("by_time", "by_interval", "free")
        }
        assert con.execute("SELECT count(*), count(new) FROM marts.grown").fetchall() == [(30001, 1)]
    assert found == {"by_time": ["before", "anew"], "by_interval": ["before", "anew"], "free": ["anew", "anew"]}
