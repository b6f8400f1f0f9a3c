"""Marts built window by window: tasks that any runner can do, and what their driver does before and after.

A task builds the models of a stretch of time from the records around it, and leaves the rows of that stretch in a
database file of a new name. It writes nothing else, so that a task may be done again, twice at once, or not to its end:
only the driver, which has one file for each task, puts rows into a warehouse.

The driver makes what depends on all intervals (`_OF_ALL`), such as the offset of local time and outages. It also makes
the rows of a mart that are about all time.
"""

import datetime as dt
import re
import shutil
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import duckdb

from ingest.running import Runner
from model.names import sql_text
from pipelines.building import merge, touched
from pipelines.building.models import Model, Outcome, Project, build, create_statement, open_database
from pipelines.building.staging import Staging
from pipelines.building.touched import Margins, Plan, Span, union
from pipelines.building.window import Cut, cut

#: Models that follow from all intervals, which tasks take from the driver.
_OF_ALL = ("int_clock", "int_outage", "int_owner", "int_utc_offset")
#: Marts of interval records and steps between that the driver makes, and a mart that it makes of what tasks have built.
_BY_DRIVER = (
    *("dim_interval", "dim_system", "fct_gap", "fct_system_event"),
    *("int_cpc", "int_engine_interval", "int_interval"),
)
_AFTER_TASKS = "dim_metric"
#: Before and after all records.
_EVER = Span(dt.datetime(1900, 1, 1), dt.datetime(9000, 1, 1))
_HOUR, _DAY = dt.timedelta(hours=1), dt.timedelta(days=1)


@dataclass(frozen=True)
class Source:
    """Sources of tasks: the warehouse, its staging views, and the models."""

    warehouse: str
    staging: Staging
    project: Project


@dataclass(frozen=True)
class Task:
    """A window to build: the time of its rows, the records to read, the driver's tables, the folder for its files."""

    source: Source
    written: Span
    cut: Cut
    shared: str
    folder: str


def check_length(length: dt.timedelta) -> dt.timedelta:
    """The length of windows. Raises ValueError unless days are made of them, or they of days."""
    if length < _HOUR or length % _HOUR or (_DAY % length and length % _DAY):
        raise ValueError("a window must be 1, 2, 3, 4, 6, 8 or 12 hours, or whole days")
    return length


def split(spans: Sequence[Span], length: dt.timedelta) -> list[Span]:
    """Windows that begin at multiples of a length since midnight and cover the spans, one after another."""
    windows: list[Span] = []
    for span in spans:
        start = _EVER.start + (span.start - _EVER.start) // check_length(length) * length
        while start < span.end:
            windows.append(Span(max(start, span.start), min(start + length, span.end)))
            start += length
    return windows


def contiguous(windows: Sequence[Span]) -> list[Span]:
    """The windows made longer until they cover all time: rows may be of a time at which no record was written."""
    starts = [_EVER.start, *(window.start for window in windows[1:]), _EVER.end]
    return [Span(start, end) for start, end in pairwise(starts)]


def read_for(window: Span, margins: Margins, runs: Sequence[tuple[Span, ...]]) -> tuple[Span, ...]:
    """The time of the records that the rows of a window are made of; a measured run belongs to where it begins."""
    of_runs = [span for pair in runs if window.start <= pair[0].start < window.end for span in pair]
    wide = (span.wider(margins.around, margins.around) for span in (window, *of_runs))
    return union(Span(max(span.start, _EVER.start), min(span.end, _EVER.end)) for span in wide)


def tasks_of(
    con: duckdb.DuckDBPyConnection, plan: Plan, source: Source, length: dt.timedelta, folder: Path
) -> list[Task]:
    """The tasks of a plan for the warehouse open as `con`: windows of a length, which write into a folder."""
    margins = touched.margins_built(con).wider(touched.measured_margins(con, [*plan.files]))
    files = {file_id: touched.stretches(con, (file_id,)) for file_id in plan.files}
    spans = plan.written
    if plan.everything:
        spans = union(span for stretches in files.values() for span in stretches or ())
    windows = split([touched.whole_hours(span) for span in spans], length)
    runs = touched.run_spans(con)
    return [
        Task(source, window, Cut(read_for(window, margins, runs), files), str(folder / "shared.duckdb"), str(folder))
        for window in (contiguous(windows or [_EVER]) if plan.everything else windows)
    ]


def driver_models(project: Project) -> Project:
    """The models that the driver builds before the tasks."""
    return project.upstream([*_OF_ALL, *_BY_DRIVER])


def build_windows(database: Path, source: Source, tasks: Sequence[Task], runner: Runner) -> Iterator[Model | Outcome]:
    """Build marts in a database that has the records that the driver's models read.

    Yields models and outcomes as `models.build` does. Raises BuildFailed, and what a runner raises.
    """
    project, idle = source.project, source.staging.prepare(database)
    names = {model.name for model in driver_models(project).models}
    before = project.only(names | {model.name for model in project.models if model.schema == "staging"})
    with open_database(database) as con:
        yield from build(con, before, idle)
        _share(con, Path(tasks[0].shared))
    built = list(runner.run(build_window, tasks))
    rest = project.without({model.name for model in before.models})
    of_tasks = [model for model in rest.models if not model.is_view and model.name != _AFTER_TASKS]
    with open_database(database) as con:
        _gather(con, of_tasks, built)
        after = tuple(model for model in rest.models if model not in of_tasks)
        tests = tuple(test for test in project.tests if test not in before.tests)
        done = list(build(con, replace(project, models=after, tests=tests), idle))
    yield from rest.models
    yield from (outcome for outcome in done if isinstance(outcome, Outcome))


def driver_tables(source: Source) -> frozenset[str]:
    """The raw tables that the driver's models read, with those of the same records."""
    sql = " ".join(model.sql for model in driver_models(source.project).models)
    names = set(re.findall(r'"(?:raw|staging)"\."(?:stg_)?(\w+)"', sql))
    layouts = {layout.name for layout, section in source.staging.registry.tables() if section.table in names}
    return frozenset(names).union(
        section.table for layout, section in source.staging.registry.tables() if layout.name in layouts
    )


def build_window(task: Task) -> str:
    """Build a window: the database file with its rows. This is what a runner runs."""
    with tempfile.TemporaryDirectory(prefix="etalon-window-") as scratch:
        database = Path(scratch) / "etalon.duckdb"
        cut(Path(task.source.warehouse), database, task.cut)
        idle = task.source.staging.prepare(database)
        project = task.source.project.without({*_OF_ALL, "dim_system", "fct_gap", _AFTER_TASKS})
        with open_database(database) as con:
            con.execute(f"ATTACH {sql_text(task.shared)} AS shared (READ_ONLY)")
            con.execute("CREATE SCHEMA IF NOT EXISTS intermediate")
            for name in _OF_ALL:
                con.execute(f"CREATE TABLE intermediate.{name} AS FROM shared.main.{name}")
            con.execute("DETACH shared")
            for _ in build(con, project, idle):
                pass
        merge.prune(database, Plan(written=(task.written,)))
        left = {model.name for model in driver_models(task.source.project).models}
        return _leave(database, [model for model in project.models if model.name not in left], Path(task.folder))


def _leave(database: Path, models: Sequence[Model], folder: Path) -> str:
    """Put what a task has built of some models into a database file of a new name."""
    result = folder / f"{uuid.uuid4().hex}.duckdb"
    output = database.with_name(result.name)
    with open_database(database) as con:
        con.execute(f"ATTACH {sql_text(str(output))} AS made")
        for schema in ("intermediate", "marts"):
            con.execute(f"CREATE SCHEMA made.{schema}")
        for model in models:
            if not model.is_view and model.schema != "staging":
                con.execute(f"CREATE TABLE made.{model.relation} AS FROM {model.relation}")
        con.execute("DETACH made")
    shutil.move(output, result)
    return str(result)


def _gather(con: duckdb.DuckDBPyConnection, models: Sequence[Model], built: Sequence[str]) -> None:
    """Make the tables of models from the files of all tasks."""
    for place, path in enumerate(built):
        con.execute(f"ATTACH {sql_text(path)} AS made (READ_ONLY)")
        for model in models:
            if not place:
                empty = f"CREATE OR REPLACE TABLE {model.relation} AS FROM made.{model.relation} LIMIT 0"
                con.execute(create_statement(model) if model.columns else empty)
            con.execute(f"INSERT INTO {model.relation} BY NAME FROM made.{model.relation}")
        con.execute("DETACH made")


def _share(con: duckdb.DuckDBPyConnection, shared: Path) -> None:
    """Put the driver's tables that tasks read into a separate database."""
    shared.unlink(missing_ok=True)
    con.execute(f"ATTACH {sql_text(str(shared))} AS shared")
    for name in _OF_ALL:
        con.execute(f"CREATE TABLE shared.main.{name} AS FROM intermediate.{name}")
    con.execute("DETACH shared")
