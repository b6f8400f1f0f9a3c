"""Copies of a state folder, and its warehouse brought up to a later version."""

import duckdb
import pytest

from pipelines.exits import EtalonError, Exit
from pipelines.home import Home
from pipelines.nights import copies, run


def test_a_copy_is_restored_whole_or_not_at_all(warehouse, tmp_path):
    from serve.tokens import granted, read

    (warehouse.root / "models").mkdir()
    (warehouse.root / "models" / "champion.json").write_text("{}")
    granted(warehouse.root / "tokens.json", "ci", ["read"], None)
    warehouse.machines.write_text("machine,engines,su_per_s\n")
    with run.only_one(warehouse), pytest.raises(EtalonError, match="another night"):
        copies.backup(warehouse, tmp_path / "copy")
    copy = copies.backup(warehouse, tmp_path / "copy")
    with pytest.raises(EtalonError, match="not empty"):
        copies.backup(warehouse, copy)
    other = Home(tmp_path / "other")
    copies.restore(other, copy)
    assert other.champion.read_text() == "{}"
    assert other.machines.read_text() == "machine,engines,su_per_s\n"
    assert [grant.name for grant in read(other.root / "tokens.json")] == ["ci"]
    with duckdb.connect(str(other.warehouse), read_only=True) as con:
        assert con.execute("SELECT count(*) FROM marts.fct_msu").fetchone() == (60,)
    with pytest.raises(EtalonError, match="is there already"):
        copies.restore(other, copy)
    (copy / "models" / "champion.json").write_text("{ }")
    with pytest.raises(EtalonError, match=r"champion\.json"):
        copies.restore(Home(tmp_path / "third"), copy)
    with pytest.raises(EtalonError, match="no copy of a state") as refused:
        copies.restore(Home(tmp_path / "third"), tmp_path / "other")
    assert refused.value.code == Exit.NO_INPUT


def test_a_warehouse_from_before_versions_is_brought_up_and_a_later_one_refused(warehouse):
    assert copies.migrate(warehouse) == "up to date: schema 1", "a warehouse just made is one of this version"
    with duckdb.connect(str(warehouse.warehouse)) as con:
        con.execute("DROP TABLE meta.warehouse_schema")
    assert copies.migrate(warehouse).startswith("from schema 0 to 1; `etalon build` makes the marts anew")
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
    assert copies.migrate(warehouse).startswith("from schema 0 to 1")
    with duckdb.connect(str(warehouse.warehouse)) as con:
        found = con.execute("DESCRIBE raw.smf30_identification").fetchall()
        assert {row[:2] for row in wanted} <= {row[:2] for row in found}
        assert con.execute(
            "SELECT file_id, smf30deadline, smf30tid, smf30jnm, an_earlier_name FROM raw.smf30_identification"
        ).fetchall() == [(7, 0x102, "3", None, "JOB")]
