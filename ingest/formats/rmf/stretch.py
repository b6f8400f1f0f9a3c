"""Tables of the reports of one stretch, built column by column from the spans that the compiled reader found."""

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
    """Reports found in `data`, all arrays with one column for each thing found; their rows are named in `markup`."""

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
    """Find what the run of reports at `data[begin:end]` is made of. Raises NotPlain."""
    array = np.frombuffer(data, np.uint8)
    # One comparison of all bytes: `bytes.count` stops at each tag, of which there is one in every twenty bytes.
    found = _room(int(np.count_nonzero(array == ord("<"))) + 2)
    if not m.scan_reports(array, begin, end, *concatenated(PATHS), found):
        raise NotPlain
    n_spans, n_values, n_rows, n_tables, n_segments, n_messages, n_reports = found.counts.tolist()
    return Scan(
        data,
        found.values[:, :n_values],
        found.flags[:n_values],
        found.rows[:, :n_rows],
        found.tables[:, :n_tables],
        found.segments[:, :n_segments],
        found.messages[:, :n_messages],
        found.reports[:, :n_reports],
        found.heads[:, :n_reports],
        Texts(data, found.spans[:, :n_spans], found.marks[:n_spans]),
    )


_KEPT = threading.local()
_MOST_KEPT = 1 << 19
"""Places for which room is kept from one stretch to the next."""


def _room(places: int) -> m.Found:
    """Arrays to note what is found, with at least so many places; those of a thread are the same ones each time.

    Nothing of them is left in tables. New ones would cost a third of the reading, in pages the system has to clear.
    """
    kept: m.Found | None = getattr(_KEPT, "found", None)
    if kept is not None and len(kept.flags) >= places:
        return kept
    made = m.Found.room(places, len(PATHS))
    if places <= _MOST_KEPT:
        _KEPT.found = made
    return made


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

    found: Scan
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
        lists, which = self._matches()
        self._segment_rows(lists, which, typed)
        self._table_rows(lists, which, typed)
        made = {"rmf_value": self._values(), "rmf_message": self._messages(), "rmf_report": self._reports()}
        made |= {name: self._typed(rows) for name, rows in typed.items() if rows.order}
        return {name: made[name] for name in schemas() if name in made and made[name].num_rows}

    def _matches(self) -> tuple[list[_Matches], Ints]:
        """Different lists of the typed tables made of a segment, and the ordinal of the list of each segment."""
        found, texts = self.found, self.found.texts
        records, names = found.segments[m.S_RECORD], found.segments[m.S_NAME]
        reports = found.heads[PATHS.index(TEXTS["report"])]
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
        found = self.found
        wanted: dict[str, list[tuple[Ints, tuple[str, str]]]] = {}
        for ordinal, tables in enumerate(lists):
            for table, match in tables:
                if table.rows == "segment":
                    wanted.setdefault(table.name, []).append((np.flatnonzero(which == ordinal), match))
        said = self._first_messages() if wanted else {}
        for name, groups in wanted.items():
            table = typed[name].table
            segments = np.concatenate([members for members, _ in groups])
            words, ends = concatenated(table.sources)
            texts = np.zeros((len(segments), len(ends)), np.int64)
            first, last = found.segments[m.S_FIRST, segments], found.segments[m.S_END, segments]
            find_keys(*found.texts.spans, words, ends, first, last, found.values, found.flags, texts)
            for column, source in enumerate(table.sources):
                if source == "$message":
                    texts[:, column] = [said.get(segment, 0) for segment in segments.tolist()]
                elif source in _OF_MATCH:
                    added = [found.texts.add(match[_OF_MATCH.index(source)]) for _, match in groups]
                    texts[:, column] = np.repeat(added, [len(members) for members, _ in groups])
            typed[name].add(segments, found.segments[m.S_RECORD, segments], texts.T)

    def _first_messages(self) -> dict[int, int]:
        first: dict[int, int] = {}
        messages = self.found.messages
        for segment, text in zip(messages[m.M_SEGMENT].tolist(), messages[m.M_TEXT].tolist(), strict=True):
            if segment >= 0 and self.found.texts.text(text):
                first.setdefault(segment, text)
        return first

    def _table_rows(self, lists: list[_Matches], which: Ints, typed: dict[str, _Typed]) -> None:
        """Typed tables with a row for each row of a table: tables with the same headers are read together."""
        found = self.found
        has_tables = np.array([bool(tables) for tables in lists], np.bool_)
        known = np.flatnonzero(found.tables[m.T_TO])
        known = known[has_tables[which[found.tables[m.T_SEGMENT, known]]]]
        if not len(known):
            return
        segments, parts, _, _, begins, stops = found.tables[:, known]
        headers = first_equal_spans(found.texts.spans[0], begins, stops)
        kinds = (which[segments] * len(known) + found.texts.first_equal(parts)) * len(known) + headers
        _, firsts, plans = np.unique(kinds, return_index=True, return_inverse=True)
        plan_of = np.full(found.tables.shape[1], -1)
        plan_of[known] = plans
        counted = np.concatenate([[0], np.cumsum(found.texts.present[found.values[m.V_TEXT]])])
        first, cells = found.rows[m.R_FIRST], found.rows[m.R_CELLS]
        plan_of_row = np.where(counted[first + cells] > counted[first], plan_of[found.rows[m.R_TABLE]], -1)
        order = np.argsort(plan_of_row, kind="stable")
        bounds = np.searchsorted(plan_of_row[order], np.arange(len(firsts) + 1))
        for number, place in enumerate(firsts.tolist()):
            rows = order[bounds[number] : bounds[number + 1]]
            if len(rows):
                self._plan_rows(int(known[place]), rows, lists[which[segments[place]]], typed)

    def _plan_rows(self, table: int, rows: Ints, matches: _Matches, typed: dict[str, _Typed]) -> None:
        found = self.found
        part, first_label, columns = found.tables[m.T_PART : m.T_FROM, table].tolist()
        name = found.texts.text(part) or ""
        position: dict[str | None, int] = {}
        for index in range(columns):
            position.setdefault(found.texts.text(first_label + index), index)
        for wanted, match in matches:
            if wanted.rows == "segment" or wanted.part != name:
                continue
            chosen = rows[(found.rows[m.R_IS_SUM, rows] == 1) == (wanted.rows == "sum")]
            if not len(chosen):
                continue
            first, cells = found.rows[m.R_FIRST, chosen], found.rows[m.R_CELLS, chosen]
            at = np.array([position.get(source, _NOWHERE) for source in wanted.sources])[:, np.newaxis]
            there = at < cells
            texts = np.where(there, found.values[m.V_TEXT].take(np.where(there, first + at, 0)), 0)
            for column, source in enumerate(wanted.sources):
                if source in _OF_MATCH:
                    texts[column] = found.texts.add(match[_OF_MATCH.index(source)])
            typed[wanted.name].add(chosen, found.values[m.V_RECORD, first], texts)

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
        texts = self.found.texts
        readers: dict[str, Callable[[Ints], list[pa.Array]]] = {
            "text": texts.strings,
            "number": texts.numbers,
            "duration_us": texts.durations_us,
        }
        made: list[Any] = [None] * len(table.columns)
        for kind in dict.fromkeys(column.type for column in table.columns):
            members = [place for place, column in enumerate(table.columns) if column.type == kind]
            first = table.columns[members[0]]
            if kind in readers:
                arrays = readers[kind](places[members])
            else:
                arrays = texts.values(first.read, places[members], dtype_of(first.arrow))
            for place, array in zip(members, arrays, strict=True):
                made[place] = array
        return made

    def _record(self, records: Ints) -> pa.Array:
        return of_numbers(np.add(records, self.first_report, dtype=np.uint32, casting="unsafe"))

    def _values(self) -> pa.Table:
        found, texts = self.found, self.found.texts
        rows = found.values
        section, part, *labels = texts.strings(rows[m.V_SECTION_NAME :], MAX_TEXT_BYTES)
        columns = [
            self._record(rows[m.V_RECORD]),
            of_numbers(rows[m.V_SECTION].astype(np.uint32)),
            section,
            part,
            *(of_numbers(rows[field].astype(np.uint32)) for field in (m.V_TABLE, m.V_ROW, m.V_COLUMN)),
            *labels,
            *texts.numbers(rows[m.V_TEXT :], found.flags != m.IN_TEXT_COLUMN),
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
            keys = (record + self.first_report, self.first_message + place)
            rows.append((*keys, section, text_of(ident), text_of(text), level))
        return _table("rmf_message", rows)

    def _reports(self) -> pa.Table:
        found, text_of = self.found, self.found.texts.text
        schema, count = schemas()["rmf_report"], found.reports.shape[1]
        said = dict(zip(PATHS, found.texts.strings(found.heads), strict=True))
        parts = {path: said[path].to_pylist() for path in WORKED_OUT if said[path].null_count < count}
        heads = [worked_out(dict(zip(parts, texts, strict=True))) for texts in zip(*parts.values(), strict=True)]
        heads = heads or [worked_out({})] * count
        messages: dict[int, dict[str, Any]] = {}
        for record, segment, ident, text, severity in found.messages.T.tolist():
            if segment < 0 and record not in messages:
                messages[record] = {"id": text_of(ident), "text": text_of(text)}
                messages[record]["severity"] = values.integer(text_of(severity))
        columns: dict[str, Sequence[Any]] = {name: [head[name] for head in heads] for name in heads[0]}
        columns |= {n: [self.server.get(n)] * count for n in schema.names if n.startswith("server_")}
        for name in ("id", "text", "severity"):
            columns[f"message_{name}"] = [messages.get(record, {}).get(name) for record in range(count)]
        columns["form"] = ["xml"] * count
        columns["status"] = [("message", "data")[content] for content in found.reports[m.P_HAS_CONTENT].tolist()]
        arrays = {name: _filled(column, schema.field(name).type) for name, column in columns.items()}
        arrays |= {name: said[path] for name, path in TEXTS.items()}
        arrays["record_seq"] = self._record(np.arange(count))
        arrays["section_seq"] = of_numbers(np.zeros(count, np.uint32))
        return pa.Table.from_arrays([arrays[name] for name in schema.names], schema=schema)


def _filled(column: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Values as an array; most columns of a head are absent in all reports."""
    return pa.nulls(len(column), kind) if column.count(None) == len(column) else of_values(column, kind)


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
