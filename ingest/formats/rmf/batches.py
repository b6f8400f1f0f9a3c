"""Batches of RMF reports: their tables joined, and what a reply says in place of a report."""

from collections.abc import Iterable

import pyarrow as pa

from ingest.batch import Batch


def batch_of(tables: dict[str, pa.Table], reports: int, size: int, messages_only: int = 0) -> Batch:
    """A batch of complete reports: their rows, number and bytes, and how many of them hold only a message."""
    return Batch(tables, reports, size, messages_only=messages_only, message=_message(tables))


def joined(groups: Iterable[dict[str, pa.Table]]) -> dict[str, pa.Table]:
    """Rows of several groups of tables, in order."""
    parts: dict[str, list[pa.Table]] = {}
    for group in groups:
        for name, rows in group.items():
            parts.setdefault(name, []).append(rows)
    return {name: pa.concat_tables(tables) for name, tables in parts.items()}


def _message(tables: dict[str, pa.Table]) -> str | None:
    """The first message that stands in place of a report."""
    if "rmf_report" in tables:
        for row in tables["rmf_report"].select(["message_id", "message_text"]).to_pylist():
            if row["message_text"]:
                return f"the reply says {row['message_id'] or ''} {row['message_text']}"
    return None
