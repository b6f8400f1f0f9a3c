"""Lines to pages: where a report's page begins, what kind of report it is, and what its head says."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ingest.formats.printed.layouts import squeezed
from ingest.formats.printed.lines import MAX_PRINTED, Line
from ingest.formats.rmf import values
from ingest.formats.rmf.text_layouts import ReportLayout, titles

MAX_PAGE_LINES = 20_000
"""A stretch of more lines than this without a page head is cut there, so that memory stays bounded."""

_HEAD = re.compile(
    r"(?:SYSTEM ID|SYSPLEX)\s+\S.*?(?:DATE\s+\d\d/\d\d/\d{2,4}|START\s+\d\d/\d\d/\d{2,4}-\d\d\.\d\d\.\d\d)"
)
_PAGE = re.compile(r"\s*PAGE\s+(\d{1,6})\s*$")
_TITLE_WITHIN = 4
_WORDS = {
    "system": re.compile(r"SYSTEM ID\s+(\S+)"),
    "sysplex": re.compile(r"SYSPLEX\s+(\S+)"),
    "release": re.compile(r"^\s*((?:z/OS|OS/390|MVS/ESA)(?:\s+V\S+)?)"),
    "date": re.compile(r"\bDATE\s+(\d\d/\d\d/\d{4})"),
    "time": re.compile(r"\bTIME\s+(\d\d\.\d\d\.\d\d)"),
    "start": re.compile(r"\bSTART\s+(\d\d/\d\d/\d{4}-\d\d\.\d\d\.\d\d)"),
    "end": re.compile(r"\bEND\s+(\d\d/\d\d/\d{4}-\d\d\.\d\d\.\d\d)"),
    "interval": re.compile(r"\bINTERVAL\s+(\d+[.:]\d\d[.:]\d+)"),
    "version": re.compile(r"RPT VERSION\s+(\S+(?: RMF)?)"),
    "cycle": re.compile(r"CYCLE\s+(\d*\.?\d+) SECONDS"),
}


@dataclass
class Page:
    """A page, or what stands before the first one (`head` None): its lines, and the lines behind its head."""

    lines: list[Line]
    title: str
    number: int | None
    head: dict[str, Any] | None
    body: list[Line]
    layout: ReportLayout | None = None
    segment: str = ""


def read_pages(lines: Iterable[Line]) -> Iterator[Page]:
    """The pages of printed output in order; every line is in exactly one."""
    pending: list[Line] = []
    head_at = -1
    for line in lines:
        if len(line.text) <= MAX_PRINTED and _HEAD.search(line.text):
            start = _page_start(pending, head_at)
            if start > 0:
                yield _page(pending[:start], head_at)
            pending = pending[max(start, 0) :]
            head_at = len(pending)
        elif len(pending) >= MAX_PAGE_LINES:
            yield _page(pending, head_at)
            pending, head_at = [], -1
        pending.append(line)
    if pending:
        yield _page(pending, head_at)


def _page_start(pending: list[Line], head_at: int) -> int:
    """Where the page begins whose head line comes next: at its title, with the page number or skip right before it."""
    lowest = max(head_at + 1, len(pending) - _TITLE_WITHIN, 0)
    start = len(pending)
    for at in range(len(pending) - 1, lowest - 1, -1):
        text = pending[at].text.strip()
        if text and not _PAGE.match(text):
            start = at
            break
        if pending[at].starts_page:
            start = at
    while start > lowest and not pending[start].starts_page if start < len(pending) else False:
        before = pending[start - 1]
        if not _PAGE.match(before.text) and not (before.starts_page and not before.text.strip()):
            break
        start -= 1
    return start


def _page(lines: list[Line], head_at: int) -> Page:
    if head_at < 0:
        return Page(lines, "", None, None, lines)
    number = None
    title = ""
    for line in lines[:head_at]:
        text = line.text.strip()
        if match := _PAGE.search(text):
            number, text = int(match[1]), text[: match.start()].strip()
        title = text or title
    end = head_at + 1
    texts = [lines[head_at].text]
    for line in lines[head_at + 1 : head_at + 4]:
        if "RPT VERSION" in line.text or "POLICY ACTIVATION" in line.text or not line.text.strip():
            texts.append(line.text)
            end += 1
        elif number is None and (match := _PAGE.match(line.text)):
            number = int(match[1])
            end += 1
        else:
            break
    layout, segment = titles().get(squeezed(title), (None, ""))
    return Page(lines, title, number, _head(texts, title, layout), lines[end:], layout, segment)


def _head(texts: list[str], title: str, layout: ReportLayout | None) -> dict[str, Any]:
    """Columns of `rmf_report` that the head of a page gives; absent ones are None."""
    words = {name: _first(pattern, texts) for name, pattern in _WORDS.items()}
    duration = words["start"] is not None
    start = values.local_time(words["start"] or f"{words['date'] or ''}-{words['time'] or '00.00.00'}")
    interval = words["interval"]
    seconds = values.interval_s(_clock(interval), "hours" if duration else "minutes")
    cycle = values.number(words["cycle"])
    end: datetime | None = values.local_time(words["end"])
    return {
        "report": layout.metric if layout else None,
        "description": layout.description if layout else title or None,
        "report_type": "Duration" if duration else "Interval",
        "resource_name": words["system"] or words["sysplex"],
        "resource_type": "SYSTEM" if words["system"] else "SYSPLEX",
        "system_name": words["system"],
        "sysplex_name": words["sysplex"],
        "interval_start_local": start,
        "interval_end_local": end,
        "interval_s": seconds,
        "interval_text": interval,
        "cycle_ms": None if cycle is None else round(cycle * 1000, 6),
        "smf_version": words["release"],
        "rmf_version": words["version"],
    }


def _clock(text: str | None) -> str | None:
    return text.replace(".", ":") if text else None


def _first(pattern: re.Pattern[str], texts: list[str]) -> str | None:
    for text in texts:
        if match := pattern.search(text):
            return re.sub(r"\s+", " ", match[1])
    return None
