"""One build of the marts: in which database the models are built, and what has to be done before and after."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb

from pipelines import metrics, provenance, record_marts
from pipelines.building import merge, renamed, touched, window
from pipelines.building.models import Project
from pipelines.building.project import files
from pipelines.building.touched import Plan
from pipelines.home import DBT_PROJECT, Home
from pipelines.locks import alone


@dataclass(frozen=True)
class Work:
    """The plan of a build, and the database to build in."""

    plan: Plan
    database: Path


@contextmanager
def building(
    home: Home, project: Project, *, everything: bool = False, tables: frozenset[str] | None = None
) -> Iterator[Work | None]:
    """The work to build a project, None if there is none; when the block ends well, the warehouse has the result.

    tables: raw tables whose records are to be there where only some time is touched; all without it.

    Where new, changed or vanished files touch only some time, that time is built in a separate database and put into
    the warehouse in one transaction. A block that fails, or is killed, leaves the warehouse so
    that the next build does what this one should have. Raises WarehouseLocked while another process writes, and
    EtalonError (LOCKED) while another one builds: both would make the same database.
    """
    with only_one(home), _building(home, project, everything, tables) as work:
        yield work


def only_one(home: Home) -> AbstractContextManager[None]:
    """The lock of builds: see `alone`."""
    return alone(home.window.with_name("lock"), "build", home.root)


@contextmanager
def _building(home: Home, project: Project, everything: bool, tables: frozenset[str] | None) -> Iterator[Work | None]:
    from ingest.warehouse import open_writer, systems

    with open_writer(home.warehouse) as con:
        renamed.rename(con)
        version = identity(home) + systems.name_systems(con)
        if everything:
            touched.forget(con)
        plan = touched.plan(con, version)
        definitions = provenance.definitions(con, home)
        if plan.written and not plan.reason and merge.has_rule(_marts(con)):
            plan = touched.everything(con, "a mart has no time")
        if plan.everything:
            touched.forget(con)
        elif plan.nothing and (plan.files or plan.gone):
            touched.record(con, version, plan)
    if plan.nothing:
        yield None
        return

    def record(con: duckdb.DuckDBPyConnection) -> None:
        touched.record(con, version, plan)
        provenance.keep(con, definitions)

    if plan.everything:
        yield Work(plan, home.warehouse)
        home.window.unlink(missing_ok=True)
        with open_writer(home.warehouse) as con:
            con.execute("BEGIN")
            record(con)
            con.execute("COMMIT")
        return
    # Named like the warehouse: the models' SQL names the database it was made for.
    scratch = home.window.with_name(home.warehouse.name)
    window.cut(home.warehouse, scratch, window.Cut(plan.read, dict.fromkeys(plan.files), tables))
    yield Work(plan, scratch)
    merge.prune(scratch, plan)
    merge.merge(home.warehouse, scratch, plan, project, record)
    scratch.replace(home.window)


def readable(database: Path) -> bool:
    """Whether there is a database that can be opened: one that is damaged is made anew."""
    try:
        with duckdb.connect(str(database), read_only=True) as con:
            return bool(con.execute("SELECT count(*) FROM duckdb_tables()").fetchall())
    except duckdb.Error:
        return False


def unpublished(home: Home) -> bool:
    """Whether the published snapshot cannot be read, or lacks something that was loaded."""
    from ingest.warehouse import open_writer

    if not readable(home.snapshot):
        return True
    with open_writer(home.warehouse) as con:
        return any(touched.changes(con))


def identity(home: Home) -> str:
    """Changes with the models, the staging views they read, the metrics and the database's version."""
    ingredients = [duckdb.__version__, metrics.environment(home), record_marts.definitions(home)]
    running = hashlib.sha256(json.dumps(ingredients).encode())
    for path in files():
        running.update(path.relative_to(DBT_PROJECT).as_posix().encode() + path.read_bytes())
    return running.hexdigest()[:16]


def _marts(con: duckdb.DuckDBPyConnection) -> dict[str, list[str]]:
    rows = con.execute(
        "SELECT table_name, list(column_name) FROM duckdb_columns() WHERE schema_name = 'marts' "
        "AND database_name = current_database() GROUP BY table_name"
    ).fetchall()
    return dict(rows)
