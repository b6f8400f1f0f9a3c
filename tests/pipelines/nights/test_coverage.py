"""What a day lacks of what usually comes."""

import datetime as dt
from contextlib import nullcontext

import duckdb

from ingest import warehouse
from pipelines.nights import coverage
from pipelines.nights.coverage import Outage
from pipelines.settings import Coverage
from tests.pipelines.nights.conftest import DAY


def hours(days, per_hour=4, missing=()):
    first = dt.datetime(2026, 11, 1)
    every = (first + dt.timedelta(days=day, hours=hour) for day in days for hour in range(24))
    return {at: per_hour for at in every if at not in missing}


def missing(monkeypatch, counts, rules=None, down=(), day=DAY, before=(), held=frozenset()):
    monkeypatch.setattr(warehouse, "kept_open", lambda _: nullcontext())
    monkeypatch.setattr(coverage, "outages", lambda *_: {"PRDA": down})
    monkeypatch.setattr(coverage, "written", lambda *_: counts)
    monkeypatch.setattr(coverage, "_classes", lambda *_: [])
    monkeypatch.setattr(coverage, "_held_back", lambda _: held)
    return coverage.lacks(None, day, rules or Coverage(), before)


def texts(*arguments, **options):
    return [lack.text for lack in missing(*arguments, **options)]


def test_a_system_that_did_not_come_is_one_line(monkeypatch):
    whole = {("PRDA", kind): hours(range(20)) for kind in ("70.1", "72.3")}
    gone = {("PRDB", kind): hours(range(19)) for kind in ("70.1", "72.3", "30")}
    assert texts(monkeypatch, whole | gone) == ["PRDB: nothing of 2026-11-20; the last records are of 2026-11-19"]
    assert texts(monkeypatch, whole | gone, held={("PRDB", DAY)}) == []


def test_a_short_day_names_its_hours_and_half_a_day_its_number(monkeypatch):
    silent = {dt.datetime(2026, 11, 20, hour) for hour in (5, 6, 7)}
    counts = {
        ("PRDA", "70.1"): hours(range(20), missing=silent),
        ("PRDA", "72.3"): hours(range(20), missing=silent),
        ("PRDA", "30"): hours(range(19), per_hour=10) | hours([19], per_hour=4),
    }
    assert texts(monkeypatch, counts) == [
        "PRDA: no SMF 70.1, 72.3 of 2026-11-20 from 05:00 to 08:00",
        "PRDA: 96 SMF 30 of 2026-11-20, usually 240",
    ]


def test_what_never_comes_at_weekends_is_not_missing_there(monkeypatch, tmp_path):
    """Twenty days from Sunday, November 1st; the last is a Friday without the class and the hour that Fridays have."""
    weekends = {0, 6, 7, 13, 14, 20, 21}
    days = [day for day in range(22) if day != 19]
    by_day = {dt.datetime(2026, 11, 1 + day, 9) for day in (*weekends, 19)}
    counts = {("PRDA", "30"): hours(range(22), missing=by_day)}
    snapshot = tmp_path / "s.duckdb"
    with duckdb.connect(str(snapshot)) as con:
        con.execute("CREATE SCHEMA marts")
        con.execute(
            "CREATE TABLE marts.fct_service_class AS SELECT 'PRDA' AS smf_sid, name AS class_name, "
            "'service_class' AS class_kind, 5 AS transactions_ended, day AS interval_start_local FROM "
            "(SELECT unnest(?) AS day, 'ONLINE' AS name UNION ALL SELECT unnest(?), 'BATCH')",
            [
                [dt.datetime(2026, 11, 1 + day, 9) for day in days if day not in weekends],
                [dt.datetime(2026, 11, 1 + day, 2) for day in range(22)],
            ],
        )
    classes = coverage._classes  # before it is replaced for those that look at records alone
    told = {}
    for day in (DAY, DAY + dt.timedelta(days=1), DAY + dt.timedelta(days=2)):
        told[day] = texts(monkeypatch, counts, day=day)
        told[day] += [lack.text for lack in classes(snapshot, day, day - dt.timedelta(weeks=4), day)]
    assert list(told.values()) == [
        [
            "PRDA: no SMF 30 of 2026-11-20 from 09:00 to 10:00",
            "PRDA: service class ONLINE ended no transactions on 2026-11-20",
        ],
        [],
        [],
    ]


def test_weekends_without_online_work_are_learned_from_the_first(monkeypatch):
    """Three weeks from Monday, November 2nd; a record type, and an LPAR, have none at weekends."""
    working = [day for day in range(1, 21) if dt.date(2026, 11, 1 + day).weekday() < 5]
    came = {
        ("PRDA", "70.1"): hours(range(1, 21)),
        ("PRDA", "110.1"): hours(working, per_hour=500),
        ("DEVL", "70.1"): hours(working),
    }
    told, before = {}, []
    for day in (dt.date(2026, 11, 1 + number) for number in range(2, 21)):
        known = {key: {at: n for at, n in found.items() if at.date() <= day} for key, found in came.items()}
        before = missing(monkeypatch, known, day=day, before=before)
        told[day.day] = [lack.text for lack in before]
    line = "DEVL: nothing of 2026-11-{:02d}; the last records are of 2026-11-06"
    second = f"{line.format(8)}; also on 2026-11-07"
    at_first = {7: [line.format(7)]} | {number: [second] for number in range(8, 14)}
    assert {day: texts for day, texts in told.items() if texts} == at_first


def test_the_last_hour_of_a_day_may_come_with_the_dump_of_the_next(monkeypatch):
    last = dt.datetime(2026, 11, 20, 23)
    cut = {("PRDA", kind): hours(range(20), per_hour=1, missing=[last]) for kind in ("70.1", "72.3")}
    assert texts(monkeypatch, cut) == []
    next_day = {key: found | hours([20], per_hour=1) for key, found in cut.items()}
    line = "PRDA: no SMF 70.1, 72.3 of 2026-11-20 from 23:00 to 24:00"
    assert texts(monkeypatch, cut, day=DAY + dt.timedelta(days=1)) == [
        "PRDA: nothing of 2026-11-21; the last records are of 2026-11-20"
    ]
    found = missing(monkeypatch, next_day, day=DAY + dt.timedelta(days=1))
    assert [lack.text for lack in found] == [line]
    assert texts(monkeypatch, next_day, day=DAY + dt.timedelta(days=2), before=found)[-1:] == [line]
    whole = {key: found | {last: 1} for key, found in next_day.items()}
    assert texts(monkeypatch, whole, day=DAY + dt.timedelta(days=1), before=found) == []


def test_hours_of_an_outage_are_told_as_one_and_others_are_lost(monkeypatch):
    silent = {dt.datetime(2026, 11, 20, hour) for hour in (5, 6, 7, 8, 15)}
    counts = {("PRDA", kind): hours(range(20), missing=silent) for kind in ("70.1", "72.3")}
    down = [Outage(*(dt.datetime(2026, 11, 20, *at) for at in ((5, 0), (7, 53), (7, 52))))]
    assert texts(monkeypatch, counts, down=down) == [
        "PRDA: down from 2026-11-20 05:00 until its IPL at 07:52",
        "PRDA: no SMF 70.1, 72.3 of 2026-11-20 from 08:00 to 09:00, from 15:00 to 16:00",
    ]


def test_a_day_on_which_a_system_was_down_is_not_missing(monkeypatch):
    down = [Outage(*(dt.datetime(2026, 11, *at) for at in ((19, 23, 45), (21, 6, 0), (21, 5, 58))))]
    assert texts(monkeypatch, {("PRDA", "70.1"): hours(range(19))}, down=down) == [
        "PRDA: down from 2026-11-19 23:45 until its IPL at 2026-11-21 05:58"
    ]


def test_what_is_missing_is_told_until_it_came(monkeypatch):
    came = {("PRDA", "70.1"): hours(range(22)), ("PRDB", "70.1"): hours(range(19))}
    first = missing(monkeypatch, came)
    [second] = missing(monkeypatch, came, day=DAY + dt.timedelta(days=1), before=first)
    assert second.text == ("PRDB: nothing of 2026-11-21; the last records are of 2026-11-19; also on 2026-11-20")
    came["PRDB", "70.1"] = hours((*range(19), 20))
    assert texts(monkeypatch, came, day=DAY + dt.timedelta(days=1), before=[second]) == [
        "PRDB: nothing of 2026-11-20; the last records are of 2026-11-19"
    ]
    came["PRDB", "70.1"] = hours(range(21))
    assert texts(monkeypatch, came, day=DAY + dt.timedelta(days=1), before=[second]) == []


def test_what_is_missing_still_when_some_of_a_system_came_late_is_told(monkeypatch):
    came = {("PRDB", kind): hours(range(19)) for kind in ("70.1", "72.3")}
    first = missing(monkeypatch, came)
    late = came | {("PRDB", "70.1"): hours(range(21)), ("PRDB", "72.3"): hours((*range(19), 20))}
    assert texts(monkeypatch, late, day=DAY + dt.timedelta(days=1), before=first) == [
        "PRDB: no SMF 72.3 of 2026-11-20, usually 96"
    ]


def test_what_is_declared_is_expected_though_it_never_came(monkeypatch):
    rules = Coverage(expected={"PRDC": ["70.1"]})
    assert texts(monkeypatch, {("PRDA", "70.1"): hours(range(20))}, rules) == ["PRDC: nothing of 2026-11-20"]


def test_nothing_is_missing_where_nothing_is_declared_to_come(monkeypatch):
    counts = {("PRDA", "70.1"): hours(range(20)), ("TEST", "70.1"): hours(range(19))}
    assert texts(monkeypatch, counts) == ["TEST: nothing of 2026-11-20; the last records are of 2026-11-19"]
    assert not texts(monkeypatch, counts, Coverage(expected={"TEST": []}))


def test_records_tell_of_which_hour_they_are(tmp_path):
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
    warehouse.publish(database, snapshot, registry.load())
    found = coverage.written(snapshot, DAY, DAY)
    assert found[("PRDA", "70.1")] == {dt.datetime(2026, 11, 20, 23): 1}


def test_what_never_comes_is_told_for_as_long_as_the_days_before_say_what_is_usual(monkeypatch):
    came = {("PRDA", "70.1"): hours(range(60)), ("PRDB", "70.1"): hours(range(19))}
    first = missing(monkeypatch, came)
    days = [DAY + dt.timedelta(weeks=weeks) for weeks in (2, 3)]
    two, three = (texts(monkeypatch, came, Coverage(weeks=2), day=day, before=first) for day in days)
    assert two == ["PRDB: nothing of 2026-11-20; the last records are of 2026-11-19"]
    assert three == []
