"""Reports made up at random, by the layouts: what a report of any kind may say."""

import datetime as dt
import io
import random
from collections.abc import Iterable
from itertools import groupby
from typing import Any

import pyarrow as pa

from ingest.formats.printed.document import Part, Report, Segment
from ingest.formats.printed.layouts import Block
from ingest.formats.rmf.printed import read_text_reports
from ingest.formats.rmf.text_layouts import ReportLayout

NAMES = ("ALPHA", "BETA2", "GAMMA")


def tables_of(data: bytes) -> dict[str, list[dict[str, Any]]]:
    """Rows of a listing by table, and the proof that every byte is accounted for."""
    found: dict[str, list[pa.Table]] = {}
    size = 0
    for batch in read_text_reports(io.BytesIO(data)):
        size += batch.decoded_bytes + batch.framing_bytes + sum(piece.length for piece in batch.quarantined)
        for name, table in batch.tables.items():
            found.setdefault(name, []).append(table)
    assert size == len(data)
    return {name: pa.concat_tables(tables).to_pylist() for name, tables in found.items()}


def said(rows: list[dict[str, Any]]) -> set[tuple[Any, ...]]:
    """What tidy rows say, whatever the order of blocks."""
    names = ("record_seq", "section", "part", "row_seq", "column_label", "row_label", "row_type", "value_text")
    return {tuple(row[name] for name in names) for row in rows if row["value_text"] is not None and row["column_label"]}


def random_report(layout: ReportLayout, seed: int) -> Report:
    """A report with all of its blocks, filled at random."""
    rng = random.Random(seed)
    sysplex = layout.metric in ("WLMGL", "CF")
    head = {
        "report": layout.metric,
        "report_type": "Interval",
        "resource_name": f"SYS{rng.randrange(10)}",
        "resource_type": "SYSPLEX" if sysplex else "SYSTEM",
        "interval_start_local": dt.datetime(2026, 3, rng.randrange(1, 28), rng.randrange(24), 15),
        "interval_s": rng.choice([900.0, 1799.997, 60.003]),
        "cycle_ms": 1000.0,
        "smf_version": "z/OS V2R5",
        "rmf_version": "V2R5 RMF",
    }
    report = Report(head)
    key = next(iter(layout.of_kind("key")), None)
    known: dict[str, str | None] = {}
    if key is not None:
        for place, (printed, pattern) in enumerate(key.data["names"] * 2):
            label = next(item[0] for item in key.data["items"] if item[1] == printed)
            segment = Segment(pattern.format(f"{rng.choice(NAMES)}{place}"))
            segment.part("").variables.append((label, segment.name.removeprefix(pattern.format(""))))
            known |= {label: segment.part("").value(label)} if label in key.data.get("remember", ()) else {}
            segment.part("").variables += [pair for pair in known.items() if pair[0] != label]
            report.segments.append(segment)
    for block in layout.blocks:
        if block.kind == "key":
            continue
        for segment in _segments(report, block):
            _FILL[block.kind](block, segment, rng)
    return report


def _segments(report: Report, block: Block) -> list[Segment]:
    if block.segment.endswith("*"):
        return [segment for segment in report.segments if segment.name.startswith(block.segment[:-1])]
    return [report.segment(block.segment)]


def _variables(block: Block, segment: Segment, rng: random.Random) -> None:
    known = {label for label, _ in segment.part(block.part).variables}
    for label, *_ in block.data["items"]:
        if label not in known and rng.random() < 0.9:
            segment.part(block.part).variables.append((label, rng.choice([str(rng.randrange(9999)), "NONE", "A-B.C"])))


def _number(rng: random.Random, width: int) -> str:
    digits = rng.randrange(1, max(min(width, 8), 2))
    text = str(rng.randrange(10 ** (digits - 1), 10**digits) if digits > 1 else rng.randrange(10))
    return text if digits < 4 else f"{text[:-2]}.{text[-2:]}"[:width].rstrip(".")


_ROWS = {
    "CPU Number": ["0", "1", "A", "1F"],
    "CPU Type": ["CP", "IIP"],
    "Type": ["STC", "IN READY", "OMVS"],
    "Operation": ["SYNC", "ASYNC", "CHNGD"],
    "Category": ["MIN", "MAX", "AVG"],
    "Channel Path ID": ["00", "1A", "FF"],
    "Device Number": ["1A00", "0B2C"],
    "Partition Status": ["Active", "Wait"],
    "Boost Type": [None],
    "Capping Defined": ["N Y N", "N N N"],
    "Effective Dispatch Time": ["00.01.02.345"],
    "Total Dispatch Time": ["00.11.02.345"],
    "HiperDispatch Priority": ["HIGH", "MED", "LOW", None],
}


def _table(block: Block, segment: Segment, rng: random.Random) -> None:
    part = segment.parts.setdefault(block.part, Part())
    part.labels = [column.label for column in block.columns]
    part.kinds = [column.kind for column in block.columns]
    carried = block.data.get("carry")
    for _ in range(rng.randrange(1, 30)):
        cells: list[str | None] = []
        for column in block.columns:
            width = column.last - column.first + 1
            if column.label in _ROWS:
                cells.append(rng.choice(_ROWS[column.label]))
            elif column.kind == "N":
                cells.append(_number(rng, width) if rng.random() < 0.95 else None)
            elif column is block.columns[0] and block.row is not None and block.row.pattern == "\\S+":
                cells.append(rng.choice(NAMES))
            elif column.label == carried or rng.random() < 0.8:
                cells.append(rng.choice(["X", "YZ"])[:width])
            else:
                cells.append(None)
        if segment.name == "Details for all Channels":
            cells[1] = "FC_S"
        part.rows.append((cells, None))


def _grid(block: Block, segment: Segment, rng: random.Random) -> None:
    widths = {name: width for name, _, width in block.data["groups"]}
    for group, printed, part, label in block.data["items"]:
        room = widths[group] - len(printed.split("|")[0]) - 1
        if part in block.data["clocks"]:
            text = f"000.{rng.randrange(60):02d}.{rng.randrange(60):02d}.{rng.randrange(1000):03d}"
        else:
            text = _number(rng, room)
        if rng.random() < 0.9:
            segment.part(part).variables.append((label, text))


def _lines(block: Block, segment: Segment, rng: random.Random) -> None:
    part = segment.part(block.part)
    part.labels = list(block.data["labels"])
    part.kinds = ["T", "N", "N", "N"]
    for _, word in block.data["words"][: rng.randrange(1, 5)]:
        part.rows.append(([word, *(_number(rng, 8) for _ in range(3))], None))


_FILL = {"variables": _variables, "table": _table, "grid": _grid, "lines": _lines}


def from_values(head: dict[str, Any], values: Iterable[dict[str, Any]]) -> Report:
    """A report out of its row of `rmf_report` and its rows of `rmf_value`, in order: the inverse of `emit`."""
    report = Report({name: value for name, value in head.items() if name not in ("file_id", "record_seq")})
    opened = -1
    for (section, _), found in groupby(values, key=lambda row: (row["section_seq"], row["table_seq"])):
        group = list(found)
        if section != opened:
            report.segments.append(Segment(group[0]["section"] or ""))
            opened = section
        part = report.segments[-1].part(group[0]["part"] or "")
        if all(row["column_seq"] == 0 and row["row_label"] is None for row in group):
            part.variables += [(row["column_label"] or "", row["value_text"]) for row in group]
            continue
        for _, cells in groupby(group, key=lambda row: row["row_seq"]):
            row = list(cells)
            if not part.rows:
                part.labels = [cell["column_label"] or "" for cell in row]
                part.kinds = ["T"] * len(row)
            part.rows.append(([cell["value_text"] for cell in row], row[0]["row_type"]))
    return report
