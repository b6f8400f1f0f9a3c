"""What devices and machines add up to does not depend on how their time is cut into intervals."""

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
LENGTH_MIN = 120
IOS_PER_S = 100
#: Minutes at which an interval of a record type begins or ends.
spans = st.sets(st.integers(0, LENGTH_MIN), min_size=2, max_size=9).map(sorted)
INTERVAL = "smf_sid varchar, interval_start_utc timestamp, interval_start_local timestamp, interval_s double"
RECORD = "file_id int, record_seq int"
TABLES = {
    "intermediate.int_interval": f"interval_key varchar, {INTERVAL}, system_id varchar, source varchar, "
    "point varchar, condition varchar, cpc_serial varchar",
    "intermediate.int_run": "system_id varchar, smf_sid varchar, point varchar, condition varchar, "
    "start_utc timestamp, end_utc timestamp",
    "intermediate.int_owner": "smf_sid varchar, system_id varchar",
    "intermediate.int_record": f"interval_key varchar, smf_sid varchar, {RECORD}, record_type varchar",
    "intermediate.int_engine_interval": "interval_key varchar, engine_type varchar, busy_s double",
    "intermediate.int_cpc": "interval_key varchar, image_capacity_msu double, software_service_units_per_s double",
    "intermediate.int_logical_processor": f"{RECORD}, lpar_name varchar, is_own boolean, engine_type varchar, "
    "busy_s double",
    "intermediate.int_report": f"interval_key varchar, {RECORD}, report varchar",
    "staging.stg_smf74_1_device": f"{INTERVAL}, subchannel_set bigint, device_number varchar, "
    f"volume_serial varchar, lcu_number varchar, storage_group varchar, {RECORD}, written_local timestamp, "
    "start_subchannels double, measured_operations double, connect_us double, disconnect_us double, "
    "pending_us double, ios_queue_us double",
    "staging.stg_smf74_4_request": INTERVAL,
    "staging.stg_smf78_2_private": INTERVAL,
    "staging.stg_smf70_1_control": f"{RECORD}, four_hour_average_msu double",
    "staging.stg_rmf_partition_config": f"{RECORD}, partition_name varchar, image_capacity_msu double",
    "staging.stg_rmf_partition": f"{RECORD}, partition_name varchar, engine_type varchar, msu_actual int",
    "staging.stg_rmf_cpu_system": f"{RECORD}, sequence_code varchar",
}
Models = tuple[duckdb.DuckDBPyConnection, str, str, str]


@pytest.fixture(scope="module")
def models(warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Models]:
    """A database with the tables that the models read, empty, and the models as dbt compiled them."""
    path = tmp_path_factory.mktemp("rhythm") / "etalon.duckdb"
    share, device, msu = compiled(warehouse, "int_interval_share", "fct_device", "int_msu")
    with duckdb.connect(str(path)) as connection:
        connection.execute("create schema if not exists intermediate; create schema if not exists staging")
        for name, columns in TABLES.items():
            connection.execute(f"create table {name} ({columns})")
        yield connection, share, device, msu


def recorded(edges: list[int]) -> Iterator[tuple[int, list[object]]]:
    """First minute of each interval, with its start in UTC, local start and length."""
    for begin, end in itertools.pairwise(edges):
        start = START + timedelta(minutes=begin)
        yield begin, [start, start + timedelta(hours=1), 60.0 * (end - begin)]


@settings(max_examples=25, deadline=None)
@given(spans, spans)
def test_requests_of_a_device_add_up_in_any_rhythm(models: Models, cpu: list[int], device: list[int]) -> None:
    connection, share, mart, _ = models
    connection.execute("delete from intermediate.int_interval; delete from staging.stg_smf74_1_device")
    for begin, times in recorded(cpu):
        connection.execute(
            "insert into intermediate.int_interval values (?, 'A', ?, ?, ?, 'S', 'record', null, null, null)",
            [f"A{begin}", *times],
        )
    for _, times in recorded(device):
        ios = IOS_PER_S * times[2]  # type: ignore[operator]
        connection.execute(
            "insert into staging.stg_smf74_1_device by name select 'A' as smf_sid, ? as interval_start_utc, "
            "? as interval_start_local, ? as interval_s, '1A00' as device_number, ? as start_subchannels",
            [*times, ios],
        )
    connection.execute(f"create or replace table intermediate.int_interval_share as {share}")
    rows = connection.execute(f"select interval_key, interval_s, requests, requests_per_s from ({mart})").fetchall()
    seconds = 60 * (device[-1] - device[0])
    assert sum(row[1] for row in rows) == pytest.approx(seconds)
    assert sum(row[2] for row in rows) == pytest.approx(IOS_PER_S * seconds)
    assert [row[3] for row in rows] == pytest.approx([IOS_PER_S] * len(rows))
    assert len({row[0] for row in rows}) == len(rows)


@settings(max_examples=25, deadline=None)
@given(spans, spans)
def test_the_msu_of_a_machine_are_those_of_its_lpars_in_any_rhythm(models: Models, a: list[int], b: list[int]) -> None:
    """Records of each LPAR describe both, so that the machine is known whenever one of them records."""
    connection, _, _, mart = models
    read = ("int_interval", "int_record", "int_engine_interval", "int_cpc", "int_logical_processor")
    for table in (*(f"intermediate.{name}" for name in read), "staging.stg_smf70_1_control"):
        connection.execute(f"delete from {table}")
    record, rates = itertools.count(), {"A": 0.5, "B": 2.0}
    for sid, edges in (("A", a), ("B", b)):
        for begin, times in recorded(edges):
            key, number = f"{sid}{begin}", next(record)
            connection.execute(
                "insert into intermediate.int_interval values (?, ?, ?, ?, ?, 'S', 'record', null, null, '7')",
                [key, sid, *times],
            )
            connection.execute("insert into intermediate.int_record values (?, ?, 1, ?, '70.1')", [key, sid, number])
            connection.execute("insert into staging.stg_smf70_1_control values (1, ?, null)", [number])
            for name, rate in rates.items():
                connection.execute(
                    "insert into intermediate.int_logical_processor values (1, ?, ?, ?, 'CP', ?)",
                    [number, name, name == sid, rate * times[2]],  # type: ignore[operator]
                )
            connection.execute(
                "insert into intermediate.int_engine_interval values (?, 'CP', ?)",
                [key, rates[sid] * times[2]],  # type: ignore[operator]
            )
            connection.execute("insert into intermediate.int_cpc values (?, null, 10000)", [key])
    rows = connection.execute(
        f"select interval_start_utc, interval_s, msu from ({mart}) where scope = 'cpc' order by 1"
    ).fetchall()
    known = {minute for edges in (a, b) for minute in range(edges[0], edges[-1])}
    assert sum(seconds for _, seconds, _ in rows) == pytest.approx(60 * len(known))
    assert [msu for _, _, msu in rows] == pytest.approx([sum(rates.values()) * 10_000 * 0.0036] * len(rows))
    assert len({start for start, _, _ in rows}) == len(rows)
