"""Staging views in a database to build in: those that models read, and no others."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ingest.registry import Registry


@dataclass(frozen=True)
class Staging:
    """The layouts in force, the raw tables whose staging views models read, and those behind each mart of records."""

    registry: Registry
    tables: frozenset[str]
    records: Mapping[str, frozenset[str]]

    def prepare(self, database: Path) -> list[str]:
        """Make the staging views in a database; the marts, by name, whose records it does not have."""
        from ingest.warehouse import make_views

        filled = make_views(database, self.registry, self.tables)
        return sorted(mart for mart, tables in self.records.items() if not tables & filled)
