"""Dumps of systems on days on which clocks are set: what the field calls the worst nights of the year."""

from __future__ import annotations

import random
import struct
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa

from ingest.formats.smf import encode_dump
from ingest.registry import Registry
from ingest.registry import load as load_layouts
from ingest.warehouse import load
from model.lab.records.common import tod

LENGTH = timedelta(minutes=15)
ENGINES = 2
RATE_ADJUSTMENT = 16_000


@dataclass(frozen=True)
class Machine:
    """A system, the clock its local time follows, and how many leap seconds its store clock includes."""

    sid: str
    sysplex: str
    zone: str
    first: datetime
    intervals: int
    leap_s: int = 0

    def starts(self) -> list[datetime]:
        """Starts of its intervals, UTC."""
        return [self.first + n * LENGTH for n in range(self.intervals)]

    def local(self, moment: datetime) -> datetime:
        """What the clock on the wall shows."""
        return moment.replace(tzinfo=UTC).astimezone(ZoneInfo(self.zone)).replace(tzinfo=None)


#: Summer time begins at 01:00 UTC; ends at 06:00 UTC; a new year begins, on a store clock that has leap seconds.
MACHINES = (
    Machine("EUR1", "PLEXE", "Europe/Berlin", datetime(2026, 3, 29, 0, 30), 6),
    Machine("USA1", "PLEXU", "America/New_York", datetime(2026, 11, 1, 5, 0), 8),
    Machine("LEAP", "PLEXE", "Asia/Kolkata", datetime(2026, 12, 31, 18, 0), 4, leap_s=27),
)


def busy(number: int) -> float:
    """Part of the time that engines are busy in the nth interval of a system."""
    return 0.125 * (1 + number % 6)


def records(registry: Registry) -> list[bytes]:
    """The records of all systems in the order of time: per interval a 70.1, a 72.3 and an SMF 30."""
    tables: dict[str, list[dict[str, Any]]] = defaultdict(list)
    sequence = 0
    for machine in MACHINES:
        for number, start in enumerate(machine.starts()):
            for rows in (_cpu, _workload, _job):
                for table, row in rows(machine, number, start):
                    tables[table].append({"record_seq": sequence, **row})
                sequence += 1
    dump = encode_dump({name: _typed(registry, name, rows) for name, rows in tables.items()}, registry)
    found, place = [], 0
    while place < len(dump):
        size = struct.unpack_from(">H", dump, place)[0]
        found.append(dump[place : place + size])
        place += size
    return found


def load_dumps(folder: Path, warehouse: Path) -> None:
    """Load two overlapping dumps of the records, each shuffled, a third of them of a later release."""
    layouts = load_layouts()
    found = [
        of_a_later_release(record, layouts) if place % 3 == 1 else record
        for place, record in enumerate(records(layouts))
    ]
    chance = random.Random(11)
    third = len(found) // 3
    for name, part in (("later", found[third:]), ("earlier", found[: 2 * third])):
        chance.shuffle(part)
        (folder / f"{name}.smf").write_bytes(b"".join(part))
    reports = load([folder / "later.smf", folder / "earlier.smf"], warehouse, layouts)
    assert [(r.decoded, r.quarantined, r.overlap) for r in reports] == [(2 * third, 0, 0), (2 * third, 0, third)]
    assert reports[0].reason_codes == {"section_longer_than_known:smf72_3_period": 2 * third // 3}


def of_a_later_release(record: bytes, registry: Registry) -> bytes:
    """The record with eight bytes more at the end of its last section than any layout knows."""
    layout = registry.layout_for(record[5], int.from_bytes(record[22:24]))
    assert layout is not None
    for section in layout.placed:
        assert section.triplet is not None
        at = section.triplet.position
        offset, size, count = struct.unpack_from(">IHH", record, at)
        if count == 1 and offset + size == len(record):
            longer = bytearray(record + bytes(8))
            struct.pack_into(">IHH", longer, at, offset, size + 8, 1)
            struct.pack_into(">H", longer, 0, len(longer))
            return bytes(longer)
    raise AssertionError("no section ends the record")


def _typed(registry: Registry, name: str, rows: list[dict[str, Any]]) -> pa.Table:
    schema = registry.table(name)[1].arrow_schema()
    names = list(dict.fromkeys(key for row in rows for key in row))
    return pa.table({key: pa.array([row.get(key) for row in rows], schema.field(key).type) for key in names})


def _header(machine: Machine, prefix: str, kind: str, subtype: int, end: datetime) -> dict[str, Any]:
    written = machine.local(end + timedelta(seconds=1))
    clock = (written.hour * 3600 + written.minute * 60 + written.second) * 100
    return {
        f"{prefix}tme": clock,
        f"{prefix}dte": written.date(),
        f"{prefix}sid": machine.sid,
        f"{prefix}{kind}": subtype,
    }


def _product(machine: Machine, prefix: str, start: datetime) -> dict[str, Any]:
    """The product section; the offset from UTC is that of the moment at which RMF wrote the record."""
    local, end = machine.local(start), start + LENGTH
    offset = machine.local(end) - end
    fields = {
        "ist": local.hour * 10_000 + local.minute * 100 + local.second,
        "dat": local.date(),
        "int": int(LENGTH.total_seconds()) // 60 * 100_000,
        "iet_raw": tod(end) + machine.leap_s * 4096 * 10**6,
        "lgo": int(offset / timedelta(microseconds=1)) * 4096,
        "xnm": machine.sysplex,
        "snm": machine.sid,
    }
    return {prefix + name: value for name, value in fields.items()}


def _cpu(machine: Machine, number: int, start: datetime) -> Iterator[tuple[str, dict[str, Any]]]:
    online = int(LENGTH / timedelta(microseconds=1))
    yield "smf70_1_header", _header(machine, "smf70", "sty", 1, start + LENGTH)
    yield "smf70_1_product", _product(machine, "smf70", start) | {"smf70ptn": b"\x01"}
    yield "smf70_1_control", {"smf70mdl": "7XX"}
    yield "smf70_1_partition", {"section_seq": 0, "smf70lpm": "OWN", "smf70lpn": 1, "smf70bdn": ENGINES, "smf70bds": 0}
    for engine in range(ENGINES):
        at = {"section_seq": engine}
        # An older release: its sections end with what is filled here.
        yield (
            "smf70_1_cpu",
            {**at, "smf70wat": round(online * (1 - busy(number))) * 4096, "smf70cid": engine, "smf70typ": 0},
        )
        yield "smf70_1_logical_processor", {**at, "smf70vpa": engine, "smf70bps": 65_535, "smf70ont": online}


def _workload(machine: Machine, number: int, start: datetime) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "smf72_3_header", _header(machine, "smf72", "sty", 3, start + LENGTH)
    yield "smf72_3_product", _product(machine, "smf72", start)
    yield (
        "smf72_3_control",
        {"r723mscf": 0, "r723mcnm": "ONLINE", "r723mcpu": 10_000, "r723msrb": 10_000, "r723madj": RATE_ADJUSTMENT},
    )
    yield "smf72_3_period", {"section_seq": 0, "r723crcp": 1000 + number}


def _job(machine: Machine, number: int, start: datetime) -> Iterator[tuple[str, dict[str, Any]]]:
    leap = machine.leap_s * 4096 * 10**6
    yield "smf30_header", _header(machine, "smf30", "stp", 2, start + LENGTH)
    yield (
        "smf30_identification",
        {
            "smf30jbn": "SERVER",
            "smf30asi": 64,
            "smf30iss_raw": tod(start) + leap,
            "smf30iet_raw": tod(start + LENGTH) + leap,
        },
    )
    yield "smf30_cpu", {"section_seq": 0, "smf30cpt": 100 * (number + 1), "smf30cps": 0}
