"""IMS log data sets → Arrow tables and back: prefix and suffix of every record, and all of those with a layout."""

from ingest.ims.decode import decode_log
from ingest.ims.encode import encode_log
from ingest.ims.identify import is_ims_log
from ingest.ims.layouts import ims_layouts
from ingest.ims.tables import schemas

__all__ = ["decode_log", "encode_log", "ims_layouts", "is_ims_log", "schemas"]
