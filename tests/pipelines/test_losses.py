"""What publishing would take from readers is refused, unless it was dropped on purpose or is forced."""

import datetime as dt

import duckdb
import pytest

from ingest.warehouse import open_writer
from pipelines import steps
from pipelines.building import touched
from pipelines.exits import EtalonError, Exit
from pipelines.home import Home
from pipelines.nights import retention
from tests.pipelines.conftest import run_etalon

FILES = {1: ("PRDA", 1, 10), 2: ("PRDB", 5, 14)}


@pytest.fixture
def published(tmp_path, few_layouts, new_warehouse, monkeypatch):
    """A state folder that has published two files: PRDA from 1 to 10 May, PRDB from 5 to 14 May."""
    monkeypatch.setattr("ingest.registry.LAYOUT_DIR", few_layouts.folder)
    home = Home(tmp_path / "state")
    new_warehouse(home.warehouse)
    with open_writer(home.warehouse) as con:
        touched.create(con)
        con.execute("CREATE SCHEMA marts")
        con.execute(
            "CREATE TABLE marts.dim_interval (smf_sid VARCHAR, system_id VARCHAR, interval_start_local TIMESTAMP, "
            "interval_start_utc TIMESTAMP)"
        )
        for file_id, (system, first, last) in FILES.items():
            con.execute(
                "INSERT INTO meta.ledger SELECT $1, '/landing/' || $1, $1, 0, 'smf', 'loaded', 1, 1, 0, 0, 0, 0, 0, 0, "
                "0, MAP {}, MAP {}, MAP {}, NULL, '', '', now()::TIMESTAMP",
                [file_id],
            )
            days = [dt.datetime(2026, 5, first), dt.datetime(2026, 5, last, 23)]
            con.execute("INSERT INTO meta.built_file VALUES (?, '', ?, ?)", [file_id, *days])
            con.execute(
                "INSERT INTO marts.dim_interval SELECT $1, $1, day, day FROM range($2, $3, INTERVAL 6 HOUR) t(day)",
                [system, *days],
            )
    steps.publish(home)
    return home


def lose(home, system, files):
    """The warehouse without an LPAR and its files, as if it had never been loaded."""
    with open_writer(home.warehouse) as con:
        con.execute("DELETE FROM marts.dim_interval WHERE smf_sid = ?", [system])
        con.execute("DELETE FROM meta.ledger WHERE list_contains(?, file_id)", [files])


def systems(home):
    with duckdb.connect(str(home.snapshot), read_only=True) as con:
        return [row[0] for row in con.execute("SELECT DISTINCT smf_sid FROM marts.dim_interval ORDER BY 1").fetchall()]


def test_a_warehouse_that_lost_a_file_is_not_published_unless_forced(published):
    lose(published, "PRDB", [2])
    with pytest.raises(EtalonError, match=r"1 file: /landing/2; 10 days of PRDB, from 2026-05-05 to 2026-05-14") as why:
        steps.publish(published)
    assert why.value.code == Exit.FEWER and "etalon publish --force" in str(why.value)
    assert systems(published) == ["PRDA", "PRDB"]
    assert run_etalon(published.root, "publish").returncode == Exit.FEWER
    assert run_etalon(published.root, "publish", "--force").returncode == 0
    assert systems(published) == ["PRDA"]
    steps.publish(published)


def test_a_new_warehouse_in_the_place_of_one_that_was_moved_away_is_not_published(published, new_warehouse):
    new_warehouse(published.warehouse)
    with pytest.raises(EtalonError, match="2 files"):
        steps.publish(published)


def test_days_alone_that_are_gone_are_missed(published):
    with open_writer(published.warehouse) as con:
        con.execute("DELETE FROM marts.dim_interval WHERE interval_start_local < TIMESTAMP '2026-05-03'")
    with pytest.raises(EtalonError, match=r"lacks data of the published snapshot: 2 days of PRDA, from 2026-05-01"):
        steps.publish(published)


def test_what_was_forgotten_goes_and_nothing_else(published):
    steps.forget(published, ["/landing/2"])
    lose(published, "PRDB", [])
    steps.publish(published)
    assert systems(published) == ["PRDA"]
    lose(published, "PRDA", [])
    with pytest.raises(EtalonError, match="10 days of PRDA"):
        steps.publish(published)


def test_what_retention_dropped_is_not_missed(published):
    dropped = retention.retain(published, {"marts.dim_interval": 9}, dt.date(2026, 5, 14))
    assert dropped == {"marts.dim_interval": 16}
    steps.publish(published)
    with duckdb.connect(str(published.snapshot), read_only=True) as con:
        first = con.execute("SELECT min(interval_start_local) FROM marts.dim_interval").fetchone()
    assert first == (dt.datetime(2026, 5, 5),)


def test_a_file_whose_end_has_come_and_what_is_held_back_are_not_missed(published):
    with open_writer(published.warehouse) as con:
        con.execute("UPDATE meta.ledger SET file_id = 3, sha256 = 'longer' WHERE file_id = 2")
        con.execute("DELETE FROM marts.dim_interval WHERE smf_sid = 'PRDA' AND interval_start_local < '2026-05-02'")
        columns = [row[0] for row in con.execute("DESCRIBE meta.held_back").fetchall()]
        row = {"smf_sid": "PRDA", "day": dt.date(2026, 5, 1), "file_id": 1, "records": 1, "reason": "CPU above 100 %"}
        con.execute(
            f"INSERT INTO meta.held_back ({', '.join(columns)}) VALUES ({', '.join('?' for _ in columns)})",
            [row.get(name) for name in columns],
        )
    steps.publish(published)


@pytest.mark.parametrize("name", ["PLEX1.PRDB", "PRDB@02A1B"])
def test_a_system_that_came_to_share_its_identifier_is_not_missed(published, name):
    with open_writer(published.warehouse) as con:
        con.execute("UPDATE marts.dim_interval SET smf_sid = ? WHERE smf_sid = 'PRDB'", [name])
    steps.publish(published)
    assert name in systems(published)


@pytest.mark.parametrize("snapshot", [b"damaged", None])
def test_a_snapshot_that_cannot_be_read_keeps_nothing_from_being_published(published, snapshot):
    published.snapshot.unlink()
    if snapshot is not None:
        published.snapshot.write_bytes(snapshot)
    steps.publish(published)
    assert systems(published) == ["PRDA", "PRDB"]
