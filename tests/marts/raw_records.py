"""Writes raw tables by hand, so that the marts can be tested on records whose every figure is known."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any

import duckdb

from ingest.registry import load
from ingest.warehouse.ledger import create
from ingest.warehouse.tables import Tables

OFFSET = timedelta(hours=1)
TOD_PER_US = 4096
OFFSET_TOD = int(OFFSET / timedelta(microseconds=1)) * TOD_PER_US
#: Rate adjustment of these machines: 16,000,000 / 16,000 = 1,000 service units per second of one engine.
RATE_ADJUSTMENT = 16_000
SU_PER_S = 1_000.0
#: Adjustment of their software rating: 16,000,000 / 20,000 = 800 service units per second of one engine.
SOFTWARE_ADJUSTMENT = 20_000

#: Upper limits of the buckets of response times, in percent of the goal.
BUCKETS = [50, *range(60, 160, 10), 200, 400, 2**31 - 1]


def utc(text: str) -> datetime:
    """A moment from its ISO form, without time zone as DuckDB keeps it."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC).replace(tzinfo=None)


class RawWarehouse:
    """A DuckDB file with every raw table, to be filled record by record. Use as a context manager."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._connection = duckdb.connect(str(path))
        self._records = 0
        create(self._connection)
        Tables(self._connection).prepare(load())

    def __enter__(self) -> RawWarehouse:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def insert(self, table: str, **values: Any) -> None:
        """One row of a raw table; columns not named are NULL."""
        names, marks = ", ".join(values), ", ".join("?" * len(values))
        self._connection.execute(f"INSERT INTO raw.{table} ({names}) VALUES ({marks})", list(values.values()))

    def run(self, system: str, sid: str, point: str, condition: str, start: datetime, end: datetime) -> None:
        """A measured point of a system."""
        values = {"system_id": system, "smf_sid": sid, "point": point, "condition": condition}
        self.insert("etalon_run", file_id=1, **values, start_utc=start, end_utc=end)

    def group(self, system: str, sid: str | None, kind: str, pattern: str, workload: str, group: str | None) -> None:
        """A member of an address-space group."""
        values = {"system_id": system, "smf_sid": sid, "kind": kind, "pattern": pattern, "workload": workload}
        self.insert("etalon_group", file_id=1, **values, address_space_group=group)

    def _rmf(self, prefix: str, type_: int, sid: str, start: datetime, seconds: float) -> dict[str, int]:
        """Header and product section of an RMF record; the keys of its sections."""
        keys = {"file_id": 1, "record_seq": self._records, "section_seq": 0}
        self._records += 1
        subtype = 1 if type_ == 70 else 3
        local, written = start + OFFSET, start + OFFSET + timedelta(seconds=seconds)
        written_hundredths = (written.hour * 3600 + written.minute * 60 + written.second) * 100
        p = f"smf{type_}"
        header = {"rty": type_, "sid": sid, "dte": written.date(), "tme": written_hundredths, "sty": subtype}
        self.insert(f"{prefix}_header", **keys, **{p + k: v for k, v in header.items()})
        minutes, rest = divmod(round(seconds * 1000), 60_000)
        product = {
            "ist": local.hour * 10_000 + local.minute * 100 + local.second,
            "dat": local.date(),
            "int": minutes * 100_000 + rest,
            "lgo": OFFSET_TOD,
            "xnm": "PLEX",
            "snm": sid,
        }
        if type_ == 70:
            product["ptn"] = b"\x02"
        self.insert(f"{prefix}_product", **keys, **{p + k: v for k, v in product.items()})
        return keys

    def cpu(
        self, sid: str, start: datetime, seconds: float, busy: dict[int, tuple[int, float]], *, dedicated: bool = True
    ) -> None:
        """A 70.1 record: `busy` gives engines and busy fraction by processor type code (0 CP, 2 zIIP).

        Shared engines are dispatched for their busy time, with one tenth of a percent of the interval on top of it as
        time of the hypervisor, and z/OS sees itself waiting for half of the rest. A second partition stands before
        the own one.
        """
        keys = self._rmf("smf70_1", 70, sid, start, seconds)
        own = [(code, fraction) for code, (engines, fraction) in busy.items() for _ in range(engines)]
        control = {"smf70mdl": "7XX", "smf70cpc_type": "2964", "smf70wla": 500, "smf70cpa": SOFTWARE_ADJUSTMENT}
        self.insert("smf70_1_control", **keys, **control)
        self.insert("smf70_1_partition", **keys, smf70lpm="OTHER", smf70lpn=1, smf70bdn=1, smf70bds=0)
        second = keys | {"section_seq": 1}
        self.insert("smf70_1_partition", **second, smf70lpm="OWN", smf70lpn=2, smf70bdn=len(own), smf70bds=1)
        weight = 65_535 if dedicated else 100
        online = round(seconds * 1e6)
        processor = {"smf70bps": weight, "smf70ont": online, "smf70vpa": 0, "smf70edt": online, "smf70pdt": online}
        self.insert("smf70_1_logical_processor", **keys, **processor, smf70cix=1)
        for place, (name, count) in enumerate((("CP", 8), ("AAP", 0), ("IIP", 2))):
            kind = {"smf70cin": name, "smf70ctn": count}
            self.insert("smf70_1_cpu_identification", **(keys | {"section_seq": place}), **kind)
        for address, (code, fraction) in enumerate(own):
            idle = 1 - fraction if dedicated else (1 - fraction) / 2
            at = keys | {"section_seq": address}
            wait = round(seconds * 1e6 * idle) * TOD_PER_US
            self.insert("smf70_1_cpu", **at, smf70cid=address, smf70typ=code, smf70wat=wait, smf70pat=0)
            dispatch = online if dedicated else round(seconds * 1e6 * fraction)
            processor |= {"smf70vpa": address, "smf70edt": dispatch, "smf70cix": code + 1}
            processor["smf70pdt"] = dispatch if dedicated else dispatch + round(seconds * 1e3)
            self.insert("smf70_1_logical_processor", **(keys | {"section_seq": address + 1}), **processor)

    def wlm_class(
        self,
        sid: str,
        start: datetime,
        seconds: float,
        name: str,
        *,
        report: bool = True,
        ended: int = 0,
        cpu_s: float = 0.0,
        response_ms: float = 0.0,
        ziip_s: float = 0.0,
        goal_ms: int = 0,
    ) -> None:
        """A 72.3 record with one period; nine tenths of `cpu_s` are task time, one tenth is SRB time.

        With a goal it has a distribution, of responses that all took half of the goal or less.
        """
        keys = self._rmf("smf72_3", 72, sid, start, seconds)
        control = {"r723mscf": 128 if report else 0, "r723mcnm": name, "r723mwnm": "WORK", "r723mnsp": "POLICY"}
        coefficients = {"r723mcpu": 10_000, "r723msrb": 10_000, "r723madj": RATE_ADJUSTMENT, "r723nffs": 512}
        self.insert("smf72_3_control", **keys, **control, **coefficients)
        service = {
            "r723ccpu": (0.9 * cpu_s + 2 * ziip_s) * SU_PER_S,
            "r723csrb": 0.1 * cpu_s * SU_PER_S,
            "r723csup": ziip_s * SU_PER_S,
        }
        if goal_ms:
            service |= {"r723crtx": 1, "r723rtdm": goal_ms}
            for section, buckets in enumerate((BUCKETS, [ended, *[0] * 13])):
                self.insert("smf72_3_response_distribution", **(keys | {"section_seq": section}), r723trdb=buckets)
        self.insert("smf72_3_period", **keys, r723crcp=ended, r723ctetx=ended * response_ms * 1e3, **service)

    def one_of_each_section(self, layout: str, sid: str, start: datetime, seconds: float) -> None:
        """A record of a layout with one row of every section; each number is 1, each moment the interval's start."""
        type_ = int(layout.removeprefix("smf").partition("_")[0])
        is_rmf = 70 <= type_ < 80
        names = {"rty": type_, "sid": sid, "dte": start.date(), "tme": 0, "dat": (start + OFFSET).date()}
        clock = (start + OFFSET).strftime("%H%M%S")
        names |= {"ist": int(clock), "int": round(seconds // 60) * 100_000, "lgo": OFFSET_TOD, "num": b"\x1a\x00"}
        known = {f"smf{type_}{name}": value for name, value in names.items()}
        filled = {"DATE": start.date(), "TIMESTAMP": None if is_rmf else start, "VARCHAR": "A", "BLOB": None}
        rows = self._connection.execute(
            "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE schema_name = 'raw' "
            "AND regexp_matches(table_name, ?) AND data_type NOT LIKE '%[%' ORDER BY ALL",
            [f"^{layout}_[a-z]"],
        ).fetchall()
        keys = {"file_id": 1, "record_seq": self._records, "section_seq": 0, "parent_seq": 0}
        self._records += 1
        for table, columns in itertools.groupby(rows, key=lambda row: row[0]):
            self.insert(table, **{c: (keys | known).get(c, filled.get(kind, 1)) for _, c, kind in columns})

    def write_again(self, sid: str) -> None:
        """Every record of a system a second time: written a second later, in another file."""
        tables = self._connection.execute(
            "SELECT table_name, max(column_name) FILTER (WHERE column_name SIMILAR TO 'smf[0-9]+sid'), "
            "max(column_name) FILTER (WHERE column_name SIMILAR TO 'smf[0-9]+tme') FROM duckdb_columns() "
            "WHERE schema_name = 'raw' AND regexp_matches(table_name, '^smf[0-9]') GROUP BY ALL ORDER BY 2 NULLS LAST"
        ).fetchall()
        self._connection.execute("CREATE TEMP TABLE again (record_seq UINTEGER)")
        for table, system, time in tables:
            if system and time:
                self._connection.execute(
                    f"INSERT INTO again SELECT record_seq FROM raw.{table} WHERE {system} = ?", [sid]
                )
            later = f", {time} + 100 AS {time}" if time else ""
            self._connection.execute(
                f"INSERT INTO raw.{table} SELECT * REPLACE (2 AS file_id{later}) FROM raw.{table} "
                "SEMI JOIN again USING (record_seq)"
            )

    def job(self, sid: str, name: str, start: datetime, seconds: float, *, tcb_s: float, srb_s: float) -> None:
        """An SMF 30 interval record of an address space."""
        keys = {"file_id": 1, "record_seq": self._records, "section_seq": 0}
        self._records += 1
        end = start + timedelta(seconds=seconds)
        self.insert("smf30_header", **keys, smf30rty=30, smf30sid=sid, smf30stp=2, smf30dte=end.date(), smf30tme=0)
        self.insert("smf30_identification", **keys, smf30jbn=name, smf30asi=64, smf30iss=start, smf30iet=end)
        self.insert("smf30_cpu", **keys, smf30cpt=round(tcb_s * 100), smf30cps=round(srb_s * 100))
