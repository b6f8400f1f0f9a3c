"""The blocks of one text report: headings are recognized by their labels, figures by the columns below them."""

import re
from dataclasses import dataclass, field

from ingest.formats.printed.columns import TableReader, add_row, open_table, spans_of, tokens_of
from ingest.formats.printed.document import Report, Segment
from ingest.formats.printed.layouts import Block, label_order, squeezed
from ingest.formats.printed.lines import MAX_PRINTED
from ingest.formats.rmf.pages import Page
from ingest.formats.rmf.text_layouts import ReportLayout

_GAP = re.compile(r"\s{2,}")
_RULE = re.compile(r"[\s\-=_+|*]*")
_MARGIN = 6


@dataclass
class _Grid:
    """A grid being read: its block, and (start, end, group) of every slot."""

    block: Block
    slots: list[tuple[int, int, str]]


@dataclass
class ReportReader:
    """State while the pages of one report are read; blocks may go on over a page break."""

    layout: ReportLayout
    report: Report
    segment: Segment | None = None
    tables: list[TableReader] = field(default_factory=list)
    grid: _Grid | None = None
    remembered: dict[str, str] = field(default_factory=dict)

    def read(self, page: Page, ordinal: int) -> None:
        """Read one page; lines that no block explains are kept as they are."""
        if page.segment and (self.segment is None or self.segment.name != page.segment):
            self.segment, self.tables, self.grid = self.report.segment(page.segment), [], None
        for number, line in enumerate(page.body):
            text = line.text
            if not text.strip() or _RULE.fullmatch(text) or squeezed(text) in self.layout.headings:
                continue
            if len(text) > MAX_PRINTED or not self._explain(text):
                self.report.unexplained.append((ordinal, number, text))

    def _explain(self, text: str) -> bool:
        return (
            self._key(text)
            or self._one_line(text)
            or self._open_tables(text)
            or self._open_grid(text)
            or self._table_rows(text)
            or self._grid_row(text)
            or self._variables(text)
        )

    def _key(self, text: str) -> bool:
        for block in self.layout.of_kind("key"):
            pairs, before, complete = _pairs(block, text)
            pair_values = dict(pairs)
            names = [(_label_of(block, printed), name) for printed, name in block.data["names"]]
            named = next(((pair_values[label], name) for label, name in names if pair_values.get(label)), None)
            if named is None or before.rstrip(" :").upper() not in ("", "REPORT BY"):
                continue
            value, pattern = named
            for label in block.data.get("remember", ()):
                if label in pair_values:
                    self.remembered[label] = pair_values[label]
                elif label in self.remembered:
                    pairs.append((label, self.remembered[label]))
            self._begin(pattern.format(value), pairs)
            return complete
        return False

    def _begin(self, name: str, pairs: list[tuple[str, str]]) -> None:
        """Go on with the segment that began with the same line, or begin one."""
        for segment in self.report.segments:
            if segment.name == name and segment.part("").variables[: len(pairs)] == pairs:
                if segment is not self.segment:
                    self.segment, self.tables, self.grid = segment, [], None
                return
        self.segment, self.tables, self.grid = Segment(name), [], None
        self.segment.part("").variables += pairs
        self.report.segments.append(self.segment)

    def _one_line(self, text: str) -> bool:
        for block in self.layout.of_kind("lines"):
            assert block.labels is not None
            match = block.labels.match(text)
            if match and self.segment is not None:
                part = self.segment.part(block.part)
                part.labels = list(block.data["labels"])
                part.kinds = ["T", *["N"] * (len(part.labels) - 1)]
                words = dict(block.data["words"])
                cells = list(match.groups())
                cells[0] = words.get(squeezed(cells[0]), cells[0])
                part.rows.append((cells, None))
                return True
        return False

    def _open_tables(self, text: str) -> bool:
        opened: list[TableReader] = []
        for block in self.layout.of_kind("table"):
            match = spans_of(block, text)
            if match is None or any(_overlap(match[1], table.spans) for table in opened):
                continue
            segment = self._segment_of(block)
            table = open_table(block, text, segment.part(block.part)) if segment is not None else None
            if table is not None:
                opened.append(table)
        if opened:
            self.tables, self.grid = opened, None
        return bool(opened)

    def _segment_of(self, block: Block) -> Segment | None:
        if block.segment.endswith("*"):
            return self.segment if self.segment is not None and block.holds_in(self.segment.name) else None
        return self.report.segment(block.segment)

    def _open_grid(self, text: str) -> bool:
        for block in self.layout.of_kind("grid"):
            slots = _slots(block, text)
            if self.segment is not None and len(slots) > 2:
                if self.grid is not None and len(self.grid.slots) == len(slots):
                    # The heading again on another page: the rows below go on where they were.
                    slots = [(a, b, old[2]) for (a, b, _), old in zip(slots, self.grid.slots, strict=True)]
                self.grid, self.tables = _Grid(block, slots), []
                return True
        return False

    def _table_rows(self, text: str) -> bool:
        left = tokens_of(text)
        for table in self.tables:
            low = max(min(first for first, _ in table.spans) - _MARGIN, 0)
            high = max(last for _, last in table.spans) + _MARGIN
            if len(self.tables) == 1:
                low, high = 0, len(text)
            mine = [token for token in left if token[0] >= low and token[1] <= high]
            if mine and add_row(table, text, mine):
                left = [token for token in left if token not in mine]
        return bool(self.tables) and not left

    def _grid_row(self, text: str) -> bool:
        if self.grid is None or self.segment is None:
            return False
        items = []
        for place, (start, end, group) in enumerate(self.grid.slots):
            piece = text[start:end].strip()
            if not piece:
                continue
            sub = next((name for name, *_ in self.grid.block.data["groups"] if _bare(name) == _bare(piece)), None)
            if sub is not None:
                self.grid.slots[place] = start, end, sub
                continue
            item = _grid_item(self.grid.block, group, piece)
            if item is None:
                return False
            items.append(item)
        for part, label, value in items:
            clock = part in self.grid.block.data["clocks"]
            if value:
                self.segment.part(part).variables.append((label, _full_clock(value) if clock else value))
        return True

    def _variables(self, text: str) -> bool:
        for block in self.layout.of_kind("variables"):
            pairs, before, complete = _pairs(block, text)
            if not pairs or before.strip():
                continue
            if block.segment.endswith("*"):
                segment = self.segment
                if segment is None or not block.holds_in(segment.name):
                    continue
            else:
                segment = self.report.segment(block.segment)
            part = segment.part(block.part)
            names = {name for name, _ in part.variables}
            part.variables += [(name, value) for name, value in pairs if name not in names]
            return complete
        return False


def _pairs(block: Block, text: str) -> tuple[list[tuple[str, str]], str, bool]:
    """Labels with their values in a line, what stands before them, and whether that is all of the line."""
    assert block.labels is not None
    matches = list(block.labels.finditer(text))
    if not matches:
        return [], text, False
    order = label_order(block.data["items"])
    pairs, complete = [], True
    for match, following in zip(matches, [*matches[1:], None], strict=True):
        index = next(i for i in range(len(order)) if match[f"l{i}"] is not None)
        value = text[match.end() : following.start() if following else len(text)]
        first, *rest = _GAP.split(value.strip(), maxsplit=1)
        complete &= not rest
        if first:
            pairs.append((order[index][0], first))
    return pairs, text[: matches[0].start()], complete


def _label_of(block: Block, printed: str) -> str:
    return next(item[0] for item in block.data["items"] if item[1] == printed)


def _overlap(spans: list[tuple[int, int]], others: list[tuple[int, int]]) -> bool:
    return spans[0][0] <= others[-1][1] and others[0][0] <= spans[-1][1]


def _slots(block: Block, text: str) -> list[tuple[int, int, str]]:
    starts = []
    at = 0
    for name, *_ in block.data["groups"]:
        pattern = r"-*\s?" + r"\s+".join(re.escape(word) for word in name.strip("-").split())
        match = re.compile(pattern).search(text, at)
        if match:
            starts.append((match.start(), name))
            at = match.end()
    ends = ([start for start, _ in starts[1:]] + [1 << 16])[: len(starts)]
    return [(start, end, name) for (start, name), end in zip(starts, ends, strict=True)]


def _bare(text: str) -> str:
    return squeezed(text).strip("-")


def _grid_item(block: Block, group: str, piece: str) -> tuple[str, str, str] | None:
    """(part, label, value) of one slot's text; None when no label of the group begins it."""
    best: tuple[int, tuple[str, str, str]] | None = None
    for name, printed, part, label in block.data["items"]:
        for choice in printed.split("|"):
            if name == group and (piece == choice or piece.startswith(choice + " ")):
                value = piece[len(choice) :].strip()
                if " " not in value and (best is None or len(choice) > best[0]):
                    best = len(choice), (part, label, value)
    return best[1] if best else None


def _full_clock(text: str) -> str:
    """A time of up to hhh.mm.ss.ttt, printed without leading zeros, in full; other text as it is."""
    pieces = text.split(".")
    if not all(piece.isdigit() for piece in pieces) or not 2 <= len(pieces) <= 4 or len(pieces[-1]) not in (3, 6):
        return text
    hours, minutes, seconds = ["0"] * (4 - len(pieces)) + pieces[:-1]
    return f"{int(hours):03d}.{int(minutes):02d}.{int(seconds):02d}.{pieces[-1]}"
