"""A report for readers as plain parts, and how they are written in Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


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


def markdown(document: Document) -> str:
    """The document as Markdown."""
    parts = [f"# {document.title}", document.lead]
    for heading, part in document.sections.items():
        parts += [heading and f"## {heading}", _table(part) if isinstance(part, Table) else _list(part)]
    return "\n\n".join(filter(None, parts)) + "\n"


def _list(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _table(table: Table) -> str:
    lines = [table.heads, ["---"] * len(table.heads), *table.rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
