"""Shifts of an installation and its holidays: which intervals of local time belong to a shift.

An interval belongs to a shift if its start does. A shift over midnight belongs to the day on which it begins: the night
of Friday ends on Saturday morning.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
HOLIDAYS = {"count": "like other days", "skip": "no day of the shift", "only": "the only days of the shift"}
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
_KEYS = ("days", "hours", "month_days", "holidays")
_DAY = dt.timedelta(days=1)

DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "prime": {"days": ["mon-fri"], "hours": ["08:00", "18:00"], "holidays": "skip"},
    "night": {"hours": ["22:00", "06:00"]},
    "weekend": {"days": ["sat", "sun"]},
    "month-end": {"month_days": [-2, -1, 1]},
    "holiday": {"holidays": "only"},
}
"""The shifts that an installation has unless it describes them otherwise."""


class CalendarError(ValueError):
    """A calendar that cannot be used, or a shift that is not in it; the message says what is allowed."""

    #: That of the command line for a question that cannot be answered.
    exit_code = 6

    def __init__(self, field: str, message: str, allowed: Sequence[str] = ()) -> None:
        self.field = field
        self.allowed = tuple(allowed)
        super().__init__(message)


@dataclass(frozen=True)
class Shift:
    """A part of the week, the month or the holidays.

    Attributes
    ----------
    name : str
        What it is called in questions.
    days : frozenset of int
        Days of the week, 0 for Monday.
    hours : tuple of time, or None
        First and last local time, the last not included; the whole day without it.
    month_days : tuple of int
        Days of the month, counted from its first day (1, 2, …) or its last (-1, -2, …); every day without any.
    holidays : str
        Whether holidays ``count`` like other days, are left out (``skip``), or are the ``only`` days.
    """

    name: str
    days: frozenset[int] = frozenset(range(7))
    hours: tuple[dt.time, dt.time] | None = None
    month_days: tuple[int, ...] = ()
    holidays: str = "count"

    @property
    def is_over_midnight(self) -> bool:
        """Whether the shift ends on the day after it begins."""
        return self.hours is not None and self.hours[0] >= self.hours[1]

    @property
    def words(self) -> str:
        """The shift for a reader, such as ``Mon–Fri, 08:00–18:00, without holidays``."""
        parts = [] if len(self.days) == 7 else [_day_words(self.days)]
        if self.month_days:
            parts.append(f"{', '.join(map(_month_day_words, self.month_days))} of the month")
        if self.hours:
            parts.append(f"{self.hours[0]:%H:%M}–{self.hours[1]:%H:%M}")
        parts += {"skip": ["without holidays"], "only": ["holidays"]}.get(self.holidays, [])
        return ", ".join(parts) or "all days"


@dataclass(frozen=True)
class Calendar:
    """The shifts of an installation by name, and its holidays."""

    shifts: Mapping[str, Shift]
    holidays: frozenset[dt.date] = frozenset()

    @classmethod
    def of(cls, described: Mapping[str, Any] | None) -> Calendar:
        """The calendar that a table `calendar` of settings describes, on top of the shifts there are without it.

        Raises
        ------
        CalendarError
            for a key, name, day, time or date that is none; the message names it and what is allowed.
        """
        described = described or {}
        if not isinstance(described, Mapping):
            raise CalendarError("calendar", "calendar: is no table; write [calendar] and [calendar.shifts.NAME]")
        _refuse_unknown("calendar", described, ("holidays", "shifts"))
        shifts = described.get("shifts", {})
        if not isinstance(shifts, Mapping):
            raise CalendarError("calendar.shifts", "calendar.shifts: is no table; write [calendar.shifts.NAME]")
        made = {name: _shift(name, keys) for name, keys in {**DEFAULTS, **shifts}.items()}
        days = described.get("holidays", [])
        if not isinstance(days, Sequence) or isinstance(days, str):
            raise CalendarError("calendar.holidays", 'calendar.holidays: is no list; write ["2026-12-25"]')
        return cls(made, frozenset(_date(day) for day in days))

    def to_dict(self) -> dict[str, Any]:
        """Plain values from which `of` makes the same calendar."""
        return {
            "holidays": sorted(day.isoformat() for day in self.holidays),
            "shifts": {
                shift.name: {
                    "days": [DAYS[day] for day in sorted(shift.days)],
                    **({"hours": [f"{time:%H:%M}" for time in shift.hours]} if shift.hours else {}),
                    "month_days": list(shift.month_days),
                    "holidays": shift.holidays,
                }
                for shift in self.shifts.values()
            },
        }

    def shift(self, name: str) -> Shift:
        """The shift of that name. Raises CalendarError naming those there are."""
        if name not in self.shifts:
            near = get_close_matches(name, self.shifts, n=1, cutoff=0.5)
            meant = f"; did you mean {near[0]}?" if near else ""
            allowed = ", ".join(self.shifts)
            message = f"shift: no shift {name!r}{meant} Known: {allowed}. Describe others as [calendar.shifts.NAME]."
            raise CalendarError("shift", message, tuple(self.shifts))
        return self.shifts[name]

    def contains(self, name: str, starts: NDArray[np.datetime64]) -> NDArray[np.bool_]:
        """Which intervals belong to a shift, by their local starts, shape (intervals,). Raises CalendarError."""
        import numpy as np  # The process of the service that takes questions has no use for it.

        shift, holidays = self.shift(name), np.array(sorted(self.holidays), "datetime64[D]")
        starts = np.asarray(starts, "datetime64[s]")
        day = starts.astype("datetime64[D]")
        clock = (starts - day).astype(np.int64)
        inside = np.ones(len(starts), bool)
        if shift.hours is not None:
            first, last = (3600 * time.hour + 60 * time.minute + time.second for time in shift.hours)
            early = clock < last
            if shift.is_over_midnight:
                inside = (clock >= first) | early
                day = np.where(early, day - np.timedelta64(1, "D"), day)
            else:
                inside = (clock >= first) & early
        inside &= np.isin((day.astype(np.int64) + 3) % 7, sorted(shift.days))
        if shift.month_days:
            month = day.astype("datetime64[M]")
            from_first = (day - month.astype("datetime64[D]")).astype(np.int64) + 1
            from_last = (day - (month + 1).astype("datetime64[D]")).astype(np.int64)
            inside &= np.isin(from_first, shift.month_days) | np.isin(from_last, shift.month_days)
        if shift.holidays != "count":
            inside &= np.isin(day, holidays) == (shift.holidays == "only")
        return inside

    def condition(self, name: str, column: str = "interval_start_local") -> str:
        """SQL that says whether a local start belongs to a shift. Raises CalendarError.

        Parameters
        ----------
        name
            the shift; empty for all time.
        column
            a column of local time, or an SQL expression of one.
        """
        if not name:
            return "true"
        shift = self.shift(name)
        day = f"({column})::date"
        parts = []
        if shift.hours is not None:
            first, last = (f"TIME '{time:%H:%M:%S}'" for time in shift.hours)
            clock = f"({column})::time"
            joined = "OR" if shift.is_over_midnight else "AND"
            parts.append(f"({clock} >= {first} {joined} {clock} < {last})")
            if shift.is_over_midnight:
                day = f"({day} - CASE WHEN {clock} < {last} THEN 1 ELSE 0 END)"
        if len(shift.days) < 7:
            parts.append(f"isodow({day}) IN ({', '.join(str(number + 1) for number in sorted(shift.days))})")
        if shift.month_days:
            wanted = ", ".join(map(str, shift.month_days))
            from_last = f"day({day}) - day(last_day({day})) - 1"
            parts.append(f"(day({day}) IN ({wanted}) OR {from_last} IN ({wanted}))")
        if shift.holidays != "count":
            listed = ", ".join(f"DATE '{holiday}'" for holiday in sorted(self.holidays)) or "NULL"
            among = f"coalesce({day} IN ({listed}), false)"
            parts.append(among if shift.holidays == "only" else f"NOT {among}")
        return f"({' AND '.join(parts) or 'true'})"


def _shift(name: str, keys: Any) -> Shift:
    where = f"calendar.shifts.{name}"
    if not NAME.fullmatch(name):
        raise CalendarError(where, f"{where}: a name has letters, digits, - and _ (at most 40)")
    if not isinstance(keys, Mapping):
        raise CalendarError(where, f"{where}: is no table of {', '.join(_KEYS)}")
    _refuse_unknown(where, keys, _KEYS)
    holidays = keys.get("holidays", "count")
    if holidays not in HOLIDAYS:
        raise CalendarError(f"{where}.holidays", f"{where}.holidays: {holidays!r} is none of {', '.join(HOLIDAYS)}")
    days = frozenset(range(7))
    if "days" in keys:
        days = frozenset(day for text in _list(f"{where}.days", keys["days"]) for day in _days(f"{where}.days", text))
    return Shift(name, days, _hours(where, keys.get("hours")), _month_days(where, keys.get("month_days", [])), holidays)


def _days(where: str, text: Any) -> list[int]:
    """The days of ``mon`` or ``mon-fri``."""
    ends = [part.strip()[:3] for part in str(text).casefold().split("-")]
    if len(ends) > 2 or any(end not in DAYS for end in ends):
        raise CalendarError(where, f"{where}: {text!r} is no day; write mon, tue, … or a range such as mon-fri")
    first, last = DAYS.index(ends[0]), DAYS.index(ends[-1])
    return [day % 7 for day in range(first, last + (1 if last >= first else 8))]


def _hours(where: str, given: Any) -> tuple[dt.time, dt.time] | None:
    if given is None:
        return None
    where = f"{where}.hours"
    times = _list(where, given)
    try:
        first, last = (dt.time(0) if text == "24:00" else dt.time.fromisoformat(str(text)) for text in times)
    except ValueError:
        raise CalendarError(where, f'{where}: {given!r} are no two times; write ["08:00", "18:00"]') from None
    if first == last or first.tzinfo or last.tzinfo:
        raise CalendarError(where, f"{where}: {given!r} is no part of a day; leave hours out for the whole day")
    return first, last


def _month_days(where: str, given: Any) -> tuple[int, ...]:
    where = f"{where}.month_days"
    days = _list(where, given)
    if any(isinstance(day, bool) or not isinstance(day, int) or not 1 <= abs(day) <= 31 for day in days):
        raise CalendarError(where, f"{where}: {given!r}: write 1 to 31, or -1 to -31 from the end of the month")
    return tuple(days)


def _date(given: Any) -> dt.date:
    try:
        return given if type(given) is dt.date else dt.date.fromisoformat(str(given))
    except ValueError:
        raise CalendarError("calendar.holidays", f"calendar.holidays: {given!r} is no date; write 2026-12-25") from None


def _list(where: str, given: Any) -> Sequence[Any]:
    if isinstance(given, str):
        return [given]
    if not isinstance(given, Sequence):
        raise CalendarError(where, f"{where}: {given!r} is no list")
    return given


def _refuse_unknown(where: str, keys: Mapping[str, Any], known: Sequence[str]) -> None:
    unknown = next((key for key in keys if key not in known), None)
    if unknown is not None:
        raise CalendarError(where, f"{where}.{unknown}: there is no such setting; known: {', '.join(known)}")


def _day_words(days: frozenset[int]) -> str:
    ordered, names = sorted(days), [day.capitalize() for day in DAYS]
    if len(ordered) > 2 and ordered == list(range(ordered[0], ordered[-1] + 1)):
        return f"{names[ordered[0]]}–{names[ordered[-1]]}"
    return ", ".join(names[day] for day in ordered)


def _month_day_words(day: int) -> str:
    return f"day {day}" if day > 0 else "last day" if day == -1 else f"last day but {-day - 1}"
