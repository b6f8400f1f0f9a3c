"""Totals of a point do not depend on how its LPARs cut their time into intervals."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.marts.dbt_project import compiled
from tests.marts.raw_records import utc

START = utc("2026-03-01T09:50:00")
LENGTH_MIN = 40
ENGINES = 4
OTHER_RECORDS = (
    "smf71_paging",
    "smf73_channel",
    "smf74_1_device",
    "smf74_4_request",
    "smf78_2_common",
    "smf78_2_private",
)

#: When an LPAR is first and last recorded and where its time is cut between, in minutes of the point.
spans = st.sets(st.integers(0, LENGTH_MIN), min_size=2, max_size=9).map(sorted)


@pytest.fixture(scope="module")
def models(
    warehouse: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[duckdb.DuckDBPyConnection, str, str]]:
    """A database with the tables that the two models read, empty, and the models as dbt compiled them."""
    path = tmp_path_factory.mktemp("overlap") / "etalon.duckdb"
    share, total = compiled(warehouse, "int_point_share", "int_point_interval")
    with duckdb.connect(str(path)) as connection:
        connection.execute("create schema if not exists intermediate; create schema if not exists staging")
        interval = "smf_sid varchar, interval_start_utc timestamp, interval_start_local timestamp, interval_s double"
        point = "system_id varchar, point varchar, condition varchar"
        connection.execute(f"create table intermediate.int_interval (interval_key varchar, {interval}, {point})")
        for name in OTHER_RECORDS:
            connection.execute(f"create table staging.stg_{name} ({interval})")
        connection.execute(
            f"create table intermediate.int_run as select unnest(['A', 'B', 'C']) as smf_sid, 'S' as system_id, "
            f"'1' as point, '' as condition, timestamp '{START}' as start_utc, "
            f"timestamp '{START}' + interval '{LENGTH_MIN} minutes' as end_utc"
        )
        busy = ", ".join(
            f"{name} double" for name in ("online_s", "busy_s", "lpar_busy_s", "mvs_available_s", "mvs_busy_s")
        )
        connection.execute(
            f"create table intermediate.int_engine_interval (interval_key varchar, engine_type varchar, {busy}, "
            "thread_density double)"
        )
        connection.execute(
            "create table intermediate.int_class_interval (interval_key varchar, class_kind varchar, cp_s double)"
        )
        yield connection, share, total


def totals(
    models: tuple[duckdb.DuckDBPyConnection, str, str], lpars: dict[str, list[int]], others: list[int]
) -> tuple[float, float, float]:
    """Seconds, engine seconds online and busy of a point whose LPARs begin and end intervals at these minutes."""
    connection, share, total = models
    connection.execute("delete from intermediate.int_interval; delete from intermediate.int_engine_interval")
    connection.execute("delete from staging.stg_smf71_paging")
    for sid, edges in lpars.items():
        for begin, end in itertools.pairwise(edges):
            start, seconds = START + timedelta(minutes=begin), 60.0 * (end - begin)
            key = f"{sid}{begin}"
            connection.execute(
                "insert into intermediate.int_interval values (?, ?, ?, ?, ?, 'S', '1', '')",
                [key, sid, start, start, seconds],
            )
            connection.execute(
                "insert into intermediate.int_engine_interval values (?, 'CP', ?, ?, 0, 0, 0, null)",
                [key, ENGINES * seconds, seconds * (1 + ord(sid) - ord("A"))],
            )
    for begin, end in itertools.pairwise(others):
        start = START + timedelta(minutes=begin)
        connection.execute(
            "insert into staging.stg_smf71_paging values ('A', ?, ?, ?)", [start, start, 60.0 * (end - begin)]
        )
    connection.execute(f"create or replace table intermediate.int_point_share as {share}")
    [row] = connection.execute(
        f"select sum(seconds), sum(cp_online_s), sum(cp_busy_s) from ({total}) where is_run"
    ).fetchall()
    return row


@settings(max_examples=25, deadline=None)
@given(st.tuples(spans, spans, spans), st.integers(0, LENGTH_MIN - 1))
def test_any_rhythm_of_each_lpar_gives_the_totals_of_its_time(
    models: tuple[duckdb.DuckDBPyConnection, str, str], edges: tuple[list[int], list[int], list[int]], minute: int
) -> None:
    recorded = [60.0 * (minutes[-1] - minutes[0]) for minutes in edges]
    passed = {minute for minutes in edges for minute in range(minutes[0], minutes[-1])}
    # Another record type of A, in the time of the others.
    others = [minute, minute + 1] if minute in passed else []
    seconds, online_s, busy_s = totals(models, dict(zip("ABC", edges, strict=True)), others)
    assert seconds == pytest.approx(60.0 * len(passed))
    assert online_s == pytest.approx(ENGINES * sum(recorded))
    assert busy_s == pytest.approx(recorded[0] + 2 * recorded[1] + 3 * recorded[2])


def test_lpars_of_fifteen_and_five_minutes_are_eight_engines(
    models: tuple[duckdb.DuckDBPyConnection, str, str],
) -> None:
    seconds, online_s, _ = totals(models, {"A": [0, 15], "B": [0, 5, 10, 15]}, [])
    assert (seconds, online_s / seconds) == (900, 8)
