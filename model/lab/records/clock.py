"""Times as records carry them. Everything here takes UTC and the system's offset from it."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

TOD_UNITS_PER_US = 4096
_TOD_EPOCH = datetime(1900, 1, 1, tzinfo=UTC)
_US = timedelta(microseconds=1)


def tod(moment: datetime) -> int:
    """Store clock value of a UTC time: 1/4096 us since 1900."""
    return (moment.replace(tzinfo=UTC) - _TOD_EPOCH) // _US * TOD_UNITS_PER_US


@dataclass(frozen=True, slots=True)
class Clock:
    """Local time of a system `offset_hours` ahead of UTC."""

    offset_hours: float

    @property
    def offset_tod(self) -> int:
        """Local minus UTC in store clock units."""
        return round(self.offset_hours * 3600) * 1_000_000 * TOD_UNITS_PER_US

    def local(self, moment: datetime) -> datetime:
        """Local time of a UTC time."""
        return moment + timedelta(hours=self.offset_hours)

    def utc(self, moment: datetime) -> datetime:
        """UTC of a local time."""
        return moment - timedelta(hours=self.offset_hours)

    def day(self, moment: datetime) -> date:
        """Local date of a UTC time."""
        return self.local(moment).date()

    def hundredths(self, moment: datetime) -> int:
        """Hundredths of a second from local midnight."""
        local = self.local(moment)
        return (local - local.replace(hour=0, minute=0, second=0, microsecond=0)) // timedelta(milliseconds=10)

    def hhmmss(self, moment: datetime) -> int:
        """Local time of day as the digits hhmmss."""
        local = self.local(moment)
        return local.hour * 10_000 + local.minute * 100 + local.second


def mmssttt(length_ms: int) -> int:
    """A length of time as the digits mmssttt."""
    minutes, rest = divmod(length_ms, 60_000)
    return minutes * 100_000 + rest
