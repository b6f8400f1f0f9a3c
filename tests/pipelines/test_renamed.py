"""Marts of an earlier version keep their rows under the names of this one."""

import duckdb

from pipelines.building.renamed import rename


def test_rows_built_by_an_earlier_version_stay_under_the_new_names():
    with duckdb.connect() as con:
        con.execute("CREATE SCHEMA marts; CREATE SCHEMA intermediate")
        con.execute("CREATE TABLE marts.fct_machine_interval AS SELECT '02A1B' AS machine, 7.0 AS dispatch_s")
        con.execute(
            "CREATE TABLE marts.fct_msu AS SELECT * FROM (VALUES ('lpar', 1.0, 2.0), ('cec', 3.0, NULL)) "
            "t(scope, four_hour_average_msu, recorded_four_hour_msu)"
        )
        con.execute("CREATE TABLE intermediate.int_machine AS SELECT 'A' AS interval_key")
        for _ in range(2):
            rename(con)
        assert con.execute("SELECT cpc, dispatch_s FROM marts.fct_cpc_interval").fetchall() == [("02A1B", 7.0)]
        assert con.execute("SELECT scope, r4ha_msu, recorded_r4ha_msu FROM marts.fct_msu").fetchall() == [
            ("lpar", 1.0, 2.0),
            ("cpc", 3.0, None),
        ]
        tables = con.execute("SELECT table_name FROM duckdb_tables() ORDER BY 1").fetchall()
        assert tables == [("fct_cpc_interval",), ("fct_msu",), ("int_cpc",)]


def test_an_old_mart_goes_where_the_new_one_is_there():
    with duckdb.connect() as con:
        con.execute("CREATE SCHEMA marts; CREATE TABLE marts.fct_machine_interval AS SELECT '1' AS machine")
        con.execute("CREATE TABLE marts.fct_cpc_interval AS SELECT '2' AS cpc")
        rename(con)
        assert con.execute("SELECT table_name FROM duckdb_tables()").fetchall() == [("fct_cpc_interval",)]
        assert con.execute("SELECT cpc FROM marts.fct_cpc_interval").fetchall() == [("2",)]
