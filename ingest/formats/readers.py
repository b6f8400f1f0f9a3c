"""The reader of each kind of file: a stream in, batches out whose accounts add up to it."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from ingest.batch import Batch, Quarantined, Unreadable
from ingest.codec.handlers import Handler
from ingest.containers.opening import PACKED_ENDINGS
from ingest.formats.identify import EXPECTED, Identity, Kind
from ingest.registry import Registry

if TYPE_CHECKING:
    import pyarrow as pa

    from ingest.formats.smf.decode import Stretch

Reader = Callable[[BinaryIO], Iterable[Batch]]
"""Reads a stream from its start, in batches. Raises Unreadable, after the batches before it, where it cannot go on."""

#: A piece of a file longer than this is kept in the quarantine only up to here; the rest stays in the file alone.
KEPT_BYTES = 16 << 20

_HEADER_DAMAGED = (
    "named like an AMATERSE or TRANSMIT file, but it does not begin with such a header. It was transferred as "
    "text or is damaged; transfer it again in binary"
)

_REPORTS = (Kind.RMF_XML, Kind.RMF_JSON)


def read(
    path: Path,
    identity: Identity,
    registry: Registry,
    handlers: Mapping[str, Handler] | None = None,
    threads: int = 1,
    *,
    stretch: "Stretch | None" = None,
    identify: bool = False,
) -> Iterator[Batch]:
    """Batches of a file of the given kind; `handlers` keep data of earlier files, such as dictionaries.

    threads: how many may make the tables of SMF records at once; stretch: what to read of an SMF dump, all of it unless
    given; identify: whether batches of dumps and of logs of IMS have the identities of records. What cannot be read is
    quarantined with its bytes.
    """
    reader, records = _reader(identity, registry, handlers, path, threads, stretch, identify), 0
    with path.open("rb") as stream:
        try:
            for batch in reader(stream):
                batch.quarantined = [piece if piece.raw else _with_bytes(path, piece) for piece in batch.quarantined]
                records += batch.records
                yield batch
        except Unreadable as error:
            record = records if identity.kind in _REPORTS else None
            length = path.stat().st_size - error.offset
            rest = Quarantined(error.offset, length, error.reason, error.detail, record_seq=record)
            yield Batch(quarantined=[_with_bytes(path, rest)])


def _reader(
    identity: Identity,
    registry: Registry,
    handlers: Mapping[str, Handler] | None,
    path: Path,
    threads: int,
    stretch: "Stretch | None",
    identify: bool,
) -> Reader:
    readers: dict[Kind, Reader] = {
        Kind.SMF: lambda _: _smf(path, registry, handlers, threads, stretch, identify),
        Kind.RMF_XML: _named("rmf.reader", "read_reports"),
        Kind.RMF_JSON: _named("rmf.json_form", "read_json_reports"),
        Kind.RMF_TEXT: _named("rmf.printed", "read_text_reports"),
        Kind.IMS_LOG: lambda _: _ims_log(path, registry, identify),
        Kind.DCOLLECT: lambda _: _dcollect(path, registry),
        Kind.CICS_STATISTICS: _named("cics.listing", "read_statistics"),
        Kind.TABLE: _table,
        Kind.RUNS: lambda stream: _small(stream, "etalon_run", _named("tables.collector", "read_runs")),
        Kind.GROUPS: lambda stream: _small(stream, "etalon_group", _named("tables.collector", "read_groups")),
        Kind.DICTIONARY: _dictionary,
        # What the lab says about its dumps is for people and tests; it holds no records.
        Kind.LAB_MANIFEST: lambda _: [Batch(skipped={"lab_manifest": (1, path.stat().st_size)})],
        Kind.UNRECOGNISED: lambda _: _unrecognised(identity),
    }
    return readers[identity.kind]


def _named(module: str, function: str) -> Callable[[Any], Any]:
    """A function of a format, imported when it is called: what one format needs would slow down the others."""
    return lambda stream: getattr(import_module(f"ingest.formats.{module}"), function)(stream)


def _with_bytes(path: Path, piece: Quarantined) -> Quarantined:
    """A piece of a file with the bytes that stand there, or the first of them."""
    with path.open("rb") as stream:
        stream.seek(piece.offset)
        raw = stream.read(min(piece.length, KEPT_BYTES))
    detail = piece.detail
    if piece.length > len(raw):
        detail += f" (the first {len(raw):,} of {piece.length:,} bytes are kept here)"
    return replace(piece, raw=raw, detail=detail)


def _table(stream: BinaryIO) -> Iterator[Batch]:
    from ingest.formats.tables.tabular import read_table

    try:
        yield from read_table(stream)
    except Unreadable as error:
        raise Unreadable(error.reason, f"{error.detail}; {EXPECTED}", error.offset) from None


def _dictionary(stream: BinaryIO) -> Iterator[Batch]:
    from ingest.formats.cics.catalogue import DICTIONARY_TABLE
    from ingest.formats.cics.dictionary import dictionary_rows

    return _small(stream, DICTIONARY_TABLE, lambda data: dictionary_rows(data.decode()))


def _small(stream: BinaryIO, name: str, parse: Callable[[bytes], "pa.Table"]) -> Iterator[Batch]:
    """A small file that is read whole or not at all."""
    data = stream.read()
    try:
        rows = parse(data)
    except ValueError as error:
        raise Unreadable("csv_malformed", f"{error}; correct the file and ingest it again") from None
    yield Batch({name: rows}, rows.num_rows, len(data))


def _unrecognised(identity: Identity) -> Iterator[Batch]:
    raise Unreadable(identity.reason, f"{identity.detail}; {EXPECTED}")


def _smf(
    path: Path,
    registry: Registry,
    handlers: Mapping[str, Handler] | None,
    threads: int,
    stretch: "Stretch | None",
    identify: bool,
) -> Iterator[Batch]:
    from ingest.formats.smf.decode import decode_batches

    batches = decode_batches(
        path, registry, name=str(path), handlers=handlers, threads=threads, stretch=stretch, identify=identify
    )
    return _records(path, batches)


def _ims_log(path: Path, registry: Registry, identify: bool) -> Iterator[Batch]:
    from ingest.formats.ims.decode import decode_log

    return _records(path, decode_log(path, registry, name=str(path), identify=identify))


def _dcollect(path: Path, registry: Registry) -> Iterator[Batch]:
    from ingest.formats.dcollect.decode import decode_dcollect

    return _records(path, decode_dcollect(path, registry, name=str(path)))


def _records(path: Path, batches: Iterator[Batch]) -> Iterator[Batch]:
    """Batches of a file of records; a file without records is unreadable."""
    from ingest.framing import ChainBroken, FramingError

    started = False
    try:
        for batch in batches:
            started = True
            yield batch
    except FramingError as error:
        if started or isinstance(error, ChainBroken):
            raise
        packed = path.suffix.lower() in PACKED_ENDINGS
        detail = _HEADER_DAMAGED if packed else str(error).removeprefix(f"{path}: ")
        raise Unreadable("no_framing", detail) from None
