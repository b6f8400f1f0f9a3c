"""The codec: layouts compiled to column kernels, both ways.

`decode_batches` turns a dump into Arrow tables, `encode_dump` turns Arrow tables into a dump.
"""

from ingest.codec.encode import encode_dump
from ingest.codec.rows import EncodeError

__all__ = ["EncodeError", "encode_dump"]
