"""Fixtures of the warehouse tests."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from ingest import registry
from ingest.registry import Registry
from ingest.warehouse import FileReport, load


@pytest.fixture(scope="session")
def layouts() -> Registry:
    """The layouts of the project."""
    return registry.load()


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Where the test's warehouse is."""
    return tmp_path / "warehouse" / "etalon.duckdb"


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
