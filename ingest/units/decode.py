"""Rows of a unit: large tables as Parquet files, the rest as it is, and an account of every byte."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from ingest.arrays import numbers_of
from ingest.batch import Batch, of_file, quarantine_rows
from ingest.codec.handlers import Handler
from ingest.files.accounts import Accounts
from ingest.formats.identify import Kind
from ingest.formats.smf.decode import Stretch
from ingest.formats.smf.split import Placed
from ingest.units.parts import IDENTITIES, QUARANTINE, Part, Writer
from ingest.units.unit import Piece, Unit


@dataclass
class Decoded:
    """The decoded rows of a unit.

    parts: the files written; rows: by file and table, rows too few for one; accounts, incomplete: by file, the account
    of its bytes, and the number of missing pieces by record.
    """

    parts: list[Part] = field(default_factory=list)
    rows: dict[tuple[int, str], list[pa.Table]] = field(default_factory=dict)
    accounts: dict[int, Accounts] = field(default_factory=dict)
    incomplete: dict[int, dict[int, int]] = field(default_factory=dict)


def decode(unit: Unit, folder: str | Path, least_bytes: int = 0) -> Decoded:
    """Decode a settled unit; Parquet files go to `folder`/TABLE.

    least_bytes: rows of a table that take fewer in memory come back as they are. Tables have the columns of raw tables
    with `file_id` first; `record_identity` and `quarantine` come with them. Raises ChainBroken where the file is not
    the one that was scanned, and OSError; then the files written are removed.
    """
    decoded = Decoded()
    for piece in unit.pieces:
        _decode_piece(piece, unit, Path(folder), least_bytes, decoded)
    return decoded


def _decode_piece(piece: Piece, unit: Unit, folder: Path, least_bytes: int, decoded: Decoded) -> None:
    file_id = piece.file.file_id
    accounts, missing = Accounts(), dict[int, int]()
    times: list[int] = []
    writer = Writer(folder, least_bytes)
    try:
        for batch in _batches(piece, unit):
            for table, rows in batch.tables.items():
                writer.add(table, of_file(file_id, rows))
            if batch.identities is not None:
                writer.add(IDENTITIES, of_file(file_id, batch.identities))
                times += _limits(batch.identities)
            if batch.quarantined:
                writer.add(QUARANTINE, of_file(file_id, quarantine_rows(batch.quarantined)))
            missing |= batch.incomplete
            accounts.add(batch)
        files, rows = writer.finish()
    except BaseException:
        writer.discard()
        raise
    decoded.parts += [
        Part(table, str(path), count, path.stat().st_size, file_id, min(times, default=None), max(times, default=None))
        for table, path, count in files
    ]
    for table, small_tables in rows.items():
        decoded.rows[file_id, table] = small_tables
    decoded.accounts[file_id] = accounts
    if missing:
        decoded.incomplete[file_id] = missing


def _batches(piece: Piece, unit: Unit) -> Iterator[Batch]:
    from ingest.formats.readers import read

    handlers: dict[str, Handler] | None = None
    stretch = None
    if piece.file.identity.kind == Kind.SMF:
        from ingest.formats.cics.performance import MonitoringDecoder

        handlers = {"cics_monitoring": MonitoringDecoder(piece.dictionaries)}
        split = piece.split
        placing = Placed(split.placements, split.records, split.missing) if split else None
        stretch = Stretch(piece.begin, piece.end, piece.first_seq, placing)
    return read(Path(piece.file.path), piece.file.identity, unit.registry, handlers, stretch=stretch, identify=True)


def _limits(identities: pa.Table) -> list[int]:
    """The first and last time of writing; 0 is that of records without one."""
    written = numbers_of(identities["written_raw"])
    return [int(written.min()), int(written.max())] if len(written) else []
