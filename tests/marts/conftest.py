"""The marts of records of every kind, as the tests of this folder ask them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.marts import warehouses
from tests.shared import shared

Query = Callable[[str], list[dict[str, Any]]]


@pytest.fixture(scope="session")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Path of a warehouse with the marts of records written by hand, published systems, twins and real files."""
    return warehouses.everything(tmp_path_factory).warehouse


@pytest.fixture
def marts(warehouse: Path) -> Query:
    """Rows of a query on the marts."""

    def run(sql: str) -> list[dict[str, Any]]:
        with duckdb.connect(str(warehouse), read_only=True) as connection:
            return connection.sql(sql).to_arrow_table().to_pylist()

    return run


@pytest.fixture
def real_marts(marts: Query) -> Query:
    """Rows of a query on the marts, those of real reports and MQ records among them."""
    shared("real")
    return marts
