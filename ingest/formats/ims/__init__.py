"""IMS log data sets → Arrow tables and back: prefix and suffix of every record, and the fields of those with a layout.

`decode.decode_log` reads, `encode.encode_log` writes; `ingest.formats.evidence` recognises a log.
"""
