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
from pipelines.building.marts import building
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
            raise EtalonError(f"there is no model {name!r}. Models are {', '.join(near)}", Exit.QUESTION)
    list(build_models(home, home.warehouse, defined.upstream(wanted)))


def build(home: Home, *, everything: bool, window: dt.timedelta | None, runner: Runner | None) -> Plan | None:
    """Build what files touch that came since the last build; the plan that was done, None where nothing had to be."""
    defined = project.read(home)
    if window is not None:
        return _by_windows(home, defined, everything, window, runner or Here())
    with building(home, defined, everything=everything) as work:
        if work is not None:
            list(build_models(home, work.database, defined))
        return work.plan if work is not None else None


def build_models(home: Home, database: Path, defined: Project) -> Iterator[Model | Outcome]:
    """Build models and run their data tests in the warehouse or a window of it, as `models.build` does.

    Raises EtalonError naming what failed.
    """
    idle = record_marts.staging(home).prepare(database)
    with _failures(home), models.open_database(database) as con:
        yield from models.build(con, defined, idle)


def _by_windows(
    home: Home, defined: Project, everything: bool, length: dt.timedelta, runner: Runner
) -> Plan | None:
    source = windows.Source(str(home.warehouse), record_marts.staging(home), defined)
    folder = home.window.with_name("windows")
    with building(home, defined, everything=everything, tables=windows.driver_tables(source)) as work:
        if work is None:
            return None
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        with open_writer(home.warehouse) as con:
            tasks = windows.tasks_of(con, work.plan, source, length, folder)
        with _failures(home):
            list(windows.build_windows(work.database, source, tasks, runner))
        shutil.rmtree(folder)
        return work.plan


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
