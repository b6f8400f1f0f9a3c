"""The tables that no record layout describes, and the data files they are made from."""

import pyarrow as pa

DATA_FILES = (
    ("ingest.formats.rmf", "tables.toml"),
    ("ingest.formats.rmf", "monitor3.toml"),
    ("ingest.formats.rmf", "printed.toml"),
    ("ingest.formats.cics", "listing.toml"),
    ("ingest.formats.tables", "tabular.toml"),
    ("ingest.formats.ims", "codes.toml"),
)
"""Package and name of the files that say what becomes of reports, tables and IMS logs."""


def schemas() -> dict[str, pa.Schema]:
    """Arrow schema of every such table, by table name, without `file_id`."""
    from ingest.formats.arrow import LINE_SCHEMA
    from ingest.formats.cics import listing
    from ingest.formats.ims import tables as ims
    from ingest.formats.rmf import tables as rmf
    from ingest.formats.tables import collector, tabular

    return {
        "report_line": LINE_SCHEMA,
        **rmf.schemas(),
        **tabular.schemas(),
        **listing.schemas(),
        **ims.schemas(),
        **collector.SCHEMAS,
    }
