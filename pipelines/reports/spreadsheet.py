"""A report as a workbook of XlsxWriter: the first sheet is for management, figures are numbers, charts are native ones.

Names from records are text in every cell: they become no formula, no link and no part of a reference.
"""

import datetime as dt
import io
import re
from collections.abc import Mapping, Sequence
from typing import Any

from pipelines.reports.content import Chart, Part, Report, printable

#: What a workbook must not make of a text.
OPTIONS = {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
_LONGEST_NAME, _LONGEST_TEXT = 31, 32_000
_AREA = {"type": "area", "subtype": "stacked"}


def written(report: Report) -> bytes:
    """The workbook."""
    import xlsxwriter

    sink = io.BytesIO()
    book = xlsxwriter.Workbook(sink, OPTIONS)
    book.set_properties({"title": printable(report.title), "author": "Etalon"})
    book.set_size(2400, 1400)
    formats = _formats(book)
    sheet = book.add_worksheet("Summary")
    sheet.set_column(0, 20, 18)
    write_text(sheet, 0, 0, report.title, formats["title"])
    sheet.merge_range(1, 0, 1, 9, "", formats["lead"])
    write_text(sheet, 1, 0, report.lead, formats["lead"])
    sheet.set_row(1, 66)
    names = {"summary"}
    row = 3
    for part in report.summary:
        write_text(sheet, row, 0, part.heading, formats["heading"])
        row = _body(book, sheet, row + 1, part, names, formats) + 1
    for part in report.parts:
        other = book.add_worksheet(sheet_name(part.heading, names))
        other.set_column(0, 20, 18)
        write_text(other, 0, 0, part.heading, formats["heading"])
        _body(book, other, 1, part, names, formats)
    book.close()
    return sink.getvalue()


def sheet_name(heading: str, taken: set[str]) -> str:
    """A name that a sheet may have, unlike those taken, which it is added to."""
    plain = re.sub(r"[\[\]:*?/\\]", " ", printable(heading)).strip("' ") or "Sheet"
    for number in range(1, 1000):
        ending = f" {number}" if number > 1 else ""
        name = plain[: _LONGEST_NAME - len(ending)].rstrip("' ") + ending
        if name.casefold() not in taken and name.casefold() != "history":
            taken.add(name.casefold())
            return name
    raise ValueError(f"no name is left for the sheet {heading!r}")


def write_text(sheet: Any, row: int, column: int, value: str, style: Any = None) -> None:
    """Write a text as a text, without characters that XML has no place for."""
    sheet.write_string(row, column, printable(value)[:_LONGEST_TEXT], style)


def write_value(sheet: Any, row: int, column: int, value: Any, formats: Mapping[str, Any]) -> None:
    """Write a value as what it is: number, time, date or text; nothing for None and for what is not finite."""
    if isinstance(value, bool):
        write_text(sheet, row, column, "yes" if value else "no")
    elif isinstance(value, int | float):
        if value == value and abs(value) != float("inf"):
            sheet.write_number(row, column, value, formats["number"])
    elif isinstance(value, dt.datetime):
        sheet.write_datetime(row, column, value.replace(tzinfo=None), formats["time"])
    elif isinstance(value, dt.date):
        sheet.write_datetime(row, column, dt.datetime.combine(value, dt.time()), formats["date"])
    elif value is not None:
        write_text(sheet, row, column, str(value))


def write_rows(sheet: Any, row: int, rows: Sequence[Mapping[str, Any]], formats: Mapping[str, Any]) -> int:
    """Write a table with its headings; the row after it."""
    for column, head in enumerate(rows[0]):
        write_text(sheet, row, column, head, formats["head"])
    for number, values in enumerate(rows, start=row + 1):
        for column, value in enumerate(values.values()):
            write_value(sheet, number, column, value, formats)
    return row + 1 + len(rows)


def _formats(book: Any) -> dict[str, Any]:
    return {
        "title": book.add_format({"bold": True, "font_size": 16}),
        "lead": book.add_format({"text_wrap": True, "valign": "top"}),
        "heading": book.add_format({"bold": True, "font_size": 12}),
        "head": book.add_format({"bold": True, "bottom": 1, "text_wrap": True}),
        "number": book.add_format({"num_format": "#,##0.0##"}),
        "time": book.add_format({"num_format": "yyyy-mm-dd hh:mm"}),
        "date": book.add_format({"num_format": "yyyy-mm-dd"}),
    }


def _body(book: Any, sheet: Any, row: int, part: Part, names: set[str], formats: Mapping[str, Any]) -> int:
    """Write what stands under a heading; the row after it."""
    if part.rows:
        row = write_rows(sheet, row, part.rows, formats)
    for line in part.lines:
        write_text(sheet, row, 0, line)
        row += 1
    if part.chart is not None and part.chart.x:
        row = _chart(book, sheet, row, part.chart, names, formats)
    return row


def _chart(book: Any, sheet: Any, row: int, chart: Chart, names: set[str], formats: Mapping[str, Any]) -> int:
    """Write a chart's figures to a separate sheet and the chart above; the row after it."""
    figures = book.add_worksheet(sheet_name(f"Data {chart.title}", names))
    figures.set_column(0, 20, 16)
    columns: list[tuple[str, Sequence[Any], str]] = []
    for series in chart.series:
        columns.append((series.name, series.values, series.kind))
        if series.lo:
            columns += [(f"{series.name}, 5 %", series.lo, "band"), (f"{series.name}, 95 %", series.hi, "band")]
    heads = [chart.across or ("date" if chart.is_over_time else "x"), *(name for name, _, _ in columns)]
    rows = [dict(enumerate([at, *(values[number] for _, values, _ in columns)])) for number, at in enumerate(chart.x)]
    for column, head in enumerate(heads):
        write_text(figures, 0, column, head, formats["head"])
    for number, values in enumerate(rows, start=1):
        for column, value in values.items():
            write_value(figures, number, column, value, formats)
    last = len(chart.x)
    drawn = None
    for kinds in (("area",), ("line", "points", "limit", "band")):
        chosen = [column for column, (_, _, kind) in enumerate(columns, start=1) if kind in kinds]
        if not chosen:
            continue
        lines = {"type": "line"} if chart.is_over_time else {"type": "scatter", "subtype": "straight_with_markers"}
        one = book.add_chart(_AREA if kinds == ("area",) else lines)
        for column in chosen:
            kind = columns[column - 1][2]
            one.add_series(
                {
                    "name": [figures.get_name(), 0, column],
                    "categories": [figures.get_name(), 1, 0, last, 0],
                    "values": [figures.get_name(), 1, column, last, column],
                    **_look(kind),
                }
            )
        if drawn is None:
            drawn = one
        else:
            drawn.combine(one)
    if drawn is None:
        return row
    drawn.set_title({"name": printable(chart.title), "overlay": False})
    drawn.set_y_axis({"name": chart.y, "min": 0})
    dates = {"date_axis": True, "num_format": "d mmm"} if chart.is_over_time else {}
    drawn.set_x_axis({"name": chart.across, **dates})
    drawn.set_legend({"position": "bottom"})
    drawn.show_blanks_as("span")
    drawn.set_size({"width": 900, "height": 340})
    sheet.insert_chart(row, 0, drawn)
    return row + 18


def _look(kind: str) -> dict[str, Any]:
    if kind == "points":
        return {"line": {"none": True}, "marker": {"type": "circle", "size": 3}}
    if kind == "limit":
        return {"line": {"color": "#A3201A", "dash_type": "dash", "width": 1}}
    return {"line": {"width": 0.5, "dash_type": "round_dot"}} if kind == "band" else {}
