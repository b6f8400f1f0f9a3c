"""Arrow tables to an IMS log: the inverse of decoding, for the lab and for tests."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ingest.codec.rows import EncodeError
from ingest.codec.whole_records import write_records
from ingest.formats.ims.identify import SHORTEST
from ingest.framing import write_records as frame
from ingest.registry import Registry

_UNIX_EPOCH_US = 2_208_988_800_000_000


def encode_log(
    tables: Mapping[str, pa.Table],
    registry: Registry,
    *,
    bodies: Mapping[int, bytes] | None = None,
    framing: str = "rdw",
) -> bytes:
    """Write an IMS log, one record for each row of `ims_log_record`, in the order of `record_seq`.

    tables: `ims_log_record` (log_code, subcode, and written_utc or written_utc_raw, log_seq; record_length is computed
    where NULL or absent) and typed tables of the registry's layouts. bodies: record_seq → bytes between subcode and
    suffix, for records without a layout. A record without a clock gets no suffix. framing: `rdw` or `bdw`. Raises
    EncodeError when the tables do not fit.
    """
    layouts = {layout.header.table: layout for layout in registry.logged("ims").values()}
    unknown = set(tables) - layouts.keys() - {"ims_log_record", "ims_log_event"}
    if unknown:
        raise EncodeError(f"no layout of the IMS log has the table {', '.join(sorted(unknown))}")
    if "ims_log_record" not in tables:
        raise EncodeError("ims_log_record is missing; it has one row per record")
    records = tables["ims_log_record"].sort_by("record_seq").to_pylist()
    typed: dict[int, bytes] = {}
    for name, table in tables.items():
        if name in layouts:
            typed.update(write_records(layouts[name].header, table))
    encoded = [_record(row, typed, bodies or {}) for row in records]
    lengths = np.array([len(item) for item in encoded], np.int64)
    data: npt.NDArray[np.uint8] = np.frombuffer(b"".join(encoded), np.uint8)
    return frame(data, np.cumsum(lengths) - lengths, lengths, framing) if encoded else b""


def _record(row: dict, typed: dict[int, bytes], bodies: Mapping[int, bytes]) -> bytes:
    sequence = row["record_seq"]
    code, subcode = int(row["log_code"], 16), int(row["subcode"], 16)
    clock = row.get("written_utc_raw")
    if clock is None and row.get("written_utc") is not None:
        micros = int(np.datetime64(row["written_utc"], "us").astype(np.int64)) + _UNIX_EPOCH_US
        clock = micros << 12
    suffix = b"" if clock is None else clock.to_bytes(8) + (row.get("log_seq") or 0).to_bytes(8)
    body = typed[sequence][SHORTEST:] if sequence in typed else bodies.get(sequence, b"")
    length = row.get("record_length")
    if length is not None:
        body = body[: max(length - SHORTEST - len(suffix), 0)].ljust(length - SHORTEST - len(suffix), b"\0")
    length = SHORTEST + len(body) + len(suffix)
    if length > 65_535:
        raise EncodeError(f"ims_log_record: record {sequence} of {length} bytes; a descriptor can say 65,535 at most")
    return length.to_bytes(2) + b"\0\0" + bytes([code, subcode]) + body + suffix
