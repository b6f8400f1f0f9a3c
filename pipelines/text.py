"""Figures and tables as plain text."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def figure(value: float | None, digits: int = 4) -> str:
    """A number with `digits` significant digits and thousands separated; a dash for none.

    Below 1 there are `digits` decimals, and below 0.001 as many as it takes; what is below 1e-9 is taken for zero.
    """
    if value is None:
        return "–"
    if float(value).is_integer():
        return f"{value:,.0f}"
    if 1e-9 <= abs(value) < 1e-3:
        return f"{value:.{digits}g}"
    decimals = max(0, digits - len(str(int(abs(value))))) if abs(value) >= 1 else digits
    return f"{value:,.{decimals}f}"


def unit_sign(unit: str) -> str:
    """A unit of the registry as people write it: `%` for `pct`, `µs` for `us`."""
    return re.sub(r"\bus\b", "µs", re.sub(r"\bpct\b", "%", unit))


def counted(number: int, noun: str) -> str:
    """A number with its noun: `1 file`, `2,000 files`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def exact(value: float | None) -> str:
    """A number as it is, to twelve significant digits."""
    return "–" if value is None else f"{value:.12g}"


def table(
    rows: Sequence[Mapping[str, Any]],
    columns: Mapping[str, str] | None = None,
    indent: str = "",
    number: Callable[[float | None], str] = figure,
) -> str:
    """Rows as an aligned table. `columns` maps keys to headings, in order; numbers are set to the right.

    Without rows there is only the heading.
    """
    heads = dict(columns) if columns is not None else {name: name for name in (rows[0] if rows else {})}
    heads = {name: _line_of(head) for name, head in heads.items()}
    cells = [[_cell(row.get(name), number) for name in heads] for row in rows]
    right = [bool(rows) and all(isinstance(row.get(name), int | float | None) for row in rows) for name in heads]
    widths = [max(len(line[i]) for line in [list(heads.values()), *cells]) for i in range(len(heads))]
    lines = [_line(list(heads.values()), widths, right), *(_line(line, widths, right) for line in cells)]
    lines.insert(1, "  ".join("─" * width for width in widths))
    return "\n".join(indent + line.rstrip() for line in lines)


def columns(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows of text under their headings, aligned; columns of numbers and dashes are set to the right."""
    shape = [[cell.replace(",", "").lstrip("-") for cell in column] for column in zip(*rows, strict=True)]
    right = [
        bool(column) and all(cell == "–" or cell.replace(".", "", 1).isdigit() for cell in column) for column in shape
    ]
    widths = [max(len(line[i]) for line in [list(heads), *rows]) for i in range(len(heads))]
    lines = [_line(heads, widths, right), "  ".join("─" * width for width in widths)]
    return "\n".join(line.rstrip() for line in [*lines, *(_line(row, widths, right) for row in rows)])


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    return "  ".join(c.rjust(w) if r else c.ljust(w) for c, w, r in zip(cells, widths, right, strict=True))


def _cell(value: Any, number: Callable[[float | None], str]) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number(value) if isinstance(value, float) else _line_of(str(value))


def _line_of(text: str) -> str:
    """A text that stays in its line, and does nothing to a terminal: what cannot be printed as Python writes it."""
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
