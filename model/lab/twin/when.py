"""What the `when` of a question names: recorded intervals, an hour of the week, or a time to come."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from model.capacity.base_load import DAYS
from model.lab.errors import LabError

PEAK = "peak"
"""The recorded interval in which the LPAR was busiest."""


@dataclass(frozen=True, slots=True)
class Named:
    """Recorded intervals by number, all together or the `busiest` of them, and the time `to_come` to which they grow;
    without intervals, what is expected then."""

    rows: list[int]
    busiest: bool = False
    to_come: datetime | None = None


def recorded_at(times: Sequence[datetime], length: timedelta, when: str) -> Named:
    """Which of the recorded intervals, by local start and length, a `when` names, and to what time they grow.

    Raises LabError for a time that is past and was not recorded, or written otherwise.
    """
    everything = list(range(len(times)))
    if when.casefold() == PEAK:
        return Named(everything, busiest=True)
    if when[:3].casefold() in DAYS:
        return Named(_hour_of_week(times, when))
    try:
        moment = datetime.fromisoformat(when)
    except ValueError:
        raise LabError(
            f"when: {when!r} is neither {PEAK}, a local time like 2026-09-10T10:45, a date, nor an hour like mon 10:00"
        ) from None
    if moment.tzinfo is not None:
        raise LabError(f"when: {when} has an offset; give the local time of the records without an offset")
    whole_day = len(when) <= len("2026-09-10")
    of_day = [row for row in everything if whole_day and times[row].date() == moment.date()]
    if of_day:
        return Named(of_day, busiest=True)
    inside = [row for row in everything if times[row] <= moment < times[row] + length]
    if inside:
        return Named(inside)
    if moment <= times[-1]:
        raise LabError(f"when: no interval was recorded at {when} local time")
    return Named(everything, busiest=True, to_come=moment) if whole_day else Named([], to_come=moment)


def _hour_of_week(times: Sequence[datetime], when: str) -> list[int]:
    try:
        hour = int(when.split()[1].split(":")[0])
    except (IndexError, ValueError):
        raise LabError(f"when: {when!r} is no hour of the week such as mon 10:00") from None
    day = DAYS.index(when[:3].casefold())
    intervals = [row for row, time in enumerate(times) if time.weekday() == day and time.hour == hour]
    if not intervals:
        raise LabError(f"when: no interval was recorded in the hour {when}")
    return intervals
