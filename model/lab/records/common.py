"""Times, and the parts that several record types share, with the setting they are written in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Protocol

from model.hardware.machines import Machine
from model.hardware.ratings import cpu_rate_adjustment
from model.lab.errors import LabError
from model.published.plan import LabPlan

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


Row = Mapping[str, Any]
Column = Any
"""One value for all rows, or one for each row."""
Sections = Mapping[str, Sequence[Row]]

SIXTEENTHS_US_PER_S = 16_000_000
#: Rating for software charges against the rating that turns service into CPU time: two figures of every machine, and no
#: study prints the former.
SOFTWARE_RATING = 2 / 3
SYSTEM_FLAGS = 0xDE
SAMPLING_CYCLE_MS = 1000
WRITTEN_AFTER = timedelta(milliseconds=430)


@dataclass(frozen=True, slots=True)
class ServiceRate:
    """The CPU rate adjustment of an LPAR: 1/16 us of one engine per service unit."""

    adjustment: float
    source: str
    confidence: str

    @property
    def su_per_s(self) -> float:
        """Unweighted CPU service units one engine delivers in a second."""
        return SIXTEENTHS_US_PER_S / self.adjustment


@dataclass(frozen=True, slots=True)
class Setting:
    """The system whose records are written."""

    plan: LabPlan
    machine: Machine | None
    clock: Clock

    @property
    def rate(self) -> ServiceRate:
        """Service rate of its LPAR: the one the plan names, else the machine's. LabError when neither says it."""
        named = self.plan.service_rate
        if named is not None:
            adjustment = round(SIXTEENTHS_US_PER_S / named.value)
            return ServiceRate(adjustment, named.source, named.confidence)
        if self.machine is None:
            raise LabError(
                "nothing says how many service units a second its processors deliver: set `service_rate` in [lab], or "
                "`machine` to a file of model/hardware"
            )
        adjustment = cpu_rate_adjustment(self.machine.id, self.plan.engines)
        return ServiceRate(adjustment, self.machine.rating.source, self.machine.rating.confidence)

    @property
    def software_adjustment(self) -> int:
        """CPU adjustment factor that software is charged by: 1/16 us of one engine per service unit."""
        return round(self.rate.adjustment / SOFTWARE_RATING)

    @property
    def machine_type(self) -> str:
        """Four digits of the machine type; zeros where no machine is described."""
        return self.machine.machine_type if self.machine is not None else "0000"

    @property
    def model(self) -> str:
        """Machine model; blank where no machine is described."""
        return self.machine.model if self.machine is not None else ""

    def service_units(self, hundredths: int) -> int:
        """Service units of CPU time in 1/100 s, at a coefficient of 1."""
        return round(hundredths / 100 * self.rate.su_per_s)


@dataclass(frozen=True, slots=True)
class Record:
    """One record: layout, and rows by section; columns not named are zero or blank."""

    layout: str
    sections: Sections


class Timed(Protocol):
    """Anything with a start and end in UTC and a length: an interval of a point."""

    @property
    def start(self) -> datetime:
        """Start, UTC."""

    @property
    def end(self) -> datetime:
        """End, UTC."""

    @property
    def length_ms(self) -> int:
        """Length in milliseconds."""


@dataclass(frozen=True, slots=True)
class Span:
    """One interval: start in UTC and length."""

    start: datetime
    length_ms: int

    @property
    def end(self) -> datetime:
        """End of the interval, UTC."""
        return self.start + timedelta(milliseconds=self.length_ms)


def samples(interval: Timed) -> int:
    """RMF sampling cycles in an interval."""
    return interval.length_ms // SAMPLING_CYCLE_MS


def standard_header(setting: Setting, prefix: str, record_type: int, subtype: int, end: datetime) -> dict[str, Any]:
    """The fields every RMF record's header has, written shortly after `end`."""
    written = end + WRITTEN_AFTER
    return {
        f"{prefix}flg": SYSTEM_FLAGS,
        f"{prefix}rty": record_type,
        f"{prefix}tme": setting.clock.hundredths(written),
        f"{prefix}dte": setting.clock.day(written),
        f"{prefix}sid": setting.plan.smf_sid,
        f"{prefix}ssi": "RMF",
        f"{prefix}sty": subtype,
    }


def rmf_product(setting: Setting, prefix: str, interval: Timed) -> dict[str, Any]:
    """The RMF product section of an interval."""
    plan, clock = setting.plan, setting.clock
    version, release = plan.os_level[3], plan.os_level[5]
    return {
        f"{prefix}mfv": int(f"7{version}{release}"),
        f"{prefix}prd": "RMF",
        f"{prefix}ist": clock.hhmmss(interval.start),
        f"{prefix}dat": clock.day(interval.start),
        f"{prefix}int": mmssttt(interval.length_ms),
        f"{prefix}sam": samples(interval),
        f"{prefix}cyc": SAMPLING_CYCLE_MS,
        f"{prefix}mvs": plan.os_level,
        f"{prefix}iml": 3,
        f"{prefix}ptn": b"\x01",
        f"{prefix}iet_raw": tod(interval.end),
        f"{prefix}lgo": clock.offset_tod,
        f"{prefix}oil": plan.interval_s,
        f"{prefix}gie_raw": tod(interval.end),
        f"{prefix}xnm": plan.sysplex,
        f"{prefix}snm": plan.system_name,
    }


def rmf_record(setting: Setting, layout: str, subtype: int, interval: Timed, **sections: Sequence[Row]) -> Record:
    """A record of RMF on an interval: header and product section, and the sections given."""
    prefix = layout.partition("_")[0]
    header = standard_header(setting, prefix, int(prefix.removeprefix("smf")), subtype, interval.end)
    return Record(layout, {"header": [header], "product": [rmf_product(setting, prefix, interval)], **sections})
