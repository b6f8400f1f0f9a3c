"""Records of LPARs in unusual states, written field by field, so that what each mart must say of them is known."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

from ingest.formats.smf import encode_dump
from ingest.registry import Registry
from model.lab.records.common import tod

LENGTH_S = 900
DAY = datetime(2026, 3, 2, 8, 0)
#: Service units a second: 16,000,000 / 16,000. So an engine that is busy all the time uses 3.6 MSU.
ADJUSTMENT = 16_000
MSU_PER_ENGINE = 3.6
SAMPLES = 1_000
DEDICATED = 65_535
CP, ZAAP, ZIIP = 0, 1, 2


@dataclass(frozen=True)
class Engine:
    """A logical processor (core): seconds of the interval, and what its flags say."""

    type: int = CP
    effective_s: float = 450
    management_s: float = 9
    wait_s: float = 450
    parked_s: float = 0
    online_s: float = LENGTH_S
    threads: int = 1
    weight: int = 100
    wait_completion: bool = False
    capping_samples: int = 0
    capped_samples: int = 0
    cap_hundredths: int = 0
    group_cap_hundredths: int = 0


@dataclass(frozen=True)
class Lpar:
    """A partition as the records of its machine describe it."""

    name: str
    engines: Sequence[Engine] = (Engine(),)
    number: int = 1
    boost: int = 0
    defined_msu: int = 0
    group: str = ""
    group_msu: int = 0


@dataclass(frozen=True)
class Interval:
    """One interval of the system that wrote it; `others` are the other LPARs of its machine."""

    sid: str
    own: Lpar
    start: datetime = DAY
    seconds: int = LENGTH_S
    sysplex: str = "PLEXA"
    serial: str = "02AAA"
    others: Sequence[Lpar] = ()
    ipl: datetime | None = None
    physical: Sequence[int] = (4, 2, 2)
    ziip_speed: float = 1
    ziip_units: float = 0
    ziip_on_cp_units: float = 0
    tasks: Sequence[str] = field(default=())

    def at(self, start: datetime, **changes: Any) -> Interval:
        """The same at another time."""
        return replace(self, start=start, **changes)


def at(hours: float) -> datetime:
    """A time of the day."""
    return DAY.replace(hour=0) + timedelta(hours=hours)


def quarters(interval: Interval, first: float, last: float) -> list[Interval]:
    """Intervals of a quarter of an hour from one hour of the day to another."""
    return [interval.at(at(first + n / 4)) for n in range(round(4 * (last - first)))]


def write(path: Path, intervals: Sequence[Interval], registry: Registry) -> Path:
    """A dump of the records of intervals: a 70.1, a 72.3 and an SMF 30 for each."""
    tables: dict[str, list[dict[str, Any]]] = defaultdict(list)
    sequence = 0
    for interval in intervals:
        for record in (_cpu(interval), _workload(interval), *(_job(interval, name) for name in interval.tasks)):
            for table, rows in record.items():
                tables[table] += [{"record_seq": sequence, "section_seq": n, **row} for n, row in enumerate(rows)]
            sequence += 1
    path.write_bytes(encode_dump({name: _typed(registry, name, rows) for name, rows in tables.items()}, registry))
    return path


def _typed(registry: Registry, name: str, rows: list[dict[str, Any]]) -> pa.Table:
    schema = registry.table(name)[1].arrow_schema()
    names = list(dict.fromkeys(key for row in rows for key in row))
    return pa.table({key: pa.array([row.get(key) for row in rows], schema.field(key).type) for key in names})


def _head(interval: Interval, type_: int, kind: str, subtype: int) -> dict[str, Any]:
    end = interval.start + timedelta(seconds=interval.seconds)
    clock = (end.hour * 3600 + end.minute * 60 + end.second) * 100
    values = {"tme": clock, "dte": end.date(), "sid": interval.sid, kind: subtype}
    return {f"smf{type_}{name}": value for name, value in values.items()}


def _product(interval: Interval, type_: int) -> dict[str, Any]:
    start = interval.start
    minutes, seconds = divmod(interval.seconds, 60)
    values = {
        "ist": start.hour * 10_000 + start.minute * 100 + start.second,
        "dat": start.date(),
        "int": minutes * 100_000 + seconds * 1_000,
        "iet_raw": tod(start + timedelta(seconds=interval.seconds)),
        "lgo": 0,
        "xnm": interval.sysplex,
        "snm": interval.sid,
        "ptn": bytes([interval.own.number]),
    }
    return {f"smf{type_}{name}": value for name, value in values.items()}


def _cpu(interval: Interval) -> dict[str, list[dict[str, Any]]]:
    control = {
        "smf70mdl": "704",
        "smf70cpc_type": "3906",
        "smf70csc": interval.serial,
        "smf70cpa": ADJUSTMENT,
        "smf70dsa": SAMPLES,
        "smf70_ipl_time_raw": tod(interval.ipl) if interval.ipl else 0,
    }
    found: dict[str, list[dict[str, Any]]] = {
        "smf70_1_header": [_head(interval, 70, "sty", 1)],
        "smf70_1_product": [_product(interval, 70)],
        "smf70_1_control": [control],
        "smf70_1_cpu_identification": [
            {"smf70cin": name, "smf70ctn": count}
            for name, count in zip(("CP", "AAP", "IIP"), interval.physical, strict=True)
        ],
    }
    cpus: list[dict[str, Any]] = []
    cores: list[dict[str, Any]] = []
    for address, engine in enumerate(interval.own.engines):
        cores.append({"smf70_core_id": address, "smf70_cpu_skip": len(cpus), "smf70_cpu_num": engine.threads})
        for thread in range(engine.threads):
            times = {"smf70wat": _clock(engine.wait_s), "smf70pat": _clock(engine.parked_s)}
            cpus.append({"smf70cid": address * engine.threads + thread, "smf70typ": engine.type, **times})
    found["smf70_1_cpu"] = cpus
    if any(engine.threads > 1 for engine in interval.own.engines):
        found["smf70_1_core"] = cores
    partitions: list[dict[str, Any]] = []
    processors: list[dict[str, Any]] = []
    for lpar in (interval.own, *interval.others):
        partitions.append(
            {
                "smf70lpm": lpar.name,
                "smf70lpn": lpar.number,
                "smf70bdn": len(lpar.engines),
                "smf70bds": len(processors),
                "smf70msu": lpar.defined_msu,
                "smf70gnm": lpar.group,
                "smf70gmu": lpar.group_msu,
                "smf70_boostinfo": lpar.boost,
            }
        )
        processors += [_processor(address, engine) for address, engine in enumerate(lpar.engines)]
    return found | {"smf70_1_partition": partitions, "smf70_1_logical_processor": processors}


def _processor(address: int, engine: Engine) -> dict[str, Any]:
    return {
        "smf70vpa": address,
        "smf70vpf": 0x80 * engine.wait_completion,
        "smf70bps": engine.weight,
        "smf70ont": round(engine.online_s * 1e6),
        "smf70edt": round(engine.effective_s * 1e6),
        "smf70pdt": round((engine.effective_s + engine.management_s) * 1e6),
        "smf70wst": round(engine.wait_s * 1e6),
        "smf70cix": engine.type + 1,
        "smf70acs": engine.weight * SAMPLES if engine.weight != DEDICATED else 0,
        "smf70nsw": engine.capping_samples,
        "smf70nca": engine.capped_samples,
        "smf70hw_cap_limit": engine.cap_hundredths,
        "smf70hwgr_cap_limit": engine.group_cap_hundredths,
    }


def _workload(interval: Interval) -> dict[str, list[dict[str, Any]]]:
    control = {
        "r723mcnm": "ONLINE",
        "r723mcpu": 10_000,
        "r723msrb": 10_000,
        "r723madj": ADJUSTMENT,
        "r723nffs": round(256 * interval.ziip_speed),
    }
    service = {
        "r723ccpu": 1e5 + interval.ziip_units * interval.ziip_speed,
        "r723csup": interval.ziip_units,
        "r723csuc": interval.ziip_on_cp_units,
    }
    return {
        "smf72_3_header": [_head(interval, 72, "sty", 3)],
        "smf72_3_product": [_product(interval, 72)],
        "smf72_3_control": [control],
        "smf72_3_period": [{"r723crcp": 1_000, **service}],
    }


def _job(interval: Interval, name: str) -> dict[str, list[dict[str, Any]]]:
    end = interval.start + timedelta(seconds=interval.seconds)
    times = {"smf30iss_raw": tod(interval.start), "smf30iet_raw": tod(end)}
    return {
        "smf30_header": [_head(interval, 30, "stp", 2)],
        "smf30_subsystem": [{"smf30syp": interval.sysplex}],
        "smf30_identification": [{"smf30jbn": name, "smf30asi": 64, **times}],
        "smf30_cpu": [{"smf30cpt": 1_000, "smf30cps": 0}],
    }


def _clock(seconds: float) -> int:
    return round(seconds * 1e6) * 4096
