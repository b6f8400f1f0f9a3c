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
    """(code, subcode or None) → what is known of it."""
    text = files("ingest.formats.ims").joinpath("codes.toml").read_text(encoding="utf-8")
    found = {}
    for code, subcode, name, event, memory in tomllib.loads(text)["codes"]:
        sub = int(subcode, 16) if subcode else None
        found[int(code, 16), sub] = LogCode(int(code, 16), sub, name, event, memory)
    return found


def log_code(code: int, subcode: int) -> LogCode | None:
    """What is known of a record with this code and subcode; None for codes nobody described."""
    known = log_codes()
    return known.get((code, subcode)) or known.get((code, None))
