"""Exit codes of the command line, and the error that carries one."""

import errno
import os
import shutil
from enum import IntEnum
from pathlib import Path


class Exit(IntEnum):
    """Meaning of the exit codes of `etalon`; the warehouse sets those from 11 to 13, about single inputs."""

    OK = 0
    FAILED = 1
    USAGE = 2
    NO_INPUT = 3
    QUALITY = 4
    NOT_READY = 5
    QUESTION = 6
    LOCKED = 7
    GATE = 8
    MISSED = 9
    OUT_OF_REACH = 10
    UNRECOGNISED = 11
    QUARANTINED = 12
    BUSY = 13
    HELD_BACK = 14
    FEWER = 15
    INTERRUPTED = 130

    @property
    def meaning(self) -> str:
        """One line for readers."""
        return MEANINGS[self]


MEANINGS = {
    Exit.OK: "done",
    Exit.FAILED: "internal error or system fault; --debug prints the traceback",
    Exit.USAGE: "invalid command line",
    Exit.NO_INPUT: "an input is missing, empty or unreadable",
    Exit.QUALITY: "a critical data-quality expectation failed",
    Exit.NOT_READY: "no warehouse, snapshot or champion exists yet",
    Exit.QUESTION: "the question or query is invalid or cannot be answered",
    Exit.LOCKED: "another process writes the warehouse, or uses the port",
    Exit.GATE: "the model failed its validation gate; the former champion stays",
    Exit.MISSED: "published figures were not reproduced from their records",
    Exit.OUT_OF_REACH: "no number of engines, or no rate, meets the targets",
    Exit.UNRECOGNISED: "the kind of an input is unknown, or none of its records was decoded",
    Exit.QUARANTINED: "loaded, but records that could not be decoded are in quarantine",
    Exit.BUSY: "an input is still being written and was not loaded",
    Exit.HELD_BACK: "published without records that failed a critical expectation",
    Exit.FEWER: "not published: the warehouse lacks data of the former snapshot",
    Exit.INTERRUPTED: "stopped by the user",
}


class EtalonError(Exception):
    """A refusal the user can act on: one clear message and an exit code."""

    def __init__(self, message: str, code: Exit = Exit.FAILED) -> None:
        super().__init__(message)
        self.code = code


def no_room(error: BaseException, folder: Path) -> str | None:
    """The message where nothing more could be written into a folder; None for any other error."""
    words = [os.strerror(code) for code in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)]
    line = next((line.strip() for line in str(error).splitlines() if any(word in line for word in words)), None)
    if line is None:
        return None
    free_gb = shutil.disk_usage(folder).free / 1e9
    return (
        f"no space to write: {line}. Free space, or raise the quota or file-size limit, and run the command again. "
        f"No data are lost ({free_gb:,.1f} GB are free on the disk of {folder})"
    )


def code_of(error: BaseException) -> Exit | None:
    """The exit code that an error carries: an EtalonError's, or that of a room whose `exit_code` is one of these."""
    code = error.code if isinstance(error, EtalonError) else getattr(error, "exit_code", None)
    return None if code is None or int(code) not in Exit.__members__.values() else Exit(int(code))
