"""The warehouse: files into DuckDB once and completely, a ledger that proves it, and a snapshot for readers."""

from ingest.files.outcome import ExitCode, FileReport, exit_code
from ingest.snapshot import kept_open, query
from ingest.units.parts import IDENTITIES
from ingest.warehouse.errors import FileUnknown, WarehouseError, WarehouseLocked, WarehouseMissing
from ingest.warehouse.exporting import export_schema
from ingest.warehouse.load import load, prepare
from ingest.warehouse.merging import merge_small
from ingest.warehouse.parts import drop_rows, filled, identities_of, move_parts
from ingest.warehouse.parts import named as named_parts
from ingest.warehouse.publish import publish
from ingest.warehouse.removal import remove
from ingest.warehouse.tables import layouts_version
from ingest.warehouse.views import make_views
from ingest.warehouse.writer import open_writer, opening

__all__ = [
    "IDENTITIES",
    "ExitCode",
    "FileReport",
    "FileUnknown",
    "WarehouseError",
    "WarehouseLocked",
    "WarehouseMissing",
    "drop_rows",
    "exit_code",
    "export_schema",
    "filled",
    "identities_of",
    "kept_open",
    "layouts_version",
    "load",
    "make_views",
    "merge_small",
    "move_parts",
    "named_parts",
    "open_writer",
    "opening",
    "prepare",
    "publish",
    "query",
    "remove",
]
