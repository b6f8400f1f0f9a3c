"""Copies of a state folder, and its warehouse brought up to a later version."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from pipelines.exits import EtalonError, Exit
from pipelines.home import Home
from pipelines.nights import copies, run
from state.files import StateDamaged


def test_a_copy_is_restored_whole_or_not_at_all(warehouse, tmp_path):
    from serve.tokens import granted, read

    (warehouse.root / "models").mkdir()
    (warehouse.root / "models" / "champion.json").write_text("{}")
    granted(warehouse.root / "tokens.json", "ci", ["read"], None)
    warehouse.machines.write_text("machine,engines,su_per_s\n")
    warehouse.definitions.parent.mkdir()
    warehouse.definitions.write_text('{"": "abc"}')
    with run.only_one(warehouse), pytest.raises(EtalonError, match="another night"):
        copies.backup(warehouse, tmp_path / "copy")
    copy = copies.backup(warehouse, tmp_path / "copy")
    with pytest.raises(EtalonError, match="not empty"):
        copies.backup(warehouse, copy)
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
    (copy / "models" / "champion.json").write_text("{ }")
    with pytest.raises(EtalonError, match=r"champion\.json"):
        copies.restore(Home(tmp_path / "third"), copy)
    with pytest.raises(EtalonError, match="is not a backup") as refused:
        copies.restore(Home(tmp_path / "third"), tmp_path / "other")
    assert refused.value.code == Exit.NO_INPUT


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
    copies.restore(Home(tmp_path / "other"), copies.backup(warehouse, tmp_path / "copy"))
    with closing(sqlite3.connect(tmp_path / "other" / "mlflow" / "mlflow.db")) as con:
        assert con.execute("SELECT x FROM t").fetchall() == [("committed",)]
    assert (tmp_path / "other" / "mlflow" / "artifacts" / "1" / "bundle.json").read_text() == "{}"


@pytest.mark.parametrize("name", ["../out", "models/../../out", "/tmp/out", "cache/x", "models-2/x"])
def test_a_copy_is_refused_whose_list_names_a_file_elsewhere(warehouse, tmp_path, name):
    copy = copies.backup(warehouse, tmp_path / "copy")
    manifest = json.loads((copy / "backup.json").read_text())
    (copy / "backup.json").write_text(json.dumps({**manifest, "files": {**manifest["files"], name: "0" * 64}}))
    with pytest.raises(EtalonError, match="not a file of a backup") as refused:
        copies.restore(Home(tmp_path / "other"), copy)
    assert refused.value.code == Exit.NO_INPUT and not (tmp_path / "other").exists()


@pytest.mark.parametrize("text", ["{", "[]", '{"schema": 1}', '{"schema": null, "files": {}}'])
def test_a_list_of_a_copy_that_cannot_be_read_is_refused_by_name(tmp_path, text):
    (tmp_path / "backup.json").write_text(text)
    with pytest.raises(StateDamaged, match=r"backup\.json: cannot be read.*; use another backup"):
        copies.restore(Home(tmp_path / "other"), tmp_path)


def test_a_restore_that_was_cut_short_is_done_whole_the_next_time(warehouse, tmp_path, monkeypatch):
    copy, other = copies.backup(warehouse, tmp_path / "copy"), Home(tmp_path / "other")

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
