"""Errors of the warehouse."""

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


def is_damage(error: BaseException) -> bool:
    """Whether an error of DuckDB says that a block of the database is damaged: of whatever file, none can be loaded."""
    return "does not match stored checksum" in str(error)


class FileUnknown(WarehouseError):
    """A name stands for no file of the ledger, or for several."""

    exit_code = ExitCode.NO_INPUT
