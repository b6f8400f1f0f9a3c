"""Every table of this package."""

import pyarrow as pa

from ingest.reports import statistics, tabular
from ingest.reports.arrow import LINE_SCHEMA


def schemas() -> dict[str, pa.Schema]:
    """Arrow schema of every table, by table name, without `file_id`."""
    return {"report_line": LINE_SCHEMA, **tabular.schemas(), **statistics.schemas()}
