"""The output of DCOLLECT to Arrow tables, one for each kind of record with a layout."""

import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ingest.batch import Batch, Quarantined
from ingest.codec.whole_records import read_records
from ingest.formats.dcollect.identify import DATING, HEADER_BYTES
from ingest.framing import Frames, read_frames
from ingest.layout import Layout
from ingest.registry import Registry

_BATCH_BYTES = 32 << 20


def decode_dcollect(source: Path | bytes, registry: Registry, *, name: str | None = None) -> Iterator[Batch]:
    """Decode a file or its bytes in batches; `skipped` maps `dcollect.<kind>` to records and bytes without a layout.

    Raises FramingError when no record can be delimited, RegistryError when layouts contradict each other.
    """
    layouts = {code: layout for (code, _), layout in registry.logged("dcollect").items()}
    first = 0
    with io.BytesIO(source) if isinstance(source, bytes) else source.open("rb", buffering=0) as stream:
        for frames in read_frames(stream, name or "input", batch_bytes=_BATCH_BYTES, dating=DATING):
            yield _batch(frames, first, layouts)
            first += len(frames.starts)


def _batch(frames: Frames, first: int, layouts: dict[int, Layout]) -> Batch:
    batch = Batch(quarantined=list(frames.quarantined), framing_bytes=frames.framing_bytes)
    data, starts, lengths = frames.buffer, frames.starts, frames.lengths
    sequence = np.arange(first, first + len(starts))
    short = lengths < HEADER_BYTES
    for place in np.flatnonzero(short).tolist():
        start, length = int(starts[place]), int(lengths[place])
        text = f"a record of {length} bytes; the header alone has {HEADER_BYTES}"
        raw = data[start : start + length].tobytes()
        batch.quarantined.append(
            Quarantined(int(frames.offsets[place]), length, "record_too_short", text, raw, int(sequence[place]))
        )
    starts, lengths, sequence = starts[~short], lengths[~short], sequence[~short]
    codes = data[starts + 4].astype(np.int64) << 8 | data[starts + 5]
    for code in np.unique(codes).tolist():
        rows = np.flatnonzero(codes == code)
        size = int(lengths[rows].sum())
        layout = layouts.get(code)
        if layout is None:
            batch.skip(f"dcollect.{code.to_bytes(2).decode('cp037').strip()}", len(rows), size)
            continue
        section = layout.header
        batch.tables[section.table] = read_records(section, data, starts[rows], lengths[rows], sequence[rows])
        batch.decoded += len(rows)
        batch.decoded_bytes += size
    return batch
