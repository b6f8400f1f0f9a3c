"""Marts of record types that few load: what real MQ records say, and that those without records cost no build."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from pipelines import record_marts
from pipelines.building import project
from pipelines.building.models import build
from pipelines.home import Home
from tests.marts.conftest import Query
from tests.marts.raw_records import RawWarehouse


def test_queue_managers_have_put_what_their_statistics_count(real_marts: Query) -> None:
    rows = {
        row["queue_manager"]: row
        for row in real_marts(
            "select queue_manager, sum(puts) as puts, sum(gets) as gets, count(*) as intervals, "
            "count(mq_log_writes_per_s) as with_log from marts.fct_mq_queue_manager "
            "where system_id <> 'SUBS' group by all"
        )
    }
    assert len(rows) == 7
    assert (rows["MQPC"]["puts"], rows["MQPC"]["gets"]) == (474_568, 1_185_931)
    assert sum(row["intervals"] for row in rows.values()) == sum(row["with_log"] for row in rows.values()) == 49


def test_messages_and_cpu_of_queues_are_those_of_the_accounting_records(real_marts: Query) -> None:
    [marts] = real_marts(
        "select sum(messages_put) as put, sum(messages_got) as got, sum(cpu_s) * 1e6 as cpu_us from marts.fct_mq_queue"
    )
    [records] = real_marts(
        "select sum(valid_puts) as put, sum(valid_gets) as got, "
        "sum(open_cpu_us + close_cpu_us + get_cpu_us + put_cpu_us + put1_cpu_us + inquire_cpu_us + set_cpu_us) "
        "as cpu_us from staging.stg_smf116_1_queue"
    )
    assert marts == pytest.approx(records)


def test_a_mart_without_records_is_an_empty_table_of_its_contract(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.warehouse.parent.mkdir(parents=True)
    with RawWarehouse(home.warehouse) as raw:
        raw.insert("smf77_header", file_id=1, record_seq=1, section_seq=0, smf77sid="SYSA")
        raw.insert("smf77_enqueue", file_id=1, record_seq=1, section_seq=0, smf77qnm="SYSDSN", smf77evt=3)
    idle = record_marts.staging(home).prepare(home.warehouse)
    assert set(idle) == set(record_marts.sources()) - {"fct_enqueue"}
    with duckdb.connect(str(home.warehouse)) as connection:
        models = project.read(home)
        empty = replace(models, models=tuple(model for model in models.models if model.name in idle), tests=())
        list(build(connection, empty, idle))
        [(contended,)] = connection.execute("select sum(contention_events) from staging.stg_smf77_enqueue").fetchall()
        described = connection.execute("select column_name from (describe marts.fct_mq_queue)").fetchall()
        tables = connection.execute("select table_name from duckdb_tables() where schema_name = 'marts'").fetchall()
        assert connection.execute("select count(*) from staging.stg_smf14_extension").fetchall() == [(0,)]
    assert contended == 3
    assert {"queue_name", "mq_cpu_us_per_message"} <= {name for (name,) in described}
    assert {name for (name,) in tables} == set(idle)


def test_sources_name_every_staging_view_that_the_models_read() -> None:
    models = (record_marts.DBT_PROJECT / "models").rglob("*.sql")
    named = {name for path in models for name in re.findall(r"(?<!ref\()'(stg_\w+)'", path.read_text(encoding="utf-8"))}
    assert {f"stg_{table}" for table in record_marts.read()} == named
