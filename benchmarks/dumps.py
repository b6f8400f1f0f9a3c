"""Made-up dumps to measure with: records with the sections and the share of zeros such records usually have."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from ingest.formats.cics import catalogue
from ingest.formats.cics.dictionary import full_dictionary
from ingest.formats.cics.encode import Region, encode_dictionary, encode_performance
from ingest.formats.smf import encode_dump
from ingest.layout import Field, Layout
from ingest.registry import Registry
from model.lab.records.common import TOD_UNITS_PER_US, tod

SECTIONS = {
    "smf30": {
        "subsystem": 1, "identification": 1, "io": 1, "completion": 1, "cpu": 1, "accounting": 2, "storage": 1,
        "performance": 1, "operator": 1, "excp": 8, "usage": 2, "counter": 1,
    },
    "smf72_3": {"product": 1, "control": 1, "period": 2, "response_distribution": 2, "resource_state": 2},
    "smf74_1": {"product": 1, "control": 1, "device": 80},
    "smf119_2": {"identification": 1, "connection": 1, "tls": 1},
}  # fmt: skip
RECORDS = {"smf30": 15_000, "smf72_3": 15_000, "smf74_1": 1_500, "smf119_2": 80_000}
NAMES = ["", "BATCH", "CICSPROD", "DB2ADIST", "IMS1", "SYSA"]
WRITTEN = dt.datetime(2026, 11, 21, 0, 1)
TRANSACTIONS = 200
REGION = Region("SYSA", "CICSAOR1", "AORJOB1")


def made_up_dump(known: Registry, name: str, records: int, sections: Mapping[str, int] | None = None) -> bytes:
    """A dump of one record type: rows of its sections, which are the usual ones of `SECTIONS` unless they are given.

    Fields that stand there on conditions, rests and the triplets of nested sections are left out.
    """
    layout = next(layout for layout in known.layouts if layout.name == name)
    rng = np.random.default_rng(1)
    sequence = np.arange(records, dtype=np.uint32)
    tables = {layout.header.table: _header(layout, rng, sequence)}
    nested = [(part.parent, part.triplet) for part in layout.nested if part.triplet]
    for section, count in (SECTIONS[name] if sections is None else sections).items():
        part = layout.section(section)
        placed = [range(at.position, at.end) for parent, at in nested if parent == section]
        plain = [item for item in part.fields if not (item.is_rest or item.when)]
        columns = {"record_seq": np.repeat(sequence, count), "section_seq": np.tile(np.arange(count), records)}
        columns |= {
            item.column: _values(item, rng, records * count)
            for item in plain
            if not any(item.offset in at for at in placed)
        }
        if part.has("reassembly_count"):
            columns.pop(part.by_name("reassembly_count").column)
        tables[part.table] = pa.table(columns)
    return encode_dump(tables, known)


def cics_dump(rows: int, *, compressed: bool = False) -> bytes:
    """CICS monitoring: a dictionary of every field with a known number, and performance records of all these fields."""
    return b"".join(cics_records(rows, 1, compressed=compressed))


def cics_records(
    rows: int,
    times: int,
    *,
    compressed: bool = False,
    regions: Sequence[Region] = (REGION,),
    apart: dt.timedelta = dt.timedelta(minutes=1),
) -> Iterator[bytes]:
    """The dictionaries of regions, then `times` times performance records of the same rows, by region in turn.

    apart: from one time to the next.
    """
    entries = full_dictionary()
    yield b"".join(record for region in regions for record in encode_dictionary(region, entries, WRITTEN))
    made = cics_rows(rows)
    for number in range(times):
        region, written = regions[number % len(regions)], WRITTEN + number * apart
        yield b"".join(encode_performance(region, entries, _ended_by(written, made), written, compressed=compressed))


def _ended_by(written: dt.datetime, made: pa.Table) -> pa.Table:
    """The rows as tasks that ended in the minute before they were written, after up to a second."""
    rng = np.random.default_rng(3)
    back_us = rng.integers(0, 60_000_000, made.num_rows)
    stop = tod(written) - back_us.astype(np.uint64) * TOD_UNITS_PER_US
    start = stop - rng.integers(1_000, 1_000_000, made.num_rows).astype(np.uint64) * TOD_UNITS_PER_US
    for name, clocks in (("start_raw", start), ("stop_raw", stop)):
        made = made.set_column(made.column_names.index(name), name, pa.array(clocks))
    return made


def write_cics(path: Path, size: int) -> None:
    """A dump of CICS monitoring records of about `size` bytes: a day of twenty regions."""
    rows = 2000
    regions = [replace(REGION, applid=f"CICSA{number:02d}", job_name=f"AORJOB{number:02d}") for number in range(20)]
    times = max(size // sum(map(len, cics_records(rows, 1))), 1)
    with path.open("wb") as out:
        for records in cics_records(rows, times, regions=regions, apart=dt.timedelta(days=1) / times):
            out.write(records)


def cics_rows(rows: int) -> pa.Table:
    """Rows of the performance table: tasks that ended, of some transactions.

    Two thirds of the counts and clocks are zero, as in most transactions; when the tasks began and ended is not said.
    """
    rng = np.random.default_rng(2)
    columns: dict[str, pa.Array] = {}
    for field in (field for field in catalogue.fields() if field.id):
        used = rng.random() < 1 / 3
        times, counts = rng.integers(1, 1 << 34, rows), rng.integers(1, 5000, rows)
        if field.type == "C":
            words = [name[: field.length] for name in NAMES]
            columns[field.column] = pa.DictionaryArray.from_arrays(rng.integers(0, len(words), rows), words)
            columns[field.column] = columns[field.column].cast(pa.string())
        elif field.type == "T":
            clocks = np.uint64(0xE2B0_0000_0000_0000) + (times << 8).astype(np.uint64)
            columns[f"{field.column}_raw"] = pa.array(clocks if used else np.zeros(rows, np.uint64))
        elif field.type == "S":
            columns[field.column] = pa.array((times if used else times * 0).astype(np.uint64))
            columns[f"{field.column}_n"] = pa.array((counts if used else counts * 0).astype(np.uint32))
        else:
            values = counts % 200 if field.length < 3 else counts
            columns[field.column] = pa.array((values if used else values * 0).astype(np.uint32))
    columns["rtype"] = pa.array(["T"] * rows)
    columns["tran"] = pa.array([f"T{number:03d}" for number in rng.integers(0, TRANSACTIONS, rows)])
    return pa.table(columns)


def rmf_report(size: int) -> bytes:
    """RMF Postprocessor CPU reports in XML of about `size` bytes: intervals with 16 processors and 12 partitions."""
    headers = ["CPU Number", "CPU Type", "Time% Online", "Time% LPAR Busy", "Time% MVS Busy", "I/O Total Rate"]
    partitions = ["Partition Name", "LPAR Number", "Dispatch Effective", "Dispatch Total", "Physical Total", "WLM"]
    reports, length, interval = [], 0, 0
    rng = np.random.default_rng(3)
    while length < size:
        start = WRITTEN + dt.timedelta(minutes=15 * interval)
        cells = [
            [[str(n), "CP", "100.00", *(f"{x:.2f}" for x in rng.random(3) * 100)] for n in range(16)],
            [[f"LPAR{n}", str(n), "00.03.18.637", "00.03.19.012", f"{rng.random() * 9:.2f}", "NO"] for n in range(12)],
        ]
        segments = "".join(
            f'<segment id="{i}"><name>{name}</name><part id="1"><name>{part}</name><table id="2">'
            f"{_cells('column-headers', labels)}{''.join(_cells('row', row) for row in lines)}"
            "</table></part></segment>\n"
            for i, (name, part, labels, lines) in enumerate(
                (("CPU Activity", "CPU", headers, cells[0]), ("Partition Data", "Partition", partitions, cells[1]))
            )
        )
        reports.append(
            f'<postprocessor><metric id="CPU"><description>CPU Activity Report</description></metric>\n'
            f"<resource><resname>SYSA</resname><restype>SYSTEM</restype></resource>\n"
            f'<time-data><display-start locale="en-us">{start:%m/%d/%Y-%H.%M.%S}</display-start>'
            f'<report-interval unit="minutes">15:00:000</report-interval></time-data>\n{segments}</postprocessor>\n'
        )
        length, interval = length + len(reports[-1]), interval + 1
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<ddsml><server><name>RMF-DDS-Server</name></server>\n'
    return (head + "".join(reports) + "</ddsml>\n").encode()


def _cells(tag: str, texts: list[str]) -> str:
    return f"<{tag}>\n{''.join(f'<col>{text}</col>' for text in texts)}</{tag}>\n"


def _header(layout: Layout, rng: np.random.Generator, sequence: np.ndarray) -> pa.Table:
    """Header rows: identification only, since the encoder computes the rest."""
    columns: dict[str, object] = {"record_seq": sequence}
    for item in layout.header.fields:
        if item.name in ("written_clock_us", "written_date", "smf_sid"):
            columns[item.column] = _values(item, rng, len(sequence))
    if layout.subtypes:
        subtype = layout.subtypes[len(layout.subtypes) // 2]
        columns[layout.header.by_name("subtype").column] = np.full(len(sequence), subtype)
    return pa.table(columns)


def _values(item: Field, rng: np.random.Generator, rows: int) -> pa.Array:
    form = item.form.name
    if item.count > 1 and (form.startswith("ebcdic") or form == "hfp"):
        return pa.nulls(rows, item.arrow)
    if form.startswith("ebcdic"):
        words = [name[: item.length or 8] for name in NAMES]
        return pa.DictionaryArray.from_arrays(rng.integers(0, len(words), rows), words).cast(pa.string())
    if form in ("bytes", "ip16"):
        return pa.array([bytes(item.length)] * rows, item.arrow)
    if form == "hfp":
        return pa.array(np.round(rng.random(rows) * 1e9))
    if form == "packed_date":
        return pa.array(np.full(rows, np.datetime64("2026-11-21")))
    if form in ("tod", "stcke"):
        return pa.array(np.datetime64("2026-11-21T00:00:00", "us") + rng.integers(0, 86_400_000_000, rows))
    numbers = pa.array(rng.integers(0, 100, rows * item.count))
    if item.count > 1:
        return pa.FixedSizeListArray.from_arrays(numbers, item.count).cast(item.arrow)
    return numbers.cast(item.arrow)
