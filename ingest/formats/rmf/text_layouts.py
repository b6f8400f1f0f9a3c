"""The layouts of RMF reports in text, read from `printed.toml`."""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import tomli as tomllib

from ingest.formats.printed.layouts import Block, block_of, squeezed


@dataclass(frozen=True)
class ReportLayout:
    """One kind of report: its metric id, the titles of its pages with the segment each belongs to, and its blocks."""

    metric: str
    description: str
    titles: tuple[tuple[str, str], ...]
    blocks: tuple[Block, ...]
    headings: frozenset[str]

    def of_kind(self, kind: str) -> list[Block]:
        """The blocks of one kind, in the order of the file."""
        return [block for block in self.blocks if block.kind == kind]


@cache
def report_layouts() -> tuple[ReportLayout, ...]:
    """Every report layout. ValueError names an entry that is not well-formed."""
    text = files("ingest.formats.rmf").joinpath("printed.toml").read_text(encoding="utf-8")
    return tuple(_report(entry) for entry in tomllib.loads(text)["report"])


@cache
def titles() -> dict[str, tuple[ReportLayout, str]]:
    """Squeezed title → layout and segment."""
    return {squeezed(title): (layout, segment) for layout in report_layouts() for title, segment in layout.titles}


def _report(entry: dict[str, Any]) -> ReportLayout:
    blocks = tuple(block_of(item, entry["metric"]) for item in entry["block"])
    printed = [line for block in blocks for line in (*block.data.get("above", ()), block.data.get("below", ""))]
    return ReportLayout(
        metric=entry["metric"],
        description=entry["description"],
        titles=tuple((title, segment) for title, segment in entry["titles"]),
        blocks=blocks,
        headings=frozenset(squeezed(line) for line in printed if line),
    )
