"""A state folder that cannot be used is named, with what to do; what needs none goes on."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest
from typer.testing import CliRunner

from ingest.warehouse import open_writer, publish
from model.capacity import bundle
from pipelines import pages, settings
from pipelines.cli import app
from pipelines.commands.running import lacking
from pipelines.exits import EtalonError, Exit
from pipelines.home import Home
from pipelines.nights.landing import local
from tests.pipelines.conftest import ROOT, run_etalon

#: A folder in which nobody can make a file, not even root.
SEALED = Path("/proc/self/fdinfo")


@pytest.fixture
def taken(tmp_path):
    """A plain file where the state folder should be."""
    path = tmp_path / "state"
    path.write_text("")
    return path


def test_a_file_in_place_of_the_state_folder_is_named_with_the_remedy(taken):
    done = run_etalon(taken, "sql", "select 1")
    assert done.returncode == Exit.FAILED
    assert done.stderr.startswith(f"etalon: ETALON_HOME ({taken}) is a file; name a folder of yours")


def test_a_folder_that_cannot_be_written_is_named_with_the_remedy():
    done = run_etalon(SEALED, "ingest", str(ROOT / "README.md"))
    assert done.returncode == Exit.FAILED
    assert f"ETALON_HOME ({SEALED}) cannot be written" in done.stderr
    assert "--home" in done.stderr


def test_the_doctor_examines_everything_else(taken, monkeypatch):
    monkeypatch.setattr("os.environ", dict(os.environ))
    for home in (taken, SEALED):
        done = CliRunner().invoke(app, ["--home", str(home), "doctor", "--json"])
        checks = {check["what"]: check for check in json.loads(done.stdout)["checks"]}
        assert done.exit_code == Exit.FAILED
        assert checks["home"]["status"] == "bad"
        assert "ETALON_HOME" in checks["home"]["seen"]
        assert "--home" in checks["home"]["remedy"]
        assert {"python", "packages", "warehouse", "snapshot", "champion", "port of serve"} <= set(checks)


def test_a_look_that_is_not_permitted_is_a_finding(tmp_path, monkeypatch):
    from pipelines import diagnosis

    def forbidden(home):
        raise PermissionError(13, "Permission denied", str(home.snapshot))

    monkeypatch.setattr(diagnosis, "_snapshot", forbidden)
    findings = {finding.what: finding for finding in diagnosis.examine(Home(tmp_path), tmp_path)}
    assert findings["snapshot"].status == "bad"
    assert "Permission denied" in findings["snapshot"].seen
    assert "port of serve" in findings


def test_the_doctor_finds_a_damaged_snapshot(tmp_path):
    from pipelines import diagnosis

    home = Home(tmp_path)
    home.snapshot.parent.mkdir(parents=True)
    home.snapshot.write_bytes(b"no database")
    found = {finding.what: finding for finding in diagnosis.examine(home, tmp_path)}["snapshot"]
    assert (found.status, found.remedy) == ("bad", "run `etalon publish` to replace it")


@pytest.mark.parametrize(("age", "status"), [(0.9, "good"), (1.1, "note")])
def test_the_doctor_asks_after_the_nights_where_the_snapshot_is_old(tmp_path, age, status):
    from pipelines import diagnosis

    home = Home(tmp_path)
    home.snapshot.parent.mkdir(parents=True)
    duckdb.connect(str(home.snapshot)).close()
    published = time.time() - age * diagnosis.OLD_SNAPSHOT_S
    os.utime(home.snapshot, (published, published))
    found = {finding.what: finding for finding in diagnosis.examine(home, tmp_path)}["snapshot"]
    assert (found.status, "nightly" in found.remedy) == (status, status == "note"), found


def test_help_and_questions_need_no_place_to_write(taken, monkeypatch):
    assert run_etalon(taken, "lab", "--help").returncode == 0
    monkeypatch.setattr("os.environ", dict(os.environ))
    Home(SEALED).activate()
    with pytest.raises(EtalonError, match="ETALON_HOME"):
        Home(SEALED).require_writable()


@pytest.mark.parametrize("command", ["fit", "validate"])
def test_nothing_heavy_is_loaded_to_find_that_there_is_no_snapshot(tmp_path, command):
    code = (
        "import sys\nfrom pipelines.cli import main\n"
        f"try: main(['--home', {str(tmp_path)!r}, {command!r}])\n"
        "except SystemExit as left: print(left.code, sorted({'sklearn', 'mlflow', 'scipy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"{int(Exit.NOT_READY)} []"


def test_the_service_says_what_it_lacks_and_what_to_run(tmp_path):
    home = Home(tmp_path)
    said = lacking(home)
    assert ["etalon build" in line for line in said] == [True, False]
    assert "etalon fit" in said[1]
    home.snapshot.parent.mkdir()
    home.snapshot.touch()
    assert lacking(home) == said[1:]


def test_the_benchmarks_explain_themselves():
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--help"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "decode " in done.stdout
    assert "usage: python -m benchmarks" in done.stdout


def test_a_state_folder_is_its_owners_and_what_is_exchanged_in_it_is_shared_as_its_folder(tmp_path):
    home = Home(tmp_path / "state")
    home.require_writable()
    assert home.root.stat().st_mode & 0o777 == 0o700
    for folder_mode, mode in ((0o700, 0o600), (0o750, 0o640), (0o755, 0o644)):
        for path in (home.champion, home.snapshot, home.nights / "index.html"):
            path.parent.mkdir(exist_ok=True)
            path.parent.chmod(folder_mode)
        with open_writer(home.warehouse):
            pass
        written = [bundle.write({}, home.champion), publish(home.warehouse, home.snapshot)]
        written.append(pages.write(home.nights / "index.html", "Nights", "", {}))
        assert [path.stat().st_mode & 0o777 for path in written] == [mode] * 3


@pytest.mark.parametrize("folder", [folder.name for folder in Home(Path("/")).folders])
def test_a_file_in_place_of_a_folder_is_named_with_the_remedy(tmp_path, folder):
    (tmp_path / folder).write_text("")
    with pytest.raises(EtalonError, match=f"{folder} must be a folder, but is a file; move it away"):
        Home(tmp_path).require_writable()


@pytest.mark.parametrize("name", ["folder", "archive"])
def test_a_file_in_place_of_a_landing_folder_of_the_settings_is_named(tmp_path, name):
    (tmp_path / "file").write_text("")
    (tmp_path / "etalon.toml").write_text(f"[landing]\n{name} = '{tmp_path}/file'\n")
    with pytest.raises(EtalonError, match=rf"landing\.{name} .*file: is a file; name a folder"):
        local(Home(tmp_path), settings.read(Home(tmp_path)).landing)


@pytest.mark.parametrize(
    ("which", "remedy"),
    [
        ("warehouse", "move it away and load the files again"),
        ("snapshot", "etalon publish"),
        ("window", "etalon build"),
    ],
)
def test_a_damaged_block_of_a_database_names_its_file_and_the_remedy(tmp_path, which, remedy):
    home, block, first = Home(tmp_path), 262_144, 12_288
    for seed, path in enumerate((home.warehouse, home.snapshot, home.window)):
        path.parent.mkdir()
        with duckdb.connect(str(path)) as con:
            con.execute("select setseed(?)", [seed / 10])
            con.execute("create table t as select hash(random()) as a, hash(random()) as b from range(200000)")
    damaged = getattr(home, which)
    with damaged.open("r+b") as file:
        for place in range(first + block, damaged.stat().st_size, block):
            file.seek(place + 1000)
            file.write(bytes(40))
    with pytest.raises(duckdb.Error) as raised, duckdb.connect(str(damaged), read_only=True) as con:
        con.execute("select sum(a), sum(b) from t").fetchall()
    said = home.fault(raised.value)
    assert said.startswith(f"{damaged}: the database is damaged: the block at byte")
    assert remedy in said
    assert home.fault(ValueError("does not match")) is None


def test_a_damaged_warehouse_ends_loading_with_its_name(tmp_path):
    home = Home(tmp_path)
    run_etalon(tmp_path, "ingest", str(ROOT / "README.md"))
    data = bytearray(home.warehouse.read_bytes())
    data[12_288 + 1000 : 12_288 + 1040] = bytes(range(40))
    home.warehouse.write_bytes(data)
    done = run_etalon(tmp_path, "ingest", str(ROOT / "README.md"))
    assert done.returncode == Exit.FAILED
    assert f"{home.warehouse}: the database is damaged: the block at byte 12,288 was changed" in done.stderr
