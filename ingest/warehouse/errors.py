"""What can be wrong with the warehouse."""

from ingest.files.outcome import ExitCode


class WarehouseError(Exception):
    """The warehouse cannot be used. The message says which, why, and what to do."""

    exit_code = ExitCode.FAILED


class WarehouseLocked(WarehouseError):
    """Another process has the warehouse open for writing."""

    exit_code = ExitCode.LOCKED


class WarehouseMissing(WarehouseError):
    """There is no warehouse yet."""

    exit_code = ExitCode.NOT_READY


class FileUnknown(WarehouseError):
    """A name stands for no file of the ledger, or for several."""

    exit_code = ExitCode.NO_INPUT
