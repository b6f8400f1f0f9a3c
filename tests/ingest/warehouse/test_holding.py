"""Records of a system and day that are held back count nowhere, until another file has them or theirs is gone."""

import datetime as dt
import itertools
import struct

import pytest

from ingest.warehouse import open_writer, remove
from ingest.warehouse.holding import hold
from tests.ingest.warehouse.samples import write

COUNTED = """SELECT smf30sid, count(*) FROM raw.smf30_header ANTI JOIN meta.record_overlap USING (file_id, record_seq)
    GROUP BY ALL ORDER BY ALL"""
DAY = dt.date(2026, 11, 20)
#: Times of writing in hundredths of a second: a minute before and after midnight, and noon.
LATE, EARLY, NOON = 8_634_000, 6_000, 4_320_000


@pytest.fixture(scope="module")
def record(dump):
    """Makes a record that a system writes on the day, or the days after, at a time of day."""
    (size,) = struct.unpack_from(">H", dump, 0)

    def made(sid: str, clock: int, days: int = 0) -> bytes:
        date = bytes.fromhex(f"01{(DAY + dt.timedelta(days=days)):%y%j}f")
        return dump[:6] + clock.to_bytes(4) + date + sid.encode("cp037") + dump[18:size]

    return made


@pytest.fixture
def loaded(tmp_path, ingest, database, record):
    """A file with four records of a day, one of them of its last interval, and three others."""
    own = [record("SICK", clock) for clock in (NOON, NOON + 1, LATE)] + [record("SICK", EARLY, 1)]
    others = [record("SICK", EARLY), record("SICK", NOON, 1), record("WELL", NOON)]
    return ingest(write(tmp_path / "in", a__smf=b"".join(itertools.chain(own, others))))


def held(database, layouts, rows, *days) -> int:
    files = [row[0] for row in rows("SELECT file_id FROM meta.ledger")]
    with open_writer(database) as con:
        return hold(con, layouts, files, {(sid, DAY + dt.timedelta(days=number)): "why" for sid, number in days})


def test_records_of_a_day_are_held_back_until_they_come_in_another_file(
    tmp_path, ingest, database, layouts, rows, record, loaded
):
    assert held(database, layouts, rows, ("SICK", 0)) == 4
    assert rows(COUNTED) == [("SICK", 2), ("WELL", 1)]
    assert rows("SELECT smf_sid, day, records, reason FROM meta.held_back") == [("SICK", DAY, 4, "why")]
    assert held(database, layouts, rows, ("SICK", 0)) == 0
    mended = ingest(write(tmp_path / "mended", b__smf=record("SICK", NOON) + record("SICK", NOON + 2)))
    assert mended[0].overlap == 0
    assert rows(COUNTED) == [("SICK", 4), ("WELL", 1)]
    remove(database, ["a.smf"])
    assert rows(COUNTED) == [("SICK", 2)]
    assert rows("SELECT count(*) FROM meta.held_back") == rows("SELECT count(*) FROM meta.record_overlap") == [(0,)]


def test_nothing_is_held_back_where_nothing_else_would_count(database, layouts, rows, loaded):
    with open_writer(database) as con:
        assert hold(con, layouts, (), {("SICK", DAY): "why"}) == 0
    every = [("SICK", -1), ("SICK", 0), ("SICK", 1), ("WELL", 0)]
    assert held(database, layouts, rows, *every) == 0
    assert rows(COUNTED) == [("SICK", 6), ("WELL", 1)]


def test_a_file_loaded_again_is_judged_anew(tmp_path, ingest, database, layouts, rows, loaded):
    assert held(database, layouts, rows, ("SICK", 0)) == 4
    ingest(tmp_path / "in", reload="always")
    assert rows(COUNTED) == [("SICK", 6), ("WELL", 1)]
    assert rows("SELECT count(*) FROM meta.held_back") == [(0,)]
