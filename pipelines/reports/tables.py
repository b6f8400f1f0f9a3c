"""The marts of a snapshot as one workbook: a sheet for each, texts as texts."""

from collections.abc import Iterator
from pathlib import Path

from pipelines.reports.spreadsheet import OPTIONS, sheet_name, write_text, write_value

MOST_ROWS = 1_048_575
"""Rows that a sheet has room for, its heading left out."""
_AT_ONCE = 10_000


def write(snapshot: Path, target: Path, most_rows: int = MOST_ROWS) -> Iterator[tuple[str, int, int]]:
    """Write the workbook; each mart with its rows, and how many of them its sheet has.

    The workbook is there, whole, when all are given.
    """
    import duckdb
    import xlsxwriter

    target.parent.mkdir(parents=True, exist_ok=True)
    book = xlsxwriter.Workbook(str(target), {**OPTIONS, "in_memory": False, "constant_memory": True})
    bold = book.add_format({"bold": True})
    formats = {
        "number": book.add_format(),
        "time": book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"}),
        "date": book.add_format({"num_format": "yyyy-mm-dd"}),
    }
    names: set[str] = set()
    with duckdb.connect(str(snapshot), read_only=True) as con:
        marts = con.execute(
            "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'marts' ORDER BY table_name"
        ).fetchall()
        for (mart,) in marts:
            sheet = book.add_worksheet(sheet_name(mart, names))
            sheet.freeze_panes(1, 0)
            [(rows,)] = con.execute(f'SELECT count(*) FROM marts."{mart}"').fetchall()
            cursor = con.execute(f'FROM marts."{mart}" LIMIT {most_rows}')
            for column, described in enumerate(cursor.description or []):
                write_text(sheet, 0, column, described[0], bold)
            row = 0
            while part := cursor.fetchmany(_AT_ONCE):
                for values in part:
                    row += 1
                    for column, value in enumerate(values):
                        write_value(sheet, row, column, value, formats)
            yield mart, rows, row
        if not marts:
            book.add_worksheet("none")
    book.close()
