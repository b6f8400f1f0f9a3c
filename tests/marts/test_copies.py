"""Records of intervals that were written twice count once, in every mart."""

from __future__ import annotations

from pathlib import Path

import duckdb

READ = {
    "fct_address_space_cost", "fct_central_storage", "fct_channel", "fct_coupling_facility", "fct_device",
    "fct_enqueue", "fct_facility_utilization", "fct_interval_utilization", "fct_page_data_set", "fct_point_metric",
    "fct_service_class", "fct_storage", "fct_volume_cache",
}  # fmt: skip


def test_records_written_twice_leave_every_mart_as_it_is(warehouse: Path) -> None:
    filled = set()
    with duckdb.connect(str(warehouse), read_only=True) as connection:
        for (mart,) in connection.execute(
            "select table_name from duckdb_columns() where schema_name = 'marts' and column_name = 'system_id'"
        ).fetchall():
            once, twice = (_rows(connection, mart, system) for system in ("once", "twic"))
            assert once == twice, mart
            filled |= {mart} if once else set()
    assert filled >= READ


def _rows(connection: duckdb.DuckDBPyConnection, mart: str, system: str) -> list[list[object]]:
    """Rows of a system of either name, without the mark of a record found twice."""
    columns = "* exclude (is_duplicated)" if mart == "dim_interval" else "*"
    rows = connection.execute(f"select {columns} from marts.{mart} where system_id = ? order by all", [system])
    return [
        [value.replace("TWIC", "ONCE").replace("twic", "once") if isinstance(value, str) else value for value in row]
        for row in rows.fetchall()
    ]
