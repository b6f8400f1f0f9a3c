"""Reads RMF reports in XML (`ddsml`) as a stream, trusting nothing in the file.

Reports in the form RMF writes are read by `plain`; whatever it refuses is read here, from the start of the file, so
that every error has its line and column.

Document type definitions are refused (RMF writes none, and every XML bomb needs one) and nothing is fetched. Memory is
bounded: an element that does not end within `MAX_ELEMENT_BYTES` is refused, and so is a report longer than
`MAX_REPORT_BYTES`. Format: z/OS RMF Programmer's Guide, Distributed Data Server.
"""

import os
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

import pyarrow as pa
from lxml import etree

from ingest.batch import Batch, Quarantined, Unreadable
from ingest.formats.rmf.batches import batch_of, joined
from ingest.formats.rmf.builder import Builder
from ingest.formats.rmf.head import report_head, server_head

MAX_ELEMENT_BYTES = 8 << 20
MAX_REPORT_BYTES = 64 << 20
MAX_RESUMED = 100
"""Most times that reports are looked for behind damage in one input."""
#: Shorter files are read before the compiled loops of the fast way would be loaded.
PLAIN_FROM_BYTES = 1 << 17
_CHUNK = 1 << 20
_ROWS_PER_BATCH = 1 << 17
_LONGEST_END_TAG = 64
_LONGEST_START_TAG = 16
_LINES_AT_ONCE = 1 << 20
"""The parser takes no text of ten million ends of lines, which are fed so that it counts them."""
_INPUT_END = re.compile(rb"</ddsml\s*>\s*\Z")
_REPLY_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:<(?:\?|!--)[^>]*>\s*)*<ddsml[\s>]")
_REPORT_START = re.compile(rb"<(?:postprocessor|report)[\s>]")
_REPORT_END = re.compile(rb"</(?:postprocessor|report)\s{0,40}>")
_SEARCHED_HEAD = 1 << 20
_TAG = re.compile(rb"<(/?)[\w-]+[^<>]*?(/?)>")
_REMEDY = "transfer each reply again into its own file"
_REPORTS = ("postprocessor", "report")
_CONTAINERS = ("table", "var-list", "caption")
_CONTENT = ("ddsml", "segment", "part", "column-headers", "row", "var", "message", "mfpmsg")


def read_reports(stream: BinaryIO) -> Iterator[Batch]:
    """Batches of tidy and typed rows in file order, of complete reports only.

    A report that is malformed is quarantined, and those behind it are read. Raises Unreadable, after the batches of the
    complete reports, when the rest is malformed, cut off, not `ddsml`, or too large to be a report. Values are the
    texts of the report without surrounding white space.
    """
    done = 0
    if stream.seekable():
        start = stream.tell()
        size = stream.seek(0, os.SEEK_END) - start
        stream.seek(start)
        if size >= PLAIN_FROM_BYTES:
            from ingest.formats.rmf.plain import PlainReader

            plain = PlainReader(stream)
            yield from plain.read()
            if plain.complete:
                return
            done = plain.reports
            stream.seek(start)
    yield from read_strictly(stream, done)


def read_strictly(stream: BinaryIO, done: int = 0) -> Iterator[Batch]:
    """Batches as of `read_reports`, read by a full XML parser, without the first `done` reports."""
    reading, origin = _Reading(), stream.tell() if stream.seekable() else 0
    is_reply, begin = _beginning(stream, origin) if stream.seekable() else (False, -1)
    if begin >= 0:
        yield from _resume(
            reading, stream, origin, 0, begin, "xml_beginning_missing", "the reply's beginning is missing"
        )
    for further in range(MAX_RESUMED, -1, -1):
        try:
            yield from _rest(stream, reading, done)
            return
        except etree.XMLSyntaxError as error:
            yield reading.take()
            line, column = error.position
            text = " ".join((error.msg or "malformed").split(", line ")[0].split())
        fault, damaged = f"line {line}, column {column}: {text}", reading.clean_offset
        if reading.is_cut:
            raise Unreadable("xml_malformed", f"{fault}; the input ends there; transfer it again", damaged)
        at = _next_report(stream, origin, damaged) if further and (is_reply or begin >= 0) else -1
        if at < 0:
            raise Unreadable("xml_malformed", f"{fault}; {_REMEDY}", damaged)
        yield from _resume(reading, stream, origin, damaged, at, "xml_malformed", fault)


def _resume(
    reading: "_Reading", stream: BinaryIO, origin: int, damaged: int, at: int, reason: str, fault: str
) -> Iterator[Batch]:
    """Go on with the report at offset `at`; a batch of what is left out from offset `damaged` on, if anything."""
    record = reading.resume(at, _lines(stream, origin, at))
    stream.seek(origin + at)
    if at > damaged:
        detail = f"{fault}; reports follow one another again from offset {at} on; {_REMEDY}"
        yield Batch(quarantined=[Quarantined(damaged, at - damaged, reason, detail, record_seq=record)])


def _beginning(stream: BinaryIO, origin: int) -> tuple[bool, int]:
    """Whether a stream begins like a reply, and where its first report starts if it begins inside of one; else -1."""
    stream.seek(origin)
    head = stream.read(_SEARCHED_HEAD)
    stream.seek(origin)
    if _REPLY_START.match(head):
        return True, -1
    first = _REPORT_START.search(head)
    if not _is_inside(head[: first.start()] if first else head, first is not None):
        return False, -1
    return False, _next_report(stream, origin, 0, skipped=False)


def _is_inside(beginning: bytes, whole: bool) -> bool:
    """Whether text begins inside of an element: something ends in it that did not start.

    whole: a report stands behind the text, which needs no such end if nothing it starts is still open there.
    """
    depth = 0
    for end, empty in _TAG.findall(beginning):
        if not end:
            depth += not empty
        elif depth:
            depth -= 1
        else:
            return True
    return whole and not depth


def _rest(stream: BinaryIO, reading: "_Reading", done: int) -> Iterator[Batch]:
    """Batches of the reports in the rest of a stream. Raises XMLSyntaxError; Unreadable after the batches before it."""
    piece = b""
    try:
        for piece in _pieces(stream):
            reading.feed(piece)
            if reading.reports_read <= done:
                reading.take()
            elif reading.full:
                yield reading.take()
        reading.is_cut = not _INPUT_END.search(piece)
        reading.close()
    except Unreadable as error:
        yield reading.take()
        raise Unreadable(error.reason, error.detail, reading.clean_offset) from None
    yield reading.take()


def _next_report(stream: BinaryIO, origin: int, damaged: int, skipped: bool = True) -> int:
    """Offset of the first report behind damage; -1 without any.

    skipped: a report that starts where the damage is said to, or is the first of all, is the damaged one.
    """
    stream.seek(origin + damaged)
    base, rest, passed = damaged, b"", -1
    while chunk := stream.read(_CHUNK):
        data = rest + chunk
        for match in _REPORT_START.finditer(data):
            start = base + match.start()
            is_damaged = skipped and passed < 0 and base == damaged and not (damaged and data[: match.start()].strip())
            if start > passed and not is_damaged:
                return start
            passed = start
        rest = data[-_LONGEST_START_TAG:]
        base += len(data) - len(rest)
    return -1


def _lines(stream: BinaryIO, origin: int, length: int) -> int:
    """Ends of lines in the first bytes of a stream."""
    stream.seek(origin)
    lines = 0
    while length and (chunk := stream.read(min(_CHUNK, length))):
        lines, length = lines + chunk.count(b"\n"), length - len(chunk)
    return lines


def _pieces(stream: BinaryIO) -> Iterator[bytes]:
    """The stream in pieces, cut behind every end of a report: the only way to know at which byte a report ended."""
    rest = b""
    while chunk := stream.read(_CHUNK):
        data = rest + chunk
        start = 0
        for match in _REPORT_END.finditer(data):
            yield data[start : match.end()]
            start = match.end()
        # An end tag may be split between two chunks.
        cut = max(start, len(data) - _LONGEST_END_TAG)
        if cut > start:
            yield data[start:cut]
        rest = data[cut:]
    if rest:
        yield rest


def _parser() -> Any:
    return etree.XMLPullParser(
        events=("start", "end"),
        tag=(*_REPORTS, *_CONTAINERS, *_CONTENT),
        resolve_entities=False,
        load_dtd=False,
        no_network=True,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )


class _Reading:
    """One file on its way through the parser."""

    def __init__(self) -> None:
        self._parser = _parser()
        self._builder = Builder()
        self._ready: list[dict[str, pa.Table]] = []
        self._report_tables: list[dict[str, pa.Table]] = []
        self._reports = 0
        self._messages_only = 0
        self.reports_read = 0
        self._offset = 0
        self.clean_offset = 0
        self._taken = 0
        self._last_event = 0
        self._report_start = 0
        self._in_report = False
        self._head_done = False
        self._section_open = False
        self._part_open = False
        self._in_table = False
        self._seen_root = False
        self._server: dict[str, Any] = {}
        self._table = 0
        self._row = 0
        self.is_cut = False

    def resume(self, at: int, lines: int) -> int:
        """Leave out what stands before offset `at`, after so many lines; the ordinal of the report that is damaged."""
        record = self._builder.abandon(self._in_report and self._head_done)
        for _, element in self._parser.read_events():
            if element.tag in _REPORTS:
                self._know_server(element.getparent())
        self._parser = _parser()
        self._parser.feed(b"<ddsml>")
        for begin in range(0, lines, _LINES_AT_ONCE):
            self._parser.feed(b"\n" * min(lines - begin, _LINES_AT_ONCE) + b"<left-out/>")
        self._in_report = self._head_done = self._section_open = self._part_open = self._in_table = False
        self._report_tables = []
        self._offset = self._last_event = self.clean_offset = self._taken = at
        return record

    @property
    def full(self) -> bool:
        """Whether enough complete rows are waiting to be worth handing over."""
        return sum(t.num_rows for tables in self._ready for t in tables.values()) >= _ROWS_PER_BATCH

    def feed(self, piece: bytes) -> None:
        if not self._offset and b"\0" in piece[:4]:
            raise Unreadable("xml_encoding", "XML in UTF-16 or UTF-32, but RMF writes UTF-8: convert it")
        if self._in_report and self._offset - self._report_start > MAX_REPORT_BYTES:
            raise Unreadable("xml_too_large", f"a report is longer than {MAX_REPORT_BYTES:,} bytes")
        self._parser.feed(piece)
        self._offset += len(piece)
        for event, element in self._parser.read_events():
            self._last_event = self._offset
            self._handle(event, element)
        if self._offset - self._last_event > MAX_ELEMENT_BYTES:
            raise Unreadable("xml_too_large", f"an element is longer than {MAX_ELEMENT_BYTES:,} bytes")
        if self._builder.pending >= _ROWS_PER_BATCH:
            self._ready.append(self._builder.take_complete())
            if self._builder.pending >= _ROWS_PER_BATCH:
                self._report_tables.append(self._builder.take())

    def close(self) -> None:
        """The input is at its end: everything must have ended, and there must have been something."""
        root = self._parser.close()
        for event, element in self._parser.read_events():
            self._handle(event, element)
        self._check_root(root)
        if self._builder.record < 0:
            raise Unreadable("xml_no_report", "the reply has neither a report nor a message")
        self._builder.complete()
        self.clean_offset = self._offset

    def take(self) -> Batch:
        """The rows of the reports completed since the last call."""
        tables = joined([*self._ready, self._builder.take_complete()])
        batch = batch_of(tables, self._reports, self.clean_offset - self._taken, self._messages_only)
        self._ready, self._reports, self._messages_only, self._taken = [], 0, 0, self.clean_offset
        return batch

    def _handle(self, event: str, element: Any) -> None:
        tag = element.tag
        if not self._seen_root:
            self._check_root(element)
        if event == "start":
            self._start(tag, element)
        elif tag == "row":
            self._need_table(element)
            self._builder.row(self._table, self._row, [_text(cell) for cell in element], element.get("type"))
            self._row += 1
            _drop(element)
        elif tag == "var":
            self._need_table(element)
            self._builder.variable(self._table, self._row, _text(element.find("name")), _text(element.find("value")))
            self._row += 1
            _drop(element)
        elif tag == "column-headers":
            self._need_table(element)
            self._builder.headers([_text(cell) for cell in element], [cell.get("type") for cell in element])
        elif tag in ("message", "mfpmsg"):
            self._message(tag, element)
            _drop(element)
        elif tag in _CONTAINERS:
            self._in_table = False
            _drop(element)
        elif tag == "segment":
            self._need_section(element)
            self._builder.end_section()
            self._section_open = False
            _drop(element)
        elif tag in _REPORTS:
            self._end_report(element)
            _drop(element)

    def _start(self, tag: str, element: Any) -> None:
        # Only the text before the element's content is certain to be complete here.
        if tag in _REPORTS:
            if self._in_report:
                raise Unreadable("xml_not_ddsml", f"<{tag}> inside of a report, at line {element.sourceline}")
            self._in_report, self._head_done, self._in_table = True, False, False
            self._report_start = self._offset
            self._know_server(element.getparent())
        elif tag == "part":
            self._need_section(element.getparent())
            self._part_open = False
        elif tag in _CONTAINERS:
            self._in_table = False
            self._need_table(element)

    def _need_report(self, inside: Any) -> None:
        """Makes sure the report around the element has begun, with all that its head says."""
        if not self._in_report:
            raise Unreadable("xml_not_ddsml", f"<{inside.tag}> outside of a report, at line {inside.sourceline}")
        if not self._head_done:
            report = inside
            while report.tag not in _REPORTS:
                report = report.getparent()
            self._builder.begin_report(self._server | report_head(report))
            self._head_done = True

    def _know_server(self, root: Any) -> None:
        """Note what the reply says about the server: it stands before the first report, and is freed with it."""
        self._server = self._server or server_head(root)

    def _need_section(self, segment: Any) -> None:
        self._need_report(segment)
        if not self._section_open and segment.tag == "segment":
            self._builder.begin_section(_text(segment.find("name")) or "")
            self._section_open = True

    def _need_part(self, part: Any) -> None:
        if part.tag == "part" and not self._part_open:
            self._need_section(part.getparent())
            self._builder.begin_part(_text(part.find("name")) or "")
            self._part_open = True

    def _need_table(self, inside: Any) -> None:
        """Makes sure a table has begun: Postprocessor reports have an element for it, Monitor III reports have not."""
        self._need_report(inside)
        if not self._in_table:
            part = inside if inside.tag in _CONTAINERS else inside.getparent()
            part = part.getparent() if part.tag in _CONTAINERS else part
            self._need_part(part)
            self._table, self._row, self._in_table = self._builder.begin_table(), 0, True

    def _message(self, tag: str, element: Any) -> None:
        parent = element.getparent()
        text = _text(element) if tag == "mfpmsg" else _text(element.find("description"))
        about = "report"
        if tag == "mfpmsg":
            about = "file"
        elif parent is not None and parent.tag in ("segment", "part"):
            self._need_section(parent if parent.tag == "segment" else parent.getparent())
            # A message is freed with all before it, the name of its part too.
            self._need_part(parent)
            about = "segment"
        elif self._in_report:
            self._need_report(element)
        else:
            # A reply that is nothing but a message takes the place of the requested report.
            self._know_server(parent)
            self._builder.begin_report(self._server)
            self._builder.message(element.get("id"), text, _text(element.find("severity")), about)
            self._finish_report()
            return
        self._builder.message(element.get("id"), text, _text(element.find("severity")), about)

    def _end_report(self, element: Any) -> None:
        self._need_report(element)
        self._finish_report()
        self._in_report = False

    def _finish_report(self) -> None:
        self._messages_only += not self._builder.has_content
        self._reports += 1
        self.reports_read += 1
        self._builder.end_report()
        self._ready += self._report_tables
        self._report_tables = []
        self.clean_offset = self._offset

    def _check_root(self, element: Any) -> None:
        self._seen_root = True
        tree = element.getroottree()
        if tree.docinfo.internalDTD is not None or tree.docinfo.externalDTD is not None:
            raise Unreadable("xml_doctype", "a document type definition, which RMF never writes, is not read")
        root = tree.getroot()
        if root.tag != "ddsml":
            raise Unreadable("xml_not_ddsml", f"the root element is <{root.tag}>, expected <ddsml> as RMF writes it")


def _text(element: Any) -> str | None:
    """Text of an element without surrounding white space; None where that is empty."""
    return (element.text or "").strip() or None if element is not None else None


def _drop(element: Any) -> None:
    """Frees an element that has been handled, and all before it in its parent."""
    element.clear()
    parent = element.getparent()
    if parent is not None:
        while element.getprevious() is not None:
            del parent[0]
