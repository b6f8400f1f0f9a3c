"""Compiled reading of the plain form of RMF reports in XML, as RMF writes them.

Only that form is read: elements where RMF puts them, names in ASCII, the five predefined entities and character
references, no comment, no CDATA section, no processing instruction, no document type. Whatever else there is,
well-formed or not, is refused, and a full XML parser decides about it. Texts are not copied: they are returned as
spans of the input.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ingest.formats.rmf.kernels.tags import (
    ATTRIBUTES,
    CLOSED,
    ID_AT,
    ID_END,
    LESS_THAN,
    LONGEST,
    NAMES,
    SCRATCH,
    TEXT_AT,
    TEXT_END,
    TEXT_ODD,
    TYPE_AT,
    TYPE_END,
    VALUES,
    attributes,
    closes,
    end_tag,
    is_word,
    leaf,
    name_end,
    opens,
    skip_spaces,
    text,
    word_of,
)
from ingest.kernels.jit import inlined, kernel
from ingest.kernels.loads import load_1

TEXT_COLUMN = 2
"""Mark of a span, in addition to `ODD`: it is the header of a column of texts."""

IN_TEXT_COLUMN, VARIABLE = 1, 2
"""Marks of a value: it stands in a column of texts; it is a variable and no cell."""

VALUE_FIELDS = 11
V_RECORD, V_SECTION, V_TABLE, V_ROW, V_COLUMN = range(5)
V_SECTION_NAME, V_PART, V_ROW_LABEL, V_ROW_TYPE, V_LABEL, V_TEXT = range(5, VALUE_FIELDS)
"""The fields of a value: those above are numbers, these are numbers of texts."""

R_FIRST, R_CELLS, R_TABLE, R_IS_SUM = range(4)
T_SEGMENT, T_PART, T_HEADERS, T_COLUMNS, T_FROM, T_TO = range(6)
S_RECORD, S_NAME, S_FIRST, S_END = range(4)
M_RECORD, M_SEGMENT, M_ID, M_TEXT, M_SEVERITY = range(5)
REPORT_FIELDS = 1
P_HAS_CONTENT = 0
N_SPANS, N_VALUES, N_ROWS, N_TABLES, N_SEGMENTS, N_MESSAGES, N_REPORTS = range(7)
"""Places in the counts of elements."""

# Where the reader stands: record, ordinal of the segment in it, names of segment and part, ordinal of the table in the
# record and of the row in the table, and the segment's place among all (-1 outside of segments). Numbers that start
# as a constant are kept here because as arguments they would have each kernel compiled once more for the constant.
_W_RECORD, _W_SECTION, _W_NAME, _W_PART, _W_TABLE, _W_ROW, _W_SEGMENT = range(7)
WHERE = 7


class Elements(NamedTuple):
    """Elements of reports, in arrays with one column per element, whose rows are the fields named above.

    flags and marks: those of each value and span; spans: first place and end of each text, span 0 being the text that
    is missing; heads: number of the text of each path; counts: number of elements of each kind; tag and where:
    `SCRATCH` and `WHERE` numbers, the last tag and text and the position of the reader.
    """

    values: npt.NDArray[np.int32]
    flags: npt.NDArray[np.uint8]
    rows: npt.NDArray[np.int32]
    tables: npt.NDArray[np.int32]
    segments: npt.NDArray[np.int32]
    messages: npt.NDArray[np.int32]
    reports: npt.NDArray[np.int32]
    heads: npt.NDArray[np.int32]
    spans: npt.NDArray[np.int32]
    marks: npt.NDArray[np.uint8]
    counts: npt.NDArray[np.int64]
    tag: npt.NDArray[np.int64]
    where: npt.NDArray[np.int64]

    @classmethod
    def room(cls, places: int, paths: int) -> "Elements":
        """Arrays for `places` elements of each kind, and for `paths` paths of each head."""

        def table(fields: int) -> npt.NDArray[np.int32]:
            return np.empty((fields, places), np.int32)

        return cls(
            values=table(VALUE_FIELDS),
            flags=np.empty(places, np.uint8),
            rows=table(4),
            tables=table(6),
            segments=table(4),
            messages=table(5),
            reports=table(REPORT_FIELDS),
            heads=table(paths),
            spans=table(2),
            marks=np.empty(places, np.uint8),
            counts=np.zeros(N_REPORTS + 1, np.int64),
            tag=np.zeros(SCRATCH, np.int64),
            where=np.zeros(WHERE, np.int64),
        )


_POSTPROCESSOR, _SEGMENT, _PART, _NAME = (word_of(w) for w in (b"postprocessor", b"segment", b"part", b"name"))
_TABLE, _VAR_LIST, _CAPTION = (word_of(w) for w in (b"table", b"var-list", b"caption"))
_HEADERS, _COL, _ROW, _VAR, _VALUE = (word_of(w) for w in (b"column-headers", b"col", b"row", b"var", b"value"))
_SLASH, _AT = 47, 64
_MESSAGE, _DESCRIPTION, _SEVERITY = (word_of(w) for w in (b"message", b"description", b"severity"))
_SUM = word_of(b"SUM")
_NOT_IN_HEAD = b"postprocessor report segment part table var-list caption column-headers row var message mfpmsg".split()
_CONTENT, _CONTENT_ENDS = word_of(b"".join(_NOT_IN_HEAD)), np.cumsum([len(word) for word in _NOT_IN_HEAD])


@inlined
def _new(elements, kind):
    """The place of one more element of a kind."""
    place = elements.counts[kind]
    elements.counts[kind] = place + 1
    return place


@inlined
def _keep(elements, begin, stop, mark):
    """The number of one more span."""
    place = _new(elements, N_SPANS)
    elements.spans[0, place], elements.spans[1, place], elements.marks[place] = begin, stop, mark
    return place


@inlined
def _keep_text(elements):
    """The number of the span of the last text."""
    tag = elements.tag
    return _keep(elements, tag[TEXT_AT], tag[TEXT_END], tag[TEXT_ODD])


@kernel
def _message(data, at, end, elements):
    """The place behind a message, or -1."""
    tag, out = elements.tag, elements.messages
    at = attributes(data, at + 1 + _MESSAGE.shape[0], end, tag)
    if at < 0 or tag[CLOSED]:
        return -1
    place = _new(elements, N_MESSAGES)
    out[M_RECORD, place], out[M_SEGMENT, place] = elements.where[_W_RECORD], elements.where[_W_SEGMENT]
    out[M_ID, place], out[M_TEXT, place], out[M_SEVERITY, place] = 0, 0, 0
    if tag[ID_END]:
        out[M_ID, place] = _keep(elements, tag[ID_AT], tag[ID_END], 0)
    while True:
        at = skip_spaces(data, at, end)
        if closes(data, at, end):
            return end_tag(data, at, end, _MESSAGE)
        if opens(data, at, end, _DESCRIPTION):
            field, at = M_TEXT, leaf(data, at, end, _DESCRIPTION, tag)
        elif opens(data, at, end, _SEVERITY):
            field, at = M_SEVERITY, leaf(data, at, end, _SEVERITY, tag)
        else:
            return -1
        if at < 0 or out[field, place]:
            return -1
        out[field, place] = _keep_text(elements)


@inlined
def _headers(data, at, end, table, elements):
    """The place behind the headers of the columns of a table, or -1. table: its place among all."""
    tag, tables, counts = elements.tag, elements.tables, elements.counts
    begin = at
    at = attributes(data, at + 1 + _HEADERS.shape[0], end, tag)
    if at < 0 or tag[CLOSED]:
        return -1
    tables[T_HEADERS, table], tables[T_FROM, table] = counts[N_SPANS], begin
    while True:
        at = skip_spaces(data, at, end)
        if closes(data, at, end):
            tables[T_COLUMNS, table] = counts[N_SPANS] - tables[T_HEADERS, table]
            tables[T_TO, table] = at
            return end_tag(data, at, end, _HEADERS) if at - begin <= LONGEST else -1
        if not opens(data, at, end, _COL):
            return -1
        at = leaf(data, at, end, _COL, tag)
        if at < 0:
            return -1
        is_text = tag[TYPE_END] - tag[TYPE_AT] == 1 and load_1(data, tag[TYPE_AT]) == ord("T")
        mark = tag[TEXT_ODD] | (TEXT_COLUMN if is_text else 0)
        _keep(elements, tag[TEXT_AT], tag[TEXT_END], mark)


@inlined
def _new_value(elements):
    """A value of the table or list where the reader stands, so far without column, labels and text."""
    values, where, place = elements.values, elements.where, _new(elements, N_VALUES)
    values[V_RECORD, place], values[V_SECTION, place] = where[_W_RECORD], where[_W_SECTION]
    values[V_SECTION_NAME, place], values[V_PART, place] = where[_W_NAME], where[_W_PART]
    values[V_TABLE, place], values[V_ROW, place], values[V_COLUMN, place] = where[_W_TABLE], where[_W_ROW], 0
    values[V_ROW_LABEL, place], values[V_ROW_TYPE, place], values[V_LABEL, place], values[V_TEXT, place] = 0, 0, 0, 0
    elements.flags[place] = 0
    return place


@inlined
def _row(data, at, end, table, elements):
    """The place behind a row of a table, or -1. table: its place among all."""
    tag, tables, rows, values = elements.tag, elements.tables, elements.rows, elements.values
    begin = at
    at = attributes(data, at + 1 + _ROW.shape[0], end, tag)
    if at < 0:
        return -1
    kind, is_sum = 0, 0
    if tag[TYPE_END]:
        is_sum = 1 if is_word(data, tag[TYPE_AT], tag[TYPE_END], _SUM) else 0
        kind = _keep(elements, tag[TYPE_AT], tag[TYPE_END], 0)
    place = _new(elements, N_ROWS)
    first, column, label = elements.counts[N_VALUES], 0, 0
    rows[R_FIRST, place], rows[R_CELLS, place] = first, 0
    rows[R_TABLE, place], rows[R_IS_SUM, place] = table, is_sum
    if tag[CLOSED]:
        return at
    headers, columns = tables[T_HEADERS, table], tables[T_COLUMNS, table]
    while True:
        at = skip_spaces(data, at, end)
        if closes(data, at, end):
            rows[R_CELLS, place] = column
            return end_tag(data, at, end, _ROW) if at - begin <= LONGEST else -1
        if not opens(data, at, end, _COL):
            return -1
        at = leaf(data, at, end, _COL, tag)
        if at < 0:
            return -1
        value = _new_value(elements)
        values[V_COLUMN, value] = column
        if tag[TEXT_END] > tag[TEXT_AT]:
            values[V_TEXT, value] = _keep_text(elements)
        if column == 0:
            label = values[V_TEXT, value]
        values[V_ROW_LABEL, value], values[V_ROW_TYPE, value] = label, kind
        if column < columns:
            values[V_LABEL, value] = headers + column
            elements.flags[value] = IN_TEXT_COLUMN if elements.marks[headers + column] & TEXT_COLUMN else 0
        column += 1


@inlined
def _variable(data, at, end, elements):
    """The place behind a variable, or -1."""
    tag, values = elements.tag, elements.values
    at = attributes(data, at + 1 + _VAR.shape[0], end, tag)
    if at < 0 or tag[CLOSED]:
        return -1
    value = _new_value(elements)
    elements.flags[value] = VARIABLE
    while True:
        at = skip_spaces(data, at, end)
        if closes(data, at, end):
            return end_tag(data, at, end, _VAR)
        if opens(data, at, end, _NAME):
            field, at = V_LABEL, leaf(data, at, end, _NAME, tag)
        elif opens(data, at, end, _VALUE):
            field, at = V_TEXT, leaf(data, at, end, _VALUE, tag)
        else:
            return -1
        if at < 0 or values[field, value]:
            return -1
        values[field, value] = _keep_text(elements)


@kernel
def _container(data, at, end, word, elements):
    """The place behind a table or a list of variables, or -1."""
    tag, where, tables = elements.tag, elements.where, elements.tables
    at = attributes(data, at + 1 + word.shape[0], end, tag)
    if at < 0 or tag[CLOSED]:
        return -1
    table = _new(elements, N_TABLES)
    tables[T_SEGMENT, table], tables[T_PART, table] = where[_W_SEGMENT], where[_W_PART]
    tables[T_HEADERS, table], tables[T_COLUMNS, table], tables[T_FROM, table], tables[T_TO, table] = 0, 0, 0, 0
    where[_W_ROW] = 0
    while True:
        at = skip_spaces(data, at, end)
        if closes(data, at, end):
            where[_W_TABLE] += 1
            return end_tag(data, at, end, word)
        if opens(data, at, end, _ROW):
            at = _row(data, at, end, table, elements)
            where[_W_ROW] += 1
        elif opens(data, at, end, _VAR):
            at = _variable(data, at, end, elements)
            where[_W_ROW] += 1
        elif opens(data, at, end, _HEADERS) and where[_W_ROW] == 0 and tables[T_TO, table] == 0:
            at = _headers(data, at, end, table, elements)
        else:
            return -1
        if at < 0:
            return -1


@inlined
def _named(data, at, end, elements):
    """The place behind the name of a segment or part, -1 if that is refused, or `at` where there is none."""
    tag = elements.tag
    tag[TEXT_AT], tag[TEXT_END] = 0, 0
    at = skip_spaces(data, at, end)
    if not opens(data, at, end, _NAME):
        return at
    at = leaf(data, at, end, _NAME, tag)
    if at >= 0:
        _keep_text(elements)
    return at


@kernel
def _part(data, at, end, elements):
    """The place behind a part of a segment, or -1."""
    at = attributes(data, at + 1 + _PART.shape[0], end, elements.tag)
    if at < 0 or elements.tag[CLOSED]:
        return -1
    first_span = elements.counts[N_SPANS]
    at = _named(data, at, end, elements)
    elements.where[_W_PART] = first_span if elements.counts[N_SPANS] > first_span else 0
    while at >= 0:
        at = skip_spaces(data, at, end)
        if closes(data, at, end):
            return end_tag(data, at, end, _PART)
        if opens(data, at, end, _MESSAGE):
            at = _message(data, at, end, elements)
            continue
        if opens(data, at, end, _TABLE):
            word = _TABLE
        elif opens(data, at, end, _VAR_LIST):
            word = _VAR_LIST
        elif opens(data, at, end, _CAPTION):
            word = _CAPTION
        else:
            return -1
        at = _container(data, at, end, word, elements)
    return -1


@kernel
def _segment(data, at, end, elements):
    """The place behind a segment, or -1."""
    where, segments, counts = elements.where, elements.segments, elements.counts
    at = attributes(data, at + 1 + _SEGMENT.shape[0], end, elements.tag)
    if at < 0 or elements.tag[CLOSED]:
        return -1
    segment, first_span = _new(elements, N_SEGMENTS), counts[N_SPANS]
    at = _named(data, at, end, elements)
    where[_W_NAME], where[_W_SEGMENT] = first_span if counts[N_SPANS] > first_span else 0, segment
    segments[S_RECORD, segment], segments[S_NAME, segment] = where[_W_RECORD], where[_W_NAME]
    segments[S_FIRST, segment] = counts[N_VALUES]
    while at >= 0:
        at = skip_spaces(data, at, end)
        if closes(data, at, end):
            segments[S_END, segment], where[_W_SEGMENT] = counts[N_VALUES], -1
            return end_tag(data, at, end, _SEGMENT)
        if opens(data, at, end, _MESSAGE):
            at = _message(data, at, end, elements)
        elif opens(data, at, end, _PART):
            at = _part(data, at, end, elements)
        else:
            return -1
    return -1


@kernel
def _listed(data, outer, outer_stop, inner, inner_stop, attribute, attribute_stop, words, ends):
    """The ordinal among some words of `outer`, `outer/inner`, `outer@attribute` or `outer/inner@attribute`, or -1."""
    length = outer_stop - outer
    length += inner_stop - inner + 1 if inner_stop else 0
    length += attribute_stop - attribute + 1 if attribute_stop else 0
    for word in range(ends.shape[0]):
        at = ends[word - 1] if word else 0
        if ends[word] - at != length:
            continue
        same = True
        for k in range(outer, outer_stop):
            same = same and load_1(data, k) == words[at + k - outer]
        at += outer_stop - outer
        if inner_stop:
            same = same and words[at] == _SLASH
            for k in range(inner, inner_stop):
                same = same and load_1(data, k) == words[at + 1 + k - inner]
            at += 1 + inner_stop - inner
        if attribute_stop:
            same = same and words[at] == _AT
            for k in range(attribute, attribute_stop):
                same = same and load_1(data, k) == words[at + 1 + k - attribute]
        if same:
            return word
    return -1


@kernel
def _head(data, at, end, paths, path_ends, report, elements):
    """Where the head of a report ends, or -1: elements of one or two steps, each of `paths` at most once."""
    tag, heads = elements.tag, elements.heads
    begin, outer, outer_stop = at, 0, 0
    for path in range(path_ends.shape[0]):
        heads[path, report] = 0
    while at >= 0 and at - begin <= LONGEST:
        at = skip_spaces(data, at, end)
        if closes(data, at, end):
            if outer_stop == 0:
                return at
            at, outer_stop = end_tag(data, at, end, data[outer:outer_stop]), 0
            continue
        if outer_stop == 0 and (opens(data, at, end, _SEGMENT) or opens(data, at, end, _MESSAGE)):
            return at
        if at + 1 >= end or load_1(data, at) != LESS_THAN:
            return -1
        name = at + 1
        stop = name_end(data, name, end)
        if stop == name or _listed(data, name, stop, 0, 0, 0, 0, _CONTENT, _CONTENT_ENDS) >= 0:
            return -1
        at = attributes(data, stop, end, tag)
        if at < 0:
            return -1
        is_inner = outer_stop > 0
        if not is_inner:
            outer, outer_stop = name, stop
        inner, inner_stop = (name, stop) if is_inner else (0, 0)
        for k in range(tag[ATTRIBUTES]):
            first, last = tag[NAMES + 2 * k], tag[NAMES + 2 * k + 1]
            path = _listed(data, outer, outer_stop, inner, inner_stop, first, last, paths, path_ends)
            if path >= 0:
                first, last = tag[VALUES + 2 * k], tag[VALUES + 2 * k + 1]
                if heads[path, report] or first == last or load_1(data, first) == 32 or load_1(data, last - 1) == 32:
                    return -1
                heads[path, report] = _keep(elements, first, last, 0)
        closed = tag[CLOSED]
        tag[TEXT_AT], tag[TEXT_END], tag[TEXT_ODD] = 0, 0, 0
        if not closed:
            at = text(data, at, end, tag)
            if at < 0:
                return -1
        path = _listed(data, outer, outer_stop, inner, inner_stop, 0, 0, paths, path_ends)
        if path >= 0:
            if heads[path, report]:
                return -1
            heads[path, report] = _keep_text(elements)
        elif tag[TEXT_ODD]:
            return -1
        if is_inner and not closed:
            at = end_tag(data, at, end, data[name:stop])
        elif closed and not is_inner:
            outer_stop = 0
    return -1


@kernel
def scan_reports(data, begin, end, paths, path_ends, elements):
    """Read the reports of which `data[begin:end]` is made, with only white space between them; False if refused.

    paths, path_ends: the paths read from their heads, as in `head.PATHS`; elements: room for as many of each kind as
    there are tags.
    """
    tag, where = elements.tag, elements.where
    elements.counts[:] = 0
    _keep(elements, 0, 0, 0)
    at = skip_spaces(data, begin, end)
    while at < end:
        if not opens(data, at, end, _POSTPROCESSOR):
            return False
        report = _new(elements, N_REPORTS)
        elements.reports[P_HAS_CONTENT, report] = 0
        at = attributes(data, at + 1 + _POSTPROCESSOR.shape[0], end, tag)
        if at < 0 or tag[CLOSED]:
            return False
        at = _head(data, at, end, paths, path_ends, report, elements)
        where[_W_RECORD], where[_W_SECTION], where[_W_TABLE], where[_W_SEGMENT] = report, -1, 0, -1
        while at >= 0:
            at = skip_spaces(data, at, end)
            if closes(data, at, end):
                at = end_tag(data, at, end, _POSTPROCESSOR)
                break
            if opens(data, at, end, _SEGMENT):
                elements.reports[P_HAS_CONTENT, report] = 1
                where[_W_SECTION] += 1
                at = _segment(data, at, end, elements)
            elif opens(data, at, end, _MESSAGE):
                at = _message(data, at, end, elements)
            else:
                return False
        if at < 0:
            return False
        at = skip_spaces(data, at, end)
    return True
