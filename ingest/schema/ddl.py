"""DuckDB statements that create the raw tables."""

from ingest.registry import Registry, Section


def column_definitions(section: Section) -> list[tuple[str, str]]:
    """Name and DuckDB type of every column of a raw table, keys first."""
    columns = [
        ("file_id", "UBIGINT NOT NULL"),
        ("record_seq", "UINTEGER NOT NULL"),
        ("section_seq", "UINTEGER NOT NULL"),
    ]
    if section.parent:
        columns.append(("parent_seq", "UINTEGER NOT NULL"))
    for item in section.fields:
        columns.append((item.column, item.duckdb))
        if item.raw:
            columns.append((item.raw[0], item.raw[2]))
    return columns


def create_table(section: Section) -> str:
    """The statement that creates one raw table unless it is there."""
    body = ", ".join(f"{name} {kind}" for name, kind in column_definitions(section))
    return f"CREATE TABLE IF NOT EXISTS raw.{section.table} ({body})"


def create_statements(registry: Registry) -> list[str]:
    """The statements that create the schema `raw` and every raw table."""
    return ["CREATE SCHEMA IF NOT EXISTS raw", *(create_table(section) for _, section in registry.tables())]
