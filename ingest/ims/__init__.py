"""IMS log data sets → Arrow tables and back: prefix and suffix of every record, and the fields of those with a layout.

`ingest.ims.decode.decode_log` reads, `ingest.ims.encode.encode_log` writes, `ingest.ims.identify.is_ims_log` tells.
"""
