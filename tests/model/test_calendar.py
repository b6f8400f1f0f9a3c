"""Shifts and holidays: which intervals of local time belong to a shift."""

import datetime as dt

import duckdb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.calendar import DEFAULTS, Calendar, CalendarError

OURS = Calendar.of(
    {
        "holidays": ["2026-11-11", dt.date(2026, 12, 25)],
        "shifts": {"late": {"days": "fri-mon", "hours": ["22:30", "02:00"], "holidays": "skip"}},
    }
)


def belongs(shift, moment, calendar=OURS):
    return bool(calendar.contains(shift, np.array([moment], "datetime64[s]"))[0])


@pytest.mark.parametrize(
    ("shift", "moment", "expected"),
    [
        ("prime", "2026-11-10T08:00", True),
        ("prime", "2026-11-10T18:00", False),
        ("prime", "2026-11-14T10:00", False),
        ("prime", "2026-11-11T10:00", False),
        ("holiday", "2026-11-11T10:00", True),
        ("holiday", "2026-11-10T10:00", False),
        ("night", "2026-11-10T05:59", True),
        ("night", "2026-11-10T22:00", True),
        ("night", "2026-11-10T06:00", False),
        ("weekend", "2026-11-15T00:00", True),
        ("month-end", "2026-11-29T12:00", True),
        ("month-end", "2026-12-01T12:00", True),
        ("month-end", "2026-11-28T12:00", False),
    ],
)
def test_an_interval_belongs_to_a_shift_by_its_start(shift, moment, expected):
    assert belongs(shift, moment) is expected


def test_the_night_of_a_day_ends_on_the_next():
    assert belongs("late", "2026-11-14T01:45"), "the night of Friday"
    assert not belongs("late", "2026-11-13T01:45"), "the night of Thursday"
    assert belongs("late", "2026-11-13T23:00")
    assert belongs("late", "2026-11-10T01:00"), "the night of Monday"


@given(st.datetimes(dt.datetime(2026, 1, 1), dt.datetime(2027, 12, 31)).map(lambda at: at.replace(microsecond=0)))
def test_the_condition_in_sql_chooses_the_same_intervals(moment):
    for name in OURS.shifts:
        sql = f"SELECT {OURS.condition(name, 'start')} FROM (SELECT ?::TIMESTAMP AS start)"
        assert duckdb.execute(sql, [moment]).fetchall() == [(belongs(name, moment),)], name


def test_a_calendar_is_the_same_after_being_written_down():
    assert Calendar.of(OURS.to_dict()) == OURS
    assert set(Calendar.of(None).shifts) == set(DEFAULTS)


@pytest.mark.parametrize(
    ("described", "expected"),
    [
        ({"holiday": []}, "calendar.holiday: there is no such setting; known: holidays, shifts"),
        ({"holidays": ["25.12.2026"]}, "calendar.holidays: '25.12.2026' is no date; write 2026-12-25"),
        ({"holidays": "2026-12-25"}, "calendar.holidays: is no list"),
        ({"shifts": {"a b": {}}}, "calendar.shifts.a b: a name has letters"),
        ({"shifts": {"early": {"day": ["mon"]}}}, "calendar.shifts.early.day: there is no such setting"),
        ({"shifts": {"early": {"days": ["moon"]}}}, "calendar.shifts.early.days: 'moon' is no day"),
        ({"shifts": {"early": {"hours": ["8"]}}}, "calendar.shifts.early.hours"),
        ({"shifts": {"early": {"hours": ["08:00", "08:00"]}}}, "is no part of a day"),
        ({"shifts": {"early": {"month_days": [0]}}}, "write 1 to 31, or -1 to -31"),
        ({"shifts": {"early": {"holidays": "off"}}}, "'off' is none of count, skip, only"),
    ],
)
def test_a_calendar_that_cannot_be_used_is_refused_with_what_is_allowed(described, expected):
    with pytest.raises(CalendarError) as raised:
        Calendar.of(described)
    assert expected in str(raised.value)


def test_a_shift_that_there_is_not_is_refused_with_the_nearest():
    with pytest.raises(CalendarError, match="did you mean prime"):
        OURS.condition("prim")


def test_a_shift_is_described_in_words():
    assert OURS.shift("prime").words == "Mon–Fri, 08:00–18:00, without holidays"
    assert OURS.shift("month-end").words == "last day but 1, last day, day 1 of the month"
