"""The codec: layouts compiled to column kernels, both ways.

`decode_batches` turns a dump into Arrow tables, `encode_dump` turns Arrow tables into a dump.
"""

from ingest.codec.batch import Accounting, Batch
from ingest.codec.decode import decode_batches
from ingest.codec.encode import encode_dump
from ingest.codec.rows import EncodeError
from ingest.framing import FramingError, Quarantined

__all__ = ["Accounting", "Batch", "EncodeError", "FramingError", "Quarantined", "decode_batches", "encode_dump"]
