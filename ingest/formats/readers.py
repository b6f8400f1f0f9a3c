"""One reader per kind of file; each yields batches whose accounts add up to the file."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import pyarrow as pa

from ingest.codec.handlers import Handler
from ingest.containers.opening import PACKED_ENDINGS
from ingest.formats.cics.catalogue import DICTIONARY_TABLE
from ingest.formats.cics.dictionary import dictionary_rows
from ingest.formats.cics.listing import read_statistics
from ingest.formats.identify import EXPECTED, Identity, Kind
from ingest.formats.rmf import BadReport, RmfBatch, read_json_reports, read_reports
from ingest.formats.rmf.printed import read_text_reports
from ingest.formats.tables import collector
from ingest.formats.tables.tabular import UnknownTable, read_table
from ingest.registry import Registry
from ingest.warehouse.accounts import Batch, Quarantined

if TYPE_CHECKING:
    from ingest.formats import smf

#: A piece of a file longer than this is kept in the quarantine only up to here; the rest stays in the file alone.
KEPT_BYTES = 16 << 20

_HEADER_DAMAGED = (
    "named like an AMATERSE or TRANSMIT file, but its first bytes are the header of neither: it was transferred as "
    "text or is damaged; transfer it again in binary"
)


def read(
    path: Path, identity: Identity, registry: Registry, handlers: Mapping[str, Handler] | None = None
) -> Iterator[Batch]:
    """Batches of a file of the given kind; `handlers` know what earlier files have said, such as dictionaries."""
    readers: dict[Kind, Callable[[Path], Iterator[Batch]]] = {
        Kind.SMF: lambda file: _smf(file, registry, handlers),
        Kind.RMF_XML: lambda file: _rmf(file, read_reports),
        Kind.RMF_JSON: lambda file: _rmf(file, read_json_reports),
        Kind.RMF_TEXT: _rmf_text,
        Kind.IMS_LOG: lambda file: _ims_log(file, registry),
        Kind.DCOLLECT: lambda file: _dcollect(file, registry),
        Kind.CICS_STATISTICS: _cics_statistics,
        Kind.TABLE: _table,
        Kind.RUNS: _runs,
        Kind.GROUPS: _groups,
        Kind.DICTIONARY: _dictionary,
        Kind.LAB_MANIFEST: _lab_manifest,
        Kind.UNRECOGNISED: lambda file: _unrecognised(file, identity),
    }
    return readers[identity.kind](path)


def tail(path: Path, offset: int, reason: str, detail: str, record_seq: int | None = None) -> Quarantined:
    """The rest of a file from `offset` on, as one piece for the quarantine."""
    with path.open("rb") as stream:
        stream.seek(offset)
        raw = stream.read(KEPT_BYTES)
        length = stream.seek(0, 2) - offset
    if length > len(raw):
        detail += f" (the first {len(raw):,} of {length:,} bytes are kept here)"
    return Quarantined(record_seq, offset, length, reason, detail, raw)


def _rmf(path: Path, read_batches: Callable[[BinaryIO], Iterator[RmfBatch]]) -> Iterator[Batch]:
    done = reports = 0
    with path.open("rb") as stream:
        try:
            for batch in read_batches(stream):
                size = batch.end_offset - done
                yield Batch(
                    batch.tables, batch.reports, size, messages_only=batch.messages_only, message=_said(batch.tables)
                )
                done, reports = batch.end_offset, reports + batch.reports
        except BadReport as error:
            yield Batch(quarantined=[tail(path, error.offset, error.reason, error.detail, reports)])


def _rmf_text(path: Path) -> Iterator[Batch]:
    with path.open("rb") as stream:
        for batch in read_text_reports(stream):
            outside = [_piece(path, item.offset, item.length, item.reason, item.detail) for item in batch.outside]
            yield Batch(
                [batch.tables],
                batch.reports,
                batch.decoded_bytes,
                quarantined=outside,
                framing_bytes=batch.framing_bytes,
                notes=batch.notes,
            )


def _cics_statistics(path: Path) -> Iterator[Batch]:
    with path.open("rb") as stream:
        for batch in read_statistics(stream):
            yield Batch([batch.tables], batch.pages, batch.decoded_bytes, framing_bytes=batch.framing_bytes)


def _table(path: Path) -> Iterator[Batch]:
    with path.open("rb") as stream:
        try:
            for batch in read_table(stream):
                bad = [_piece(path, *place) for place in batch.bad]
                yield Batch(
                    [batch.tables],
                    batch.rows,
                    batch.decoded_bytes,
                    quarantined=bad,
                    framing_bytes=batch.framing_bytes,
                    message=batch.message,
                    notes=batch.notes,
                )
        except UnknownTable as error:
            yield Batch(quarantined=[tail(path, error.offset, "table_unknown", f"{error}; {EXPECTED}")])


def _piece(path: Path, offset: int, length: int, reason: str, detail: str) -> Quarantined:
    """A stretch of a file for the quarantine."""
    with path.open("rb") as stream:
        stream.seek(offset)
        raw = stream.read(min(length, KEPT_BYTES))
    return Quarantined(None, offset, length, reason, detail, raw)


def _said(tables: Sequence[Mapping[str, pa.Table]]) -> str | None:
    """The first message that stands in place of a report."""
    for group in tables:
        if "rmf_report" in group:
            for row in group["rmf_report"].select(["message_id", "message_text"]).to_pylist():
                if row["message_text"]:
                    return f"the reply says {row['message_id'] or ''} {row['message_text']}"
    return None


def _runs(path: Path) -> Iterator[Batch]:
    return _collected(path, "etalon_run", collector.read_runs)


def _groups(path: Path) -> Iterator[Batch]:
    return _collected(path, "etalon_group", collector.read_groups)


def _dictionary(path: Path) -> Iterator[Batch]:
    data = path.read_bytes()
    try:
        rows = dictionary_rows(data.decode("utf-8"))
    except (ValueError, UnicodeDecodeError) as error:
        yield Batch(quarantined=[tail(path, 0, "csv_malformed", f"{error}; correct the file and ingest it again")])
    else:
        yield Batch([{DICTIONARY_TABLE: rows}], rows.num_rows, len(data))


def _collected(path: Path, name: str, parse: Callable) -> Iterator[Batch]:
    data = path.read_bytes()
    try:
        rows = parse(data)
    except collector.CollectorError as error:
        yield Batch(quarantined=[tail(path, 0, "csv_malformed", f"{error}; correct the file and ingest it again")])
    else:
        yield Batch([{name: rows}], rows.num_rows, len(data))


def _lab_manifest(path: Path) -> Iterator[Batch]:
    # What the lab says about its dumps is for people and tests; it holds no records.
    yield Batch(skipped={"lab_manifest": (1, path.stat().st_size)})


def _unrecognised(path: Path, identity: Identity) -> Iterator[Batch]:
    detail = f"{identity.detail}; {EXPECTED}"
    yield Batch(quarantined=[tail(path, 0, identity.reason, detail)])


def _smf(path: Path, registry: Registry, handlers: Mapping[str, Handler] | None) -> Iterator[Batch]:
    # Compiled kernels take a second to import; reports and CSV files do without them.
    from ingest.formats.smf import decode_batches
    from ingest.formats.smf.handlers import of

    every = {**of(registry), **(handlers or {})}
    return _records(path, decode_batches(path, registry, name=str(path), handlers=every))


def _ims_log(path: Path, registry: Registry) -> Iterator[Batch]:
    from ingest.formats.ims.decode import decode_log

    return _records(path, decode_log(path, registry, name=str(path)))


def _dcollect(path: Path, registry: Registry) -> Iterator[Batch]:
    from ingest.formats.dcollect.decode import decode_dcollect

    return _records(path, decode_dcollect(path, registry, name=str(path)))


def _records(path: Path, batches: "Iterator[smf.Batch]") -> Iterator[Batch]:
    """Batches of the codec as batches of the warehouse; a file without records goes into the quarantine."""
    from ingest.framing import FramingError

    started = False
    try:
        for batch in batches:
            started = True
            sums = batch.accounting
            yield Batch(
                [batch.tables],
                sums.decoded,
                sums.decoded_bytes,
                batch.skipped,
                [
                    Quarantined(piece.record_seq, piece.offset, piece.length, piece.reason, piece.detail, piece.raw)
                    for piece in batch.quarantined
                ],
                sums.framing_bytes,
                notes=sums.notes,
                incomplete=batch.incomplete,
            )
    except FramingError as error:
        if started:
            raise
        packed = path.suffix.lower() in PACKED_ENDINGS
        detail = _HEADER_DAMAGED if packed else str(error).removeprefix(f"{path}: ")
        yield Batch(quarantined=[tail(path, 0, "no_framing", detail)])
