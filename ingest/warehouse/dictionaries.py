"""CICS dictionaries kept between loads, and records that waited for one.

A region writes its dictionary when monitoring starts: a dump of a later day may hold none. Dictionaries of all files
are available to every later load, and records quarantined for want of one are decoded from their bytes once it arrives.
"""

from collections.abc import Sequence

import duckdb
import numpy as np

from ingest.arrays import numbers_of, of_columns, of_numbers
from ingest.batch import of_file
from ingest.codec.handlers import Handler
from ingest.formats.cics import catalogue
from ingest.formats.cics.dictionary import DictionaryMemory, Entry, Key, start_digits
from ingest.formats.cics.performance import MonitoringDecoder
from ingest.formats.smf import decode_batches
from ingest.identity import read_identities
from ingest.registry import Registry
from ingest.warehouse import overlaps
from ingest.warehouse.ledger import WAITING
from ingest.warehouse.tables import Tables
from ingest.warehouse.writer import transaction

HANDLER = "cics_monitoring"
_AT_ONCE = 2000


def handlers(con: duckdb.DuckDBPyConnection) -> dict[str, Handler]:
    """Handlers that know every dictionary the warehouse holds."""
    return {HANDLER: MonitoringDecoder(remembered(con))}


def remembered(con: duckdb.DuckDBPyConnection) -> DictionaryMemory:
    """Every dictionary the warehouse holds, in the order in which the files were loaded."""
    memory = DictionaryMemory()
    rows = con.execute(
        "SELECT smf_sid, applid, release, smfmnrsd, smfmnrst, "
        "cmodname, cmodtype, cmodidnt, cmodleng, cmodconn, cmodofst, cmodhead "
        f"FROM raw.{catalogue.DICTIONARY_TABLE} AS listed JOIN meta.ledger USING (file_id) "
        "LEFT JOIN (SELECT file_id, record_seq, smfmnrsd, smfmnrst FROM raw.smf110_1_product WHERE smfmncl = 1) "
        "AS product USING (file_id, record_seq) "
        "ORDER BY loaded_at, file_id, record_seq, listed.section_seq"
    ).fetchall()
    entries_by_start: dict[tuple[Key, str], list[Entry]] = {}
    for sid, applid, release, day, hundredths, *entry in rows:
        region_start = Key(sid, applid, release), start_digits(day, hundredths)
        entries_by_start.setdefault(region_start, []).append(Entry(*entry))
    for (key, start), entries in entries_by_start.items():
        memory.remember(key, entries, start)
    return memory


def decode_waiting(con: duckdb.DuckDBPyConnection, registry: Registry, tables: Tables, files: Sequence[int]) -> int:
    """Decode records of files that wait for a dictionary which is now available; how many left the quarantine.

    Each file's records change in one transaction with its row in the ledger, whose sums go on adding up.
    """
    memory = remembered(con)
    freed = 0
    for file_id in files:
        last = -1
        while True:
            rows = con.execute(
                "SELECT record_seq, raw FROM meta.quarantine WHERE file_id = ? AND reason = ? AND record_seq > ? "
                "AND length = octet_length(raw) ORDER BY record_seq LIMIT ?",
                [file_id, WAITING, last, _AT_ONCE],
            ).fetchall()
            if not rows:
                break
            last = rows[-1][0]
            try:
                with transaction(con):
                    freed += _decode_some(con, registry, tables, memory, file_id, rows)
            except BaseException:
                tables.forget()
                raise
    return freed


def _decode_some(
    con: duckdb.DuckDBPyConnection,
    registry: Registry,
    tables: Tables,
    memory: DictionaryMemory,
    file_id: int,
    rows: list[tuple[int, bytes]],
) -> int:
    sequence = np.array([record_seq for record_seq, _ in rows], np.uint32)
    waiting: set[int] = set()
    counts: dict[str, int] = {}
    dump = b"".join(raw for _, raw in rows)
    buffer = tables.row_buffer()
    for batch in decode_batches(dump, registry, handlers={HANDLER: MonitoringDecoder(memory)}):
        waiting.update(piece.record_seq for piece in batch.quarantined if piece.record_seq is not None)
        for name, table in batch.tables.items():
            numbers = of_numbers(sequence[numbers_of(table.column("record_seq"))])
            buffer.add(name, of_file(file_id, table.set_column(0, "record_seq", numbers)))
            counts[name] = counts.get(name, 0) + table.num_rows
    buffer.write()
    done = [place for place in range(len(rows)) if place not in waiting]
    if not done:
        return 0
    size = sum(len(rows[place][1]) for place in done)
    for identities in read_identities(dump):
        places = [place - identities.first for place in done if 0 <= place - identities.first < len(identities.digest)]
        columns: dict[str, np.ndarray] = {
            "record_seq": sequence[identities.first :][places],
            "written_raw": identities.written[places],
            "digest": identities.digest[places],
        }
        overlaps.record(con, file_id, of_columns(columns))
    overlaps.leave_unsettled(con, file_id)
    con.execute(
        "DELETE FROM meta.quarantine WHERE file_id = ? AND reason = ? AND list_contains(?, record_seq)",
        [file_id, WAITING, [int(sequence[place]) for place in done]],
    )
    _settle(con, file_id, len(done), size, counts)
    return len(done)


def _settle(con: duckdb.DuckDBPyConnection, file_id: int, records: int, size: int, counts: dict[str, int]) -> None:
    row = con.execute("SELECT reason_codes, row_counts FROM meta.ledger WHERE file_id = ?", [file_id]).fetchone()
    if row is None:
        return
    reasons, row_counts = row
    reasons[WAITING] -= records
    if not reasons[WAITING]:
        del reasons[WAITING]
    for name, count in counts.items():
        row_counts[name] = row_counts.get(name, 0) + count
    con.execute(
        "UPDATE meta.ledger SET decoded = decoded + ?, quarantined = quarantined - ?, "
        "decoded_bytes = decoded_bytes + ?, quarantined_bytes = quarantined_bytes - ?, reason_codes = ?, "
        "row_counts = ?, status = 'loaded', message = CASE WHEN quarantined = ? THEN NULL ELSE message END "
        "WHERE file_id = ?",
        [records, records, size, size, reasons, dict(sorted(row_counts.items())), records, file_id],
    )
