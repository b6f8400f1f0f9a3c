"""Rendered records and collector files come out of the marts as the figures that were printed, contradictions apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import duckdb
import pytest

from ingest import registry
from ingest.warehouse import load
from model import lab
from model.reproduction.comparing import EXCEPTED, FAILING, Marts, Result, compare
from tests.marts.dbt_project import build

#: Each kind of record and file that carries figures beside CPU and workload activity stands in one of these.
SYSTEMS = (
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
def results(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Sequence[Result]]:
    """Every figure of the systems beside what the marts make of their records."""
    folder = tmp_path_factory.mktemp("reproduced")
    written = [path for system in SYSTEMS for path in lab.render(system, folder / "lab", seed=7)]
    warehouse = folder / "etalon.duckdb"
    reports = load([path for path in written if not path.name.endswith(".lab.json")], warehouse, registry.load())
    assert not [report.message for report in reports if report.exit_code]
    build(warehouse, folder, "--select", "+fct_point_metric", unit_tests=False)
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
