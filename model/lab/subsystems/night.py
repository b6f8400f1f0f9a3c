"""What happens in the night: quotes are asked for over the web, and a batch job reads them. Drawn, and then known."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from model.lab.records.common import Clock

SID = "SUBS"
HOURS = 8
QUOTES_PER_HOUR = (120, 90, 60, 40, 30, 30, 50, 80)
BACKEND_US, SPREAD = 120_000, 0.3
BATCH_HOUR = 2

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class DataSet:
    """A data set: I/Os for each quote, or blocks that the batch job moves once; shares of its I/Os in percent."""

    name: str
    volume: str
    device: int
    job: str
    ios_per_quote: int = 0
    blocks: int = 0
    writes_pct: int = 0
    read_hits_pct: int = 90
    disconnect_us: int = 128
    step: str = ""
    dd_name: str = ""


DATA_SETS = (
    DataSet("DB1A.DSNDBD.SHOP.QUOTES.I0001.A001", "DB2001", 0x8001, "DB1ADBM1", 4, 0, 50, 80, 384),
    DataSet("DB1A.DSNDBD.SHOP.QUOTEIX.I0001.A001", "DB2002", 0x8002, "DB1ADBM1", 2, 0, 50, 96),
    DataSet("MQ1A.PSID04", "MQ0001", 0x8101, "MQ1AMSTR", 1, 0, 100),
    DataSet("SHOP.QUOTES.UNLOAD", "BAT001", 0x8201, "SHOPDAY", 0, 6_000, 0, 60, 512, "REPORT", "QUOTES"),
    DataSet("SHOP.QUOTES.REPORT", "BAT002", 0x8202, "SHOPDAY", 0, 1_500, 100, 0, 256, "REPORT", "LIST"),
)
PENDING_US, CONNECT_US = 128, 256


@dataclass(frozen=True, slots=True)
class Io:
    """I/Os of a data set in an hour."""

    reads: int
    writes: int
    read_hits: int
    response_us: int

    @property
    def ios(self) -> int:
        """Reads and writes."""
        return self.reads + self.writes


@dataclass(frozen=True, slots=True)
class Night:
    """The quotes in the order of their coming, times in whole microseconds; start is UTC.

    at_us: when the request came; response_us of the web server, backend_us the part of it that it waited for others;
    web_cpu_us, of which web_ziip_us on zIIPs; db2_us, db2_cpu_us and db2_io_us (a wait) of its commit; failed: the
    request ended with status 500 and was rolled back.
    """

    start: datetime
    clock: Clock
    at_us: Ints
    response_us: Ints
    backend_us: Ints
    web_cpu_us: Ints
    web_ziip_us: Ints
    db2_us: Ints
    db2_cpu_us: Ints
    db2_io_us: Ints
    failed: NDArray[np.bool_]

    @property
    def confirm_us(self) -> Ints:
        """Time that confirming each quote would take in the other web server; few are confirmed."""
        return self.response_us // 2

    @property
    def confirm_cpu_us(self) -> Ints:
        """CPU of the same."""
        return self.web_cpu_us // 10

    @property
    def confirm_ziip_us(self) -> Ints:
        """The part of it on zIIPs."""
        return self.web_ziip_us // 20

    def moment(self, us: int) -> datetime:
        """The time so many microseconds after the start, UTC."""
        return self.start + timedelta(microseconds=int(us))

    def hour(self, number: int) -> datetime:
        """Start of the night's hour of this number, UTC."""
        return self.start + timedelta(hours=number)

    def within(self, hour: int) -> slice:
        """The quotes asked for in an hour."""
        first = sum(QUOTES_PER_HOUR[:hour])
        return slice(first, first + QUOTES_PER_HOUR[hour])

    def io(self, data_set: DataSet, hour: int) -> Io:
        """What a data set's volume did for it in an hour."""
        ios = data_set.ios_per_quote * QUOTES_PER_HOUR[hour] + (data_set.blocks if hour == BATCH_HOUR else 0)
        writes = ios * data_set.writes_pct // 100
        read_hits = (ios - writes) * data_set.read_hits_pct // 100
        return Io(ios - writes, writes, read_hits, PENDING_US + CONNECT_US + data_set.disconnect_us)


def live(seed: int) -> Night:
    """Draw a night. The same seed gives the same night."""
    random = np.random.default_rng([seed, 42])
    quotes = sum(QUOTES_PER_HOUR)
    hour = np.repeat(np.arange(HOURS), QUOTES_PER_HOUR)
    within = random.uniform(60, 3_500, quotes)
    backend = np.rint(random.lognormal(np.log(BACKEND_US), SPREAD, quotes)).astype(np.int64)
    cpu = random.integers(200_000, 400_000, quotes)
    return Night(
        start=datetime(2026, 9, 7, 21, tzinfo=UTC),
        clock=Clock(1),
        at_us=np.sort(np.rint((hour * 3_600 + within) * 1e6).astype(np.int64)),
        response_us=cpu + backend,
        backend_us=backend,
        web_cpu_us=cpu,
        web_ziip_us=cpu * 3 // 4,
        db2_us=backend * 3 // 4,
        db2_cpu_us=random.integers(10_000, 25_000, quotes),
        db2_io_us=backend // 5,
        failed=random.uniform(size=quotes) < 0.03,
    )
