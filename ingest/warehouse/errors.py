"""What can be wrong with the warehouse, its snapshot, or a query of it."""

from ingest.files.outcome import ExitCode


class WarehouseError(Exception):
    """The warehouse or its snapshot cannot be used. The message says which, why, and what to do."""

    exit_code = ExitCode.FAILED


class WarehouseLocked(WarehouseError):
    """Another process has the warehouse open for writing."""

    exit_code = ExitCode.LOCKED


class WarehouseMissing(WarehouseError):
    """There is no warehouse yet."""

    exit_code = ExitCode.NOT_READY


class SnapshotMissing(WarehouseError):
    """There is no published snapshot."""

    exit_code = ExitCode.NOT_READY


class BadQuery(WarehouseError):
    """A query that DuckDB refuses."""

    exit_code = ExitCode.BAD_QUERY
