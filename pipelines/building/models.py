"""The models as compiled SQL, and DuckDB running it. Workers of a cluster import this and need DuckDB alone.

dbt defines the models and compiles them (`pipelines.building.project`). A build runs the compiled SQL: each model after
those that it reads, then the data tests.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb

from pipelines.text import counted


class BuildFailed(Exception):
    """A model that DuckDB cannot build, or data tests that fail."""


@dataclass(frozen=True)
class Column:
    """A column of a contract."""

    name: str
    type: str
    is_nullable: bool


@dataclass(frozen=True)
class Model:
    """A relation and the query that makes its rows. A model without a contract has no `columns`."""

    key: str
    schema: str
    name: str
    sql: str
    is_view: bool
    reads: tuple[str, ...]
    columns: tuple[Column, ...] = ()

    @property
    def relation(self) -> str:
        """Schema and name."""
        return f"{self.schema}.{self.name}"


@dataclass(frozen=True)
class DataTest:
    """A query for the rows of models that should not exist."""

    key: str
    name: str
    sql: str
    reads: tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """The number of rows that a data test returned, and one of them."""

    test: DataTest
    rows: int
    example: str

    @property
    def line(self) -> str:
        """The failure for a reader."""
        return f"data test {self.test.name} fails for {counted(self.rows, 'row')}, such as {self.example}"


@dataclass(frozen=True)
class Project:
    """Models, each after those that it reads, their data tests, and DuckDB's settings."""

    models: tuple[Model, ...]
    tests: tuple[DataTest, ...]
    settings: Mapping[str, str]

    def model(self, name: str) -> Model:
        """The model of a name. Raises KeyError."""
        return {model.name: model for model in self.models}[name]

    def upstream(self, names: Collection[str]) -> "Project":
        """The models of these names with all that they read, and the tests of these. Raises KeyError."""
        by_key = {model.key: model for model in self.models}
        wanted, waiting = set[str](), [self.model(name).key for name in names]
        while waiting:
            key = waiting.pop()
            if key in by_key and key not in wanted:
                wanted.add(key)
                waiting += by_key[key].reads
        return self.only(by_key[key].name for key in wanted)

    def only(self, names: Iterable[str]) -> "Project":
        """The models of these names, and the tests that read no other."""
        wanted = set(names)
        models = tuple(model for model in self.models if model.name in wanted)
        left = {model.key for model in self.models} - {model.key for model in models}
        return replace(self, models=models, tests=tuple(test for test in self.tests if not left & set(test.reads)))

    def without(self, names: Collection[str]) -> "Project":
        """The other models, and the tests that read no model of these names."""
        return self.only({model.name for model in self.models} - set(names))


def build(con: duckdb.DuckDBPyConnection, project: Project, idle: Collection[str] = ()) -> Iterator[Model | Outcome]:
    """Build the models in a database that has the tables and views that they read, and run their data tests.

    idle: models of whose records the database has none; they become empty tables of their contracts. Yields each model
    after it was built, then the outcome of each data test. Raises BuildFailed; errors of the disk and of memory as
    DuckDB raises them.
    """
    for setting, value in project.settings.items():
        con.execute(f"SET {setting} = '{value}'")
    is_view = dict(con.execute(_RELATIONS).fetchall())
    for schema in ("staging", "intermediate", "marts"):
        con.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
    for model in project.models:
        if is_view.get(model.relation, model.is_view) != model.is_view:
            con.execute(f"DROP {'TABLE' if model.is_view else 'VIEW'} {model.relation}")
        _build(con, model, model.name in idle)
        yield model
    failed = []
    for test in project.tests:
        outcome = _run(con, test)
        failed += [outcome.line] if outcome.rows else []
        yield outcome
    if failed:
        raise BuildFailed("\n".join(failed))


_RELATIONS = """
    SELECT schema_name || '.' || table_name, false FROM duckdb_tables() WHERE database_name = current_database()
    UNION ALL
    SELECT schema_name || '.' || view_name, true FROM duckdb_views() WHERE database_name = current_database()
"""


def _build(con: duckdb.DuckDBPyConnection, model: Model, is_idle: bool) -> None:
    statements = [f"CREATE OR REPLACE {'VIEW' if model.is_view else 'TABLE'} {model.relation} AS ({model.sql}\n)"]
    if model.columns:
        names = ", ".join(f'"{column.name}"' for column in model.columns)
        rows = f"INSERT INTO {model.relation} SELECT {names} FROM ({model.sql}\n)"
        statements = ["BEGIN", create_statement(model), *([] if is_idle else [rows]), "COMMIT"]
    try:
        for statement in statements:
            con.execute(statement)
    except duckdb.Error as error:
        if model.columns:
            with suppress(duckdb.Error):
                con.execute("ROLLBACK")
        if isinstance(error, (duckdb.IOException, duckdb.OutOfMemoryException)):
            raise
        raise BuildFailed(f"{model.relation}: {error}") from error


def create_statement(model: Model) -> str:
    """SQL that makes the table of a contract, empty."""
    columns = (f'"{column.name}" {column.type}{"" if column.is_nullable else " NOT NULL"}' for column in model.columns)
    return f"CREATE OR REPLACE TABLE {model.relation} ({', '.join(columns)})"


def _run(con: duckdb.DuckDBPyConnection, test: DataTest) -> Outcome:
    try:
        returned = con.execute(f"SELECT count(*), any_value(bad)::VARCHAR FROM ({test.sql}\n) AS bad")
        [(rows, example)] = returned.fetchall()
    except duckdb.Error as error:
        raise BuildFailed(f"data test {test.name}: {error}") from error
    return Outcome(test, rows, example or "")


def open_database(path: Path) -> duckdb.DuckDBPyConnection:
    """Open a database to build in. Raises WarehouseLocked while another process has it open, and WarehouseError."""
    from ingest.warehouse import opening

    with opening(path):
        return duckdb.connect(str(path))
