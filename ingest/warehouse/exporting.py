"""Tables of the published snapshot as files, for tools that do not read DuckDB."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from ingest.snapshot import connected

FORMS = {"parquet": "FORMAT parquet, COMPRESSION zstd", "csv": "FORMAT csv, HEADER"}


def export_schema(
    snapshot: str | Path, schema: str, folder: str | Path, form: str, text: Callable[[str], str] = str
) -> Iterator[tuple[Path, int]]:
    """Write every table of a schema to `folder`, one file each, in a form of `FORMS`; yields each file and its rows.

    `text` makes the SQL expression that is written of a column of texts. Files of that name are replaced.
    SnapshotMissing where nothing has been published.
    """
    target = Path(folder)
    with connected(snapshot) as con:
        target.mkdir(parents=True, exist_ok=True)
        tables = con.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = ? ORDER BY table_name", [schema]
        ).fetchall()
        for (name,) in tables:
            file = target / f"{name}.{form}"
            quoted = str(file).replace("'", "''")
            columns = con.execute(
                """SELECT format('"{}"', replace(column_name, '"', '""')), data_type = 'VARCHAR'
                FROM information_schema.columns WHERE table_schema = ? AND table_name = ? ORDER BY ordinal_position""",
                [schema, name],
            ).fetchall()
            written = ", ".join(f"{text(one)} AS {one}" if is_text else one for one, is_text in columns)
            row = con.execute(f"COPY (SELECT {written} FROM {schema}.{name}) TO '{quoted}' ({FORMS[form]})").fetchone()
            yield file, row[0] if row else 0
