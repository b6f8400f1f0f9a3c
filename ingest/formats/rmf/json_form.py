"""Reads Monitor III reports in the JSON form of the Distributed Data Server.

The form says what the XML form says, in the same order and under the same names, with capital letters in place of
hyphens (`timeData` for `time-data`). It is read whole, so its length is bounded; what is not as the server sends it
refuses the reply.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO
from xml.etree.ElementTree import Element, SubElement

from ingest.batch import Batch, Unreadable
from ingest.formats.rmf import values
from ingest.formats.rmf.batches import batch_of
from ingest.formats.rmf.builder import Builder
from ingest.formats.rmf.head import report_head, server_head

MAX_DOCUMENT_BYTES = 64 << 20
_CAPITAL = re.compile(r"[A-Z]")
_ATTRIBUTES = ("id", "unit", "locale", "option")
_TIMES = ("localStart", "localEnd", "utcStart", "utcEnd")


def read_json_reports(stream: BinaryIO) -> Iterator[Batch]:
    """One batch of tidy and typed rows with all reports of a reply. Raises Unreadable."""
    data = stream.read(MAX_DOCUMENT_BYTES + 1)
    if len(data) > MAX_DOCUMENT_BYTES:
        raise Unreadable("json_too_large", f"a JSON reply of more than {MAX_DOCUMENT_BYTES:,} bytes; request XML")
    reply = _parsed(data)
    if _items(reply, "postprocessor"):
        raise Unreadable(
            "json_postprocessor", "Postprocessor reports are read in XML only; request XML instead of JSON"
        )
    builder = Builder("json")
    root = Element("ddsml")
    _append(root, "server", reply.get("server"))
    server = server_head(root)
    reports = messages_only = 0
    for report in _items(reply, "report"):
        try:
            _report(builder, report, server)
        except Unreadable as error:
            raise Unreadable(error.reason, f"report {reports}: {error.detail}") from None
        reports += 1
        messages_only += not builder.has_content
    for message in _items(reply, "message"):
        builder.begin_report(dict(server))
        _message(builder, message)
        builder.end_report()
        reports, messages_only = reports + 1, messages_only + 1
    if not reports:
        raise Unreadable("json_no_report", "the reply has neither a report nor a message")
    yield batch_of(builder.take_complete(), reports, len(data), messages_only)


def _report(builder: Builder, report: dict[str, Any], server: dict[str, Any]) -> None:
    element = Element("report")
    for name in ("metric", "resource", "timeData"):
        _append(element, name, report.get(name))
    head = report_head(element)
    columns = [column for headers in _items(report, "columnHeaders") for column in _items(headers, "col")]
    rows = _items(report, "row")
    variables = [var for caption in _items(report, "caption") for var in _items(caption, "var")]
    _check_head(report, head, bool(rows or variables))
    builder.begin_report(server | head)
    for message in _items(report, "message"):
        _message(builder, message)
    if variables:
        table = builder.begin_table()
        for place, var in enumerate(variables):
            builder.variable(table, place, _text(var.get("name")), _text(var.get("value")))
    if columns or rows:
        table = builder.begin_table()
        builder.headers(*([_text(column.get(name)) for column in columns] for name in ("value", "type")))
        for place, row in enumerate(rows):
            cells = row.get("col") or []
            if not isinstance(cells, list):
                raise Unreadable("json_not_ddsml", f"row {place}: col is {_shown(cells)}, expected a list of texts")
            builder.row(table, place, [_text(cell) for cell in cells], _text(row.get("type")))
    builder.end_report()


def _check_head(report: dict[str, Any], head: dict[str, Any], has_values: bool) -> None:
    """Raise Unreadable where values stand under no report's name, or a time or interval is none."""
    if has_values and head["report"] is None:
        raise Unreadable(
            "json_report_unnamed", "its values belong to no report, because metric has no id; repeat the request"
        )
    times = report.get("timeData") or {}
    for name in _TIMES:
        if (text := _text(times.get(name))) is not None and values.local_time(text) is None:
            raise Unreadable("json_bad_time", f"timeData.{name} is {_shown(text)}, expected yyyymmddhhmmss")
    if head["interval_text"] is not None and head["interval_s"] is None:
        raise Unreadable(
            "json_bad_time", f"timeData: the interval is {_shown(head['interval_text'])}, expected seconds"
        )


def _message(builder: Builder, message: dict[str, Any]) -> None:
    builder.message(
        _text(message.get("id")), _text(message.get("description")), _text(message.get("severity")), "report"
    )


def _parsed(data: bytes) -> dict[str, Any]:
    """The reply, its numbers as the texts they are written as."""
    try:
        reply = json.loads(data.decode("utf-8-sig"), parse_int=str, parse_float=str, parse_constant=str)
    except UnicodeDecodeError as error:
        raise Unreadable("json_malformed", f"byte {error.start}: not UTF-8; transfer the reply in binary") from None
    except json.JSONDecodeError as error:
        detail = f"line {error.lineno}, column {error.colno}: {error.msg}; transfer the reply again"
        raise Unreadable("json_malformed", detail) from None
    except RecursionError:
        raise Unreadable("json_malformed", "values are nested more deeply than in any report") from None
    if not isinstance(reply, dict):
        raise Unreadable("json_not_ddsml", f"the reply is {_shown(reply)}, expected an object with reports")
    return reply


def _items(parent: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """The objects of an entry: a list of them, one alone, or none."""
    entry = parent.get(name)
    items = entry if isinstance(entry, list) else [] if entry is None else [entry]
    for item in items:
        if not isinstance(item, dict):
            raise Unreadable("json_not_ddsml", f"{name} is {_shown(item)}, expected an object as the server sends it")
    return items


def _append(parent: Element, name: str, value: Any) -> None:
    """A part of the head as the XML form would have it."""
    if value is None:
        return
    if not isinstance(value, dict):
        raise Unreadable("json_not_ddsml", f"{name} is {_shown(value)}, expected an object as the server sends it")
    element = SubElement(parent, _hyphenated(name))
    for key, entry in value.items():
        if key in _ATTRIBUTES:
            element.set(key, _text(entry) or "")
            continue
        child = SubElement(element, _hyphenated(key))
        if isinstance(entry, dict):
            child.attrib.update({name: _text(entry.get(name)) or "" for name in _ATTRIBUTES if name in entry})
            entry = entry.get("value")
        child.text = _text(entry)


def _hyphenated(name: str) -> str:
    return _CAPITAL.sub(lambda match: f"-{match[0].lower()}", name)


def _text(value: Any) -> str | None:
    """A value as text without surrounding white space; None for what is empty. Raises Unreadable for several values."""
    if value is None:
        return None
    if isinstance(value, dict | list):
        raise Unreadable("json_not_ddsml", f"{_shown(value)} is not a single value")
    # Half a surrogate pair can be written in JSON and stored nowhere.
    return str(value).strip().encode("utf-8", "replace").decode("utf-8") or None


def _shown(value: Any) -> str:
    return "a list" if isinstance(value, list) else "an object" if isinstance(value, dict) else repr(value)[:40]
