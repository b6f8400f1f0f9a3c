"""Tables of the reports of one stretch, built column by column from the spans of the compiled reader."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ingest.arrays import dtype_of, of_numbers, of_values
from ingest.formats.rmf import values
from ingest.formats.rmf.head import PATHS, TEXTS, WORKED_OUT, worked_out
from ingest.formats.rmf.kernels import markup as m
from ingest.formats.rmf.kernels.texts import find_keys
from ingest.formats.rmf.tables import TypedTable, schemas, typed_tables
from ingest.formats.rmf.texts import NotPlain, Texts, concatenated, first_equal_spans

Ints = npt.NDArray[np.integer]

MAX_TEXT_BYTES = 1 << 26
"""Most bytes of text in a column of a stretch's tidy rows; labels are repeated in every row."""


@dataclass(frozen=True)
class Scan:
    """Elements of the reports in `data`, arrays with one column per element; their rows are named in `markup`."""

    data: bytes
    values: npt.NDArray[np.int32]
    flags: npt.NDArray[np.uint8]
    rows: npt.NDArray[np.int32]
    tables: npt.NDArray[np.int32]
    segments: npt.NDArray[np.int32]
    messages: npt.NDArray[np.int32]
    reports: npt.NDArray[np.int32]
    heads: npt.NDArray[np.int32]
    texts: Texts


def scan(data: bytes, begin: int, end: int) -> Scan:
    """Find the elements of the run of reports at `data[begin:end]`. Raises NotPlain."""
    array = np.frombuffer(data, np.uint8)
    # One comparison of all bytes: `bytes.count` stops at each tag, of which there is one in every twenty bytes.
    elements = _room(int(np.count_nonzero(array == ord("<"))) + 2)
    if not m.scan_reports(array, begin, end, *concatenated(PATHS), elements):
        raise NotPlain
    n_spans, n_values, n_rows, n_tables, n_segments, n_messages, n_reports = elements.counts.tolist()
    return Scan(
        data,
        elements.values[:, :n_values],
        elements.flags[:n_values],
        elements.rows[:, :n_rows],
        elements.tables[:, :n_tables],
        elements.segments[:, :n_segments],
        elements.messages[:, :n_messages],
        elements.reports[:, :n_reports],
        elements.heads[:, :n_reports],
        Texts(data, elements.spans[:, :n_spans], elements.marks[:n_spans]),
    )


_KEPT = threading.local()
_MOST_KEPT = 1 << 19
"""Places for which room is kept from one stretch to the next."""


def _room(places: int) -> m.Elements:
    """Arrays for elements, with at least `places` places; each thread uses the same arrays again.

    Nothing of them is left in tables. New ones would cost a third of the reading, in pages the system has to clear.
    """
    kept: m.Elements | None = getattr(_KEPT, "elements", None)
    if kept is not None and len(kept.flags) >= places:
        return kept
    arrays = m.Elements.room(places, len(PATHS))
    if places <= _MOST_KEPT:
        _KEPT.elements = arrays
    return arrays


#: Typed tables made of a segment, and for each the kind and the name of the segment.
_Matches = list[tuple[TypedTable, tuple[str, str]]]
_OF_MATCH = ("$kind", "$name")
#: The column of a label that a table has not.
_NOWHERE = 1 << 30


@dataclass
class _Typed:
    """Rows of one typed table: their place among the rows (or segments) of the stretch, their report, their texts."""

    table: TypedTable
    order: list[Ints] = field(default_factory=list)
    records: list[Ints] = field(default_factory=list)
    texts: list[Ints] = field(default_factory=list)

    def add(self, order: Ints, records: Ints, texts: Ints) -> None:
        """Rows, with the number of the text of each column (first axis) and row."""
        self.order.append(order)
        self.records.append(records)
        self.texts.append(texts)


@dataclass
class Stretch:
    """Builds the tables; `first_report` and `first_message` are the ordinals of the first of each in the file."""

    elements: Scan
    server: dict[str, Any]
    first_report: int
    first_message: int

    @property
    def message_count(self) -> int:
        """Messages in the stretch."""
        return self.elements.messages.shape[1]

    @property
    def messages_only(self) -> int:
        """Reports that hold nothing but messages."""
        return int(np.count_nonzero(self.elements.reports[m.P_HAS_CONTENT] == 0))

    def tables(self) -> dict[str, pa.Table]:
        """The rows by table; tables without rows are left out."""
        typed = {table.name: _Typed(table) for table in typed_tables()}
        lists, which = self._matches()
        self._segment_rows(lists, which, typed)
        self._table_rows(lists, which, typed)
        tables = {"rmf_value": self._values(), "rmf_message": self._messages(), "rmf_report": self._reports()}
        tables |= {name: self._typed(rows) for name, rows in typed.items() if rows.order}
        return {name: tables[name] for name in schemas() if name in tables and tables[name].num_rows}

    def _matches(self) -> tuple[list[_Matches], Ints]:
        """Different lists of the typed tables made of a segment, and the ordinal of the list of each segment."""
        elements, texts = self.elements, self.elements.texts
        records, names = elements.segments[m.S_RECORD], elements.segments[m.S_NAME]
        reports = elements.heads[PATHS.index(TEXTS["report"])]
        same = texts.first_equal(np.concatenate([reports, names]))
        pairs = same[records] * len(same) + same[len(reports) :]
        _, firsts, which = np.unique(pairs, return_index=True, return_inverse=True)
        lists = []
        for segment in firsts.tolist():
            key = (texts.text(reports[records[segment]]), texts.text(names[segment]) or "")
            matched = [(table, table.match(*key)) for table in typed_tables()]
            lists.append([(table, match) for table, match in matched if match is not None])
        return lists, which

    def _segment_rows(self, lists: list[_Matches], which: Ints, typed: dict[str, _Typed]) -> None:
        """Typed tables with one row per segment."""
        elements = self.elements
        wanted: dict[str, list[tuple[Ints, tuple[str, str]]]] = {}
        for ordinal, tables in enumerate(lists):
            for table, match in tables:
                if table.rows == "segment":
                    wanted.setdefault(table.name, []).append((np.flatnonzero(which == ordinal), match))
        first_messages = self._first_messages() if wanted else {}
        for name, groups in wanted.items():
            table = typed[name].table
            segments = np.concatenate([members for members, _ in groups])
            words, ends = concatenated(table.sources)
            texts = np.zeros((len(segments), len(ends)), np.int64)
            first, last = elements.segments[m.S_FIRST, segments], elements.segments[m.S_END, segments]
            find_keys(*elements.texts.spans, words, ends, first, last, elements.values, elements.flags, texts)
            for column, source in enumerate(table.sources):
                if source == "$message":
                    texts[:, column] = [first_messages.get(segment, 0) for segment in segments.tolist()]
                elif source in _OF_MATCH:
                    added = [elements.texts.add(match[_OF_MATCH.index(source)]) for _, match in groups]
                    texts[:, column] = np.repeat(added, [len(members) for members, _ in groups])
            typed[name].add(segments, elements.segments[m.S_RECORD, segments], texts.T)

    def _first_messages(self) -> dict[int, int]:
        first: dict[int, int] = {}
        messages = self.elements.messages
        for segment, text in zip(messages[m.M_SEGMENT].tolist(), messages[m.M_TEXT].tolist(), strict=True):
            if segment >= 0 and self.elements.texts.text(text):
                first.setdefault(segment, text)
        return first

    def _table_rows(self, lists: list[_Matches], which: Ints, typed: dict[str, _Typed]) -> None:
        """Typed tables with a row for each row of a table: tables with the same headers are read in one step."""
        elements = self.elements
        has_tables = np.array([bool(tables) for tables in lists], np.bool_)
        table_places = np.flatnonzero(elements.tables[m.T_TO])
        table_places = table_places[has_tables[which[elements.tables[m.T_SEGMENT, table_places]]]]
        if not len(table_places):
            return
        segments, parts, _, _, begins, stops = elements.tables[:, table_places]
        headers = first_equal_spans(elements.texts.spans[0], begins, stops)
        kinds = (which[segments] * len(table_places) + elements.texts.first_equal(parts)) * len(table_places) + headers
        _, firsts, plans = np.unique(kinds, return_index=True, return_inverse=True)
        plan_of = np.full(elements.tables.shape[1], -1)
        plan_of[table_places] = plans
        counted = np.concatenate([[0], np.cumsum(elements.texts.present[elements.values[m.V_TEXT]])])
        first, cells = elements.rows[m.R_FIRST], elements.rows[m.R_CELLS]
        plan_of_row = np.where(counted[first + cells] > counted[first], plan_of[elements.rows[m.R_TABLE]], -1)
        order = np.argsort(plan_of_row, kind="stable")
        bounds = np.searchsorted(plan_of_row[order], np.arange(len(firsts) + 1))
        for number, place in enumerate(firsts.tolist()):
            rows = order[bounds[number] : bounds[number + 1]]
            if len(rows):
                self._plan_rows(int(table_places[place]), rows, lists[which[segments[place]]], typed)

    def _plan_rows(self, table: int, rows: Ints, matches: _Matches, typed: dict[str, _Typed]) -> None:
        elements = self.elements
        part, first_label, columns = elements.tables[m.T_PART : m.T_FROM, table].tolist()
        name = elements.texts.text(part) or ""
        position: dict[str | None, int] = {}
        for index in range(columns):
            position.setdefault(elements.texts.text(first_label + index), index)
        for wanted, match in matches:
            if wanted.rows == "segment" or wanted.part != name:
                continue
            chosen = rows[(elements.rows[m.R_IS_SUM, rows] == 1) == (wanted.rows == "sum")]
            if not len(chosen):
                continue
            first, cells = elements.rows[m.R_FIRST, chosen], elements.rows[m.R_CELLS, chosen]
            at = np.array([position.get(source, _NOWHERE) for source in wanted.sources])[:, np.newaxis]
            has_cell = at < cells
            texts = np.where(has_cell, elements.values[m.V_TEXT].take(np.where(has_cell, first + at, 0)), 0)
            for column, source in enumerate(wanted.sources):
                if source in _OF_MATCH:
                    texts[column] = elements.texts.add(match[_OF_MATCH.index(source)])
            typed[wanted.name].add(chosen, elements.values[m.V_RECORD, first], texts)

    def _typed(self, rows: _Typed) -> pa.Table:
        order = np.argsort(np.concatenate(rows.order), kind="stable")
        records = np.concatenate(rows.records)[order]
        starts = np.flatnonzero(np.concatenate([[True], records[1:] != records[:-1]]))
        ordinals = np.arange(len(records)) - np.repeat(starts, np.diff(np.append(starts, len(records))))
        places = np.concatenate(rows.texts, axis=1)[:, order]
        arrays = [self._record(records), of_numbers(ordinals.astype(np.uint32)), *self._columns(rows.table, places)]
        return pa.Table.from_arrays(arrays, schema=schemas()[rows.table.name])

    def _columns(self, table: TypedTable, places: Ints) -> list[pa.Array]:
        """The columns of a typed table, all of a type at once; places: for each column the text of each row."""
        texts = self.elements.texts
        readers: dict[str, Callable[[Ints], list[pa.Array]]] = {
            "text": texts.strings,
            "number": texts.numbers,
            "duration_us": texts.durations_us,
        }
        columns: list[Any] = [None] * len(table.columns)
        for kind in dict.fromkeys(column.type for column in table.columns):
            members = [place for place, column in enumerate(table.columns) if column.type == kind]
            first = table.columns[members[0]]
            if kind in readers:
                arrays = readers[kind](places[members])
            else:
                arrays = texts.values(first.read, places[members], dtype_of(first.arrow))
            for place, array in zip(members, arrays, strict=True):
                columns[place] = array
        return columns

    def _record(self, records: Ints) -> pa.Array:
        return of_numbers(np.add(records, self.first_report, dtype=np.uint32, casting="unsafe"))

    def _values(self) -> pa.Table:
        elements, texts = self.elements, self.elements.texts
        rows = elements.values
        section, part, *labels = texts.strings(rows[m.V_SECTION_NAME :], MAX_TEXT_BYTES)
        columns = [
            self._record(rows[m.V_RECORD]),
            of_numbers(rows[m.V_SECTION].astype(np.uint32)),
            section,
            part,
            *(of_numbers(rows[field].astype(np.uint32)) for field in (m.V_TABLE, m.V_ROW, m.V_COLUMN)),
            *labels,
            *texts.numbers(rows[m.V_TEXT :], elements.flags != m.IN_TEXT_COLUMN),
        ]
        return pa.Table.from_arrays(columns, schema=schemas()["rmf_value"])

    def _messages(self) -> pa.Table:
        rows: list[tuple[Any, ...]] = []
        for place, (record, segment, ident, text, severity) in enumerate(
            zip(*self.elements.messages.tolist(), strict=True)
        ):
            text_of = self.elements.texts.text
            level = values.integer(text_of(severity))
            section = None if segment < 0 else text_of(int(self.elements.segments[m.S_NAME, segment])) or ""
            keys = (record + self.first_report, self.first_message + place)
            rows.append((*keys, section, text_of(ident), text_of(text), level))
        return _table("rmf_message", rows)

    def _reports(self) -> pa.Table:
        elements, text_of = self.elements, self.elements.texts.text
        schema, count = schemas()["rmf_report"], elements.reports.shape[1]
        by_path = dict(zip(PATHS, elements.texts.strings(elements.heads), strict=True))
        parts = {path: by_path[path].to_pylist() for path in WORKED_OUT if by_path[path].null_count < count}
        heads = [worked_out(dict(zip(parts, texts, strict=True))) for texts in zip(*parts.values(), strict=True)]
        heads = heads or [worked_out({})] * count
        messages: dict[int, dict[str, Any]] = {}
        for record, segment, ident, text, severity in elements.messages.T.tolist():
            if segment < 0 and record not in messages:
                messages[record] = {"id": text_of(ident), "text": text_of(text)}
                messages[record]["severity"] = values.integer(text_of(severity))
        columns: dict[str, Sequence[Any]] = {name: [head[name] for head in heads] for name in heads[0]}
        columns |= {n: [self.server.get(n)] * count for n in schema.names if n.startswith("server_")}
        for name in ("id", "text", "severity"):
            columns[f"message_{name}"] = [messages.get(record, {}).get(name) for record in range(count)]
        columns["form"] = ["xml"] * count
        columns["status"] = [("message", "data")[content] for content in elements.reports[m.P_HAS_CONTENT].tolist()]
        arrays = {name: _filled(column, schema.field(name).type) for name, column in columns.items()}
        arrays |= {name: by_path[path] for name, path in TEXTS.items()}
        arrays["record_seq"] = self._record(np.arange(count))
        arrays["section_seq"] = of_numbers(np.zeros(count, np.uint32))
        return pa.Table.from_arrays([arrays[name] for name in schema.names], schema=schema)


def _filled(column: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Values as an array; most columns of a head are absent in all reports."""
    return pa.nulls(len(column), kind) if column.count(None) == len(column) else of_values(column, kind)


def file_messages(messages: Sequence[tuple[str | None, str | None, str | None]], first: int) -> dict[str, pa.Table]:
    """Table of messages (id, text, severity) about the file as a whole; `first` is the ordinal of the first."""
    rows = [
        (None, first + place, None, ident, text, values.integer(severity))
        for place, (ident, text, severity) in enumerate(messages)
    ]
    return {"rmf_message": _table("rmf_message", rows)} if rows else {}


def _table(name: str, rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    schema = schemas()[name]
    columns = zip(*rows, strict=True) if rows else ([] for _ in schema)
    return pa.Table.from_arrays(
        [of_values(column, field.type) for column, field in zip(columns, schema, strict=True)], schema=schema
    )
