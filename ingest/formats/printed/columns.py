"""Tables in printed text: a heading is recognized by its labels, figures by the columns below them."""

import re
from dataclasses import dataclass

from ingest.formats.printed.document import Part
from ingest.formats.printed.layouts import Block, Column

_TOKEN = re.compile(r"\S+")
_FIGURE = re.compile(r"[+-]?[\d.,]+[KMGT]?%?|[-*.]+|N/A|DED|INI|\d\S*")


@dataclass
class TableReader:
    """A table being read: its block, where each column's details are on this page, and the value it carries down."""

    block: Block
    part: Part
    columns: list[Column]
    spans: list[tuple[int, int]]
    carried: str | None = None

    def row(self, text: str) -> bool:
        """Put a whole line into the table as a row; False if it is none of its lines."""
        tokens = tokens_of(text)
        return bool(tokens) and add_row(self, text, tokens)


def open_table(block: Block, text: str, part: Part) -> TableReader | None:
    """The table whose heading a line is, None if it is not this block's."""
    match = spans_of(block, text)
    if match is None:
        return None
    columns, spans = match
    if not part.labels:
        part.labels = [column.label for column in columns]
        part.kinds = [column.kind for column in columns]
    return TableReader(block, part, columns, spans)


def spans_of(block: Block, text: str) -> tuple[list[Column], list[tuple[int, int]]] | None:
    """The columns that a heading line shows and where their details are; None when it is not this table's."""
    columns, spans = [], []
    at, shift, first = 0, 0, True
    for column in block.columns:
        if column.pattern is not None:
            match = column.pattern.search(text, at)
            if match is None or (column.optional and _later_label(block, column, text, at, match.start())):
                if column.optional:
                    continue
                return None
            shift, at, first = match.start() - column.heading, match.end(), False
        columns.append(column)
        spans.append((column.first + shift, column.last + shift))
    if first:
        return None
    # A column before the first heading moves with it.
    lead = next(i for i, column in enumerate(columns) if column.pattern is not None)
    moved = spans[lead][0] - columns[lead].first
    spans[:lead] = [(column.first + moved, column.last + moved) for column in columns[:lead]]
    return columns, spans


def _later_label(block: Block, column: Column, text: str, at: int, label_at: int) -> bool:
    """True if the label at `label_at`, of an optional column, comes after that of the next required column."""
    later = block.columns[block.columns.index(column) + 1 :]
    required = next((other.pattern for other in later if other.pattern and not other.optional), None)
    match = required.search(text, at) if required else None
    return match is not None and match.start() < label_at


def tokens_of(text: str) -> list[tuple[int, int, str]]:
    """First and last column of every word of a line, with the word."""
    return [(match.start(), match.end() - 1, match[0]) for match in _TOKEN.finditer(text)]


def add_row(table: TableReader, text: str, tokens: list[tuple[int, int, str]]) -> bool:
    """Put a line into the table as a row; False if it is none of its lines."""
    cells: list[str | None] = [None] * len(table.columns)
    block = table.block
    row_type = None
    total = block.total.match(text) if block.total else None
    if total:
        row_type = "SUM"
        for name, value in total.groupdict().items():
            label = block.columns[int(name[1:])].label
            cells[next(i for i, column in enumerate(table.columns) if column.label == label)] = value
        tokens = [token for token in tokens if token[0] >= total.end()]
    for start, end, word in tokens:
        place = _place(table.spans, start, end)
        cells[place] = word if cells[place] is None else f"{cells[place]} {word}"
    key = next((i for i, c in enumerate(table.columns) if c.label == block.data.get("key")), 0)
    if not total and not (block.row and block.row.fullmatch(cells[key] or "")):
        return False
    for place, column in enumerate(table.columns):
        cell = cells[place]
        if column.kind == "N" and cell is not None:
            if not block.data.get("loose") and not _FIGURE.fullmatch(cell):
                return False
            cells[place] = cell.removesuffix("%")
    for place, column in enumerate(table.columns):
        words = dict(block.data.get("words", {}).get(column.label, ()))
        if row_type is None and cells[place]:
            cells[place] = words.get(cells[place] or "", cells[place])
    carry = next((i for i, c in enumerate(table.columns) if c.label == block.data.get("carry")), None)
    if carry is not None:
        table.carried = cells[carry] = cells[carry] or table.carried
    labels = [column.label for column in table.columns]
    if labels != table.part.labels:
        by_label = dict(zip(labels, cells, strict=True))
        cells = [by_label.get(label) for label in table.part.labels]
    table.part.rows.append((cells, row_type))
    return True


def _place(spans: list[tuple[int, int]], start: int, end: int) -> int:
    """The column a word belongs to: the one it overlaps most, else the nearest."""

    def distance(place: int) -> tuple[int, int]:
        first, last = spans[place]
        return -(min(end, last) - max(start, first)), place

    return min(range(len(spans)), key=distance)
