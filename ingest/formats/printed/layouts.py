"""The blocks of printed reports as data describes them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

KINDS = ("variables", "key", "table", "grid", "lines")


@dataclass(frozen=True)
class Column:
    """A column of a table: its label in the XML form, its heading, where that stands and where its details stand."""

    label: str
    kind: str
    printed: str
    heading: int
    first: int
    last: int
    optional: bool = False
    pattern: re.Pattern[str] | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Block:
    """One block of a report; `data` is its entry in the file (see there), the patterns are made from it."""

    kind: str
    segment: str
    part: str
    data: dict[str, Any]
    columns: tuple[Column, ...] = ()
    labels: re.Pattern[str] | None = None
    row: re.Pattern[str] | None = None
    total: re.Pattern[str] | None = None

    def holds_in(self, segment: str) -> bool:
        """True if the block may be in this segment; a table or list that names no segment may be in any."""
        if self.segment.endswith("*"):
            return bool(segment) and segment.startswith(self.segment[:-1])
        return True


def squeezed(text: str) -> str:
    """A title or heading without blanks, in capitals, by which printed forms of any spacing are the same."""
    return re.sub(r"\s+", "", text).upper()


def words(printed: str) -> str:
    """Pattern of a printed label as whole words; `|` separates alternatives, a blank stands for any number of them."""
    choices = [r"\s+".join(re.escape(word) for word in choice.split()) for choice in printed.split("|")]
    return "(?:" + "|".join(choices) + ")"


def block_of(data: dict[str, Any], report: str) -> Block:
    """A block from its entry in a file. ValueError names the report when its kind is unknown."""
    kind = data["kind"]
    if kind not in KINDS:
        raise ValueError(f"report {report}: unknown kind of block {kind!r}")
    labels: re.Pattern[str] | None = None
    if kind in ("variables", "key"):
        labels = _labels(item[1] for item in data["items"])
    elif kind == "lines":
        labels = re.compile(r"\s*" + data["line"] + r"\s*$", re.IGNORECASE)
    return Block(
        kind=kind,
        segment=data.get("segment", ""),
        part=data.get("part", ""),
        data=data,
        columns=tuple(_column(item) for item in data.get("columns", ())),
        labels=labels,
        row=re.compile(data["row"]) if "row" in data else None,
        total=re.compile(r"\s*" + data["sum"] + r"(?=\s|$)") if "sum" in data else None,
    )


def _column(item: list[Any]) -> Column:
    label, kind, printed, heading, first, last, *rest = item
    pattern = re.compile(rf"(?<!\S){words(printed)}(?!\S)") if printed else None
    return Column(label, kind, printed, heading, first, last, "optional" in rest, pattern)


def _labels(printed: Iterable[str]) -> re.Pattern[str]:
    """Pattern of any of the labels with what separates it from its value; the longest label wins."""
    choices: list[str] = []
    for label in sorted(printed, key=len, reverse=True):
        sign = label.rstrip()[-1]
        plain = label.rstrip().rstrip("=:").rstrip() if sign in "=:" else label
        text = r"\s+".join(re.escape(word) for word in plain.split())
        choices.append(rf"(?P<l{len(choices)}>{text})" + (rf"\s*{sign}" if sign in "=:" else r"(?:\s*[=:]|(?=\s|$))"))
    return re.compile(r"(?<![^\s])(?:" + "|".join(choices) + r")\s*")


def label_order(items: list[list[Any]]) -> list[list[Any]]:
    """Items in the order of the groups of their pattern."""
    return sorted(items, key=lambda item: len(item[1]), reverse=True)
