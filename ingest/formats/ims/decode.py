"""An IMS log to Arrow tables.

Records are delimited by their descriptors, named by code and subcode, and dated by their suffix; those with a layout
are read field by field by the codec, and events are rows without one. What is neither is counted as skipped, though its
prefix and suffix are kept.
"""

import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ingest.batch import Batch, Quarantined
from ingest.codec.whole_records import read_records
from ingest.field_types import UNITS
from ingest.formats.ims.codes import log_code
from ingest.formats.ims.identify import EARLIEST, LATEST, SHORTEST, SUFFIX_BYTES
from ingest.formats.ims.tables import EVENT_SCHEMA, FROM_LAYOUT, RECORD_SCHEMA
from ingest.framing import IMS_CLOCK, ByteStream, Frames, read_frames
from ingest.identity import of_rows
from ingest.layout import Layout
from ingest.registry import Registry

Ints = npt.NDArray[np.int64]

_UNIX_EPOCH_US = 2_208_988_800_000_000
_NO_TIME = np.datetime64("NaT", "us")


def decode_log(
    source: Path | str | bytes | ByteStream,
    registry: Registry,
    *,
    name: str | None = None,
    identify: bool = False,
) -> Iterator[Batch]:
    """Decode an IMS log, batch by batch; `skipped` maps `ims.<code>` to records and bytes without layout or event.

    identify: whether batches have the identities of records. Tables are `ims_log_record`, `ims_log_event` and those of
    the registry's layouts of log records. Raises FramingError when no record can be delimited, RegistryError when
    layouts contradict each other.
    """
    layouts = registry.logged("ims")
    if isinstance(source, (str, Path)):
        with Path(source).open("rb", buffering=0) as file:
            yield from _decode(file, layouts, name or str(source), identify)
    else:
        stream = io.BytesIO(source) if isinstance(source, bytes) else source
        yield from _decode(stream, layouts, name or "input", identify)


def _decode(
    stream: ByteStream, layouts: dict[tuple[int, int | None], Layout], name: str, identify: bool
) -> Iterator[Batch]:
    first, last_seq = 0, -1
    for frames in read_frames(stream, name, dating=IMS_CLOCK):
        sequence = np.arange(first, first + len(frames.starts))
        batch, last_seq = _stretch(frames, sequence, layouts, last_seq)
        if identify:
            batch.identities = of_rows(frames, first, [batch.tables["ims_log_record"]], IMS_CLOCK)
        first += len(frames.starts)
        yield batch


def _stretch(
    frames: Frames, sequence: Ints, layouts: dict[tuple[int, int | None], Layout], last_seq: int
) -> tuple[Batch, int]:
    batch = Batch(quarantined=list(frames.quarantined), framing_bytes=frames.framing_bytes)
    data, starts, lengths = frames.buffer, frames.starts, frames.lengths
    short = lengths < SHORTEST
    for place in np.flatnonzero(short).tolist():
        start, length = int(starts[place]), int(lengths[place])
        text = f"a record of {length} bytes; prefix and code alone have {SHORTEST}"
        raw = data[start : start + length].tobytes()
        piece = Quarantined(int(frames.offsets[place]), length, "record_too_short", text, raw, int(sequence[place]))
        batch.quarantined.append(piece)
    starts, lengths, sequence = starts[~short], lengths[~short], sequence[~short]
    codes = data[starts + 4].astype(np.int64) << 8 | data[starts + 5]
    clocks, numbers, dated = _suffixes(data, starts, lengths)
    times = _times(clocks, dated)
    kinds, kind_of = np.unique(codes, return_inverse=True)
    batch.tables["ims_log_record"] = _records(sequence, lengths, kinds, kind_of, times, clocks, numbers, dated)
    steps = np.diff(np.concatenate([[last_seq], numbers[dated].astype(np.int64)]))
    gaps = int((steps[0 if last_seq >= 0 else 1 :] != 1).sum())
    if gaps:
        batch.notes["log_sequence_gap"] = gaps
    if not dated.all():
        batch.notes["log_record_without_clock"] = int((~dated).sum())
    limits = np.where(dated, lengths - SUFFIX_BYTES, lengths)
    typed: dict[str, tuple[Layout, list[int]]] = {}
    for kind, code in enumerate(kinds.tolist()):
        layout = layouts.get((code >> 8, code & 0xFF)) or layouts.get((code >> 8, None))
        members = kind_of == kind
        size, count = int(lengths[members].sum()), int(members.sum())
        if layout is None and not _event(code):
            batch.skip(f"ims.{code >> 8:02X}", count, size)
            continue
        if layout is not None:
            typed.setdefault(layout.name, (layout, []))[1].append(kind)
        batch.decoded += count
        batch.decoded_bytes += size
    fields: dict[int, dict[str, object]] = {}
    for layout, members_of in typed.values():
        rows = np.flatnonzero(np.isin(kind_of, members_of))
        table = read_records(layout.header, data, starts[rows], limits[rows], sequence[rows])
        batch.tables[layout.header.table] = table
        if any(_event(kinds[kind]) for kind in members_of):
            fields.update(_event_fields(layout, table, rows))
    events = _events(sequence, kinds, kind_of, times, numbers, dated, fields)
    if events.num_rows:
        batch.tables["ims_log_event"] = events
    return batch, int(numbers[dated][-1]) if dated.any() else last_seq


def _suffixes(
    data: npt.NDArray[np.uint8], starts: Ints, lengths: Ints
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64], npt.NDArray[np.bool_]]:
    """Store clock and sequence number of each record, and whether its suffix holds such."""
    long_enough = lengths >= SHORTEST + SUFFIX_BYTES
    at = np.where(long_enough, starts + lengths - SUFFIX_BYTES, 0)
    words = data[at[:, None] + np.arange(SUFFIX_BYTES)].copy().view(">u8") if len(at) else np.zeros((0, 2), ">u8")
    clocks, numbers = words[:, 0].astype(np.uint64), words[:, 1].astype(np.uint64)
    dated = long_enough & (clocks >= EARLIEST) & (clocks < LATEST) & (numbers < 1 << 62)
    return clocks, numbers, dated


def _times(clocks: npt.NDArray[np.uint64], dated: npt.NDArray[np.bool_]) -> npt.NDArray[np.datetime64]:
    micros = (clocks >> np.uint64(12)).astype(np.int64) - _UNIX_EPOCH_US
    return np.where(dated, micros.astype("datetime64[us]"), _NO_TIME)


def _records(sequence, lengths, kinds, kind_of, times, clocks, numbers, dated) -> pa.Table:
    codes = kinds.tolist()
    names = [entry.name if (entry := log_code(code >> 8, code & 0xFF)) else None for code in codes]
    columns = {
        "record_seq": pa.array(sequence.astype(np.uint32)),
        "section_seq": pa.array(np.zeros(len(sequence), np.uint32)),
        "record_length": pa.array(lengths),
        "log_code": _named([f"{code >> 8:02X}" for code in codes], kind_of),
        "subcode": _named([f"{code & 0xFF:02X}" for code in codes], kind_of),
        "record_name": _named(names, kind_of),
        "written_utc": pa.array(times),
        "written_utc_raw": pa.array(clocks, mask=lengths < SHORTEST + SUFFIX_BYTES),
        "log_seq": pa.array(numbers, mask=~dated),
    }
    return pa.Table.from_arrays([columns[name] for name in RECORD_SCHEMA.names], schema=RECORD_SCHEMA)


def _named(names: list[str | None], kind_of: Ints) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(kind_of.astype(np.int32)), pa.array(names, pa.string())).cast(
        pa.string()
    )


def _event(code: int) -> str:
    entry = log_code(int(code) >> 8, int(code) & 0xFF)
    return entry.event if entry else ""


def _event_fields(layout: Layout, table: pa.Table, rows: Ints) -> dict[int, dict[str, object]]:
    """Place of a record → what its layout's fields say of the event, by column of `ims_log_event`."""
    fields: dict[int, dict[str, object]] = {int(row): {} for row in rows}
    for name in (*FROM_LAYOUT, "event_utc"):
        if not layout.header.has(name):
            continue
        item = layout.header.by_name(name)
        scale = UNITS[item.unit].factor if item.unit in UNITS else 1
        if item.form.name in ("tod_duration", "tod_signed"):
            scale = 1 / 4096
        for row, value in zip(rows.tolist(), table[item.column].to_pylist(), strict=True):
            fields[row][name] = _event_value(name, value, scale)
    return fields


def _event_value(name: str, value: object, scale: float) -> object:
    kind = EVENT_SCHEMA.field(name).type
    if value is None:
        return None
    if pa.types.is_string(kind):
        return value.hex().upper() if isinstance(value, bytes) else str(value)
    if pa.types.is_floating(kind):
        return float(value) * scale if isinstance(value, (int, float)) else None
    if pa.types.is_integer(kind):
        number = int.from_bytes(value[:7]) if isinstance(value, bytes) else value
        return number if isinstance(number, int) and -(2**63) <= number < 2**63 else None
    return value if not isinstance(value, (int, bytes, str)) else None


def _events(sequence, kinds, kind_of, times, numbers, dated, fields: dict[int, dict[str, object]]) -> pa.Table:
    is_event = np.array([bool(_event(code)) for code in kinds], bool)
    rows = np.flatnonzero(is_event[kind_of]) if len(kinds) else np.zeros(0, np.int64)
    codes = [int(kinds[kind_of[row]]) for row in rows]
    columns: dict[str, pa.Array] = {
        "record_seq": pa.array(sequence[rows].astype(np.uint32)),
        "section_seq": pa.array(np.zeros(len(rows), np.uint32)),
        "event": pa.array([_event(code) for code in codes], pa.string()),
        "log_code": pa.array([f"{code >> 8:02X}" for code in codes], pa.string()),
        "subcode": pa.array([f"{code & 0xFF:02X}" for code in codes], pa.string()),
        "log_seq": pa.array(numbers[rows], mask=~dated[rows]),
    }
    event_fields = [fields.get(int(row), {}) for row in rows]
    for name in FROM_LAYOUT:
        columns[name] = pa.array([values.get(name) for values in event_fields], EVENT_SCHEMA.field(name).type)
    written = pa.array(times[rows]).to_pylist()
    when = [values.get("event_utc") or stamp for values, stamp in zip(event_fields, written, strict=True)]
    columns["event_utc"] = pa.array(when, pa.timestamp("us"))
    return pa.Table.from_arrays([columns[name] for name in EVENT_SCHEMA.names], schema=EVENT_SCHEMA)
