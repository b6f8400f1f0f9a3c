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
    found: list[tuple[object, ...]] = []
    for table, wanted in by_table.items():
        measures = ", ".join(_violations(table, expectation) for expectation in wanted)
        files = ", ".join(_first_file(expectation) for expectation in wanted)
        row = connection.execute(f"select count(*), {measures}, {files} from raw.{quoted(table)}").fetchone()
        assert row is not None
        total, values = row[0], row[1:]
        for position, expectation in enumerate(wanted):
            file_id = values[len(wanted) + position]
            label = " + ".join(expectation.columns)
            found.append((table, label, _describe(expectation), file_id, total, values[position]))
    columns = ["raw_table", "columns", "rule", "file_id", "rows", "violations"]
    frame = pd.DataFrame(found, columns=columns)
    paths = dict(connection.execute("select file_id, path from meta.ledger").fetchall())
    frame["file"] = [paths.get(file_id, "") for file_id in frame["file_id"]]
    return Frame(name, title, ("raw_table", "columns", "rule", "file"), frame.drop(columns="file_id"))


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
