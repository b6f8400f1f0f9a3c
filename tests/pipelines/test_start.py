"""Commands load what they need: every further package is waited for at every start."""

import os
import subprocess
import sys
from pathlib import Path

import duckdb

from benchmarks import dumps
from ingest import registry
from model.calibration.points import CapacityModel
from model.capacity import bundle
from pipelines.home import Home
from tests.model.points import made_points

HEAVY = ("duckdb", "lxml", "numba", "numpy", "pandas", "pyarrow", "pydantic", "urllib.request")
SCRIPT = """
import sys
from pipelines.cli import main
try:
    main(sys.argv[2:])
finally:
    print(*sorted(set(sys.argv[1].split(",")) & set(sys.modules)), file=sys.stderr)
"""


def loaded(home: Path, packages: tuple[str, ...], *command: object) -> set[str]:
    """Those of some packages that a command has loaded when it ends."""
    arguments = [sys.executable, "-c", SCRIPT, ",".join(packages), *map(str, command)]
    environment = {**os.environ, "ETALON_HOME": str(home)}
    done = subprocess.run(arguments, capture_output=True, text=True, check=True, env=environment)
    return set(done.stderr.splitlines()[-1].split())


def test_a_command_that_reads_no_data_loads_no_library_for_data(tmp_path: Path) -> None:
    assert not loaded(tmp_path, HEAVY, "--help")


def test_the_list_of_systems_loads_what_checks_the_catalogue_and_the_parameters(tmp_path: Path) -> None:
    assert loaded(tmp_path, HEAVY, "systems") <= {"numpy", "pydantic"}


def test_the_rows_of_a_query_are_printed_without_arrow(tmp_path: Path) -> None:
    snapshot = Home(tmp_path).snapshot
    snapshot.parent.mkdir()
    duckdb.connect(str(snapshot)).close()
    assert loaded(tmp_path, HEAVY, "sql", "select 1.5 as a, [1, 2] as b, now() as c") == {"duckdb"}


def test_an_answer_loads_numpy_and_no_other_library_for_data(tmp_path: Path) -> None:
    fitted = CapacityModel().fit(made_points("shop", [1000.0, 2000.0, 3000.0], fixed=0.2, demand_us=800.0))
    bundle.write(bundle.build(fitted.systems_, data={}, validation={}), Home(tmp_path).champion)
    beside = ("scipy", "sklearn", "mlflow", "model.published")
    assert loaded(tmp_path, HEAVY + beside, "predict", "shop", "--at", "etr_tps=2500") == {"numpy"}


def test_small_files_are_loaded_and_decoded_without_pandas(tmp_path: Path) -> None:
    dump, report = tmp_path / "day.smf", tmp_path / "cpu.xml"
    dump.write_bytes(dumps.made_up_dump(registry.load(), "smf30", 10) + dumps.cics_dump(10))
    report.write_bytes(dumps.rmf_report(10_000))
    assert not loaded(tmp_path, ("pandas",), "ingest", dump, report)
    assert not loaded(tmp_path, ("pandas",), "decode", dump)
    assert not loaded(tmp_path, ("pandas",), "decode", report)
