"""What a day lacks of what usually comes."""

import datetime as dt

from pipelines.nights import coverage
from pipelines.settings import Coverage
from tests.pipelines.nights.conftest import DAY


def hours(days, per_hour=4, missing=()):
    first = dt.datetime(2026, 11, 1)
    every = (first + dt.timedelta(days=day, hours=hour) for day in days for hour in range(24))
    return {at: per_hour for at in every if at not in missing}


def told(monkeypatch, counts, rules=None, starts=()):
    monkeypatch.setattr(coverage, "ipls", lambda *_: {"PRDA": starts})
    monkeypatch.setattr(coverage, "written", lambda *_: counts)
    monkeypatch.setattr(coverage, "_classes", lambda *_: [])
    return [lack.text for lack in coverage.lacks(None, DAY, rules or Coverage())]


def test_a_system_that_did_not_come_is_one_line(monkeypatch):
    whole = {("PRDA", kind): hours(range(20)) for kind in ("70.1", "72.3")}
    gone = {("PRDB", kind): hours(range(19)) for kind in ("70.1", "72.3", "30")}
    assert told(monkeypatch, whole | gone) == ["PRDB: nothing of 2026-11-20; the last records are of 2026-11-19"]


def test_a_short_day_names_its_hours_and_half_a_day_its_number(monkeypatch):
    silent = {dt.datetime(2026, 11, 20, hour) for hour in (5, 6, 7)}
    counts = {
        ("PRDA", "70.1"): hours(range(20), missing=silent),
        ("PRDA", "72.3"): hours(range(20), missing=silent),
        ("PRDA", "30"): hours(range(19), per_hour=10) | hours([19], per_hour=4),
    }
    assert told(monkeypatch, counts) == [
        "PRDA: no SMF 70.1, 72.3 of 2026-11-20 from 05:00 to 08:00",
        "PRDA: 96 SMF 30 of 2026-11-20, usually 240",
    ]


def test_hours_that_an_ipl_ended_are_an_outage_and_others_are_lost(monkeypatch):
    down = {dt.datetime(2026, 11, 20, hour) for hour in (5, 6, 7, 15)}
    counts = {("PRDA", kind): hours(range(20), missing=down) for kind in ("70.1", "72.3")}
    assert told(monkeypatch, counts, starts=[dt.datetime(2026, 11, 20, 7, 52)]) == [
        "PRDA: down on 2026-11-20 from about 05:00 until its IPL at 07:52",
        "PRDA: no SMF 70.1, 72.3 of 2026-11-20 from 15:00 to 16:00",
    ]


def test_what_is_declared_is_expected_though_it_never_came(monkeypatch):
    rules = Coverage(expected={"PRDC": ["70.1"]})
    assert told(monkeypatch, {("PRDA", "70.1"): hours(range(20))}, rules) == ["PRDC: nothing of 2026-11-20"]


def test_records_tell_of_which_hour_they_are_and_of_an_ipl(tmp_path):
    """What was written just after midnight is of the day before."""
    from ingest import registry, warehouse

    database, snapshot = tmp_path / "w.duckdb", tmp_path / "s.duckdb"
    warehouse.prepare(database, registry.load())
    with warehouse.open_writer(database) as con:
        con.execute(
            "INSERT INTO raw.smf70_1_header BY NAME SELECT 1::UBIGINT AS file_id, range::UINTEGER AS record_seq, "
            "0::UINTEGER AS section_seq, 'PRDA' AS smf70sid, DATE '2026-11-20' + range::INTEGER AS smf70dte, "
            "1000::UINTEGER AS smf70tme FROM range(2)"
        )
        con.execute(
            "INSERT INTO raw.smf0_header BY NAME SELECT 1::UBIGINT AS file_id, 9::UINTEGER AS record_seq, "
            "0::UINTEGER AS section_seq, 'PRDA' AS smf0sid, DATE '2026-11-20' AS smf0dte, 2832000::UINTEGER AS smf0tme"
        )
        con.execute(
            "INSERT INTO raw.smf70_1_control BY NAME SELECT 1::UBIGINT AS file_id, 0::UINTEGER AS record_seq, "
            "0::UINTEGER AS section_seq, TIMESTAMP '2026-11-20 08:30:15' AS smf70_ipl_time"
        )
        con.execute(
            "INSERT INTO raw.smf70_1_product BY NAME SELECT 1::UBIGINT AS file_id, 0::UINTEGER AS record_seq, "
            "0::UINTEGER AS section_seq, DATE '2026-11-20' AS smf70dat, 90000::UINTEGER AS smf70ist, "
            "1500000::UINTEGER AS smf70int, 3600::BIGINT * 1000000 * 4096 AS smf70lgo, "
            "TIMESTAMP '2026-11-20 08:15:00' AS smf70iet"
        )
    warehouse.publish(database, snapshot, registry.load())
    found = coverage.written(snapshot, DAY, DAY)
    assert found[("PRDA", "70.1")] == {dt.datetime(2026, 11, 20, 23): 1}
    assert coverage.ipls(snapshot, DAY) == {
        "PRDA": [dt.datetime(2026, 11, 20, 7, 52), dt.datetime(2026, 11, 20, 9, 30)]
    }
