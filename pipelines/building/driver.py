"""Builds of the marts: of models by name, of what files touch at once, and of that by windows."""

import datetime as dt
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path

from ingest.running import Here, Runner
from ingest.warehouse import open_writer
from pipelines import metrics, record_marts
from pipelines.building import models, project, windows
from pipelines.building.marts import Work, building
from pipelines.building.models import BuildFailed, Model, Outcome, Project
from pipelines.building.touched import Plan
from pipelines.exits import EtalonError, Exit
from pipelines.home import Home


def select(home: Home, names: Sequence[str]) -> None:
    """Build the models of these names in the warehouse, with all that they read: what stands between is not kept."""
    defined = project.read(home)
    wanted, existing = [name.lstrip("+") for name in names], sorted(model.name for model in defined.models)
    for name in wanted:
        if name not in existing:
            near = get_close_matches(name, existing, n=5, cutoff=0.4) or existing
            raise EtalonError(f"unknown model {name!r}. Models are {', '.join(near)}", Exit.QUESTION)
    list(build_models(home, home.warehouse, defined.upstream(wanted)))


def build(home: Home, *, everything: bool, window: dt.timedelta | None, runner: Runner | None) -> Plan | None:
    """Build what files touch that came since the last build; the plan that was done, None where nothing had to be."""
    defined = project.read(home)
    with building(home, defined, everything=everything, tables=tables(home, defined, window)) as work:
        if work is None:
            return None
        list(make(home, work, defined, window, runner))
        return work.plan


def tables(home: Home, defined: Project, window: dt.timedelta | None) -> frozenset[str] | None:
    """Raw tables whose records the database of a build must have: all (None), or those that the driver reads."""
    return None if window is None else windows.driver_tables(_source(home, defined))


def make(
    home: Home, work: Work, defined: Project, window: dt.timedelta | None, runner: Runner | None
) -> Iterator[Model | Outcome]:
    """Build what `work` says, at once or by windows of a length. Raises EtalonError naming what failed."""
    if window is None:
        yield from build_models(home, work.database, defined)
        return
    folder = home.window.with_name("windows")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    source = _source(home, defined)
    with open_writer(home.warehouse) as con:
        tasks = windows.tasks_of(con, work.plan, source, window, folder)
    with _failures(home):
        yield from windows.build_windows(work.database, source, tasks, runner or Here())
    shutil.rmtree(folder)


def _source(home: Home, defined: Project) -> windows.Source:
    return windows.Source(str(home.warehouse), record_marts.staging(home), defined)


def build_models(home: Home, database: Path, defined: Project) -> Iterator[Model | Outcome]:
    """Build models and run their data tests in the warehouse or a window of it, as `models.build` does.

    Raises EtalonError naming what failed.
    """
    idle = record_marts.staging(home).prepare(database)
    with _failures(home), models.open_database(database) as con:
        yield from models.build(con, defined, idle)


@contextmanager
def _failures(home: Home) -> Iterator[None]:
    """Raise an EtalonError for a build that fails, naming a metric of the installation where it is one's fault."""
    try:
        yield
    except BuildFailed as error:
        unknown = metrics.unknown_column(home, str(error))
        if unknown is not None:
            raise EtalonError(unknown, Exit.NO_INPUT) from error
        raise EtalonError(f"the marts could not be built:\n{error}") from error
