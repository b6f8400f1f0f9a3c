"""Names from records in other syntaxes: one way for each syntax, so that two names never become one.

z/OS names have ``#``, ``$``, ``@`` and ``_`` in them, at the beginning, too, and names from files may have anything.
Text of charts is :mod:`model.drawing`'s, Markdown :mod:`model.studies.document`'s; HTML is made of templates that
escape by themselves, SQL takes parameters or :func:`sql_text`, TOML is :mod:`model.network.toml`'s.
"""

from __future__ import annotations

import hashlib
import re

_ESCAPED = re.compile(r"_x([0-9A-F]*)_")
_LONGEST_FILE, _LONGEST_KEY, _DIGITS = 200, 250, 16
#: What begins a formula in a spreadsheet, and the mark before a text that is none.
_FORMULA, _TEXT = tuple("=+-@\t\r\n"), "'"


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

    What begins with ``=``, ``+``, ``-``, ``@``, a tab, a line's end or ``'`` has one ``'`` more before it, which
    :func:`from_csv_cell` takes away. Numbers are no texts.
    """
    return _TEXT + text if text.startswith((*_FORMULA, _TEXT)) else text


def from_csv_cell(cell: str) -> str:
    """The text that :func:`csv_cell` was given."""
    return cell.removeprefix(_TEXT)


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
