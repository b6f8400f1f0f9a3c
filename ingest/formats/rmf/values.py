"""The forms in which RMF prints numbers, times and durations, as Python values. Text that is no value becomes None."""

import datetime as dt
import math
import re
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

_NUMBER = re.compile(r"[+-]?(?:0|[1-9]\d*)?(?:\.\d+)?")
_CLOCK = re.compile(r"(\d+)[.:](\d\d)[.:](\d\d)(?:[.:](\d{1,6}))?")
_MINUTES = re.compile(r"(\d+)[.:](\d\d)(?:[.:](\d{1,6}))?")
_DISPLAY = re.compile(r"(\d\d)/(\d\d)/(\d{4})[- ](\d\d)[.:](\d\d)[.:](\d\d)")
_COMPACT = re.compile(r"(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)")

# Tidy rows may carry megabytes of digits; a number RMF prints has at most a few dozen characters.
_LONGEST_NUMBER = 64

Value = TypeVar("Value")


def _remembered(read: Callable[[str | None], Value | None]) -> Callable[[str | None], Value | None]:
    """The same function, which reads each text once; longer texts are no values, and are not remembered."""
    lookup = lru_cache(maxsize=65536)(read)

    @wraps(read)
    def recalled(text: str | None) -> Value | None:
        return lookup(text) if text and len(text) <= _LONGEST_NUMBER else None

    return recalled


@_remembered
def number(text: str | None) -> float | None:
    """Value of a plain decimal such as `0.42` or `85106.4`; None for anything else (`N/A`, `16K`, `0042`, `***`)."""
    if not text or not _NUMBER.fullmatch(text) or not text[-1].isdigit():
        return None
    value = float(text)
    return value if math.isfinite(value) else None


@_remembered
def integer(text: str | None) -> int | None:
    """Value of a whole number that fits 64 bits; None for anything else."""
    value = number(text)
    if value is None or text is None or not text.lstrip("+-").isdigit():
        return None
    whole = int(text)
    return whole if -(2**63) <= whole < 2**63 else None


@_remembered
def count(text: str | None) -> float | None:
    """Value of a number that may carry a suffix K, M or G for thousands, millions or thousands of millions."""
    factor = {"K": 1e3, "M": 1e6, "G": 1e9}.get((text or "")[-1:])
    if factor is None or text is None:
        return number(text)
    value = number(text[:-1])
    return None if value is None else value * factor


@_remembered
def duration_us(text: str | None) -> int | None:
    """Microseconds of `HHH.MM.SS.FFFFFF` or `HH.MM.SS.TTT`; None when the text is not such a duration."""
    match = _CLOCK.fullmatch(text) if text else None
    if match is None:
        return None
    hours, minutes, seconds, fraction = match.groups(default="")
    whole = (int(hours) * 60 + int(minutes)) * 60 + int(seconds)
    micros = whole * 1_000_000 + int((fraction or "0").ljust(6, "0"))
    return micros if micros < 2**63 else None


def interval_s(text: str | None, unit: str | None) -> float | None:
    """Seconds of an interval: `mm:ss:ttt` with unit `minutes`, `hh:mm:ss` with `hours`, else a number of the unit.

    Both hours and minutes may exceed two digits.
    """
    if not text or len(text) > _LONGEST_NUMBER or len(unit or "") > _LONGEST_NUMBER:
        return None
    return _seconds(text, unit)


@lru_cache(maxsize=1024)
def _seconds(text: str, unit: str | None) -> float | None:
    if unit == "minutes" and (match := _MINUTES.fullmatch(text)):
        minutes, seconds, fraction = match.groups(default="0")
        return (int(minutes) * 60_000_000 + int(seconds) * 1_000_000 + int(fraction.ljust(6, "0"))) / 1e6
    if unit == "hours" and (micros := duration_us(text)) is not None:
        return micros / 1e6
    plain = number(text)
    factor = {"seconds": 1.0, "milliseconds": 1e-3, "minutes": 60.0, "hours": 3600.0, None: 1.0}.get(unit)
    return plain * factor if plain is not None and factor is not None else None


@_remembered
def local_time(text: str | None) -> dt.datetime | None:
    """Time stamp of `mm/dd/yyyy-hh.mm.ss` (the only form the DDS writes, locale en-us) or `yyyymmddhhmmss`.

    Hour 24 is midnight at the end of that day. None when the text is no such time.
    """
    if not text:
        return None
    if match := _DISPLAY.fullmatch(text):
        month, day, year, hour, minute, second = map(int, match.groups())
    elif match := _COMPACT.fullmatch(text):
        year, month, day, hour, minute, second = map(int, match.groups())
    else:
        return None
    try:
        stamp = dt.datetime(year, month, day, hour % 24, minute, second)
        return stamp + dt.timedelta(days=1) if hour == 24 else stamp
    except (ValueError, OverflowError):
        return None
