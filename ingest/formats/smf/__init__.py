"""SMF records: `decode_batches` turns a dump into Arrow tables, `encode_dump` Arrow tables into a dump."""

from ingest.codec.rows import EncodeError
from ingest.formats.smf.decode import decode_batches
from ingest.formats.smf.encode import encode_dump

__all__ = ["EncodeError", "decode_batches", "encode_dump"]
