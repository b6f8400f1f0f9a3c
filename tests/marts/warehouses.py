"""The warehouses with marts that tests share, each built once a run: none of them to be changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.marts import add_tasks
from ingest import registry
from ingest import warehouse as loaded
from model.lab.targets import SUBSYSTEMS
from model.lab.twin import live, write
from pipelines import steps
from pipelines.home import Home
from tests.marts import listings, odd_days, stations
from tests.marts.dbt_project import build_with_unit_tests
from tests.marts.published import EXPECTED
from tests.marts.raw_records import RawWarehouse
from tests.marts.systems import cics_points, ims_log, ims_point, pair_of_lpars, shared_engines, written_once_and_twice
from tests.once import made_once
from tests.shared import SHARED

#: Published systems whose points are series, beside those whose every figure is compared.
SERIES = ("ims10-msc-ctc", "cs113-tn3270-attls-30s")
LAB_SEED = 20_261_121
#: Made-up records of CICS tasks, of one LPAR.
TASKS, TASKS_OF = 9_000, "C53A"
REAL = [SHARED / "real" / name for name in ("rmf/cpu_263_intervals.xml", "rmf/wlmgl.xml", "mq")]
#: A user's metric, beside those of the project.
OWN_METRIC = "busy_share"
OWN_METRICS = f"""
[{OWN_METRIC}]
grain = "system"
label = "User's busy"
unit = "ratio"
numerator = "{{busy_s}}"
denominator = "{{online_s}}"
better = "lower"
"""


def sound(factory: pytest.TempPathFactory) -> Home:
    """A few records written by hand in which everything adds up; dbt's unit tests of all models passed."""
    return Home(made_once(factory, "sound", _sound))


def _sound(folder: Path) -> None:
    home = Home(folder)
    with RawWarehouse(home.warehouse) as raw:
        pair_of_lpars(raw)
        shared_engines(raw)
    build_with_unit_tests(home)


def everything(factory: pytest.TempPathFactory) -> Home:
    """Records written by hand, of published systems, of twins and, where present, real ones: built and published."""
    return Home(made_once(factory, "everything", _everything))


def _everything(folder: Path) -> None:
    home = Home(folder)
    with RawWarehouse(home.warehouse) as raw:
        z13 = {"ims": 35.95, "ims_connect": 29.13, "dependent_regions": 399.34}
        ims_point(raw, "Z13", 6012.12, 0.8011, z13)
        cics_points(raw)
        pair_of_lpars(raw)
        shared_engines(raw)
        ims_log(raw)
        written_once_and_twice(raw)
    steps.render((*EXPECTED, *SERIES, SUBSYSTEMS), home.lab, seed=LAB_SEED)
    write(live(stations.twin()), folder / "twin")
    made = [path for place in (home.lab, folder / "twin") for path in sorted(place.iterdir())]
    files = [*(path for path in made if path.suffix != ".json"), *listings.write(folder / "listings")]
    reports = loaded.load([*files, *(path for path in REAL if path.exists())], home.warehouse, registry.load())
    assert not [report.message for report in reports if report.exit_code]
    odd_days.load_dumps(folder, home.warehouse)
    with loaded.open_writer(home.warehouse) as connection:
        add_tasks(connection, TASKS_OF, TASKS)
    home.metrics.write_text(OWN_METRICS, encoding="utf-8")
    steps.build(home)
    steps.publish(home)
