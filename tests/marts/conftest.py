"""One warehouse for all tests of the marts: two measured systems, a system of two LPARs, a real machine's reports."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from ingest import registry
from ingest import warehouse as loaded
from ingest.formats.rmf.reader import read_reports
from model.lab.rendering import render
from model.lab.twin import live, write
from pipelines.home import Home
from tests.marts import odd_days, stations
from tests.marts.dbt_project import build
from tests.marts.published import EXPECTED
from tests.marts.raw_records import RawWarehouse
from tests.marts.systems import cics_points, ims_point, pair_of_lpars, shared_engines, written_once_and_twice
from tests.once import made_once
from tests.shared import shared

#: A user's metric, beside those of the project.
OWN_METRICS = """
[busy_share]
grain = "system"
label = "User's busy"
unit = "ratio"
numerator = "{busy_s}"
denominator = "{online_s}"
better = "lower"
"""


@pytest.fixture(scope="session")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Path of a warehouse with the marts built from raw records; dbt's own tests and unit tests passed."""
    return made_once(tmp_path_factory, "marts", _made_up) / "etalon.duckdb"


def _made_up(folder: Path) -> None:
    path = folder / "etalon.duckdb"
    with RawWarehouse(path) as raw:
        z13 = {"ims": 35.95, "ims_connect": 29.13, "dependent_regions": 399.34}
        ims_point(raw, "Z13", 6012.12, 0.8011, z13)
        cics_points(raw)
        pair_of_lpars(raw)
        shared_engines(raw)
        written_once_and_twice(raw)
    build(path)


@pytest.fixture(scope="session")
def real_warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Path of a warehouse with the marts built from real RMF reports and MQ records, and a metric of the user's."""
    return made_once(tmp_path_factory, "real", _real) / "etalon.duckdb"


def _real(folder: Path) -> None:
    path = folder / "etalon.duckdb"
    with RawWarehouse(path) as raw:
        for file_id, name in enumerate(("cpu_263_intervals.xml", "wlmgl.xml"), start=1):
            with shared(f"real/rmf/{name}").open("rb") as stream:
                for batch in read_reports(stream):
                    for table, rows in batch.tables.items():
                        raw.load_arrow(table, rows, file_id)
    loaded.load([shared("real/mq")], path, registry.load())
    Home(folder).metrics.write_text(OWN_METRICS, encoding="utf-8")
    build(path, unit_tests=False)


@pytest.fixture(scope="session")
def dumped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Path of a warehouse with marts of dumps and files: published systems, a twin, days on which clocks are set."""
    return made_once(tmp_path_factory, "dumped", _dumped) / "etalon.duckdb"


def _dumped(folder: Path) -> None:
    path = folder / "etalon.duckdb"
    written = [file for system in EXPECTED for file in render(system, folder / "lab", seed=20_261_121)]
    written += write(live(stations.twin()), folder / "twin")
    reports = loaded.load([file for file in written if file.suffix != ".json"], path, registry.load())
    assert not [report.message for report in reports if report.exit_code]
    odd_days.load_dumps(folder, path)
    build(path, unit_tests=False)


Query = Callable[[str], list[dict[str, Any]]]


def query_on(path: Path) -> Query:
    """A function that gives the rows of a query on the warehouse at `path`."""

    def run(sql: str) -> list[dict[str, Any]]:
        with duckdb.connect(str(path), read_only=True) as connection:
            return connection.sql(sql).to_arrow_table().to_pylist()

    return run


@pytest.fixture
def marts(warehouse: Path) -> Query:
    """Rows of a query on the marts of hand-written records."""
    return query_on(warehouse)


@pytest.fixture
def real_marts(real_warehouse: Path) -> Query:
    """Rows of a query on the marts of real reports."""
    return query_on(real_warehouse)
