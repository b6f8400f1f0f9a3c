"""The performance-class fields Etalon knows by group and number, and the table they become.

The dump's dictionary says which fields its records contain, never this catalogue: it only gives fields their column, so
that tables of different regions and releases have one shape. Fields that it lacks (event monitoring points of an
installation, fields of a newer release or of an unexpected length) go to a long table with their raw bytes.
"""

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from ingest.layout import Section
from ingest.registry import built_in

PERFORMANCE_TABLE = "smf110_1_performance"
DICTIONARY_TABLE = "smf110_1_dictionary"
OTHER_FIELD_TABLE = "smf110_1_other_field"


@dataclass(frozen=True)
class Field:
    """One field; `type` is the dictionary's: A count, C character, P packed, S clock, T store clock."""

    group: str
    id: str
    nickname: str
    column: str
    name: str
    type: str
    length: int
    meaning: str
    confidence: str

    def accepts(self, kind: str, length: int) -> bool:
        """Whether a dictionary entry of this type and length fits the column."""
        if kind != self.type:
            return False
        if kind == "S":
            return length in (8, 12)
        if kind == "T":
            return length == 8
        if kind == "A":
            return length in (4, 8) and (length <= 4 or self.length > 4)
        if kind == "P":
            return 1 <= length <= 4
        return length >= 1


@cache
def fields() -> tuple[Field, ...]:
    """All fields of the catalogue, in the order of the columns."""
    text = (files("ingest.layouts") / "cics_performance_fields.csv").read_text(encoding="utf-8")
    return tuple(
        Field(
            row["group"],
            row["id"],
            row["nickname"],
            row["column"],
            row["name"],
            row["type"],
            int(row["length"]),
            row["meaning"],
            row["confidence"],
        )
        for row in csv.DictReader(text.splitlines())
    )


@cache
def _index() -> dict[tuple[str, str], Field]:
    return {(field.group, field.id or field.nickname): field for field in fields()}


def find(group: str, id_: str, nickname: str) -> Field | None:
    """The field of this group with this number; where the catalogue knows no number, with this nickname."""
    index = _index()
    return index.get((group, id_)) or index.get((group, nickname))


def section(name: str) -> Section:
    """A table of the monitoring handler as its layout describes it. Raises KeyError."""
    return built_in("smf_110_1.toml").section(name)
