"""Copies of a state folder, and its warehouse brought up to a later version."""

import errno
import hashlib
import json
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import duckdb
import fsspec
import pytest

from ingest import registry
from ingest import warehouse as opened
from ingest.running import Here
from ingest.warehouse import load, remove, waves
from pipelines.exits import EtalonError, Exit
from pipelines.home import Home
from pipelines.nights import copies, run
from state.files import StateDamaged
from tests.ingest.units.dumps import dump


def test_a_copy_is_restored_whole_or_not_at_all(warehouse, tmp_path):
    from serve.tokens import granted, read

    (warehouse.root / "models").mkdir()
    (warehouse.root / "models" / "champion.json").write_text("{}")
    granted(warehouse.root / "tokens.json", "ci", ["read"], None)
    warehouse.machines.write_text("machine,engines,su_per_s\n")
    warehouse.definitions.parent.mkdir()
    warehouse.definitions.write_text('{"": "abc"}')
    with run.only_one(warehouse), pytest.raises(EtalonError, match="another night"):
        copies.backup(warehouse, str(tmp_path / "copy"))
    copy = copies.backup(warehouse, str(tmp_path / "copy"))
    with pytest.raises(EtalonError, match="not empty and holds no backup"):
        copies.backup(warehouse, str(warehouse.root))
    other = Home(tmp_path / "other")
    copies.restore(other, copy)
    assert other.champion.read_text() == "{}"
    assert other.definitions.read_text() == '{"": "abc"}'
    assert other.machines.read_text() == "machine,engines,su_per_s\n"
    assert [grant.name for grant in read(other.root / "tokens.json")] == ["ci"]
    with duckdb.connect(str(other.warehouse), read_only=True) as con:
        assert con.execute("SELECT count(*) FROM marts.fct_msu").fetchone() == (60,)
    with pytest.raises(EtalonError, match="already exists"):
        copies.restore(other, copy)
    [champion] = Path(copy).glob("state-*/models/champion.json")
    champion.write_text("{ }")
    with pytest.raises(EtalonError, match=r"champion\.json"):
        copies.restore(Home(tmp_path / "third"), copy)
    with pytest.raises(EtalonError, match="is not a backup") as refused:
        copies.restore(Home(tmp_path / "third"), str(tmp_path / "other"))
    assert refused.value.code == Exit.NO_INPUT


@pytest.fixture
def with_parts(warehouse, monkeypatch):
    """The state folder with two dumps of a few kilobytes in parts, and a file of models."""
    monkeypatch.setattr(Here, "unit_bytes", 60_000)
    monkeypatch.setattr(waves, "_PART_BYTES", 60_000)
    monkeypatch.setattr(sys.modules["ingest.warehouse.load"], "_FEWEST_UNITS", 1000)
    warehouse.champion.parent.mkdir()
    warehouse.champion.write_text('"earlier"')
    for name, data in (("1", dump("rdw")), ("2", dump("bdw") + dump("bdw"))):
        (warehouse.root / f"{name}.smf").write_bytes(data)
    load([warehouse.root / "1.smf", warehouse.root / "2.smf"], warehouse.warehouse, registry.load())
    return warehouse


def parts(folder) -> dict[str, int]:
    """The parts in a folder, with their inodes."""
    root = Path(folder, "warehouse", "etalon.parts")
    return {str(path.relative_to(root)): path.stat().st_ino for path in root.rglob("*.parquet")}


def tasks(home) -> int:
    with duckdb.connect(str(home.warehouse), read_only=True) as con:
        return con.execute("SELECT count(*) FROM raw.smf110_1_performance").fetchone()[0]


def test_a_later_backup_copies_new_parts_and_removes_what_it_does_not_need(with_parts, tmp_path, monkeypatch):
    copy = copies.backup(with_parts, str(tmp_path / "copy"))
    first = parts(copy)
    assert first == parts(with_parts.root) != {}, "hard links"
    remove(with_parts.warehouse, ["1.smf"])
    (with_parts.root / "3.smf").write_bytes(dump("rdw") + dump("bdw")[:-9])
    load([with_parts.root / "3.smf"], with_parts.warehouse, registry.load())
    with opened.open_writer(with_parts.warehouse) as con:
        names = opened.named_parts(con)
    # As between file systems.
    monkeypatch.setattr("os.link", lambda *_: (_ for _ in ()).throw(OSError(errno.EXDEV, "other device")))
    copies.backup(with_parts, copy)
    second = parts(copy)
    assert second.keys() == names
    kept, new = second.keys() & first.keys(), second.keys() - first.keys()
    assert kept and all(second[name] == first[name] for name in kept)
    assert new and all(second[name] != parts(with_parts.root)[name] for name in new)
    assert len(list(Path(copy).glob("state-*"))) == 1
    copies.restore(Home(tmp_path / "other"), copy)
    assert tasks(Home(tmp_path / "other")) == tasks(with_parts) > 0
    broken = Path(copy, "warehouse", "etalon.parts", min(names))
    data = bytearray(broken.read_bytes())
    data[len(data) // 2] ^= 1
    broken.unlink()
    broken.write_bytes(data)
    with pytest.raises(EtalonError, match=f"{broken} is missing or was changed"):
        copies.restore(Home(tmp_path / "third"), copy)
    assert not [path for path in (tmp_path / "third").rglob("*") if path.is_file()]


def test_a_backup_at_an_address_is_restored_from_there(with_parts, tmp_path):
    address = f"memory://{tmp_path}/copy"
    copies.backup(with_parts, address)
    remove(with_parts.warehouse, ["1.smf"])
    copies.backup(with_parts, address)
    other = Home(tmp_path / "other")
    copies.restore(other, address)
    assert tasks(other) == tasks(with_parts)
    with opened.open_writer(with_parts.warehouse) as con:
        assert parts(other.root).keys() == opened.named_parts(con)
    files = fsspec.filesystem("memory")
    [champion] = files.glob(f"{tmp_path}/copy/state-*/models/champion.json")
    files.pipe_file(champion, b"{}")
    with pytest.raises(EtalonError, match=r"champion\.json is missing or was changed"):
        copies.restore(Home(tmp_path / "third"), address)
    files.rm(str(tmp_path), recursive=True)


KILLED = """
import os, pathlib, shutil, signal, sys
from pipelines.home import Home
from pipelines.nights import copies
import ingest.warehouse
root, folder = sys.argv[1:]
WRITING = {"shutil.copyfile", "os.link", "os.rename", "os.remove"}
for killed_at in range(1000):
    target = f"{folder}/{killed_at}"
    shutil.copytree(f"{folder}/earlier", target)
    child = os.fork()
    if not child:
        left = killed_at
        def kill(event, arguments):
            global left
            if event in WRITING and any(str(one).startswith(target) for one in arguments):
                left -= 1
                if left < 0:
                    os.kill(os.getpid(), signal.SIGKILL)
        sys.addaudithook(kill)
        copies.backup(Home(pathlib.Path(root)), target)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    if status == 0:
        break
    assert os.WTERMSIG(status) == signal.SIGKILL, status
"""


def test_a_backup_that_is_killed_leaves_the_earlier_one_until_the_new_one_is_whole(with_parts, tmp_path):
    """Killed before each change that it makes to the folder of the backup."""
    earlier = copies.backup(with_parts, str(tmp_path / "earlier"))
    count = tasks(with_parts)
    with_parts.champion.write_text('"later"')
    remove(with_parts.warehouse, ["1.smf"])
    subprocess.run([sys.executable, "-c", KILLED, str(with_parts.root), str(tmp_path)], check=True)
    killed = sorted(tmp_path.glob("[0-9]*"), key=lambda folder: int(folder.name))
    champions = []
    for folder in killed:
        names = json.loads((folder / "backup.json").read_text())["files"]
        assert names == {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}
        champions += [(folder / name).read_text() for name in names if name.endswith("champion.json")]
    turn = champions.index('"later"')
    assert champions == ['"earlier"'] * turn + ['"later"'] * (len(killed) - turn) and 0 < turn < len(killed) - 1
    for folder, expected in ((killed[turn - 1], count), (killed[turn], tasks(with_parts))):
        copies.restore(Home(tmp_path / f"of-{folder.name}"), str(folder))
        assert tasks(Home(tmp_path / f"of-{folder.name}")) == expected
    copies.backup(with_parts, str(killed[0]))
    assert parts(killed[0]).keys() < parts(earlier).keys()


def test_a_registry_is_copied_as_committed_though_a_fit_was_killed_while_it_wrote(warehouse, tmp_path):
    registry = warehouse.mlflow / "mlflow.db"
    artifact = registry.parent / "artifacts" / "1" / "bundle.json"
    artifact.parent.mkdir(parents=True)
    artifact.write_text("{}")
    with closing(sqlite3.connect(tmp_path / "fit.db")) as con:
        con.executescript("PRAGMA cache_size = 1; CREATE TABLE t (x)")
        con.execute("INSERT INTO t VALUES ('committed')")
        con.commit()
        # More than the cache holds: the file has pages that are not committed, and a journal to take them back.
        con.executemany("INSERT INTO t VALUES (?)", [("x" * 4000,)] * 100)
        for left in tmp_path.glob("fit.db*"):
            shutil.copy(left, registry.with_name(left.name.replace("fit", "mlflow")))
    copies.restore(Home(tmp_path / "other"), copies.backup(warehouse, str(tmp_path / "copy")))
    with closing(sqlite3.connect(tmp_path / "other" / "mlflow" / "mlflow.db")) as con:
        assert con.execute("SELECT x FROM t").fetchall() == [("committed",)]
    assert (tmp_path / "other" / "mlflow" / "artifacts" / "1" / "bundle.json").read_text() == "{}"


@pytest.mark.parametrize("name", ["../out", "models/../../out", "/tmp/out", "cache/x", "models-2/x"])
def test_a_copy_is_refused_whose_list_names_a_file_elsewhere(warehouse, tmp_path, name):
    copy = copies.backup(warehouse, str(tmp_path / "copy"))
    manifest = json.loads(Path(copy, "backup.json").read_text())
    Path(copy, "backup.json").write_text(json.dumps({**manifest, "files": {**manifest["files"], name: "0" * 64}}))
    with pytest.raises(EtalonError, match="not a file of a backup") as refused:
        copies.restore(Home(tmp_path / "other"), copy)
    assert refused.value.code == Exit.NO_INPUT and not (tmp_path / "other").exists()


@pytest.mark.parametrize("text", ["{", "[]", '{"schema": 1}', '{"schema": null, "files": {}}'])
def test_a_list_of_a_copy_that_cannot_be_read_is_refused_by_name(tmp_path, text):
    (tmp_path / "backup.json").write_text(text)
    with pytest.raises(StateDamaged, match=r"backup\.json: cannot be read.*; use another backup"):
        copies.restore(Home(tmp_path / "other"), str(tmp_path))


def test_a_restore_that_was_cut_short_is_done_whole_the_next_time(warehouse, tmp_path, monkeypatch):
    copy, other = copies.backup(warehouse, str(tmp_path / "copy")), Home(tmp_path / "other")

    def cut_short(source, target):
        Path(target).write_bytes(b"half")
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr("shutil.copy2", cut_short)
        copies.restore(other, copy)
    copies.restore(other, copy)
    with duckdb.connect(str(other.warehouse), read_only=True) as con:
        assert con.execute("SELECT count(*) FROM marts.fct_msu").fetchone() == (60,)


def test_a_warehouse_from_before_versions_is_brought_up_and_a_later_one_refused(warehouse):
    assert copies.migrate(warehouse) == "up to date: schema 1", "a warehouse just made is one of this version"
    with duckdb.connect(str(warehouse.warehouse)) as con:
        con.execute("DROP TABLE meta.warehouse_schema")
    assert copies.migrate(warehouse).startswith("upgraded from schema 0 to 1. Run `etalon build` to rebuild the marts")
    assert copies.migrate(warehouse) == "up to date: schema 1"
    with duckdb.connect(str(warehouse.warehouse)) as con:
        con.execute("UPDATE meta.warehouse_schema SET version = 99")
    with pytest.raises(EtalonError, match="later version"):
        copies.migrate(warehouse)


def test_a_warehouse_of_the_first_release_holds_its_records_in_the_columns_of_this_one(warehouse):
    """What it had otherwise: no version, bytes where there are figures now, and columns of other names."""
    with duckdb.connect(str(warehouse.warehouse)) as con:
        wanted = con.execute("DESCRIBE raw.smf30_identification").fetchall()
        con.execute("DROP TABLE meta.warehouse_schema")
        con.execute("ALTER TABLE raw.smf30_identification ALTER smf30deadline SET DATA TYPE BLOB")
        con.execute("ALTER TABLE raw.smf30_identification ALTER smf30tid SET DATA TYPE INTEGER")
        con.execute("ALTER TABLE raw.smf30_identification RENAME smf30jnm TO an_earlier_name")
        con.execute(
            "INSERT INTO raw.smf30_identification BY NAME "
            "SELECT 7 AS file_id, 0 AS record_seq, 0 AS section_seq, 3 AS smf30tid, 'JOB' AS an_earlier_name, "
            "'\\x00\\x00\\x00\\x00\\x00\\x00\\x01\\x02'::BLOB AS smf30deadline"
        )
    assert copies.migrate(warehouse).startswith("upgraded from schema 0 to 1")
    with duckdb.connect(str(warehouse.warehouse)) as con:
        found = con.execute("DESCRIBE raw.smf30_identification").fetchall()
        assert {row[:2] for row in wanted} <= {row[:2] for row in found}
        assert con.execute(
            "SELECT file_id, smf30deadline, smf30tid, smf30jnm, an_earlier_name FROM raw.smf30_identification"
        ).fetchall() == [(7, 0x102, "3", None, "JOB")]
