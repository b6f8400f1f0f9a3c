"""Names of IMS log records, and which of them are events of messages and schedules."""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import tomli as tomllib


@dataclass(frozen=True)
class LogCode:
    """A code, with a subcode or for all of them (None): its name and the event it tells of, `""` for none."""

    code: int
    subcode: int | None
    name: str
    event: str
    from_memory: bool


@cache
def log_codes() -> dict[tuple[int, int | None], LogCode]:
    """(code, subcode or None) → its description."""
    text = files("ingest.formats.ims").joinpath("codes.toml").read_text(encoding="utf-8")
    codes = {}
    for code, subcode, name, event, memory in tomllib.loads(text)["codes"]:
        sub = int(subcode, 16) if subcode else None
        codes[int(code, 16), sub] = LogCode(int(code, 16), sub, name, event, memory)
    return codes


def log_code(code: int, subcode: int) -> LogCode | None:
    """The description of records with this code and subcode; None for codes without one."""
    codes = log_codes()
    return codes.get((code, subcode)) or codes.get((code, None))
