"""A report for readers as plain parts, and how they are written in Markdown."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# What Markdown takes for marks: of emphasis, code, mathematics, HTML, links and tables anywhere, of lists and headings
# at the beginning. An underscore between letters is none.
_MARKS = re.compile(r"[\\`*~$|]|<(?=[A-Za-z/!?])|\](?=\()|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|^[#>+=-](?=\s|[#>+=-]|$)")


@dataclass(frozen=True)
class Table:
    """Rows of text under headings."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Document:
    """A title, a sentence, and tables and lists by heading."""

    title: str
    lead: str
    sections: Mapping[str, Table | Sequence[str]]


def literal(text: str) -> str:
    """A text as Markdown in which it stands as it is, names such as ``A$B$`` and ``_OMVS`` in it."""
    return _MARKS.sub(lambda mark: "\\" + mark[0], " ".join(text.splitlines()))


def markdown(document: Document) -> str:
    """The document as Markdown."""
    parts = [f"# {literal(document.title)}", literal(document.lead)]
    for heading, part in document.sections.items():
        parts += [heading and f"## {literal(heading)}", _table(part) if isinstance(part, Table) else _list(part)]
    return "\n\n".join(filter(None, parts)) + "\n"


def _list(lines: Sequence[str]) -> str:
    return "\n".join(f"- {literal(line)}" for line in lines)


def _table(table: Table) -> str:
    lines = [table.heads, ["---"] * len(table.heads), *table.rows]
    return "\n".join("| " + " | ".join(map(literal, line)) + " |" for line in lines)
