"""The state that 0.2.0 left is upgraded: files, rows and figures stay."""

import io
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.pipelines.conftest import ROOT, run_etalon

#: The last commit of 0.2.0.
COMMIT = "46c6442c"
SYSTEM = "ims14-ff-haldb-z13"
FIGURES = "select system_id, point, etr_tps, itr_tps, cpu_us_per_tran from marts.fct_point order by 1, 2"
FILES = "select sha256, status, records, decoded from meta.ledger order by 1"


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages of 0.2.0, from the history of the checkout."""
    archive = subprocess.run(["git", "archive", COMMIT], cwd=ROOT, capture_output=True, check=False)
    if archive.returncode != 0:
        pytest.skip(f"the history of this checkout does not have 0.2.0 ({COMMIT})")
    folder = tmp_path_factory.mktemp("code")
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as packed:
        packed.extractall(folder, filter="data")
    return folder


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_state_of_the_former_version_is_upgraded(code: Path, tmp_path: Path) -> None:
    home = tmp_path / "state"

    def former(*words: str) -> str:
        command = [sys.executable, "-c", "from pipelines.cli import main; main()", *words]
        environment = {**os.environ, "PYTHONPATH": str(code), "ETALON_HOME": str(home)}
        done = subprocess.run(command, cwd=code, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{words}: {done.stderr[-2000:]}"
        return done.stdout

    def now(*words: str) -> str:
        done = run_etalon(home, *words)
        assert done.returncode == 0, f"{words}: {done.stderr}"
        return done.stdout

    former("lab", SYSTEM, "--out", str(tmp_path / "lab"))
    former("ingest", str(tmp_path / "lab"))
    former("build")
    before = {query: json.loads(former("sql", query, "--json")) for query in (FIGURES, FILES)}

    now("migrate")
    now("build", "--all")
    assert json.loads(now("sql", FILES, "--json")) == before[FILES]
    [(was, is_now)] = zip(before[FIGURES], json.loads(now("sql", FIGURES, "--json")), strict=True)
    assert is_now == pytest.approx(was)
