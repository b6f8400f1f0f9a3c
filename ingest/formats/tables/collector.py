"""The two small CSV formats that complement records, because no z/OS record has their content.

- runs: which interval of time on which system belongs to which measured point
- groups: which report classes, service classes or jobs form which group of address spaces of which workload
"""

import csv
import datetime as dt
import io
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from ingest.arrays import of_rows

RUN_COLUMNS = ("system_id", "smf_sid", "point", "condition", "start_utc", "end_utc")
GROUP_COLUMNS = ("system_id", "smf_sid", "kind", "pattern", "workload", "address_space_group")
GROUP_KINDS = ("report_class", "service_class", "job_name", "transaction_class")

_WHEN = pa.timestamp("us")
RUN_SCHEMA = pa.schema(
    [
        pa.field("record_seq", pa.uint32(), metadata={"description": "Ordinal of the row in the file, from 0"}),
        pa.field("system_id", pa.string(), metadata={"description": "System measured, by Etalon's name for it"}),
        pa.field("smf_sid", pa.string(), metadata={"description": "System identifier in its SMF records"}),
        pa.field("point", pa.string(), metadata={"description": "Measured point the interval belongs to"}),
        pa.field("condition", pa.string(), metadata={"description": "What was set at the point: key=value; …"}),
        pa.field("start_utc", _WHEN, metadata={"description": "Start of the measurement, UTC"}),
        pa.field("end_utc", _WHEN, metadata={"description": "End of the measurement, UTC"}),
    ],
    metadata={"description": "Which intervals belong to which measured point of which system."},
)
GROUP_SCHEMA = pa.schema(
    [
        pa.field("record_seq", pa.uint32(), metadata={"description": "Ordinal of the row in the file, from 0"}),
        pa.field("system_id", pa.string(), metadata={"description": "System measured, by Etalon's name for it"}),
        pa.field("smf_sid", pa.string(), metadata={"description": "System identifier in its SMF records"}),
        pa.field("kind", pa.string(), metadata={"description": ", ".join(GROUP_KINDS)}),
        pa.field("pattern", pa.string(), metadata={"description": "LIKE pattern of class or job names"}),
        pa.field("workload", pa.string(), metadata={"description": "Workload the group belongs to"}),
        pa.field("address_space_group", pa.string(), metadata={"description": "Group of address spaces"}),
    ],
    metadata={"description": "Which classes or jobs form which group of address spaces of which workload."},
)

SCHEMAS = {"etalon_run": RUN_SCHEMA, "etalon_group": GROUP_SCHEMA}
"""The tables of the runs and groups files, by name."""

#: Columns whose values no two rows of a file may share.
RUN_KEY = ("system_id", "smf_sid", "start_utc")
GROUP_KEY = ("system_id", "smf_sid", "kind", "pattern", "workload", "address_space_group")


class CollectorError(ValueError):
    """A row or the header is not as it must be. The message names line and field."""


def read_runs(data: bytes) -> pa.Table:
    """Rows of a runs file (`RUN_SCHEMA`). Times are ISO 8601 with their zone, kept in UTC. Raises CollectorError."""

    def convert(line: int, row: dict[str, str]) -> dict[str, Any]:
        _require(line, row, ("system_id", "smf_sid", "point"))
        start, end = (_utc(line, name, row[name]) for name in ("start_utc", "end_utc"))
        if end <= start:
            raise CollectorError(
                f"line {line}, field end_utc: {row['end_utc']} is not after start_utc {row['start_utc']}"
            )
        return row | {"start_utc": start, "end_utc": end}

    return _read(data, RUN_COLUMNS, RUN_SCHEMA, RUN_KEY, convert)


def read_groups(data: bytes) -> pa.Table:
    """Rows of a groups file (`GROUP_SCHEMA`). Raises CollectorError."""

    def convert(line: int, row: dict[str, str]) -> dict[str, Any]:
        if row["kind"] and row["kind"] not in GROUP_KINDS:
            raise CollectorError(f"line {line}, field kind: {row['kind']!r}, expected one of {', '.join(GROUP_KINDS)}")
        # A transaction class names transactions, not address spaces.
        needed = GROUP_COLUMNS[:-1] if row["kind"] == "transaction_class" else GROUP_COLUMNS
        _require(line, row, needed)
        return row

    return _read(data, GROUP_COLUMNS, GROUP_SCHEMA, GROUP_KEY, convert)


def _read(
    data: bytes,
    columns: tuple[str, ...],
    schema: pa.Schema,
    key: tuple[str, ...],
    convert: Callable[[int, dict[str, str]], dict[str, Any]],
) -> pa.Table:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise CollectorError(f"line {line}: not UTF-8 text") from None
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows: list[dict[str, Any]] = []
    seen: dict[tuple[Any, ...], int] = {}
    try:
        header = [cell.strip() for cell in next(reader, [])]
        if header != list(columns):
            raise CollectorError(f"line 1: the header is {','.join(header)!r}, expected {','.join(columns)!r}")
        for cells in reader:
            line = reader.line_num
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) != len(columns):
                raise CollectorError(f"line {line}: {len(cells)} fields, expected {len(columns)} ({','.join(columns)})")
            row = convert(line, {name: cell.strip() for name, cell in zip(columns, cells, strict=True)})
            named = tuple(row[name] for name in key)
            if (earlier := seen.setdefault(named, line)) != line:
                raise CollectorError(f"line {line}: the same {', '.join(key)} as in line {earlier}")
            rows.append(row | {"record_seq": len(rows)})
    except csv.Error as error:
        raise CollectorError(f"line {reader.line_num}: {error}") from None
    return of_rows(rows, schema)


def _require(line: int, row: dict[str, str], names: tuple[str, ...]) -> None:
    for name in names:
        if not row[name]:
            raise CollectorError(f"line {line}, field {name}: is empty")
    if len(row["smf_sid"]) > 4:
        raise CollectorError(f"line {line}, field smf_sid: {row['smf_sid']!r} is longer than four characters")


def _utc(line: int, name: str, text: str) -> dt.datetime:
    try:
        stamp = dt.datetime.fromisoformat(text)
        utc = stamp.astimezone(dt.UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        raise CollectorError(
            f"line {line}, field {name}: {text!r} is no ISO 8601 time, such as 2020-01-31T12:00:00Z"
        ) from None
    if stamp.tzinfo is None:
        raise CollectorError(
            f"line {line}, field {name}: {text!r} does not say its zone; add Z for UTC, or the offset, such as +01:00"
        )
    return utc
