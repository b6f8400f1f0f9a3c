"""DuckDB statements that create the raw tables, and the staging views over them."""

from collections.abc import Collection

from ingest.layout import Section
from ingest.registry import Registry
from ingest.schema import staging

CREATE_OVERLAP = """CREATE TABLE IF NOT EXISTS meta.record_overlap (
    file_id UBIGINT NOT NULL, record_seq UINTEGER NOT NULL, counted_in UBIGINT NOT NULL
)"""
"""Makes the table of records that are counted in another file, which staging views leave out."""


def column_definitions(section: Section) -> list[tuple[str, str]]:
    """Name and DuckDB type of every column of a raw table, keys first."""
    columns = [
        ("file_id", "UBIGINT NOT NULL"),
        ("record_seq", "UINTEGER NOT NULL"),
        ("section_seq", "UINTEGER NOT NULL"),
    ]
    if section.parent:
        columns.append(("parent_seq", "UINTEGER NOT NULL"))
    if section.entries:
        columns.append(("entry_seq", "UINTEGER NOT NULL"))
    for item in section.fields:
        columns.append((item.column, item.duckdb))
        if item.raw:
            columns.append((item.raw[0], item.raw[2]))
    return columns


def create_table(section: Section) -> str:
    """The statement that creates one raw table unless it is there."""
    body = ", ".join(f"{name} {kind}" for name, kind in column_definitions(section))
    return f"CREATE TABLE IF NOT EXISTS raw.{section.table} ({body})"


def staging_statements(
    registry: Registry, tables: Collection[str], views: Collection[str], *, named: bool = False
) -> list[str]:
    """The statements that create the staging views that are missing.

    tables: the raw tables there are; views: the staging views there are, which stay as they are; named: whether systems
    have names besides their identifiers.
    """
    statements = ["CREATE SCHEMA IF NOT EXISTS staging"]
    for layout, section in registry.tables():
        needed = {section.table, layout.header.table}
        name = staging.view_name(section)
        if name not in views and needed <= set(tables):
            statements.append(f"CREATE VIEW staging.{name} AS {staging.view_sql(layout, section, named=named)}")
    return statements


def create_statements(registry: Registry) -> list[str]:
    """The statements that create all that staging views read: the schema `raw` with every raw table, and overlaps."""
    tables = [create_table(section) for _, section in registry.tables()]
    return ["CREATE SCHEMA IF NOT EXISTS raw", *tables, "CREATE SCHEMA IF NOT EXISTS meta", CREATE_OVERLAP]
