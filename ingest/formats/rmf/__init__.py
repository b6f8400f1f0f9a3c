"""RMF reports in XML (`ddsml`) or JSON → Arrow tables: tidy rows for any report, typed rows for known ones.

What a report's labels become is data (`tables.toml`, `monitor3.toml`); this package holds only what a table of labels
cannot say: secure streaming XML, and the forms in which RMF prints times and numbers.
"""

from ingest.formats.rmf.json_form import read_json_reports
from ingest.formats.rmf.reader import read_reports
from ingest.formats.rmf.tables import schemas

__all__ = ["read_json_reports", "read_reports", "schemas"]
