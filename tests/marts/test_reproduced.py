"""Rendered records and collector files come out of the marts as the figures that were printed, contradictions apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb
import pytest

from ingest import registry
from ingest.warehouse import load
from model.lab.rendering import render
from model.studies.reproduction.comparing import EXCEPTED, FAILING, Marts, Result, compare
from tests.marts.dbt_project import build

#: Each kind of record and file that carries figures beside CPU and workload activity stands in one of these.
SYSTEMS = (
    "cics53-tor-example",
    "cicsjava-s1-200u-19tps",
    "cs113-cics-sockets",
    "cs113-ftp-out-1500ms",
    "ims10-acblib-olc",
    "ims10-base-bmp",
    "ims10-ilds-rebuild",
    "ims10-pra-batch-ic",
    "ims10-shared-emh",
)
QUERY = "SELECT system_id, point, subject, metric, value FROM marts.fct_point_metric WHERE is_run ORDER BY workload"


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The systems rendered, loaded and built."""
    folder = tmp_path_factory.mktemp("reproduced")
    written = [path for system in SYSTEMS for path in render(system, folder / "lab", seed=7)]
    warehouse = folder / "etalon.duckdb"
    reports = load([path for path in written if not path.name.endswith(".lab.json")], warehouse, registry.load())
    assert not [report.message for report in reports if report.exit_code]
    models = ("+dim_metric", "+fct_rmf_reconciliation")
    build(warehouse, folder, "--select", *models, "--indirect-selection", "cautious", unit_tests=False)
    return warehouse


@pytest.fixture(scope="module")
def results(warehouse: Path) -> Mapping[str, Sequence[Result]]:
    """Every figure of the systems beside what the marts make of their records."""
    with duckdb.connect(str(warehouse), read_only=True) as connection:
        marts = Marts(connection.sql(QUERY).to_arrow_table().to_pylist())
    return {system: compare(system, marts) for system in SYSTEMS}


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_printed_figure_follows_from_the_records(results: Mapping[str, Sequence[Result]], system: str) -> None:
    failing = [
        (result.figure.table, result.figure.condition, result.figure.metric, result.figure.value, result.computed)
        for result in results[system]
        if result.verdict == FAILING
    ]
    assert failing == []
    assert sum(result.computed is not None for result in results[system]) >= 3


def test_a_storage_column_that_does_not_add_up_is_excepted_with_its_arithmetic(
    results: Mapping[str, Sequence[Result]],
) -> None:
    excepted = {
        (result.figure.conditions.get("sessions"), result.figure.metric): result
        for result in results["cs113-ftp-out-1500ms"]
        if result.verdict == EXCEPTED
    }
    found = excepted["32", "storage_kb"]
    assert (found.figure.value, found.computed) == ("23864", 22864)
    assert found.note.startswith("153364 - 20200 - 21900 - 71200 - 17200 gives ")


def test_every_metric_says_how_it_is_made_and_of_what(warehouse: Path) -> None:
    with duckdb.connect(str(warehouse), read_only=True) as connection:
        silent = connection.sql(
            "SELECT metric FROM marts.dim_metric WHERE formula IS NULL OR source IS NULL"
        ).fetchall()
        [(known,)] = connection.sql("SELECT count(*) FROM marts.dim_metric").fetchall()
    assert silent == []
    assert known > 120


def test_figures_of_records_are_those_of_the_rmf_report_of_the_same_interval(warehouse: Path) -> None:
    query = "SELECT subject, field, etalon_value, rmf_value, excess_pct FROM marts.fct_rmf_reconciliation"
    with duckdb.connect(str(warehouse), read_only=True) as connection:
        rows = connection.sql(query).fetchall()
    assert {field for _, field, *_ in rows} >= {"service_units", "service_per_s", "absorption_per_s", "appl_cp_pct"}
    assert [row for row in rows if row[-1] > 0] == []
    assert any(row[2] > 0 for row in rows)


def test_statistics_of_cics_classes_come_from_task_records(warehouse: Path) -> None:
    with duckdb.connect(str(warehouse), read_only=True) as connection:
        [(tasks, regions)] = connection.sql(
            "SELECT count(*), count(DISTINCT applid) FROM staging.stg_smf110_1_performance"
        ).fetchall()
        [(listed,)] = connection.sql("SELECT sum(tasks) FROM staging.stg_cics_pa_class").fetchall()
        [(measured,)] = connection.sql(
            "SELECT sum(value) FROM marts.fct_point_metric WHERE metric = 'tasks' AND subject LIKE 'service class %'"
        ).fetchall()
    assert (tasks, regions, measured) == (23123, 1, 23123)
    assert 0 < listed <= 2 * tasks
