"""Collects what a report says, value by value, into columns; hands them over as Arrow tables."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from ingest.arrays import of_values
from ingest.batch import Unreadable
from ingest.formats.rmf import values
from ingest.formats.rmf.tables import SEPARATOR, TypedTable, schemas, typed_tables

MAX_LABEL_TEXT = 1 << 28
"""Most characters of labels in the tidy rows of one report in XML; they are repeated in every row."""

MAX_WAITING_CELLS = 1 << 21
"""Most cells of a table that wait for its column headers, which Monitor III writes after the rows."""


class Builder:
    """State of one file being read, where in the report we are, and the columns gathered since the last `take`.

    form: the form of the reports, for their heads. Raises Unreadable for a report whose labels or whose rows that wait
    for headers would fill memory.
    """

    def __init__(self, form: str = "xml") -> None:
        self._form = form
        self.record = -1
        self.pending = 0
        self._label_text = 0
        self.has_content = False
        self._gathered_rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in schemas()}
        self._head: dict[str, Any] = {}
        self._complete: dict[str, int] = {}
        self._messages = 0
        self._row_of: dict[str, int] = {}
        self._table = 0
        self._section = -1
        self._section_name = ""
        self._part = ""
        self._segment_tables: list[tuple[TypedTable, tuple[str, str]]] = []
        self._wanted: frozenset[str] = frozenset()
        self._gathered: dict[str, str] = {}
        self._rows: list[tuple[TypedTable, tuple[str, str], list[int | str]]] = []
        self._labels: list[str | None] = []
        self._is_text: list[bool] = []
        self._has_headers = False
        self._waiting: list[tuple[int, int, list[str | None], str | None]] = []
        self._waiting_cells = 0

    def begin_report(self, head: dict[str, Any]) -> None:
        """A report starts; `head` has the columns of `rmf_report` read so far."""
        self.record += 1
        self._label_text = 0
        self.has_content = False
        self._head = {"form": self._form} | head
        self._row_of = {}
        self._table = 0
        self._section, self._section_name, self._part = -1, "", ""
        self._match_tables("")
        self.begin_part("")

    def end_report(self) -> None:
        """The report is complete: its head becomes a row of `rmf_report`."""
        if self._section < 0 and self.has_content:
            self.end_section()
        self.end_table()
        self._head |= {"record_seq": self.record, "section_seq": 0, "status": "data" if self.has_content else "message"}
        self._append("rmf_report", [self._head.get(name) for name in schemas()["rmf_report"].names])
        self.complete()

    def abandon(self, has_head: bool) -> int:
        """Forget the gathered rows of a damaged report; its ordinal. has_head: `begin_report` was called for it."""
        self.record += not has_head
        for rows in self._gathered_rows.values():
            rows.clear()
        self.pending, self._complete = 0, {}
        self._waiting, self._waiting_cells, self._rows, self._has_headers = [], 0, [], False
        return self.record

    def begin_section(self, name: str) -> None:
        """A segment of the report starts."""
        self.end_table()
        self.has_content = True
        self._section += 1
        self._section_name = name
        self._match_tables(name)

    def _match_tables(self, segment: str) -> None:
        """Find the typed tables made of a segment; its name is empty for what stands in the report itself."""
        report = self._head.get("report")
        matches = [(table, table.match(report, segment)) for table in typed_tables()]
        self._segment_tables = [(table, match) for table, match in matches if match is not None]
        sources = (source for table, _ in self._segment_tables if table.rows == "segment" for source in table.sources)
        self._wanted = frozenset(sources)
        self._gathered = {}

    def end_section(self) -> None:
        """The segment is complete: typed tables with one row per segment get theirs."""
        self.end_table()
        for table, (kind, name) in self._segment_tables:
            if table.rows == "segment":
                context = self._gathered | {"$kind": kind, "$name": name}
                self._typed_row(table, [column.read(context.get(column.source)) for column in table.columns])
        self._segment_tables, self._wanted, self._gathered = [], frozenset(), {}
        self._section_name = ""

    def begin_part(self, name: str) -> None:
        """A part of the segment starts; `name` is empty for the part without one."""
        self.end_table()
        self._part = name

    def begin_table(self) -> int:
        """A table or a list of variables starts; its ordinal within the report."""
        self.end_table()
        self.has_content = True
        self._table += 1
        return self._table - 1

    def end_table(self) -> None:
        """The table is complete: rows that still wait for headers have none."""
        self._release()
        self._rows, self._labels, self._is_text, self._has_headers = [], [], [], False

    def variable(self, table: int, row: int, name: str | None, text: str | None) -> None:
        """A named value outside tables."""
        self._release()
        self._value(table, row, 0, None, None, name, text, values.number(text))
        self._gather(f"{self._part}{SEPARATOR}{name or ''}", text)

    def headers(self, labels: list[str | None], kinds: list[str | None]) -> None:
        """The column headers of the table, and the kind of each column (T is text); they may follow its rows."""
        self._labels = labels
        self._is_text = [kind == "T" for kind in kinds]
        position: dict[str | None, int] = {}
        for index, label in enumerate(labels):
            position.setdefault(label, index)
        self._rows = [
            (table, match, [s if s.startswith("$") else position.get(s, -1) for s in table.sources])
            for table, match in self._segment_tables
            if table.rows != "segment" and table.part == self._part
        ]
        self._has_headers = True
        self._release()

    def row(self, table: int, row: int, cells: list[str | None], row_type: str | None) -> None:
        """A row of the table; `row_type` is SUM for a total line."""
        if self._has_headers:
            self._row(table, row, cells, row_type)
            return
        self._waiting.append((table, row, cells, row_type))
        self._waiting_cells += len(cells) + 1
        if self._waiting_cells > MAX_WAITING_CELLS:
            raise Unreadable("xml_too_large", f"more than {MAX_WAITING_CELLS:,} cells of a table before its headers", 0)

    def _release(self) -> None:
        """Give out the rows that wait for headers."""
        waiting, self._waiting, self._waiting_cells = self._waiting, [], 0
        for item in waiting:
            self._row(*item)

    def _row(self, table: int, row: int, cells: list[str | None], row_type: str | None) -> None:
        label = cells[0] if cells else None
        labels, is_text, n_labels = self._labels, self._is_text, len(self._labels)
        for index, text in enumerate(cells):
            header = labels[index] if index < n_labels else None
            number = None if index < n_labels and is_text[index] else values.number(text)
            self._value(table, row, index, label, row_type, header, text, number)
            if self._wanted:
                self._gather(f"{self._part}{SEPARATOR}{label or ''}{SEPARATOR}{header or ''}", text)
        if not any(cells):
            return
        for typed, (kind, name), sources in self._rows:
            if (row_type == "SUM") == (typed.rows == "sum"):
                context = {"$kind": kind, "$name": name}
                texts = [
                    context.get(s) if isinstance(s, str) else cells[s] if 0 <= s < len(cells) else None for s in sources
                ]
                self._typed_row(typed, [c.read(t) for c, t in zip(typed.columns, texts, strict=True)])

    def message(self, ident: str | None, text: str | None, severity: str | None, about: str) -> None:
        """A message about the `file`, the `report`, or standing in a `segment`."""
        level = values.integer(severity)
        if about == "report" and "message_text" not in self._head:
            self._head |= {"message_id": ident, "message_text": text, "message_severity": level}
        if about == "segment":
            self._gather("$message", text)
        record = None if about == "file" else self.record
        section = self._section_name if about == "segment" else None
        self._append("rmf_message", [record, self._messages, section, ident, text, level])
        self._messages += 1

    def complete(self) -> None:
        """All gathered so far belongs to complete reports."""
        self._complete = {name: len(rows) for name, rows in self._gathered_rows.items()}

    def take_complete(self) -> dict[str, pa.Table]:
        """The rows of complete reports gathered since the last call, by table; tables without rows are left out."""
        return self._take(self._complete)

    def take(self) -> dict[str, pa.Table]:
        """All rows gathered since the last call, those of the unfinished report among them."""
        return self._take({name: len(rows) for name, rows in self._gathered_rows.items()})

    def _take(self, counts: dict[str, int]) -> dict[str, pa.Table]:
        taken: dict[str, pa.Table] = {}
        for name, schema in schemas().items():
            rows, count = self._gathered_rows[name], counts.get(name, 0)
            if count:
                columns = zip(*rows[:count], strict=True)
                arrays = [of_values(c, f.type) for c, f in zip(columns, schema, strict=True)]
                taken[name] = pa.Table.from_arrays(arrays, schema=schema)
                del rows[:count]
                self.pending -= count
        self._complete = {}
        return taken

    def _gather(self, key: str, text: str | None) -> None:
        if text is not None and (key in self._wanted):
            self._gathered.setdefault(key, text)

    def _typed_row(self, table: TypedTable, cells: list[Any]) -> None:
        ordinal = self._row_of.get(table.name, 0)
        self._row_of[table.name] = ordinal + 1
        self._append(table.name, [self.record, ordinal, *cells])

    def _value(self, *cells: Any) -> None:
        table, row, column, row_label, row_type, label, text, number = cells
        values_ = (self.record, max(self._section, 0), self._section_name or None, self._part or None)
        self._append("rmf_value", (*values_, table, row, column, row_label, row_type, label, text, number))
        self._label_text += len(self._section_name) + len(self._part) + len(row_label or "") + len(label or "")
        if self._label_text > MAX_LABEL_TEXT and self._form != "text":
            raise Unreadable("xml_too_large", f"labels of more than {MAX_LABEL_TEXT:,} characters in one report", 0)

    def _append(self, name: str, cells: Sequence[Any]) -> None:
        self._gathered_rows[name].append(tuple(cells))
        self.pending += 1
