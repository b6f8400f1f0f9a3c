"""Names from records in other syntaxes: one way for each syntax, so that two names never become one.

z/OS names have ``#``, ``$``, ``@`` and ``_`` in them, at the beginning, too, and names from files may have anything.
Text of charts is :mod:`model.drawing`'s, Markdown :mod:`model.studies.document`'s; HTML is made of templates that
escape by themselves, SQL takes parameters or :func:`sql_text`, TOML is :mod:`model.network.toml`'s.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Any

_ESCAPED = re.compile(r"_x([0-9A-F]*)_")
_LONGEST_FILE, _LONGEST_KEY, _DIGITS = 200, 250, 16
# What begins a formula in a spreadsheet, or is marked as none; and numbers, which may begin with a sign.
_FORMULA, _NUMBER = r"^[=+\-@\t\r\n']", r"[-+]?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?"


def file_name(text: str) -> str:
    """A name as one part of a path, of a file or an artifact: ASCII letters, digits, ``-``, ``.`` and ``_``.

    Any other character becomes ``_xHEX_`` of its code point (``PR#B`` is ``PR_x23_B``), and so do ``_`` before ``x``
    and ``.`` at the beginning. What is longer than 200 characters ends in a part of its SHA-256 instead;
    :func:`original` gives all others back.
    """
    return _at_most(_LONGEST_FILE, _escaped(text, "-."))


def metric_key(*parts: str) -> str:
    """Names as the key of an MLflow metric: each as :func:`file_name` has it, but for spaces, with ``/`` between."""
    return _at_most(_LONGEST_KEY, "/".join(_escaped(part, "-. ") for part in parts))


def original(name: str) -> str:
    """The text that :func:`file_name`, or a part of :func:`metric_key`, was made from."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)) if found[1] else "", name)


def csv_cell(text: str) -> str:
    """A text as a cell of CSV that no spreadsheet takes for a formula.

    What begins with ``=``, ``+``, ``-``, ``@``, a tab, a line's end or ``'`` and is no number has one ``'`` more before
    it, which :func:`from_csv_cell` takes away.
    """
    return "'" + text if re.match(_FORMULA, text) and not re.fullmatch(_NUMBER, text) else text


def csv_row(values: Iterable[Any]) -> list[Any]:
    """The values of a row for :mod:`csv`: texts as :func:`csv_cell` has them."""
    return [csv_cell(value) if isinstance(value, str) else value for value in values]


def csv_cell_sql(column: str) -> str:
    """:func:`csv_cell` as an expression of DuckDB's SQL, of a column of texts."""
    formula, number, mark = map(sql_text, (_FORMULA, _NUMBER, "'"))
    is_one = f"regexp_matches({column}, {formula}) AND NOT regexp_full_match({column}, {number})"
    return f"CASE WHEN {is_one} THEN {mark} || {column} ELSE {column} END"


def from_csv_cell(cell: str) -> str:
    """The text that :func:`csv_cell` was given."""
    return cell.removeprefix("'")


def sql_text(text: str) -> str:
    """A text as a literal of DuckDB's SQL, for what takes no parameters."""
    return "'" + text.replace("'", "''") + "'"


def _escaped(text: str, also: str) -> str:
    kept = rf"[^A-Za-z0-9_{re.escape(also)}]|_(?=x)|^\."
    return re.sub(kept, lambda found: f"_x{ord(found[0]):X}_", text) or "_x_"


def _at_most(longest: int, text: str) -> str:
    if len(text) <= longest:
        return text
    return f"{text[: longest - _DIGITS - 3]}_xx{hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]}"
