"""Exit codes of the command line, and the error that carries one."""

from enum import IntEnum


class Exit(IntEnum):
    """What the exit code of `etalon` says; `meaning` is the wording of the help and of docs/cli.md."""

    OK = 0
    FAILED = 1
    USAGE = 2
    INPUT = 3
    QUALITY = 4
    NOT_READY = 5
    QUESTION = 6
    BUSY = 7
    GATE = 8
    INTERRUPTED = 130

    @property
    def meaning(self) -> str:
        """One line for readers."""
        return MEANINGS[self]


MEANINGS = {
    Exit.OK: "done",
    Exit.FAILED: "a fault in Etalon or its surroundings; --debug shows where",
    Exit.USAGE: "the command line was not understood",
    Exit.INPUT: "an input is missing, unreadable, incomplete or was quarantined in part",
    Exit.QUALITY: "a critical data-quality expectation failed",
    Exit.NOT_READY: "there is nothing to answer from yet (warehouse, snapshot or champion)",
    Exit.QUESTION: "the question cannot be answered as asked",
    Exit.BUSY: "another process is writing the warehouse, or the port is taken",
    Exit.GATE: "the model did not pass its validation gate; the former champion stays",
    Exit.INTERRUPTED: "stopped by the user",
}


class EtalonError(Exception):
    """A refusal the user can act on: one clear message and an exit code."""

    def __init__(self, message: str, code: Exit = Exit.FAILED) -> None:
        super().__init__(message)
        self.code = code
