"""What a day lacks of what usually comes."""

import datetime as dt

from pipelines.nights import coverage
from pipelines.settings import Coverage
from tests.pipelines.nights.conftest import DAY


def hours(days, per_hour=4, missing=()):
    first = dt.datetime(2026, 11, 1)
    every = (first + dt.timedelta(days=day, hours=hour) for day in days for hour in range(24))
    return {at: per_hour for at in every if at not in missing}


def told(monkeypatch, counts, rules=None):
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


def test_what_is_declared_is_expected_though_it_never_came(monkeypatch):
    rules = Coverage(expected={"PRDC": ["70.1"]})
    assert told(monkeypatch, {("PRDA", "70.1"): hours(range(20))}, rules) == ["PRDC: nothing of 2026-11-20"]


def test_what_was_written_just_after_midnight_is_of_the_day_before(tmp_path):
    from ingest import registry, warehouse

    database, snapshot = tmp_path / "w.duckdb", tmp_path / "s.duckdb"
    warehouse.prepare(database, registry.load())
    with warehouse.open_writer(database) as con:
        con.execute(
            "INSERT INTO raw.smf70_1_header BY NAME SELECT 1::UBIGINT AS file_id, range::UINTEGER AS record_seq, "
            "0::UINTEGER AS section_seq, 'PRDA' AS smf70sid, DATE '2026-11-20' + range::INTEGER AS smf70dte, "
            "1000::UINTEGER AS smf70tme FROM range(2)"
        )
    warehouse.publish(database, snapshot, registry.load())
    found = coverage.written(snapshot, DAY, DAY)
    assert found == {("PRDA", "70.1"): {dt.datetime(2026, 11, 20, 23): 1}}
