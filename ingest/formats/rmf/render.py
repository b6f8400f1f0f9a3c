"""Reports as printed text: the inverse of the parser, by the same layouts."""

import re
from collections.abc import Iterable
from typing import Any

from ingest.formats.printed.document import Part, Report, Segment
from ingest.formats.printed.layouts import Block, Column
from ingest.formats.rmf.text_layouts import ReportLayout, report_layouts

PAGE_LINES = 60


class RenderError(ValueError):
    """A report that cannot be printed. The message names the report and what is missing."""


def render_text(reports: Iterable[Report], *, asa: bool = True, page_lines: int = PAGE_LINES) -> str:
    """Reports as an RMF Postprocessor listing, lines ended by a line feed.

    asa: put ASA carriage control before every line; page_lines: most lines on a page, headings are printed again on the
    next. What a report says in segments or labels its layout does not print is left out. Raises RenderError for a
    report without a layout or interval.
    """
    lines: list[str] = []
    for report in reports:
        layout = next((item for item in report_layouts() if item.metric == report.head.get("report")), None)
        if layout is None:
            raise RenderError(f"no text layout for report {report.head.get('report')!r}")
        number = 0
        for title, segment in layout.titles:
            blocks = list(_blocks(layout, report, segment))
            if not blocks:
                continue
            for page in _paged(blocks, page_lines - 5):
                number += 1
                lines += _head(title, report.head, number, layout.metric)
                lines += page
    if asa:
        return "".join(f"{'1' if line.startswith(chr(12)) else ' '}{line.lstrip(chr(12))}\n" for line in lines)
    return "".join(f"{line}\n" for line in lines)


def _head(title: str, head: dict[str, Any], number: int, metric: str) -> list[str]:
    start, seconds = head.get("interval_start_local"), head.get("interval_s")
    if start is None or seconds is None:
        raise RenderError(f"report {metric}: the start or the length of its interval is missing")
    name = head.get("resource_name") or head.get("system_name") or head.get("sysplex_name") or ""
    word = "SYSPLEX" if head.get("resource_type") == "SYSPLEX" else "SYSTEM ID"
    millis = round(seconds * 1000)
    release = head.get("smf_version") or "z/OS"
    first = f"\f{'':30}{title}{'':20}PAGE {number:4d}"
    if head.get("report_type") == "Duration":
        end = head.get("interval_end_local") or start
        length = f"{millis // 3600000:03d}.{millis // 60000 % 60:02d}.{millis // 1000 % 60:02d}"
        second = f"   {release:<17} {word} {name:<9} START {start:%m/%d/%Y-%H.%M.%S}  INTERVAL {length}"
        third = f"{'':21} RPT VERSION {head.get('rmf_version') or '':<14} END   {end:%m/%d/%Y-%H.%M.%S}"
    else:
        length = f"{millis // 60000:02d}.{millis // 1000 % 60:02d}.{millis % 1000:03d}"
        second = f"   {release:<17} {word} {name:<13} DATE {start:%m/%d/%Y}            INTERVAL {length}"
        third = f"{'':21} RPT VERSION {head.get('rmf_version') or '':<10} TIME {start:%H.%M.%S}"
    cycle = head.get("cycle_ms")
    if cycle is not None:
        third += f"              CYCLE {cycle / 1000:.3f} SECONDS"
    return [first, second.rstrip(), third.rstrip(), ""]


def _paged(blocks: list[tuple[list[str], list[str]]], room: int) -> Iterable[list[str]]:
    """Blocks of (heading, lines) filled into pages; a block that does not fit goes on below its heading."""
    page: list[str] = []
    for heading, body in blocks:
        rest = list(body)
        while rest or (not body and heading):
            whole = len(heading) + len(rest)
            if page and (len(page) + len(heading) + 1 > room or len(page) + whole > room >= whole):
                yield page
                page = []
            fit = max(room - len(page) - len(heading), 1)
            page += [*heading, *rest[:fit]]
            rest = rest[fit:]
            if not body:
                break
        page.append("")
    if any(page):
        yield page


def _blocks(layout: ReportLayout, report: Report, title_segment: str) -> Iterable[tuple[list[str], list[str]]]:
    keyed = layout.of_kind("key")
    for segment in report.segments:
        if title_segment and segment.name != title_segment and _has_page(layout, segment.name):
            continue
        head: list[str] = []
        if keyed:
            line = _key_line(keyed[0], segment)
            if line is None:
                continue
            head = [line]
        has_lines = False
        for block in layout.blocks:
            if block.kind == "key" or not _is_for(block, segment.name):
                continue
            part = segment.parts.get(block.part)
            printed = _PRINTERS[block.kind](block, segment, part or Part())
            if any(printed):
                yield (head + printed[0], printed[1]) if not has_lines else printed
                has_lines = True
        if head and not has_lines:
            yield head, []


def _has_page(layout: ReportLayout, name: str) -> bool:
    """True if pages of another title hold this segment."""
    return any(segment == name for _, segment in layout.titles)


def _is_for(block: Block, name: str) -> bool:
    return name.startswith(block.segment[:-1]) if block.segment.endswith("*") else name == block.segment


def _key_line(block: Block, segment: Segment) -> str | None:
    """The line that opens a segment; None when the segment is none that such a line opens."""
    part = segment.part("")
    printed_name = next((printed for printed, pattern in block.data["names"] if _fits(pattern, segment.name)), None)
    if printed_name is None:
        return None
    values = {printed: part.value(label) for label, printed, *_ in block.data["items"]}
    pattern = dict(block.data["names"])[printed_name]
    values[printed_name] = segment.name.removeprefix(pattern.format("")).strip()
    hidden = {printed for label, printed, *_ in block.data["items"] if label in block.data.get("remember", ())}
    pieces = [
        f"{printed}{' ' if printed.endswith(' =') else ''}{value}"
        for printed, value in values.items()
        if value and (printed not in hidden or printed == printed_name)
    ]
    return block.data.get("prefix", " ") + "  ".join(pieces)


def _fits(pattern: str, name: str) -> bool:
    prefix = pattern.format("")
    return name.startswith(prefix) and len(name) > len(prefix)


def _print_variables(block: Block, _segment: Segment, part: Part) -> tuple[list[str], list[str]]:
    lines: dict[int, str] = {}
    for label, printed, row, column, *sign in block.data["items"]:
        value = part.value(label)
        if value:
            blank = "" if printed.endswith("=") and not printed.endswith(" =") else " "
            before = lines.get(row, "")
            gap = "  " if before and len(before) >= column else ""
            lines[row] = f"{before}{gap}".ljust(column) + f"{printed}{blank}{''.join(sign)}{value}"
    return [], [lines[row] for row in sorted(lines)]


def _print_table(block: Block, _segment: Segment, part: Part) -> tuple[list[str], list[str]]:
    if not part.rows:
        return [], []
    place = {label: index for index, label in enumerate(part.labels)}
    anchor, shift, lines, moves = "", 0, [], []
    columns = [c for c in block.columns if not c.optional or _is_filled(block, part, place, c)]
    for column in columns:
        text = column.printed.split("|")[0]
        if text:
            at = max(column.heading, len(anchor) + 1 if anchor else 0)
            anchor = anchor.ljust(at) + text
            shift = at - column.heading
        moves.append(shift)
    for cells, row_type in part.rows:
        values = [_cell(block, cells, place, column, row_type) for column in columns]
        text = ""
        if row_type == "SUM" and "sum_print" in block.data:
            text = block.data["sum_print"].format(*(value or "" for value in values))
            used = {int(digit) for digit in re.findall(r"\{(\d+)", block.data["sum_print"])}
            values = [None if index in used else value for index, value in enumerate(values)]
        for column, move, value in zip(columns, moves, values, strict=True):
            if value is None:
                continue
            width = column.last - column.first + 1
            start = column.first + move + (width - len(value) if column.kind == "N" else 0)
            text = text.ljust(max(start, len(text) + 1 if text.strip() else 0)) + value
        lines.append(text.rstrip())
    heading = [*block.data.get("above", ()), anchor]
    if "below" in block.data:
        heading.append(block.data["below"])
    return heading, lines


def _cell(
    block: Block, cells: list[str | None], place: dict[str, int], column: Column, row_type: str | None
) -> str | None:
    """A cell as the printed report shows it."""
    at = place.get(column.label, len(cells))
    value = cells[at] if at < len(cells) else None
    words = {word: printed for printed, word in block.data.get("words", {}).get(column.label, ())}
    return (words.get(value or "", value) if row_type is None else value) or None


def _is_filled(block: Block, part: Part, place: dict[str, int], column: Column) -> bool:
    """True if a row has something to print in the column."""
    return any(_cell(block, cells, place, column, row_type) for cells, row_type in part.rows)


def _print_grid(block: Block, segment: Segment, _part: Part) -> tuple[list[str], list[str]]:
    groups = {name: (column, width) for name, column, width in block.data["groups"]}
    slots: dict[int, list[str]] = {}
    heading = ""
    for name, (column, width) in groups.items():
        entries = []
        for group, printed, part, label in block.data["items"]:
            value = segment.parts[part].value(label) if group == name and part in segment.parts else None
            if value:
                shown = _short_clock(value) if part in block.data["clocks"] else value
                text = printed.split("|")[0]
                entries.append(text + f" {shown}".rjust(width - len(text)))
        if column in slots:
            slots[column] += [name, *entries] if entries else []
        else:
            slots[column] = entries
            heading = heading.ljust(column) + name
    if not any(slots.values()):
        return [], []
    columns = sorted(slots)
    lines = []
    for row in range(max(len(entries) for entries in slots.values())):
        text = ""
        for column in columns:
            if row < len(slots[column]):
                text = text.ljust(column) + slots[column][row]
        lines.append(text)
    return [heading], lines


def _short_clock(text: str) -> str:
    """A time without the leading zeros that the report leaves out."""
    pieces = text.split(".")
    if len(pieces) != 4 or not all(piece.isdigit() for piece in pieces):
        return text
    while len(pieces) > 2 and not int(pieces[0]):
        del pieces[0]
    return ".".join([str(int(pieces[0])), *pieces[1:]])


def _print_lines(block: Block, _segment: Segment, part: Part) -> tuple[list[str], list[str]]:
    words = {word: printed for printed, word in block.data["words"]}
    patterns = block.data["print"]
    place = {label: index for index, label in enumerate(part.labels)}
    lines = []
    for number, (cells, _) in enumerate(part.rows):
        values = [cells[place[label]] if label in place else None for label in block.data["labels"]]
        first = f"{words.get(values[0] or '', values[0] or '')}:"
        pattern = patterns[min(number, len(patterns) - 1)]
        lines.append(pattern.format(first, *(value or "N/A" for value in values[1:])))
    return [], lines


_PRINTERS = {
    "variables": _print_variables,
    "table": _print_table,
    "grid": _print_grid,
    "lines": _print_lines,
}
