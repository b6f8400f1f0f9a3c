"""Arrow tables to the output of DCOLLECT: the inverse of decoding, for tests."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from ingest.codec.rows import EncodeError
from ingest.codec.whole_records import write_records
from ingest.formats.dcollect.identify import HEADER_BYTES
from ingest.framing import write_records as frame
from ingest.registry import Registry


def encode_dcollect(tables: Mapping[str, pa.Table], registry: Registry, *, framing: str = "rdw") -> bytes:
    """Write the rows of the tables in the order of `record_seq`; their lengths and kinds are filled in.

    framing: `rdw` or `bdw`. Raises EncodeError when a table has no layout or its values do not fit.
    """
    layouts = {layout.header.table: layout for layout in registry.logged("dcollect").values()}
    encoded: dict[int, bytes] = {}
    for name, table in tables.items():
        if name not in layouts:
            raise EncodeError(f"no layout of DCOLLECT records has the table {name}")
        for sequence, body in write_records(layouts[name].header, table).items():
            body = body.ljust(HEADER_BYTES, b"\0")
            encoded[sequence] = len(body).to_bytes(2) + b"\0\0" + layouts[name].type.to_bytes(2) + body[6:]
    records = [encoded[sequence] for sequence in sorted(encoded)]
    lengths = np.array([len(record) for record in records], np.int64)
    data = np.frombuffer(b"".join(records), np.uint8)
    return frame(data, np.cumsum(lengths) - lengths, lengths, framing) if records else b""
