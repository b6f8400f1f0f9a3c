"""Reads RMF reports in their plain form: compiled loops find the spans, and tables are built by columns.

A report in any other form, and any that is not well-formed, ends the reading: the full parser of `reader` then
decides. What is read here is what it would have read, in the same rows and order.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from lxml import etree

from ingest.batch import Batch
from ingest.formats.rmf.batches import batch_of
from ingest.formats.rmf.head import server_head
from ingest.formats.rmf.stretch import Stretch, file_messages, scan
from ingest.formats.rmf.texts import NotPlain

STRETCH = 4 << 20
"""Bytes read at once, and about the most bytes of one report that is read here."""

_CLOSE = b"</postprocessor>"
_OPEN = b"<postprocessor"
_ENCODINGS = (None, "UTF-8", "utf-8")
_END = re.compile(rb"</ddsml[ \t\r\n]*>[ \t\r\n]*\Z")
_OF_REPORTS = frozenset(
    ("postprocessor", "report", "segment", "part", "table", "var-list", "caption", "column-headers", "row", "var")
)
_MESSAGES = frozenset(("message", "mfpmsg"))


@dataclass
class PlainReader:
    """Reads one input; `reports` says how many reports it has handed over, `complete` whether there is no more."""

    stream: BinaryIO
    reports: int = 0
    complete: bool = False
    _messages: int = 0
    _server: dict[str, Any] = field(default_factory=dict)

    def read(self) -> Iterator[Batch]:
        """Batches of whole reports, until the end or until something is not plain."""
        rest, started = b"", False
        while chunk := self.stream.read(STRETCH):
            searched = max(len(rest) - len(_CLOSE), 0)
            rest = rest + chunk if rest else chunk
            end = rest.rfind(_CLOSE, searched) + len(_CLOSE)
            try:
                if end >= len(_CLOSE):
                    batch = self._reports(rest, end, started)
                    started, rest = True, rest[end:]
                    yield batch
            except NotPlain:
                return
            if len(rest) > 2 * STRETCH:
                return
        try:
            if started:
                batch = self._epilog(rest)
                self.complete = True
                yield batch
        except NotPlain:
            return

    def _reports(self, data: bytes, end: int, started: bool) -> Batch:
        begin = 0 if started else data.find(_OPEN)
        if begin < 0:
            raise NotPlain
        if not started:
            self._server = _prolog(data[:begin])
        elements = scan(data, begin, end)
        stretch = Stretch(elements, self._server, self.reports, self._messages)
        tables = stretch.tables()
        reports = elements.reports.shape[1]
        self.reports += reports
        self._messages += stretch.message_count
        return batch_of(tables, reports, end, stretch.messages_only)

    def _epilog(self, data: bytes) -> Batch:
        """The part behind the last report: messages about the file, and the end of the document."""
        if not _END.search(data):
            raise NotPlain
        root = _parsed(b"<ddsml>" + data)
        if any(element.tag in _OF_REPORTS or element.tag == "message" for element in root.iter()):
            raise NotPlain
        messages = [(e.get("id"), _text(e), _text(e.find("severity"))) for e in root.iter("mfpmsg")]
        return batch_of(file_messages(messages, self._messages), 0, len(data))


def _prolog(data: bytes) -> dict[str, Any]:
    """Attributes of the server, from the part before the first report."""
    if b"<!" in data or len(data) > STRETCH:
        raise NotPlain
    root = _parsed(data + b"</ddsml>")
    if root.tag != "ddsml" or root.getroottree().docinfo.encoding not in _ENCODINGS:
        raise NotPlain
    if any(element.tag in _OF_REPORTS | _MESSAGES for element in root.iter(etree.Element)):
        raise NotPlain
    return server_head(root)


def _parsed(data: bytes) -> Any:
    parser = etree.XMLParser(resolve_entities=False, load_dtd=False, no_network=True, remove_pis=True)
    try:
        return etree.fromstring(data, parser)
    except etree.XMLSyntaxError:
        raise NotPlain from None


def _text(element: Any) -> str | None:
    return (element.text or "").strip() or None if element is not None else None
