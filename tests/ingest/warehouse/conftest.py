"""Fixtures of the warehouse tests."""

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from ingest.formats.smf import encode_dump
from ingest.registry import Registry
from ingest.warehouse import FileReport, load
from tests.conftest import FewLayouts


@pytest.fixture(scope="session")
def layouts(few_layouts: FewLayouts) -> Registry:
    """The layouts of the record types that the tests load."""
    return few_layouts.registry


@pytest.fixture(scope="session")
def dump(layouts: Registry) -> bytes:
    """Six SMF 30 records with two processor-time sections each."""
    head = pa.table(
        {
            "record_seq": range(6),
            "smf30dte": [dt.date(2020, 1, 31)] * 6,
            "smf30sid": ["SYSA"] * 6,
            "smf30stp": pa.array([3] * 6, pa.uint16()),
        }
    )
    cpu = pa.table(
        {
            "record_seq": [n // 2 for n in range(12)],
            "section_seq": [n % 2 for n in range(12)],
            "smf30cpt": pa.array(range(12), pa.uint32()),
        }
    )
    return encode_dump({"smf30_header": head, "smf30_cpu": cpu}, layouts)


@pytest.fixture
def database(tmp_path: Path, new_warehouse: Callable[[Path], Path]) -> Path:
    """The test's warehouse, without rows."""
    return new_warehouse(tmp_path / "warehouse" / "etalon.duckdb")


@pytest.fixture
def ingest(database: Path, layouts: Registry) -> Callable[..., list[FileReport]]:
    """Load paths into the test's warehouse."""
    return lambda *paths, **options: load(paths, database, layouts, **options)


@pytest.fixture
def rows(database: Path) -> Callable[[str], list[tuple[Any, ...]]]:
    """Run a query on the test's warehouse."""

    def run(sql: str) -> list[tuple[Any, ...]]:
        with duckdb.connect(str(database), read_only=True) as con:
            return con.execute(sql).fetchall()

    return run
