"""RMF reports in XML (`ddsml`) or JSON → Arrow tables: tidy rows for any report, typed rows for known ones.

What a report's labels become is data (`tables.toml`, `monitor3.toml`); this package holds only what a table of labels
cannot say: secure streaming XML, and the forms in which RMF prints times and numbers.
"""

from ingest.rmf.batch import BadReport, RmfBatch
from ingest.rmf.json_form import read_json_reports
from ingest.rmf.reader import read_reports
from ingest.rmf.tables import schemas

__all__ = ["BadReport", "RmfBatch", "read_json_reports", "read_reports", "schemas"]
