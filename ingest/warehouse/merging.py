"""Many small parts of a table made into few.

Nights add parts of a few megabytes, and each costs every query of its table. Parts of about a month become one, in one
transaction with `meta.part`: a merge that was killed leaves all as it was, and a file that nothing names, which the
next publication deletes. It also deletes the parts that were merged, when no snapshot that somebody reads names them.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress

import duckdb
import pyarrow.parquet as pq

from ingest.units.parts import merge
from ingest.warehouse import parts
from ingest.warehouse.writer import transaction
from state.files import sync

SMALL_BYTES = 32 << 20
MOST_SMALL = 100
_MERGED_BYTES = 256 << 20


def merge_small(con: duckdb.DuckDBPyConnection, most: int) -> int:
    """Merge the small parts of tables that have more than `most` of them; how many parts there are fewer.

    A part of which less than half of the rows count is written again without the others.
    """
    tables = con.execute(
        "SELECT table_name FROM (SELECT table_name, path, sum(bytes) AS bytes FROM meta.part GROUP BY ALL) "
        "WHERE bytes < ? GROUP BY ALL HAVING count(*) > ? ORDER BY ALL",
        [SMALL_BYTES, most],
    ).fetchall()
    groups = [(table, paths) for (table,) in tables for paths in _groups(con, table)]
    for table, paths in groups:
        _merge(con, table, paths)
    for table, path in _sparse(con):
        _merge(con, table, [path])
    return sum(len(paths) - 1 for _, paths in groups)


def _merge(con: duckdb.DuckDBPyConnection, table: str, paths: Sequence[str]) -> None:
    """Put one part in the place of some; all is as before where that fails."""
    root = parts.folder(con)
    files = {path: ids and [*map(parts.signed_id, ids)] for path, _, ids in parts.counted(con, table)}
    target = merge([root / path for path in paths], [files[path] for path in paths], root / table)
    name = str(target.relative_to(root))
    try:
        sync(target)
        sync(target.parent)
        with transaction(con):
            # Each file has its share of the bytes.
            con.execute(
                "CREATE OR REPLACE TEMP TABLE merged AS SELECT table_name, $path AS path, sum(rows) AS rows, "
                "($bytes * sum(rows) / sum(sum(rows)) OVER ())::UBIGINT AS bytes, file_id, min(written_from), "
                "max(written_to), any_value(columns) FROM meta.part WHERE list_contains($paths, path) "
                "GROUP BY table_name, file_id",
                {"paths": list(paths), "path": name, "bytes": target.stat().st_size},
            )
            for replaced in ("part", "part_hole"):
                con.execute(f"DELETE FROM meta.{replaced} WHERE list_contains($paths, path)", {"paths": list(paths)})
            con.execute("INSERT INTO meta.part FROM merged")
            con.execute("DROP TABLE merged")
            parts.make_views(con, [table])
    except BaseException:
        # A commit may have taken place before what was raised.
        with suppress(duckdb.Error):
            if name not in parts.named(con):
                target.unlink(missing_ok=True)
        raise


def _sparse(con: duckdb.DuckDBPyConnection) -> list[tuple[str, str]]:
    """Tables and paths of parts of which less than half of the rows count."""
    root = parts.folder(con)
    rows = con.execute(
        "SELECT table_name, path, sum(rows) FROM meta.part SEMI JOIN meta.part_hole USING (path) "
        "GROUP BY ALL ORDER BY ALL"
    ).fetchall()
    return [(table, path) for table, path, count in rows if 2 * count < pq.read_metadata(root / path).num_rows]


def _groups(con: duckdb.DuckDBPyConnection, table: str) -> Iterator[Sequence[str]]:
    """Small parts of a table that become one: of the same columns and month, in the order of their times."""
    rows = con.execute(
        "SELECT path, any_value(columns), min(written_from), sum(bytes) AS bytes FROM meta.part "
        "WHERE table_name = ? GROUP BY path HAVING sum(bytes) < ? ORDER BY 2, 3, 1",
        [table, SMALL_BYTES],
    ).fetchall()
    group: list[str] = []
    size, key = 0, None
    for path, columns, written_from, bytes_ in rows:
        if (columns, _month(written_from)) != key or size + bytes_ > _MERGED_BYTES:
            if len(group) > 1:
                yield group
            group, size, key = [], 0, (columns, _month(written_from))
        group.append(path)
        size += bytes_
    if len(group) > 1:
        yield group


def _month(written: int | None) -> str | None:
    """The year and about the month of a time of writing, whose first half is the date of SMF, 0cyydddF."""
    if written is None:
        return None
    date = f"{written >> 32:08x}"
    return f"{date[:4]} {(int(date[4:7]) - 1) // 31}" if date[:7].isdigit() else date
