"""Names of systems whose SMF identifier others have too: in another sysplex, or on another machine at the same time.

`meta.system_source` has what the RMF records of each file say of who wrote them. `meta.system_name` has a row for what
of it stands for a system whose identifier is shared; where all identifiers are of one system each, none. A name is
`SYSPLEX.SID` where several sysplexes have the identifier. It ends with `@SERIAL` for a system that runs at the same
time as the one recorded first, but on another machine, as in a disaster-recovery test. An LPAR that
moved keeps its name: its intervals on the two machines do not meet.
"""

import hashlib

import duckdb

CREATE = (
    """CREATE TABLE IF NOT EXISTS meta.system_source (
        file_id UBIGINT NOT NULL, layout VARCHAR NOT NULL, smf_sid VARCHAR NOT NULL, sysplex_name VARCHAR NOT NULL,
        cpc_serial VARCHAR NOT NULL
    )""",
    """CREATE TABLE IF NOT EXISTS meta.system_name (
        file_id UBIGINT, smf_sid VARCHAR NOT NULL, sysplex_name VARCHAR NOT NULL, cpc_serial VARCHAR NOT NULL,
        name VARCHAR NOT NULL
    )""",
)

_SIDE_BY_SIDE_S = 60
"""Seconds for which intervals of one identifier on two machines must meet to be those of two systems."""

#: Records of intervals, by their layout, with the column that has the machine's serial number.
_SOURCES = {"smf70_1": "smf70csc", "smf72_3": ""}


def _records(layout: str) -> str:
    """A query for the RMF records of a layout: who wrote them, and the local start and seconds of their interval."""
    type_, serial = layout.partition("_")[0], _SOURCES[layout]
    control = f"LEFT JOIN raw.{layout}_control AS control USING (file_id, record_seq, section_seq)" if serial else ""
    start = f"product.{type_}ist::BIGINT"
    return f"""
        SELECT file_id, rtrim(header.{type_}sid, chr(0) || ' ') AS smf_sid,
            coalesce(rtrim(product.{type_}xnm, chr(0) || ' '), '') AS sysplex_name,
            {f"coalesce(trim(control.{serial}), '')" if serial else "''"} AS cpc_serial,
            product.{type_}dat + to_seconds({start} // 10000 * 3600 + {start} // 100 % 100 * 60 + {start} % 100)
                AS start_at,
            product.{type_}int // 100000 * 60 + product.{type_}int % 100000 / 1000 AS seconds
        FROM raw.{layout}_header AS header
        JOIN raw.{layout}_product AS product USING (file_id, record_seq, section_seq) {control}
        ANTI JOIN meta.record_overlap USING (file_id, record_seq)
    """


_SEVERAL = """
    SELECT smf_sid, sysplex_name FROM meta.system_source WHERE sysplex_name <> '' AND cpc_serial <> ''
    GROUP BY ALL HAVING count(DISTINCT cpc_serial) > 1
"""

#: Of two machines that have a system at one time, the one that had it later has a copy.
_COPIED = f"""
    WITH recorded AS (
        SELECT *, min(start_at) OVER (PARTITION BY smf_sid, sysplex_name, cpc_serial) AS since
        FROM ({_records("smf70_1")}) SEMI JOIN ({_SEVERAL}) AS several USING (smf_sid, sysplex_name)
        WHERE cpc_serial <> '' AND start_at IS NOT NULL AND seconds > 0
    )
    SELECT DISTINCT copy.smf_sid, copy.sysplex_name, copy.cpc_serial
    FROM recorded AS one JOIN recorded AS copy USING (smf_sid, sysplex_name)
    WHERE (one.since, one.cpc_serial) < (copy.since, copy.cpc_serial) AND one.cpc_serial <> copy.cpc_serial
        AND least(epoch(one.start_at) + one.seconds, epoch(copy.start_at) + copy.seconds)
            - greatest(epoch(one.start_at), epoch(copy.start_at)) > {_SIDE_BY_SIDE_S}
"""

#: Rows for what names the machine, the sysplex, or nothing, in a file; and for the sysplex, in any.
_NAMES = """
    CREATE OR REPLACE TABLE meta.system_name AS
    WITH shared AS (
        SELECT smf_sid, count(DISTINCT sysplex_name) > 1 AS is_shared FROM meta.system_source WHERE sysplex_name <> ''
        GROUP BY smf_sid
    ), system AS (
        SELECT DISTINCT smf_sid, sysplex_name, cpc_serial, copied.smf_sid IS NOT NULL AS is_copy,
            CASE WHEN is_shared THEN sysplex_name || '.' || smf_sid ELSE smf_sid END AS plain,
            CASE WHEN is_copy THEN plain || '@' || cpc_serial ELSE plain END AS name
        FROM meta.system_source JOIN shared USING (smf_sid) LEFT JOIN copied USING (smf_sid, sysplex_name, cpc_serial)
        WHERE sysplex_name <> ''
    ), of_file AS (
        SELECT file_id, system.* FROM meta.system_source JOIN system USING (smf_sid, sysplex_name, cpc_serial)
        WHERE plain <> smf_sid OR (smf_sid, sysplex_name) IN (SELECT (smf_sid, sysplex_name) FROM copied)
    ), of_sysplex AS (
        SELECT file_id, smf_sid, sysplex_name, CASE WHEN count(DISTINCT name) FILTER (WHERE cpc_serial <> '') = 1
            THEN min(name) FILTER (WHERE cpc_serial <> '') ELSE min(plain) END AS name
        FROM of_file GROUP BY file_id, smf_sid, sysplex_name
    )
    SELECT file_id, smf_sid, sysplex_name, cpc_serial, name FROM of_file WHERE cpc_serial <> ''
    UNION ALL
    SELECT file_id, smf_sid, sysplex_name, '', name FROM of_sysplex
    UNION ALL
    SELECT file_id, smf_sid, '', '', min(name) FROM of_sysplex GROUP BY file_id, smf_sid HAVING count(*) = 1
    UNION ALL
    SELECT DISTINCT NULL::UBIGINT, smf_sid, sysplex_name, '', plain FROM of_file
    ORDER BY ALL
"""


def create(con: duckdb.DuckDBPyConnection) -> None:
    """Make the tables of names unless they are there."""
    for statement in CREATE:
        con.execute(statement)


def name_systems(con: duckdb.DuckDBPyConnection) -> str:
    """Name the systems of the warehouse; what changes with the names, empty where all identifiers are of one system.

    Marts that were built with other names have to be built anew.
    """
    create(con)
    con.execute("BEGIN")
    con.execute("DELETE FROM meta.system_source WHERE file_id NOT IN (SELECT file_id FROM meta.ledger)")
    for layout in _SOURCES:
        new = con.execute(
            f"SELECT file_id FROM meta.ledger WHERE row_counts['{layout}_header'] > 0 "
            "AND file_id NOT IN (SELECT file_id FROM meta.system_source WHERE layout = $layout)",
            {"layout": layout},
        ).fetchall()
        if new:
            con.execute(
                f"INSERT INTO meta.system_source SELECT DISTINCT file_id, $layout, smf_sid, sysplex_name, cpc_serial "
                f"FROM ({_records(layout)}) WHERE list_contains($files, file_id) ORDER BY ALL",
                {"layout": layout, "files": [file_id for (file_id,) in new]},
            )
    con.execute("CREATE OR REPLACE TEMP TABLE copied (smf_sid VARCHAR, sysplex_name VARCHAR, cpc_serial VARCHAR)")
    if con.execute(f"{_SEVERAL} LIMIT 1").fetchall():
        con.execute(f"INSERT INTO copied {_COPIED}")
    con.execute(_NAMES)
    rows = con.execute(
        "SELECT DISTINCT smf_sid, sysplex_name, cpc_serial, name FROM meta.system_name ORDER BY ALL"
    ).fetchall()
    con.execute("COMMIT")
    return hashlib.sha256(repr(rows).encode()).hexdigest()[:16] if rows else ""


def are_shared(con: duckdb.DuckDBPyConnection) -> bool:
    """Whether a system has a name besides its identifier, so that staging views have to look it up."""
    try:
        return bool(con.execute("SELECT 1 FROM meta.system_name LIMIT 1").fetchall())
    except duckdb.CatalogException:
        return False
