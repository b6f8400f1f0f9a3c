"""A sound warehouse to spoil, copied for each test."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest

from expectations.quality import run
from expectations.result import QualityResult
from tests.marts import warehouses
from tests.once import made_once

FILE = "/landing/day.smf"


@pytest.fixture(scope="session")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Path of a warehouse in which everything adds up. Not to be changed: take a copy."""
    built = warehouses.sound(tmp_path_factory).warehouse

    def judged(folder: Path) -> None:
        _with_ledger(Path(shutil.copyfile(built, folder / "etalon.duckdb")))

    return made_once(tmp_path_factory, "judged", judged) / "etalon.duckdb"


def _with_ledger(path: Path) -> None:
    """Add the account of one file with all records, a reconciled figure, and the cap for which engines are not idle."""
    with duckdb.connect(str(path)) as connection:
        connection.execute("update marts.fct_cpc_interval set capped_pct = 100")
        connection.execute(
            "insert into marts.fct_rmf_reconciliation select interval_key, system_id, smf_sid, interval_start_local, "
            "'CPU', 'CP', 'engines', 'engines', 5, 5, 0, 0, 0, 0 from marts.dim_interval where smf_sid = 'LPA' limit 1"
        )
        tables = [
            row[0]
            for row in connection.execute("select table_name from duckdb_tables() where schema_name = 'raw'").fetchall()
        ]
        counts = {t: connection.execute(f"select count(*) from raw.{t}").fetchone()[0] for t in tables}
        records = counts["smf70_1_header"] + counts["smf72_3_header"] + counts["smf30_header"]
        values = [FILE, "ab" * 32, records, records, {t: n for t, n in counts.items() if n}]
        connection.execute(
            "insert into meta.ledger select 1, ?, ?, 10000, 'smf', 'loaded', ?, ?, 0, 0, 9000, 0, 0, 1000, 0, "
            "map {}, map {}, ?, null, '0.1.0', 'layouts', now()::timestamp",
            values,
        )


#: One defect for each rule, as far as they do not hide each other. The ledger's own checks would refuse three of them.
DEFECTS = (
    "create table meta.copy as select * from meta.ledger",
    "drop table meta.ledger",
    "alter table meta.copy rename to ledger",
    "update meta.ledger set decoded_bytes = decoded_bytes - 7, decoded = decoded - 3, quarantined = 1",
    "update meta.ledger set status = 'message', message = 'no data in range'",
    "delete from raw.smf70_1_cpu where record_seq = 0 and section_seq = 0",
    "insert into meta.record_overlap values (1, 0, 2), (1, 1, 2), (1, 2, 1)",
    "insert into meta.held_back values (1, 'LPB', '2020-05-01', 7, 'no such thing can be')",
    "update marts.dim_interval set interval_s = 100 where interval_key = 'LPA 2020-05-01T08:00:00Z'",
    "update marts.dim_interval set interval_s = 1000 where interval_key = 'SHRD 2021-05-01T08:00:00Z'",
    "update intermediate.int_record set copies = 3 where smf_sid = 'LPA' and record_type = '70.1'",
    "delete from intermediate.int_record where smf_sid = 'SHRD' and record_type = '72.3'",
    "update marts.fct_rmf_reconciliation set etalon_value = 4, difference = -1, difference_pct = -20, excess_pct = 20",
    "update marts.fct_interval_utilization set cpu_busy_pct = 104, lpar_busy_pct = 101 where smf_sid = 'LPB'",
    "update intermediate.int_engine_interval set mvs_busy_s = 600 where interval_key like 'SHRD%'",
    "update intermediate.int_engine_interval set dedicated_engines = 0, mvs_busy_s = online_s "
    "where interval_key like 'LPB%'",
    "update marts.fct_cpc_interval set capped_pct = null, dispatch_s = 10 where interval_start_utc < '2021-01-01'",
    "update raw.smf30_identification set smf30iet = smf30iss - interval 1 minute where record_seq = "
    "(select max(record_seq) from raw.smf30_identification)",
    "update raw.smf70_1_product set smf70iet = '2021-05-01 07:15:00' where smf70snm = 'SHRD'",
    "update marts.fct_transaction_cost set response_ms = -5, appl_cp_pct = 90 "
    "where class_kind = 'service_class' and interval_start_utc < '2021-05-01 08:10:00'",
    "update marts.fct_transaction_cost set appl_cp_pct = 20 "
    "where class_kind = 'service_class' and interval_start_utc > '2021-05-01 08:10:00'",
    "update intermediate.int_job_interval set cp_s = 1000 where smf_sid = 'LPB'",
    "update intermediate.int_class_interval set transactions_ended = 1000 * transactions_ended "
    "where interval_key = 'SHRD 2021-05-01T08:15:00Z'",
    "update intermediate.int_class_period set elapsed_us = 1000 * elapsed_us "
    "where interval_key = 'SHRD 2021-05-01T08:15:00Z'",
    "update marts.fct_service_class set cp_msu = cp_msu * 2 where class_kind = 'service_class'",
    "update marts.fct_transaction_cost set appl_cp_pct = 9999 where class_kind = 'workload'",
    "update intermediate.int_run set point = '9' where smf_sid = 'LPB'",
    "update intermediate.int_group set pattern = 'IMZ%' where kind = 'job_name'",
    "update intermediate.int_group set kind = 'service_class' where kind = 'transaction_class'",
    "update marts.fct_point set etr_tps = null where is_run",
    "update marts.fct_point_metric set value = 101 where metric = 'cpu_busy_pct' and system_id = 'SHRD'",
    "update marts.fct_msu set msu = -5 where name = 'LPA'",
    "insert into marts.fct_point select * from marts.fct_point where system_id = 'SHRD'",
    "insert into marts.fct_system_event values ('SHRD', 'SHRD', 'records lost', '2021-05-01 10:00:00', "
    "'2021-05-01 10:02:00', 1234, null)",
)


@dataclass(frozen=True)
class Bound:
    """An expectation that follows from a record layout, and that four of the sound records do not meet."""

    table: str = "smf70_1_cpu"
    columns: tuple[str, ...] = ("smf70cid",)
    kind: str = "between"
    severity: str = "warning"
    low: float | None = 0
    high: float | None = 2


def _manifest(folder: Path) -> Path:
    """A manifest of dbt that defines one metric."""
    column = {"description": "Mean busy.", "config": {"meta": {"formula": "busy_s / online_s x 100"}}}
    node = {"name": "fct_interval_utilization", "schema": "marts", "columns": {"cpu_busy_pct": column}}
    path = folder / "manifest.json"
    path.write_text(json.dumps({"nodes": {"model.etalon.fct_interval_utilization": node}}))
    return path


@pytest.fixture(scope="session")
def spoiled(sound: Path, tmp_path_factory: pytest.TempPathFactory) -> QualityResult:
    """What is found in a warehouse with all of the defects, and of its records beside a bound they do not keep."""
    folder = tmp_path_factory.mktemp("spoiled")
    copy = _changed(sound, folder, DEFECTS)
    return run(copy, folder / "quality", baseline=[Bound()], domains={"msu": (0, None)}, manifest=_manifest(folder))


def _changed(sound: Path, folder: Path, statements: Iterable[str]) -> Path:
    path = folder / "etalon.duckdb"
    shutil.copyfile(sound, path)
    with duckdb.connect(str(path)) as connection:
        for statement in statements:
            connection.execute(statement)
    return path


@pytest.fixture
def changed(sound: Path, tmp_path: Path) -> Callable[..., Path]:
    """Change a copy of the sound warehouse with SQL; its path."""
    return lambda *statements: _changed(sound, tmp_path, statements)
