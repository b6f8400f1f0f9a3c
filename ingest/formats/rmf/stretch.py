"""Tables of the reports of one stretch, built column by column from the spans that the compiled reader found."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ingest.arrays import of_numbers, of_values
from ingest.formats.rmf import values
from ingest.formats.rmf.kernels import markup as m
from ingest.formats.rmf.kernels.texts import find_keys
from ingest.formats.rmf.tables import TypedColumn, TypedTable, schemas, typed_tables
from ingest.formats.rmf.texts import NotPlain, Texts, concatenated

Ints = npt.NDArray[np.integer]

MAX_TEXT_BYTES = 1 << 26
"""Most bytes of text in a column of a stretch's tidy rows; labels are repeated in every row."""


@dataclass(frozen=True)
class Scan:
    """Reports found in `data`, all arrays with one column for each thing found; their rows are named in `markup`."""

    data: bytes
    values: npt.NDArray[np.int32]
    flags: npt.NDArray[np.uint8]
    rows: npt.NDArray[np.int32]
    tables: npt.NDArray[np.int32]
    segments: npt.NDArray[np.int32]
    messages: npt.NDArray[np.int32]
    reports: npt.NDArray[np.int32]
    texts: Texts
    heads: list[bytes]


def scan(data: bytes) -> Scan:
    """Find what a run of reports is made of. Raises NotPlain."""
    array = np.frombuffer(data, np.uint8)
    # One comparison of all bytes: `bytes.count` stops at each tag, of which there is one in every twenty bytes.
    found, flags, marks = _places(int(np.count_nonzero(array == ord("<"))) + 2)
    value_array, rows, tables, segments, messages, reports, spans = found
    counts, scratch = np.zeros(7, np.int64), np.zeros(m.REPORT_SCRATCH, np.int64)
    good = m.scan_reports(
        array, len(data), value_array, flags, rows, tables, segments, messages, reports, spans, marks, counts, scratch
    )
    if not good:
        raise NotPlain
    texts, n_values, n_rows, n_tables, n_segments, n_messages, n_reports = counts.tolist()
    reports = reports[:, :n_reports]
    return Scan(
        data,
        value_array[:, :n_values],
        flags[:n_values],
        rows[:, :n_rows],
        tables[:, :n_tables],
        segments[:, :n_segments],
        messages[:, :n_messages],
        reports,
        Texts(data, spans[:, :texts], marks[:texts]),
        [data[start:stop] for start, stop in zip(*reports[:2].tolist(), strict=True)],
    )


_Marks = npt.NDArray[np.uint8]
_KEPT = threading.local()
_MOST_KEPT = 1 << 19
"""Places for which room is kept from one stretch to the next."""


def _places(room: int) -> tuple[list[npt.NDArray[np.int32]], _Marks, _Marks]:
    """Arrays to note what is found, with at least so many places; those of a thread are the same ones each time.

    Nothing of them is left in tables. New ones would cost a third of the reading, in pages the system has to clear.
    """
    kept = getattr(_KEPT, "places", None)
    if kept is not None and len(kept[1]) >= room:
        return kept
    shapes = (m.VALUE_FIELDS, 4, 6, 4, 5, 3, 2)
    made = [np.empty((fields, room), np.int32) for fields in shapes], np.empty(room, np.uint8), np.empty(room, np.uint8)
    if room <= _MOST_KEPT:
        _KEPT.places = made
    return made


@dataclass
class _Typed:
    """Rows of one typed table: their place among the rows (or segments) of the stretch, their report, their texts."""

    table: TypedTable
    order: list[Ints] = field(default_factory=list)
    records: list[Ints] = field(default_factory=list)
    texts: list[list[Ints]] = field(default_factory=list)

    def add(self, order: Ints, records: Ints, texts: list[Ints]) -> None:
        self.order.append(order)
        self.records.append(records)
        self.texts.append(texts)


@dataclass
class Stretch:
    """Builds the tables; `first_report` and `first_message` are the ordinals of the first of each in the file."""

    found: Scan
    heads: list[dict[str, Any]]
    server: dict[str, Any]
    first_report: int
    first_message: int

    @property
    def message_count(self) -> int:
        """Messages in the stretch."""
        return self.found.messages.shape[1]

    @property
    def messages_only(self) -> int:
        """Reports that hold nothing but messages."""
        return int(np.count_nonzero(self.found.reports[m.P_HAS_CONTENT] == 0))

    def tables(self) -> dict[str, pa.Table]:
        """The rows by table; tables without rows are left out."""
        typed = {table.name: _Typed(table) for table in typed_tables()}
        matches = self._matches()
        self._segment_rows(matches, typed)
        self._table_rows(matches, typed)
        made = {"rmf_value": self._values(), "rmf_message": self._messages(), "rmf_report": self._reports()}
        made |= {name: self._typed(rows) for name, rows in typed.items() if rows.order}
        return {name: made[name] for name in schemas() if name in made and made[name].num_rows}

    def _matches(self) -> list[list[tuple[TypedTable, tuple[str, str]]]]:
        """For each segment the typed tables made of it, and kind and name of the segment."""
        known: dict[tuple[str | None, str], list[tuple[TypedTable, tuple[str, str]]]] = {}
        found = []
        for record, name in zip(*self.found.segments[:2].tolist(), strict=True):
            key = (self.heads[record]["report"], self.found.texts.text(name) or "")
            if key not in known:
                pairs = [(table, table.match(*key)) for table in typed_tables()]
                known[key] = [(table, match) for table, match in pairs if match is not None]
            found.append(known[key])
        return found

    def _segment_rows(self, matches: list, typed: dict[str, _Typed]) -> None:
        """Typed tables with one row per segment."""
        found = self.found
        wanted: dict[str, list[int]] = {}
        for segment, tables in enumerate(matches):
            for table, _ in tables:
                if table.rows == "segment":
                    wanted.setdefault(table.name, []).append(segment)
        said = self._first_messages() if wanted else {}
        for name, members in wanted.items():
            table = typed[name].table
            segments = np.array(members)
            words, ends = concatenated(table.sources)
            texts = np.zeros((len(segments), len(ends)), np.int64)
            rows = found.values[[m.V_PART, m.V_ROW_LABEL, m.V_LABEL, m.V_TEXT]]
            first, last = found.segments[m.S_FIRST, segments], found.segments[m.S_END, segments]
            find_keys(*found.texts.raw, words, ends, first, last, rows, found.flags == m.VARIABLE, texts)
            for column, source in enumerate(table.sources):
                if source == "$message":
                    texts[:, column] = [said.get(segment, 0) for segment in members]
                elif source in ("$kind", "$name"):
                    place = 0 if source == "$kind" else 1
                    matched = [match[place] for s in members for t, match in matches[s] if t is table]
                    numbers = {text: found.texts.add(text) for text in dict.fromkeys(matched)}
                    texts[:, column] = [numbers[text] for text in matched]
            typed[name].add(segments, found.segments[m.S_RECORD, segments], list(texts.T))

    def _first_messages(self) -> dict[int, int]:
        first: dict[int, int] = {}
        messages = self.found.messages
        for segment, text in zip(messages[m.M_SEGMENT].tolist(), messages[m.M_TEXT].tolist(), strict=True):
            if segment >= 0 and self.found.texts.present[text]:
                first.setdefault(segment, text)
        return first

    def _table_rows(self, matches: list, typed: dict[str, _Typed]) -> None:
        """Typed tables with a row for each row of a table: tables with the same headers are read together."""
        found = self.found
        plans: dict[tuple, list[int]] = {}
        for place, (segment, part, _, _, begin, end) in enumerate(zip(*found.tables.tolist(), strict=True)):
            if end and matches[segment]:
                # Segments with the same matches have the same list.
                key = (id(matches[segment]), part and found.texts.text(part), found.data[begin:end])
                plans.setdefault(key, []).append(place)
        if not plans:
            return
        plan_of = np.full(found.tables.shape[1], -1)
        for number, members in enumerate(plans.values()):
            plan_of[members] = number
        counted = np.concatenate([[0], np.cumsum(found.texts.present[found.values[m.V_TEXT]])])
        first, cells = found.rows[m.R_FIRST], found.rows[m.R_CELLS]
        plan_of_row = np.where(counted[first + cells] > counted[first], plan_of[found.rows[m.R_TABLE]], -1)
        order = np.argsort(plan_of_row, kind="stable")
        bounds = np.searchsorted(plan_of_row[order], np.arange(len(plans) + 1))
        for number, members in enumerate(plans.values()):
            rows = order[bounds[number] : bounds[number + 1]]
            if len(rows):
                self._plan_rows(members[0], rows, matches, typed)

    def _plan_rows(self, table: int, rows: Ints, matches: list, typed: dict[str, _Typed]) -> None:
        found = self.found
        segment, part, first_label, columns = found.tables[:4, table].tolist()
        name = found.texts.text(part) or ""
        position: dict[str | None, int] = {}
        for index in range(columns):
            position.setdefault(found.texts.text(first_label + index), index)
        for wanted, (kind, rest) in matches[segment]:
            if wanted.rows == "segment" or wanted.part != name:
                continue
            chosen = rows[(found.rows[m.R_IS_SUM, rows] == 1) == (wanted.rows == "sum")]
            if not len(chosen):
                continue
            first, cells = found.rows[m.R_FIRST, chosen], found.rows[m.R_CELLS, chosen]
            texts: list[Ints] = []
            for source in wanted.sources:
                if source in ("$kind", "$name"):
                    texts.append(np.full(len(chosen), found.texts.add(kind if source == "$kind" else rest)))
                elif (at := position.get(source, -1)) < 0:
                    texts.append(np.zeros(len(chosen), np.int64))
                else:
                    there = cells > at
                    texts.append(np.where(there, found.values[m.V_TEXT, np.where(there, first + at, 0)], 0))
            typed[wanted.name].add(chosen, found.values[m.V_RECORD, first], texts)

    def _typed(self, rows: _Typed) -> pa.Table:
        order = np.argsort(np.concatenate(rows.order), kind="stable")
        records = np.concatenate(rows.records)[order]
        starts = np.flatnonzero(np.concatenate([[True], records[1:] != records[:-1]]))
        ordinals = np.arange(len(records)) - np.repeat(starts, np.diff(np.append(starts, len(records))))
        arrays = [self._record(records), of_numbers(ordinals.astype(np.uint32))]
        for column, places in zip(rows.table.columns, zip(*rows.texts, strict=True), strict=True):
            arrays.append(self._column(column, np.concatenate(places)[order]))
        return pa.Table.from_arrays(arrays, schema=schemas()[rows.table.name])

    def _column(self, column: TypedColumn, places: Ints) -> pa.Array:
        texts = self.found.texts
        fast: dict[str, Callable[[Ints], pa.Array]] = {
            "text": texts.strings,
            "number": texts.numbers,
            "duration_us": texts.durations_us,
        }
        if column.type in fast:
            return fast[column.type](places)
        return of_values([column.read(text) for text in texts.strings(places).to_pylist()], column.arrow)

    def _record(self, records: Ints) -> pa.Array:
        return of_numbers((records + self.first_report).astype(np.uint32))

    def _values(self) -> pa.Table:
        found, texts = self.found, self.found.texts
        rows = found.values

        def strings(field: int) -> pa.Array:
            return texts.strings(rows[field], MAX_TEXT_BYTES)

        numeric = found.flags != m.IN_TEXT_COLUMN
        columns = [
            self._record(rows[m.V_RECORD]),
            of_numbers(rows[m.V_SECTION].astype(np.uint32)),
            strings(m.V_SECTION_NAME),
            strings(m.V_PART),
            *(of_numbers(rows[field].astype(np.uint32)) for field in (m.V_TABLE, m.V_ROW, m.V_COLUMN)),
            *(strings(field) for field in (m.V_ROW_LABEL, m.V_ROW_TYPE, m.V_LABEL, m.V_TEXT)),
            texts.numbers(rows[m.V_TEXT], numeric),
        ]
        return pa.Table.from_arrays(columns, schema=schemas()["rmf_value"])

    def _messages(self) -> pa.Table:
        rows: list[tuple[Any, ...]] = []
        for place, (record, segment, ident, text, severity) in enumerate(
            zip(*self.found.messages.tolist(), strict=True)
        ):
            text_of = self.found.texts.text
            level = values.integer(text_of(severity))
            section = None if segment < 0 else text_of(int(self.found.segments[m.S_NAME, segment])) or ""
            if segment < 0 and "message_text" not in self.heads[record]:
                self.heads[record] |= {
                    "message_id": text_of(ident),
                    "message_text": text_of(text),
                    "message_severity": level,
                }
            keys = (record + self.first_report, self.first_message + place)
            rows.append((*keys, section, text_of(ident), text_of(text), level))
        return _table("rmf_message", rows)

    def _reports(self) -> pa.Table:
        schema, count = schemas()["rmf_report"], len(self.heads)
        said = ("message", "data")
        columns: dict[str, Any] = {
            "record_seq": range(self.first_report, self.first_report + count),
            "section_seq": [0] * count,
            "form": ["xml"] * count,
            "status": [said[content] for content in self.found.reports[m.P_HAS_CONTENT].tolist()],
        }
        columns |= {name: [value] * count for name, value in self.server.items()}
        for name in schema.names:
            if name not in columns:
                columns[name] = [head.get(name) for head in self.heads]
        arrays = [of_values(columns[field.name], field.type) for field in schema]
        return pa.Table.from_arrays(arrays, schema=schema)


def file_messages(found: Sequence[tuple[str | None, str | None, str | None]], first: int) -> dict[str, pa.Table]:
    """Table of messages (id, text, severity) about the file as a whole; `first` is the ordinal of the first."""
    rows = [
        (None, first + place, None, ident, text, values.integer(severity))
        for place, (ident, text, severity) in enumerate(found)
    ]
    return {"rmf_message": _table("rmf_message", rows)} if rows else {}


def _table(name: str, rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    schema = schemas()[name]
    columns = zip(*rows, strict=True) if rows else ([] for _ in schema)
    return pa.Table.from_arrays(
        [of_values(column, field.type) for column, field in zip(columns, schema, strict=True)], schema=schema
    )
