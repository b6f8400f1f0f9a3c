"""Expectations that follow from the record layouts alone, counted inside the database."""

from __future__ import annotations

from typing import Protocol

import duckdb
import pandas as pd

from expectations.frame import Frame, quoted, raw_columns


class Baseline(Protocol):
    """An expectation the record layouts imply: `kind` is not_null, unique or between; severity critical or warning."""

    @property
    def table(self) -> str: ...
    @property
    def columns(self) -> tuple[str, ...]: ...
    @property
    def kind(self) -> str: ...
    @property
    def severity(self) -> str: ...
    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...


def baseline_frame(connection: duckdb.DuckDBPyConnection, name: str, title: str, expectations: list[Baseline]) -> Frame:
    """Violations of the baseline expectations, one row per expectation, counted inside the database."""
    existing = raw_columns(connection)
    by_table: dict[str, list[Baseline]] = {}
    for expectation in expectations:
        if existing.get(expectation.table, set()).issuperset(expectation.columns):
            by_table.setdefault(expectation.table, []).append(expectation)
    records: list[tuple[object, ...]] = []
    filled = _filled(connection)
    for table, wanted in by_table.items():
        rows, *counted = _counted(connection, table, wanted) if table in filled else [0] * (1 + len(wanted))
        files = counted[len(wanted) :] or [None] * len(wanted)
        for expectation, violations, file_id in zip(wanted, counted, files, strict=False):
            label = " + ".join(expectation.columns)
            records.append((table, label, _describe(expectation), file_id, rows, violations))
    columns = ["raw_table", "columns", "rule", "file_id", "rows", "violations"]
    frame = pd.DataFrame(records, columns=columns)
    paths = dict(connection.execute("select file_id, path from meta.ledger").fetchall())
    frame["file"] = [paths.get(file_id, "") for file_id in frame["file_id"]]
    return Frame(name, title, ("raw_table", "columns", "rule", "file"), frame.drop(columns="file_id"))


def _filled(connection: duckdb.DuckDBPyConnection) -> set[str]:
    """Raw tables that have rows. Most have none, and to ask each would take longer than all else."""
    query = (
        "select table_name from duckdb_tables() where schema_name = 'raw' and estimated_size > 0 "
        "union all select view_name from duckdb_views() where schema_name = 'raw'"
    )
    return {name for (name,) in connection.execute(query).fetchall()}


def _counted(connection: duckdb.DuckDBPyConnection, table: str, wanted: list[Baseline]) -> list[object]:
    """Rows of a table, then the violations of each expectation, then the first file with one, where there is any."""
    measures = ", ".join(_violations(table, expectation) for expectation in wanted)
    files = ", ".join(_first_file(expectation) for expectation in wanted)
    row = connection.execute(f"select count(*), {measures}, {files} from raw.{quoted(table)}").fetchone()
    assert row is not None
    return list(row)


def _condition(expectation: Baseline) -> str:
    column = quoted(expectation.columns[0])
    if expectation.kind == "not_null":
        return f"{column} is null"
    bounds = [f"{column} < {expectation.low!r}"] if expectation.low is not None else []
    bounds += [f"{column} > {expectation.high!r}"] if expectation.high is not None else []
    return f"({' or '.join(bounds)})" if bounds else "false"


def _violations(table: str, expectation: Baseline) -> str:
    if expectation.kind == "unique":
        keys = ", ".join(quoted(column) for column in expectation.columns)
        return f"count(*) - (select count(*) from (select distinct {keys} from raw.{quoted(table)}))"
    return f"count(*) filter (where {_condition(expectation)})"


def _first_file(expectation: Baseline) -> str:
    if expectation.kind == "unique":
        return "null"
    return f"min(file_id) filter (where {_condition(expectation)})"


def _describe(expectation: Baseline) -> str:
    if expectation.kind != "between":
        return expectation.kind.replace("_", " ")
    if expectation.low is None:
        return f"at most {expectation.high:g}"
    if expectation.high is None:
        return f"at least {expectation.low:g}"
    return f"between {expectation.low:g} and {expectation.high:g}"
